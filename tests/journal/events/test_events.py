"""Events as they are written to the journal and read back."""

import warnings

import pytest

from surefoot.core.purpose import Purpose
from surefoot.journal.events import ModelAnswered, decode, encode


@pytest.mark.parametrize("purpose", [*Purpose, "ponder"])
def test_model_answers_keep_their_purpose_also_one_of_another_version(purpose: str) -> None:
    body = f'{{"purpose":"{purpose}","prompt":"p","answer":"a"}}'.encode()
    event = decode("model_answered", body)
    assert isinstance(event, ModelAnswered)
    assert event.purpose == purpose
    assert isinstance(event.purpose, Purpose) is (purpose != "ponder")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encode(event) == body
        assert encode(ModelAnswered(purpose=str(purpose), prompt="p", answer="a")) == body

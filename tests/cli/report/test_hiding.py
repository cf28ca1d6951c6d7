"""Everything that the command line prints or exports passes here: known secrets are hidden in it once more."""

import pytest

from surefoot.cli.report import hiding, text
from surefoot.journal import events as e
from surefoot.journal.redact import Redactor

KEY = "the-key-of-the-model-7Qz"
PASSWORD = "correct-horse-battery-9Xq"


@pytest.fixture(autouse=True)
def no_redactor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hiding, "_in_use", [])
    monkeypatch.setenv("SERVICE_PASSWORD", PASSWORD)


@pytest.mark.attack("leak by output")
def test_lines_and_blocks_have_no_secret() -> None:
    for shown in (hiding.safe(f"a {PASSWORD}"), text.line(f"a {PASSWORD}"), text.block(f"a {PASSWORD}")):
        assert shown == "a [redacted]"


@pytest.mark.attack("leak by output")
def test_no_half_of_a_secret_is_left_where_a_text_is_cut() -> None:
    for before in range(160 * 8 - len(PASSWORD), 160 * 8):
        assert PASSWORD[:8] not in text.line(" " * before + PASSWORD, 160), "white space is shortened afterwards"
    assert PASSWORD[:8] not in text.block("x" * 3_990 + PASSWORD)


@pytest.mark.attack("leak by output")
def test_exports_have_no_secret() -> None:
    assert hiding.as_json(e.Warned(message=f"a {PASSWORD}"))["message"] == "a [redacted]"


@pytest.mark.attack("leak by output")
def test_the_key_of_a_run_s_model_is_hidden() -> None:
    hiding.hide_with(Redactor({"key": KEY}))
    assert hiding.safe(f"refused: {KEY}") == "refused: [redacted]"
    assert hiding.as_json(e.Warned(message=KEY))["message"] == "[redacted]"

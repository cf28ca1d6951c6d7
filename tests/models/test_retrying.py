import pytest

from surefoot.errors import ModelError, ModelRateLimited, ModelRejected, ModelUnavailable
from surefoot.models.base import Message, ModelRequest
from surefoot.models.retrying import LONGEST_WAIT, RetryNotice, complete_with_retries
from surefoot.models.scripted import ScriptedModel

REQUEST = ModelRequest(messages=(Message(role="user", content="hello"),))


@pytest.mark.req("P11")
async def test_temporary_errors_are_tried_again_and_told() -> None:
    notices: list[RetryNotice] = []
    model = ScriptedModel([ModelUnavailable("503"), ModelUnavailable("timeout"), "fine"])
    reply = await complete_with_retries(model, REQUEST, first_wait=0, on_retry=notices.append)
    assert reply.text == "fine"
    assert [(n.attempt, n.of, str(n.error)) for n in notices] == [(1, 4, "503"), (2, 4, "timeout")]


@pytest.mark.req("P11")
async def test_permanent_errors_are_not() -> None:
    model = ScriptedModel([ModelRejected("wrong key"), "never"])
    with pytest.raises(ModelRejected, match="wrong key"):
        await complete_with_retries(model, REQUEST, first_wait=0)
    assert len(model.requests) == 1


@pytest.mark.req("P11")
async def test_the_number_of_tries_is_bounded() -> None:
    model = ScriptedModel([ModelUnavailable(str(n)) for n in range(10)])
    with pytest.raises(ModelUnavailable, match="2"):
        await complete_with_retries(model, REQUEST, attempts=3, first_wait=0)
    assert len(model.requests) == 3


@pytest.mark.parametrize(
    ("error", "low", "high"),
    [
        (ModelRateLimited("slow down", retry_after=0.01), 0.01, 0.01),
        (ModelRateLimited("slow down"), 0.02, 0.03),
        (ModelUnavailable("gone"), 0.02, 0.03),
    ],
)
async def test_a_server_that_names_the_wait_is_believed(error: ModelError, low: float, high: float) -> None:
    notices: list[RetryNotice] = []
    model = ScriptedModel([error, "fine"])
    await complete_with_retries(model, REQUEST, first_wait=0.02, on_retry=notices.append)
    assert low <= notices[0].wait_s <= high


async def test_within_reason() -> None:
    class Sooner(Exception):
        pass

    def stop(notice: RetryNotice) -> None:
        assert notice.wait_s == LONGEST_WAIT
        raise Sooner

    model = ScriptedModel([ModelRateLimited("tomorrow", retry_after=90_000), "fine"])
    with pytest.raises(Sooner):
        await complete_with_retries(model, REQUEST, on_retry=stop)


async def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    model = ScriptedModel([ModelUnavailable("503"), "fine"])
    await complete_with_retries(model, REQUEST, first_wait=0)
    assert capfd.readouterr() == ("", "")

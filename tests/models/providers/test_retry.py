from typing import Any

import pytest

from surefoot.errors import ModelError, ModelRateLimited, ModelRejected, ModelUnavailable
from surefoot.models.base import Message, ModelReply, ModelRequest
from surefoot.models.providers.retry import MAX_WAIT_SECONDS, RetryNotice, retries
from surefoot.models.testing.scripted import ScriptedModel

REQUEST = ModelRequest(messages=(Message(role="user", content="hello"),))


async def complete(model: ScriptedModel, **options: Any) -> ModelReply:
    async for attempt in retries(**options):
        with attempt:
            reply = await model.complete(REQUEST)
    return reply


@pytest.mark.req("P11")
async def test_temporary_errors_are_retried_with_a_notice() -> None:
    notices: list[RetryNotice] = []
    model = ScriptedModel([ModelUnavailable("503"), ModelUnavailable("timeout"), "fine"])
    reply = await complete(model, first_wait=0, on_retry=notices.append)
    assert reply.text == "fine"
    assert len(model.requests) == 3
    assert [(n.attempt, n.of, str(n.error)) for n in notices] == [(1, 4, "503"), (2, 4, "timeout")]


@pytest.mark.req("P11")
async def test_permanent_errors_are_not_retried() -> None:
    model = ScriptedModel([ModelRejected("wrong key"), "never"])
    with pytest.raises(ModelRejected, match="wrong key"):
        await complete(model, first_wait=0)
    assert len(model.requests) == 1


@pytest.mark.req("P11")
async def test_the_number_of_attempts_is_limited() -> None:
    model = ScriptedModel([ModelUnavailable(str(n)) for n in range(10)])
    with pytest.raises(ModelUnavailable, match="2"):
        await complete(model, attempts=3, first_wait=0)
    assert len(model.requests) == 3


@pytest.mark.parametrize(
    ("error", "low", "high"),
    [
        (ModelRateLimited("slow down", retry_after=0.01), 0.01, 0.01),
        (ModelRateLimited("slow down"), 0.02, 0.03),
        (ModelUnavailable("gone"), 0.02, 0.03),
    ],
)
async def test_retry_after_takes_precedence_over_the_backoff(error: ModelError, low: float, high: float) -> None:
    notices: list[RetryNotice] = []
    model = ScriptedModel([error, "fine"])
    await complete(model, first_wait=0.02, on_retry=notices.append)
    assert low <= notices[0].wait_seconds <= high


async def test_retry_after_is_limited() -> None:
    class Sooner(Exception):
        pass

    def stop(notice: RetryNotice) -> None:
        assert notice.wait_seconds == MAX_WAIT_SECONDS
        raise Sooner

    model = ScriptedModel([ModelRateLimited("tomorrow", retry_after=90_000), "fine"])
    with pytest.raises(Sooner):
        await complete(model, on_retry=stop)


async def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    model = ScriptedModel([ModelUnavailable("503"), "fine"])
    await complete(model, first_wait=0)
    assert capfd.readouterr() == ("", "")

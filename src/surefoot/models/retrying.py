"""Temporary errors are tried again after a while; permanent ones are not. Nothing else retries model calls."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from surefoot.errors import ModelError, ModelRateLimited
from surefoot.models.base import LanguageModel, ModelReply, ModelRequest, OnText

if TYPE_CHECKING:
    from tenacity import RetryCallState

LONGEST_WAIT = 120.0


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """Told before each wait, so that people see why nothing happens."""

    attempt: int
    of: int
    wait_s: float
    error: ModelError


async def complete_with_retries(
    model: LanguageModel,
    request: ModelRequest,
    *,
    attempts: int = 4,
    first_wait: float = 1.0,
    on_retry: Callable[[RetryNotice], None] | None = None,
    on_text: OnText | None = None,
) -> ModelReply:
    """The waits double, with jitter; a server that says how long to wait is believed, within reason."""
    import tenacity

    doubling = tenacity.wait_exponential_jitter(multiplier=first_wait, max=LONGEST_WAIT, jitter=first_wait / 2)

    def wait(state: "RetryCallState") -> float:
        error = _error(state)
        if isinstance(error, ModelRateLimited) and error.retry_after is not None:
            return min(max(error.retry_after, 0.0), LONGEST_WAIT)
        return doubling(state)

    def tell(state: "RetryCallState") -> None:
        if on_retry is not None:
            on_retry(RetryNotice(state.attempt_number, attempts, state.upcoming_sleep, _error(state)))

    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, ModelError) and error.temporary),
        stop=tenacity.stop_after_attempt(attempts),
        wait=wait,
        before_sleep=tell,
        reraise=True,
    )
    return await retrying(model.complete, request, on_text)


def _error(state: "RetryCallState") -> ModelError:
    assert state.outcome is not None
    error = state.outcome.exception()
    assert isinstance(error, ModelError)
    return error

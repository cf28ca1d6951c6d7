"""The retry policy for model calls. Clients never retry on their own, so that every retry is in the journal.

`errors.status_error` decides which statuses are temporary, and `prompting.ask.retries_of` applies the settings.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from surefoot.errors import ModelError, ModelRateLimited

if TYPE_CHECKING:
    from tenacity import AsyncRetrying, RetryCallState

MAX_WAIT_SECONDS = 120.0
"""The longest wait between two attempts at a model call, also if the server asks for a longer one."""


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """Passed to `on_retry` before each wait."""

    attempt: int
    of: int
    wait_seconds: float
    error: ModelError


def retries(
    *, attempts: int = 4, first_wait: float = 1.0, on_retry: Callable[[RetryNotice], None] | None = None
) -> "AsyncRetrying":
    """Retry temporary model errors, up to `attempts` attempts in all; other errors are raised at once.

        async for attempt in retries():
            with attempt:
                reply = await model.complete(request)

    Waits start at `first_wait` seconds and double, with jitter. A server's own `retry_after` takes precedence. No wait
    exceeds `MAX_WAIT_SECONDS`. When the attempts are used up, the last error is raised.
    """
    import tenacity

    backoff = tenacity.wait_exponential_jitter(multiplier=first_wait, max=MAX_WAIT_SECONDS, jitter=first_wait / 2)

    def wait(state: "RetryCallState") -> float:
        error = _error(state)
        if isinstance(error, ModelRateLimited) and error.retry_after is not None:
            return min(max(error.retry_after, 0.0), MAX_WAIT_SECONDS)
        return backoff(state)

    def before_sleep(state: "RetryCallState") -> None:
        if on_retry is not None:
            on_retry(RetryNotice(state.attempt_number, attempts, state.upcoming_sleep, _error(state)))

    return tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, ModelError) and error.temporary),
        stop=tenacity.stop_after_attempt(attempts),
        wait=wait,
        before_sleep=before_sleep,
        reraise=True,
    )


def _error(state: "RetryCallState") -> ModelError:
    assert state.outcome is not None
    error = state.outcome.exception()
    assert isinstance(error, ModelError)
    return error

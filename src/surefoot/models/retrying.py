"""Temporary errors are tried again after a while; permanent ones are not. Nothing else retries model calls."""

from collections.abc import Callable
from dataclasses import dataclass

from surefoot.errors import ModelError, ModelRateLimited
from surefoot.models.base import LanguageModel, ModelReply, ModelRequest, OnText

LONGEST_WAIT = 60.0


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
    import stamina

    def worth_another(error: Exception) -> bool | float:
        if not isinstance(error, ModelError) or not error.temporary:
            return False
        return _asked_wait(error) or True

    async for attempt in stamina.retry_context(
        on=worth_another,
        attempts=attempts,
        timeout=None,
        wait_initial=first_wait,
        wait_max=LONGEST_WAIT,
        wait_jitter=first_wait / 2,
    ):
        with attempt:
            try:
                return await model.complete(request, on_text)
            except ModelError as error:
                if error.temporary and attempt.num < attempts and on_retry is not None:
                    on_retry(RetryNotice(attempt.num, attempts, _asked_wait(error) or attempt.next_wait, error))
                raise
    raise AssertionError("stamina raises the last error itself")


def _asked_wait(error: ModelError) -> float | None:
    if isinstance(error, ModelRateLimited) and error.retry_after is not None:
        return min(max(error.retry_after, 0.001), LONGEST_WAIT)
    return None

"""Limits that many processes share: concurrent calls, and tokens per minute, of one provider.

Every call has a row. A call may begin if fewer calls than allowed are in progress, and if the tokens of the calls that
began in the last minute leave room for it. Both are looked at and the row is written under one lock, so the limits hold
however many processes ask. A call in progress renews its row; the row of a process that died expires.
"""

from dataclasses import dataclass
from typing import Protocol

WINDOW_SECONDS = 60.0
LEASE_SECONDS = 30.0
LOOK_SECONDS = 0.25
"""How soon to ask again when all calls are taken: nobody knows when one ends."""


@dataclass(frozen=True, slots=True)
class Limits:
    provider: str
    """Calls of the same name share the limits."""
    concurrent_calls: int | None = None
    tokens_per_minute: int | None = None


class CallTable(Protocol):
    """The rows of calls. Synchronous; a call takes a few milliseconds."""

    def begin(self, limits: Limits, call_id: str, tokens: int, lease_seconds: float) -> float:
        """Write the row of a call, and return 0; or return in how many seconds to ask again."""
        ...

    def renew(self, call_id: str, lease_seconds: float) -> bool:
        """Keep the row of a call in progress. False if it has expired: another call may have its place."""
        ...

    def end(self, call_id: str, tokens: int | None) -> None:
        """Free the place of a call. `tokens` are those that it really took; None: as many as were reserved."""
        ...

    def close(self) -> None: ...

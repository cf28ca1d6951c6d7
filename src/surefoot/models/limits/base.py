"""Limits for one provider that processes share: concurrent calls, and tokens per minute.

Every call has a row in a table. A call may begin if fewer calls than allowed are in progress, and if the calls that
began in the last minute leave enough tokens for it. The check and the insertion of the row happen under one lock, so
the limits hold for any number of processes. A call in progress renews its row; the row of a process that died expires.
"""

from dataclasses import dataclass
from typing import Protocol

WINDOW_SECONDS = 60.0
LEASE_SECONDS = 30.0
LOOK_SECONDS = 0.25
"""How long to wait before asking again when all places are taken: nobody knows when one becomes free."""


@dataclass(frozen=True, slots=True)
class Limits:
    provider: str
    """Calls with the same provider share the limits."""
    concurrent_calls: int | None = None
    tokens_per_minute: int | None = None


class CallTable(Protocol):
    """The table of calls. Its methods block for a few milliseconds."""

    def begin(self, limits: Limits, call_id: str, tokens: int, lease_seconds: float) -> float:
        """Insert the row of a call and return 0, or return the seconds to wait before asking again."""
        ...

    def renew(self, call_id: str, lease_seconds: float) -> bool:
        """Extend the lease of a call in progress. False if it has expired: another call may have taken its place."""
        ...

    def end(self, call_id: str, tokens: int | None) -> None:
        """Free the place of a call. `tokens` is the number that it used; None keeps the reserved number."""
        ...

    def close(self) -> None: ...

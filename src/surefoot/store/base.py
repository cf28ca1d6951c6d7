"""What every journal does, whatever it is kept in, and the few things all of them share.

A journal holds runs, a run is a gapless sequence of events, and long content is kept beside them under its hash.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from surefoot.errors import JournalError, UnknownRun
from surefoot.events import (
    Event,
    Record,
    RunCreated,
    RunEnded,
    RunInterrupted,
    RunResumed,
    StageEntered,
)
from surefoot.machine import WORKING, Stage
from surefoot.outcome import Verdict
from surefoot.values import Value

LAST = "last"
"""Names the newest run wherever the beginning of a run id is taken."""
TITLE_CHARS = 200
SHOWN_CANDIDATES = 5


class RunSummary(Value):
    """A run as one line of a list."""

    run_id: str
    task: str
    """The first line of it."""
    workspace: str
    model: str
    stage: Stage
    verdict: Verdict | None = None
    created_at: float
    updated_at: float
    events: int


class InboxItem(NamedTuple):
    """What another process left for the driver of a run."""

    id: int
    body: dict[str, Any]


class Journal(Protocol):
    """One event loop writes through one journal object. Other processes may have the same journal open.

    Within a run, sequence numbers start at 1 and have no gaps. The first event of a run is its `RunCreated`.
    """

    async def append(self, run_id: str, events: Sequence[Event]) -> list[Record]:
        """Write events, all or none. They are durable when this returns.

        A record holds the event as it was written, redacted where a secret was found. A caller that is cancelled
        while it waits does not take its events back. When this raises, they were not written.
        """
        ...

    def note(self, run_id: str, event: Event) -> Record:
        """Write an event with the next append or flush: before it, and in the same transaction.

        It has its number at once. Only if another task's append fails meanwhile may it move up in the sequence.
        """
        ...

    async def flush(self) -> None:
        """Make all that was noted, put and acknowledged durable."""
        ...

    def read(self, run_id: str, after: int = 0) -> Iterator[Record]:
        """The durable events of a run, in order."""
        ...

    def summaries(self, limit: int = 50) -> list[RunSummary]:
        """The newest runs, newest first."""
        ...

    def find(self, prefix: str) -> str:
        """The id of the one run whose id begins like that; `last` is the newest."""
        ...

    def put_blob(self, data: bytes) -> str:
        """Keep content; the answer is its SHA-256. It is durable no later than any event that is written after this."""
        ...

    def get_blob(self, digest: str) -> bytes: ...

    def send(self, run_id: str, message: dict[str, Any]) -> None:
        """Leave a message for the driver of a run. This is the one thing that others may write. Durable at once."""
        ...

    def receive(self, run_id: str) -> list[InboxItem]:
        """What was sent and not acknowledged yet, oldest first."""
        ...

    def acknowledge(self, run_id: str, ids: Sequence[int]) -> None:
        """Take messages out of the inbox, in the transaction of the next append or flush.

        So a message and the event that it became are never both lost and never both kept. If that transaction
        fails, the messages are received again.
        """
        ...

    async def aclose(self) -> None: ...


def encoded_message(message: dict[str, Any]) -> bytes:
    try:
        return json.dumps(message).encode()
    except (TypeError, ValueError) as error:
        raise JournalError(
            f"the message cannot be written as JSON: {error}", remedy="send plain text, numbers, lists and dicts"
        ) from error


def title(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip()[:TITLE_CHARS]


def creation(run_id: str, event: Event | None) -> RunCreated:
    """What a run must begin with."""
    if not isinstance(event, RunCreated):
        raise UnknownRun(f"there is no run {run_id}", remedy="see `surefoot list`")
    if event.run_id != run_id:
        raise JournalError(
            f"the creation of run {event.run_id} cannot be written as run {run_id}", remedy="use one id for both"
        )
    return event


def standing(event: Event, stage: str, verdict: str | None) -> tuple[str, str | None]:
    """Where a run stands in the list after this event. Most events leave that as it is."""
    match event:
        case RunCreated():
            return event.starts_at, None
        case StageEntered():
            return event.stage, None if event.stage in WORKING else verdict
        case RunResumed():
            return stage, None
        case RunInterrupted():
            return stage, Verdict.INTERRUPTED
        case RunEnded():
            return stage, event.outcome.verdict
        case _:
            return stage, verdict


CHANGES_STANDING = frozenset({RunCreated, StageEntered, RunResumed, RunInterrupted, RunEnded})


def already_there(run_id: str) -> JournalError:
    return JournalError(f"run {run_id} exists already", remedy=f"resume it: surefoot resume {run_id}")


def chosen(prefix: str, matches: Sequence[str], newest: Sequence[str]) -> str:
    """The one match. `matches` and `newest` are newest first and may be cut after a few more than are shown."""
    if prefix in matches:
        return prefix
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UnknownRun(f"several runs begin with {prefix!r}: {_few(matches)}", remedy="give more of the id")
    if not newest:
        raise UnknownRun("there are no runs yet", remedy='start one: surefoot run "what is to be done"')
    raise UnknownRun(f"there is no run {prefix!r}; the newest are {_few(newest)}", remedy="see `surefoot list`")


def _few(run_ids: Sequence[str]) -> str:
    more = ", ..." if len(run_ids) > SHOWN_CANDIDATES else ""
    return ", ".join(run_ids[:SHOWN_CANDIDATES]) + more

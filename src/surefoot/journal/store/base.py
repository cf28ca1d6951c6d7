"""The interface of journals, and helpers that all implementations share.

A journal holds runs, a run is a gapless sequence of events, and long content is stored beside them under its hash.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from surefoot.core.transitions import Stage, Verdict
from surefoot.errors import JournalError, UnknownRun

if TYPE_CHECKING:
    # Listing runs needs no events, and importing all of them takes longer than the listing.
    from surefoot.journal.events import Event, Record
    from surefoot.journal.messages import InboxItem, InboxMessage

LAST = "last"
"""Stands for the newest run wherever a prefix of a run id is accepted."""
TITLE_CHARS = 200
SHOWN_CANDIDATES = 5


UndoLabel: TypeAlias = Literal["", "undone", "partly undone"]
UNDO_KINDS = ("rolled_back", "undo_incomplete", "applied")
"""The kinds of events that can undo a run or take an undo back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in the list of runs. Its task is shown only after known secrets were removed from it."""

    run_id: str
    task: str
    """The first line of the task's text."""
    workspace: str
    model: str
    stage: Stage
    verdict: Verdict | None = None
    created_at: float
    updated_at: float
    events: int
    undone: UndoLabel = ""


class Journal(Protocol):
    """One event loop writes through one journal object. Other processes may open the same journal.

    Within a run, sequence numbers start at 1 and have no gaps. The first event of a run is its `RunCreated`.
    """

    async def append(self, run_id: str, events: "Sequence[Event]") -> "list[Record]":
        """Write events, all or none. They are durable when this returns, and not written if it raises.

        Cancelling a waiting caller does not withdraw its events: they are committed, and `CancelledAfterAppend` is
        raised.
        """
        ...

    def note(self, run_id: str, event: "Event") -> "Record":
        """Queue an event for the transaction of the next append or flush, before that append's own events.

        It gets its number immediately. The number decreases only if an append of another task fails before that.
        """
        ...

    async def flush(self) -> None:
        """Make all queued notes, blobs and acknowledgements durable."""
        ...

    def read(self, run_id: str, after: int = 0) -> "Iterator[Record]":
        """Iterate over the durable events of a run, in order."""
        ...

    def summaries(self, limit: int = 50, workspaces: Collection[str] | None = None) -> list[RunSummary]:
        """Return the newest runs, newest first; with `workspaces`, only those that worked in one of them."""
        ...

    def workspaces(self) -> dict[str, int]:
        """Return all workspaces, each with the number of its runs."""
        ...

    def find(self, prefix: str) -> str:
        """Return the id of the only run with this prefix; `last` means the newest. Raises UnknownRun."""
        ...

    def put_blob(self, data: bytes) -> str:
        """Store content and return its SHA-256. It is durable no later than any event written after this call."""
        ...

    def get_blob(self, digest: str) -> bytes: ...

    def has_blob(self, digest: str) -> bool: ...

    def drop_blob(self, digest: str) -> None:
        """Delete content permanently. Only for content that nothing else refers to, such as an expired artifact."""
        ...

    def send(self, run_id: str, message: "InboxMessage") -> None:
        """Leave a message for the driver of a run, durable when this returns. Other processes write nothing else."""
        ...

    def receive(self, run_id: str) -> "list[InboxItem]":
        """Return the messages that are not acknowledged yet, oldest first."""
        ...

    def acknowledge(self, run_id: str, ids: Sequence[int]) -> None:
        """Remove messages from the inbox in the transaction of the next append or flush.

        So a message and the event it becomes are never both lost and never both kept. If the transaction fails, the
        messages are received again.
        """
        ...

    async def aclose(self) -> None: ...


class Position(NamedTuple):
    """The number of a run in the database, its last event, and its status."""

    number: int
    last: int
    stage: str
    verdict: str | None


class DamagedRun(NamedTuple):
    """A run whose entry or events cannot be read."""

    run_id: str
    problem: str


class Scanned(NamedTuple):
    """An event with its encoded body, if the caller asked for bodies of its kind."""

    seq: int
    at: float
    kind: str
    body: bytes | None


class Body(NamedTuple):
    """The encoded body of an event, for readers that need only a few of its fields."""

    run_id: str
    kind: str
    body: bytes


class OpenJournal(Journal, Protocol):
    """A journal that a command has opened: it can be closed without an event loop."""

    def close(self) -> None: ...


class Reader(Protocol):
    """Reads a journal that other processes write. It never creates one."""

    def read(self, run_id: str, after: int = 0) -> "Iterator[Record]": ...

    def bodies(self, run_ids: Collection[str], kinds: Collection[str]) -> "list[Body]": ...

    def scan(self, run_id: str, kinds: Collection[str]) -> list[Scanned]: ...

    def summaries(self, limit: int = 50, workspaces: Collection[str] | None = None) -> list[RunSummary]: ...

    def summaries_since(
        self, since: float = 0.0, workspaces: Collection[str] | None = None
    ) -> Iterator[RunSummary | DamagedRun]: ...

    def workspaces(self) -> dict[str, int]: ...

    def find(self, prefix: str) -> str: ...

    def blob(self, digest: str) -> bytes: ...

    def inbox(self, run_id: str) -> "list[InboxItem]": ...

    def carried_out_by(self, run_id: str) -> list[str]:
        """The runs that carried out the plan of this one, oldest first."""
        ...

    def close(self) -> None: ...


class RunHeads(Protocol):
    """Detects which runs have new events, for watchers of many runs."""

    def changed(self) -> dict[str, int]:
        """Return the runs with events since the last call, each with the number of its last event."""
        ...

    def driven(self, run_ids: Collection[str] | None = None) -> frozenset[str]:
        """Return those of these runs, by default of the newest, that a process drives as far as the journal knows."""
        ...

    def close(self) -> None: ...


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip()[:TITLE_CHARS]


def names_base(run_id: str) -> bytes:
    """Return bytes that the body of every `RunCreated` based on this run contains."""
    return b'"based_on":' + json.dumps(run_id).encode()


def carries_out(created: bytes, run_id: str) -> bool:
    """Whether a run with this `RunCreated` began with the plan of that run. A fork does not count: it is a copy."""
    fields = json.loads(created)
    begins_with_plan = fields.get("starts_at") in (Stage.EXECUTION, Stage.VALIDATION)
    return bool(fields.get("based_on") == run_id and begins_with_plan and not fields.get("copied"))


def run_exists(run_id: str) -> JournalError:
    return JournalError(f"run {run_id} exists already", remedy=f"resume it: surefoot resume {run_id}")


def select_run(prefix: str, matches: Sequence[str], newest: Sequence[str]) -> str:
    """Return the only match, or raise UnknownRun. Both lists are newest first; `newest` may be truncated."""
    if prefix in matches:
        return prefix
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UnknownRun(f"several runs begin with {prefix!r}: {_listing(matches)}", remedy="give more of the id")
    if not newest:
        raise UnknownRun("there are no runs yet", remedy='start one: surefoot run "what to do"')
    meant = f"did you mean {LAST}? Otherwise " if get_close_matches(prefix, [LAST]) else ""
    raise UnknownRun(
        f"there is no run {prefix!r}; the newest are {_listing(newest)}", remedy=f"{meant}see `surefoot list`"
    )


def _listing(run_ids: Sequence[str]) -> str:
    more = ", ..." if len(run_ids) > SHOWN_CANDIDATES else ""
    return ", ".join(run_ids[:SHOWN_CANDIDATES]) + more

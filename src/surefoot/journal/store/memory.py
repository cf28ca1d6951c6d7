"""A journal in memory, for tests and for programs that need no file. Its runs are lost when the process ends."""

import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from surefoot.core.transitions import Stage, Verdict
from surefoot.errors import JournalBroken, UnknownRun
from surefoot.journal.events import Event, Record, RunCreated, decode, encode
from surefoot.journal.messages import InboxItem, InboxMessage, decode_message, encode_message
from surefoot.journal.store.base import (
    LAST,
    RunSummary,
    first_line,
    run_exists,
    select_run,
)
from surefoot.journal.store.blobs import digest_of
from surefoot.journal.store.status import require_creation, status_after
from surefoot.journal.undone import undone_by


class _Line(NamedTuple):
    """An event in encoded form, so that callers cannot change it later through their own objects."""

    seq: int
    at: float
    kind: str
    body: bytes


@dataclass
class _StoredRun:
    created: RunCreated
    lines: list[_Line] = field(default_factory=list)
    queued: list[tuple[_Line, Event]] = field(default_factory=list)
    inbox: dict[int, bytes] = field(default_factory=dict)
    acknowledged: set[int] = field(default_factory=set)
    stage: str = ""
    verdict: str | None = None


class MemoryJournal:
    def __init__(self) -> None:
        self._runs: dict[str, _StoredRun] = {}
        self._blobs: dict[str, bytes] = {}
        self._messages = 0

    async def append(self, run_id: str, events: Sequence[Event]) -> list[Record]:
        records = self._enqueue(run_id, events)
        self._commit(self._runs[run_id])
        return records

    def note(self, run_id: str, event: Event) -> Record:
        return self._enqueue(run_id, (event,))[0]

    async def flush(self) -> None:
        for run in self._runs.values():
            self._commit(run)

    def read(self, run_id: str, after: int = 0) -> Iterator[Record]:
        lines = self._existing(run_id).lines[after:]
        return (Record(line.seq, line.at, decode(line.kind, line.body)) for line in lines)

    def summaries(self, limit: int = 50, workspaces: Collection[str] | None = None) -> list[RunSummary]:
        runs = self._durable().items()
        chosen = [item for item in runs if workspaces is None or item[1].created.task.workspace in workspaces]
        return [
            RunSummary(
                run_id=run_id,
                task=first_line(run.created.task.text),
                workspace=run.created.task.workspace,
                model=run.created.model,
                stage=Stage(run.stage),
                verdict=Verdict(run.verdict) if run.verdict is not None else None,
                created_at=run.lines[0].at,
                updated_at=run.lines[-1].at,
                events=len(run.lines),
                undone=undone_by((line.at, line.kind, line.body) for line in run.lines),
            )
            for run_id, run in chosen[:limit]
        ]

    def workspaces(self) -> dict[str, int]:
        return dict(Counter(run.created.task.workspace for run in self._durable().values()))

    def find(self, prefix: str) -> str:
        newest = list(self._durable())
        matches = newest[:1] if prefix == LAST else [run_id for run_id in newest if run_id.startswith(prefix)]
        return select_run(prefix, matches, newest)

    def put_blob(self, data: bytes) -> str:
        digest = digest_of(data)
        self._blobs[digest] = bytes(data)
        return digest

    def get_blob(self, digest: str) -> bytes:
        try:
            return self._blobs[digest]
        except KeyError:
            raise JournalBroken(
                f"there is no content under the hash {digest}", remedy="store it before referring to it"
            ) from None

    def has_blob(self, digest: str) -> bool:
        return digest in self._blobs

    def drop_blob(self, digest: str) -> None:
        self._blobs.pop(digest, None)

    def send(self, run_id: str, message: InboxMessage) -> None:
        self._messages += 1
        self._existing(run_id).inbox[self._messages] = encode_message(message)

    def receive(self, run_id: str) -> list[InboxItem]:
        run = self._existing(run_id)
        return [InboxItem(key, decode_message(body)) for key, body in run.inbox.items() if key not in run.acknowledged]

    def acknowledge(self, run_id: str, ids: Sequence[int]) -> None:
        self._existing(run_id).acknowledged.update(ids)

    async def aclose(self) -> None:
        await self.flush()

    def _enqueue(self, run_id: str, events: Sequence[Event]) -> list[Record]:
        run = self._runs.get(run_id)
        if run is None:
            run = _StoredRun(require_creation(run_id, events[0] if events else None))
        at, seq, queued = time.time(), len(run.lines) + len(run.queued), []
        for event in events:
            if seq and type(event) is RunCreated:
                raise run_exists(run_id)
            seq += 1
            queued.append((_Line(seq, at, event.type, encode(event)), event))
        self._runs[run_id] = run
        run.queued += queued
        return [Record(line.seq, at, event) for line, event in queued]

    def _commit(self, run: _StoredRun) -> None:
        for line, event in run.queued:
            run.lines.append(line)
            run.stage, run.verdict = status_after(event, run.stage, run.verdict)
        run.queued.clear()
        for key in run.acknowledged:
            run.inbox.pop(key, None)
        run.acknowledged.clear()

    def _durable(self) -> dict[str, _StoredRun]:
        """The runs with committed events, newest first."""
        return {run_id: run for run_id, run in reversed(self._runs.items()) if run.lines}

    def _existing(self, run_id: str) -> _StoredRun:
        run = self._runs.get(run_id)
        if run is None or not run.lines:
            raise UnknownRun(f"there is no run {run_id}", remedy="see `surefoot list`")
        return run

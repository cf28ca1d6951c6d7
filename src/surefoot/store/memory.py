"""The journal without a file, for tests and for programs that want none. It ends with its process."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from surefoot.errors import JournalBroken, UnknownRun
from surefoot.events import Event, Record, RunCreated, decode, encode
from surefoot.store.base import (
    LAST,
    InboxItem,
    RunSummary,
    already_there,
    chosen,
    creation,
    encoded_message,
    standing,
    title,
)
from surefoot.store.blobs import digest_of


class _Line(NamedTuple):
    """An event as it would be on a disk: what the caller does with its own objects later cannot change it."""

    seq: int
    at: float
    kind: str
    body: bytes


@dataclass
class _Run:
    created: RunCreated
    lines: list[_Line] = field(default_factory=list)
    noted: list[tuple[_Line, Event]] = field(default_factory=list)
    inbox: dict[int, bytes] = field(default_factory=dict)
    acknowledged: set[int] = field(default_factory=set)
    stage: str = ""
    verdict: str | None = None


class MemoryJournal:
    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}
        self._blobs: dict[str, bytes] = {}
        self._messages = 0

    async def append(self, run_id: str, events: Sequence[Event]) -> list[Record]:
        records = self._note(run_id, events)
        self._settle(self._runs[run_id])
        return records

    def note(self, run_id: str, event: Event) -> Record:
        return self._note(run_id, (event,))[0]

    async def flush(self) -> None:
        for run in self._runs.values():
            self._settle(run)

    def read(self, run_id: str, after: int = 0) -> Iterator[Record]:
        lines = self._existing(run_id).lines[after:]
        return (Record(line.seq, line.at, decode(line.kind, line.body)) for line in lines)

    def summaries(self, limit: int = 50) -> list[RunSummary]:
        return [
            RunSummary(
                run_id=run_id,
                task=title(run.created.task.text),
                workspace=run.created.task.workspace,
                model=run.created.model,
                stage=run.stage,
                verdict=run.verdict,
                created_at=run.lines[0].at,
                updated_at=run.lines[-1].at,
                events=len(run.lines),
            )
            for run_id, run in list(self._durable().items())[:limit]
        ]

    def find(self, prefix: str) -> str:
        newest = list(self._durable())
        matches = newest[:1] if prefix == LAST else [run_id for run_id in newest if run_id.startswith(prefix)]
        return chosen(prefix, matches, newest)

    def put_blob(self, data: bytes) -> str:
        digest = digest_of(data)
        self._blobs[digest] = bytes(data)
        return digest

    def get_blob(self, digest: str) -> bytes:
        try:
            return self._blobs[digest]
        except KeyError:
            raise JournalBroken(
                f"there is no content under the hash {digest}", remedy="put it before it is named"
            ) from None

    def send(self, run_id: str, message: dict[str, Any]) -> None:
        self._messages += 1
        self._existing(run_id).inbox[self._messages] = encoded_message(message)

    def receive(self, run_id: str) -> list[InboxItem]:
        run = self._existing(run_id)
        return [InboxItem(key, json.loads(body)) for key, body in run.inbox.items() if key not in run.acknowledged]

    def acknowledge(self, run_id: str, ids: Sequence[int]) -> None:
        self._existing(run_id).acknowledged.update(ids)

    async def aclose(self) -> None:
        await self.flush()

    def _note(self, run_id: str, events: Sequence[Event]) -> list[Record]:
        run = self._runs.get(run_id)
        if run is None:
            run = _Run(creation(run_id, events[0] if events else None))
        at, seq, noted = time.time(), len(run.lines) + len(run.noted), []
        for event in events:
            if seq and type(event) is RunCreated:
                raise already_there(run_id)
            seq += 1
            noted.append((_Line(seq, at, event.type, encode(event)), event))
        self._runs[run_id] = run
        run.noted += noted
        return [Record(line.seq, at, event) for line, event in noted]

    def _settle(self, run: _Run) -> None:
        for line, event in run.noted:
            run.lines.append(line)
            run.stage, run.verdict = standing(event, run.stage, run.verdict)
        run.noted.clear()
        for key in run.acknowledged:
            run.inbox.pop(key, None)
        run.acknowledged.clear()

    def _durable(self) -> dict[str, _Run]:
        """Newest first."""
        return {run_id: run for run_id, run in reversed(self._runs.items()) if run.lines}

    def _existing(self, run_id: str) -> _Run:
        run = self._runs.get(run_id)
        if run is None or not run.lines:
            raise UnknownRun(f"there is no run {run_id}", remedy="see `surefoot list`")
        return run

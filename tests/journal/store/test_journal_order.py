"""Random sequences of notes, appends, flushes and locks give the same result as a simple model of a journal."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from support.samples import created, messages, seqs, warned
from surefoot.errors import JournalBusy
from surefoot.journal.events import Record
from surefoot.journal.store.base import Journal
from surefoot.journal.store.memory import MemoryJournal
from surefoot.journal.store.sqlite import SqliteJournal

RUNS = ("a", "b")


class Operation(NamedTuple):
    kind: Literal["note", "append", "together", "flush", "lock", "unlock"]
    run: str = "a"
    number: int = 1


_RUN = st.sampled_from(RUNS)
_WRITES = st.one_of(
    st.builds(Operation, st.just("note"), _RUN),
    st.builds(Operation, st.just("append"), _RUN, st.integers(0, 3)),
    st.builds(Operation, st.just("together"), _RUN, st.integers(1, 5)),
    st.just(Operation("flush")),
)
_LOCKS = st.sampled_from([Operation("lock"), Operation("unlock")])


@dataclass
class Model:
    """A simple model of a journal: two lists for each run."""

    journal: Journal
    locker: apsw.Connection | None = None
    written: dict[str, list[str]] = field(default_factory=lambda: {run: [] for run in RUNS})
    queued: dict[str, list[tuple[str, bool]]] = field(default_factory=lambda: {run: [] for run in RUNS})
    texts: int = 0

    async def execute(self, operation: Operation) -> None:
        match operation.kind:
            case "note":
                record = self.journal.note(operation.run, warned(text := self._text()))
                self.queued[operation.run].append((text, False))
                assert record.seq == 1 + len(self.written[operation.run]) + len(self.queued[operation.run])
            case "append":
                await self._append([(operation.run, operation.number)])
            case "together":
                await self._append([(RUNS[n % 2], n % 3) for n in range(operation.number)])
            case "flush":
                self._compare(await asyncio.gather(self.journal.flush(), return_exceptions=True), RUNS)
            case _ if self.locker and self.locker.in_transaction != (operation.kind == "lock"):
                self.locker.execute("BEGIN IMMEDIATE" if operation.kind == "lock" else "ROLLBACK")
        self.check()

    async def _append(self, appends: list[tuple[str, int]]) -> None:
        calls = []
        for run, number in appends:
            texts = [self._text() for _ in range(number)]
            self.queued[run] += [(text, True) for text in texts]
            calls.append(self.journal.append(run, [warned(text) for text in texts]))
        results = await asyncio.gather(*calls, return_exceptions=True)
        # The memory journal commits only the run of the append, the SQLite journal commits all runs.
        all_runs = RUNS if isinstance(self.journal, SqliteJournal) else [run for run, _ in appends]
        self._compare(results, all_runs)
        for (run, _), records in zip(appends, results, strict=True):
            if not isinstance(records, BaseException):
                self._check_numbers(run, records)

    def _compare(self, results: Sequence[object], runs: Sequence[str]) -> None:
        """Either everything queued was written, or, if the file was locked, nothing; then only notes stay queued."""
        rejected = bool(self.locker and self.locker.in_transaction and any(self.queued[run] for run in runs))
        assert [isinstance(result, JournalBusy) for result in results] == [rejected] * len(results), results
        for run in runs:
            if rejected:
                self.queued[run] = [(text, awaited) for text, awaited in self.queued[run] if not awaited]
            else:
                self.written[run] += [text for text, _ in self.queued[run]]
                self.queued[run] = []

    def _check_numbers(self, run: str, records: list[Record]) -> None:
        assert [self.written[run][record.seq - 2] for record in records] == messages(records)

    def check(self) -> None:
        for run in RUNS:
            records = list(self.journal.read(run))
            assert messages(records) == self.written[run]
            assert seqs(records) == list(range(1, len(records) + 1))

    def _text(self) -> str:
        self.texts += 1
        return str(self.texts)


async def _run(journal: Journal, operations: list[Operation], locker: apsw.Connection | None = None) -> None:
    for run in RUNS:
        await journal.append(run, [created(run)])
    model = Model(journal, locker)
    for operation in [*operations, Operation("unlock"), Operation("flush")]:
        await model.execute(operation)
    assert not any(model.queued.values())


@given(st.lists(_WRITES, max_size=25))
@settings(max_examples=60, deadline=None)
def test_the_memory_journal_matches_the_model(operations: list[Operation]) -> None:
    asyncio.run(_run(MemoryJournal(), operations))


@given(st.lists(st.one_of(_WRITES, _WRITES, _LOCKS), max_size=25))
@settings(max_examples=60, deadline=None)
def test_the_sqlite_journal_matches_the_model_also_when_others_lock_the_file(operations: list[Operation]) -> None:
    async def run(path: Path) -> None:
        journal = SqliteJournal(path, busy_timeout=0)
        await journal.append("first", [created("first")])
        await _run(journal, operations, apsw.Connection(str(path)))
        await journal.aclose()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder) / "journal.db"))

"""Whatever tasks note, append and flush in whatever order, and whenever the file is locked: the books agree exactly."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from store.samples import created, messages, numbers, said
from surefoot.errors import JournalBusy
from surefoot.events import Record
from surefoot.store.base import Journal
from surefoot.store.memory import MemoryJournal
from surefoot.store.sqlite import SqliteJournal

RUNS = ("a", "b")


class Move(NamedTuple):
    kind: Literal["note", "append", "together", "flush", "lock", "unlock"]
    run: str = "a"
    many: int = 1


_RUN = st.sampled_from(RUNS)
_WRITES = st.one_of(
    st.builds(Move, st.just("note"), _RUN),
    st.builds(Move, st.just("append"), _RUN, st.integers(0, 3)),
    st.builds(Move, st.just("together"), _RUN, st.integers(1, 5)),
    st.just(Move("flush")),
)
_LOCKS = st.sampled_from([Move("lock"), Move("unlock")])


@dataclass
class Books:
    """The simplest journal one can think of: two lists for each run."""

    journal: Journal
    locker: apsw.Connection | None = None
    written: dict[str, list[str]] = field(default_factory=lambda: {run: [] for run in RUNS})
    queued: dict[str, list[tuple[str, bool]]] = field(default_factory=lambda: {run: [] for run in RUNS})
    texts: int = 0

    async def make(self, move: Move) -> None:
        match move.kind:
            case "note":
                record = self.journal.note(move.run, said(text := self._text()))
                self.queued[move.run].append((text, False))
                assert record.seq == 1 + len(self.written[move.run]) + len(self.queued[move.run])
            case "append":
                await self._append([(move.run, move.many)])
            case "together":
                await self._append([(RUNS[n % 2], n % 3) for n in range(move.many)])
            case "flush":
                self._compare(await asyncio.gather(self.journal.flush(), return_exceptions=True), RUNS)
            case _ if self.locker and self.locker.in_transaction != (move.kind == "lock"):
                self.locker.execute("BEGIN IMMEDIATE" if move.kind == "lock" else "ROLLBACK")
        self.check()

    async def _append(self, appends: list[tuple[str, int]]) -> None:
        calls = []
        for run, many in appends:
            texts = [self._text() for _ in range(many)]
            self.queued[run] += [(text, True) for text in texts]
            calls.append(self.journal.append(run, [said(text) for text in texts]))
        results = await asyncio.gather(*calls, return_exceptions=True)
        # The memory journal writes only what belongs to the run; the other takes all along.
        all_runs = RUNS if isinstance(self.journal, SqliteJournal) else [run for run, _ in appends]
        self._compare(results, all_runs)
        for (run, _), records in zip(appends, results, strict=True):
            if not isinstance(records, BaseException):
                self._check_numbers(run, records)

    def _compare(self, results: Sequence[object], runs: Sequence[str]) -> None:
        """Either all that waited was written, or, where it was locked, nothing: then only notes still wait."""
        refused = bool(self.locker and self.locker.in_transaction and any(self.queued[run] for run in runs))
        assert [isinstance(result, JournalBusy) for result in results] == [refused] * len(results), results
        for run in runs:
            if refused:
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
            assert numbers(records) == list(range(1, len(records) + 1))

    def _text(self) -> str:
        self.texts += 1
        return str(self.texts)


async def _play(journal: Journal, moves: list[Move], locker: apsw.Connection | None = None) -> None:
    for run in RUNS:
        await journal.append(run, [created(run)])
    books = Books(journal, locker)
    for move in [*moves, Move("unlock"), Move("flush")]:
        await books.make(move)
    assert not any(books.queued.values())


@given(st.lists(_WRITES, max_size=25))
@settings(max_examples=60, deadline=None)
def test_in_memory(moves: list[Move]) -> None:
    asyncio.run(_play(MemoryJournal(), moves))


@given(st.lists(st.one_of(_WRITES, _WRITES, _LOCKS), max_size=25))
@settings(max_examples=60, deadline=None)
def test_in_a_file_that_others_lock_now_and_then(moves: list[Move]) -> None:
    async def play(path: Path) -> None:
        journal = SqliteJournal(path, busy_timeout=0)
        await journal.append("first", [created("first")])
        await _play(journal, moves, apsw.Connection(str(path)))
        await journal.aclose()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder) / "journal.db"))

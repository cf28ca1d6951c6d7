"""Undo on a full disk that also holds the journal and the snapshots: what has no room is named, and nothing is lost."""

import os
from collections.abc import Iterator, Sequence

import pytest

from support.kit import Bench, act, steps
from support.trees import fill_up, photograph, small_disk
from surefoot.core.plan import ExecutionStep, FileCheck, StepType
from surefoot.errors import JournalFull, RestoreIncomplete
from surefoot.history.undo import undo
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.store.sqlite import SqliteJournal

MB = 1024 * 1024


@pytest.fixture
def full() -> Iterator[Bench]:
    with small_disk(12) as disk:
        (disk / "work").mkdir()
        (disk / "home").mkdir()
        journal = SqliteJournal(disk / "home/journal.db")
        yield Bench(disk / "work", disk / "home", journal)
        journal.close()


def reopened(bench: Bench) -> SqliteJournal:
    """The journal as the next process finds it."""
    assert isinstance(bench.journal, SqliteJournal)
    bench.journal.close()
    bench.journal = SqliteJournal(bench.journal.path)
    return bench.journal


async def run_that_deletes(bench: Bench, command: str) -> str:
    checks = (FileCheck(path="made.txt"),)
    step = ExecutionStep(id="one", name="one", description="one", step_type=StepType.COMMAND_EXECUTION, checks=checks)
    state = await bench.run_plan(steps(step), [act("run_command", command=command)])
    return state.run_id


@pytest.mark.req("X2")
@pytest.mark.attack("block undo")
async def test_undo_restores_what_it_can_and_a_second_one_the_rest(full: Bench) -> None:
    root = full.root
    (root / "small.txt").write_text("small\n")
    (root / "large.bin").write_bytes(os.urandom(3 * MB))
    (root / "script").write_text("#!/bin/sh\n")
    (root / "script").chmod(0o755)
    original = photograph(root)
    run_id = await run_that_deletes(full, "rm small.txt large.bin; chmod 600 script; seq 20000 > made.txt")
    fill_up(root / "junk")  # by the user, or by a program that the run left
    with pytest.raises(RestoreIncomplete) as raised:
        await undo(reopened(full), full.home, run_id)
    assert [path.partition(" ")[0] for path in raised.value.paths] == ["large.bin"]
    assert (root / "small.txt").read_text() == "small\n"
    assert (root / "script").stat().st_mode & 0o777 == 0o755
    assert not (root / "made.txt").exists()
    undone = fold(reopened(full).read(run_id)).undone
    assert undone is not None
    assert undone.is_partial
    assert undone.missing[0].startswith("large.bin")
    (root / "junk").unlink()
    await undo(reopened(full), full.home, run_id)
    assert photograph(root) == original
    undone = fold(full.journal.read(run_id)).undone
    assert undone is not None
    assert not undone.is_partial


@pytest.mark.req("X2")
@pytest.mark.attack("block undo")
async def test_undo_works_where_nothing_at_all_can_be_written(full: Bench) -> None:
    root = full.root
    (root / "small.txt").write_text("small\n")
    (root / "script").write_text("#!/bin/sh\n")
    (root / "script").chmod(0o755)
    original = photograph(root)
    run_id = await run_that_deletes(full, "rm small.txt; chmod 600 script; mv script renamed; touch made.txt")
    journal = reopened(full)
    fill_up(root / "junk")
    with pytest.raises(RestoreIncomplete) as raised:
        await undo(journal, full.home, run_id)
    # Removing the renamed script makes room for one of the two.
    assert [path.partition(" ")[0] for path in raised.value.paths] == ["script"]
    assert (root / "small.txt").read_text() == "small\n"
    (root / "junk").unlink()
    await undo(reopened(full), full.home, run_id)
    assert photograph(root) == original


@pytest.mark.req("X2")
@pytest.mark.attack("block undo")
async def test_a_file_of_the_user_does_not_take_the_room_of_what_comes_back(full: Bench) -> None:
    """Storing it first would be careful, and leave no room for the file that the run has deleted."""
    root = full.root
    (root / "large.bin").write_bytes(large := os.urandom(3 * MB))
    run_id = await run_that_deletes(full, "rm large.bin; touch made.txt")
    disk = os.statvfs(root)
    free = disk.f_bavail * disk.f_frsize
    (root / "mine.bin").write_bytes(content := os.urandom(free // 2 - MB * 3 // 4))
    left = free - len(content)
    assert len(content) + MB < left < len(content) + 3 * MB, (
        "there is room to store it, or for the other one, not for both"
    )
    await undo(reopened(full), full.home, run_id)
    assert (root / "large.bin").read_bytes() == large
    assert (root / "mine.bin").read_bytes() == content


@pytest.mark.req("X2")
@pytest.mark.attack("block undo")
async def test_undo_is_recorded_later_if_the_journal_is_full(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.root / "small.txt").write_text("small\n")
    run_id = await run_that_deletes(bench, "rm small.txt; touch made.txt")
    append = bench.journal.append
    refused: list[Sequence[e.Event]] = []

    async def full_once(name: str, events: Sequence[e.Event]) -> list[e.Record]:
        if not refused:
            refused.append(events)
            raise JournalFull("the disk is full", remedy="")
        return await append(name, events)

    monkeypatch.setattr(bench.journal, "append", full_once)
    await undo(bench.journal, bench.home, run_id)
    assert refused
    assert bench.files() == {"small.txt": "small\n"}
    assert fold(bench.journal.read(run_id)).undone is not None

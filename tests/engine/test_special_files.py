"""Workspaces with special files, and with file names that are not valid text."""

import os

import pytest

from support.kit import Bench, act, done, steps
from support.trees import photograph
from surefoot.core.plan import ExecutionStep, FileCheck, StepType
from surefoot.core.transitions import StepStatus
from surefoot.engine.loop import start_run
from surefoot.history.undo import undo
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal

STEP = ExecutionStep(
    id="s", name="make x.txt", description="make x.txt", step_type=StepType.COMMAND_EXECUTION,
    checks=(FileCheck(path="x.txt"),),
)  # fmt: skip
CREATE_ODD_NAMES = "printf x > \"$(printf 'odd\\377')\"; printf y > \"$(printf 'two\\nlines')\""


@pytest.mark.req("P13", "P18", "X2")
async def test_outcome_lists_files_that_snapshots_leave_out(bench: Bench) -> None:
    os.mkfifo(bench.root / "pipe")
    (bench.root / "data").mkdir()
    (bench.root / "data" / "large.bin").write_text("x")
    state = await bench.run_plan(
        steps(STEP), [act("run_command", command="touch x.txt")], snapshot_excludes=("data/",), sandbox="off"
    )
    assert state.outcome is not None
    assert state.outcome.not_captured == ("data (excluded)", "pipe (special fifo)")


@pytest.mark.req("P13")
async def test_undecodable_file_names_are_recorded_rolled_back_and_undone(bench: Bench) -> None:
    journal = SqliteJournal(bench.home / "journal.sqlite")
    bench.journal = journal
    before = photograph(bench.root)
    odd, good = (
        act("run_command", command=CREATE_ODD_NAMES),
        act("run_command", command=f"{CREATE_ODD_NAMES}; touch x.txt"),
    )
    state = await bench.run_plan(steps(STEP), [odd, done(), good])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    (rolled_back,) = bench.events(e.RolledBack)
    assert len(rolled_back.paths) == 2, "the two files of the first attempt"
    assert sorted(os.fsencode(path.name) for path in bench.root.iterdir()) == [b"odd\xff", b"two\nlines", b"x.txt"]
    assert state.outcome is not None
    assert len(state.outcome.generated_files) == 3
    assert await undo(journal, bench.home, state.run_id)
    assert photograph(bench.root) == before
    await journal.aclose()


@pytest.mark.parametrize("name", ["AGENTS.md", "Makefile", "package.json", "test_x.py", "README.md", ".gitignore"])
async def test_pipe_in_place_of_a_file_does_not_block(bench: Bench, name: str) -> None:
    os.mkfifo(bench.root / name)
    understanding = {"understanding": "make x.txt", "requirements": ["x.txt is there"], "complexity": "simple"}
    answers = [understanding, *[act("run_command", command="touch x.txt")] * 3]
    await start_run(bench.services(answers), bench.task("Make x.txt, see README.md", ()), bench.config())
    assert (bench.root / "x.txt").exists() or bench.events(e.RunEnded)

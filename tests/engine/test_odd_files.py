"""Workspaces with things in them that are no ordinary files, and names that are no text."""

import os

import pytest

from kit import Bench, act, done, steps
from surefoot import events as e
from surefoot.engine import start_run
from surefoot.machine import StepStatus
from surefoot.plan import ExecutionStep, FileCheck, StepType
from surefoot.store.sqlite import SqliteJournal
from surefoot.undo import undo
from trees import photograph

STEP = ExecutionStep(
    id="s", name="make x.txt", description="make x.txt", step_type=StepType.COMMAND_EXECUTION,
    checks=(FileCheck(path="x.txt"),),
)  # fmt: skip
ODD = "printf x > \"$(printf 'odd\\377')\"; printf y > \"$(printf 'two\\nlines')\""


@pytest.mark.req("P13", "D6")
async def test_what_cannot_be_undone_is_told_in_the_outcome(bench: Bench) -> None:
    os.mkfifo(bench.root / "pipe")
    (bench.root / "data").mkdir()
    (bench.root / "data" / "large.bin").write_text("x")
    state = await bench.run_plan(
        steps(STEP), [act("run_command", command="touch x.txt")], snapshot_excludes=("data/",), sandbox="off"
    )
    assert state.outcome is not None
    assert state.outcome.not_captured == ("data (excluded)", "pipe (special fifo)")


@pytest.mark.req("P13")
async def test_names_that_are_no_text_are_written_down_rolled_back_and_undone(bench: Bench) -> None:
    journal = SqliteJournal(bench.home / "journal.sqlite")
    bench.journal = journal
    before = photograph(bench.root)
    odd, good = act("run_command", command=ODD), act("run_command", command=f"{ODD}; touch x.txt")
    state = await bench.run_plan(steps(STEP), [odd, done(), good])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    (rolled_back,) = bench.events(e.RolledBack)
    assert len(rolled_back.paths) == 2, "the first attempt, and only what it made"
    assert sorted(os.fsencode(path.name) for path in bench.root.iterdir()) == [b"odd\xff", b"two\nlines", b"x.txt"]
    assert state.outcome is not None
    assert len(state.outcome.generated_files) == 3
    assert await undo(journal, bench.home, state.run_id)
    assert photograph(bench.root) == before
    await journal.aclose()


@pytest.mark.parametrize("name", ["AGENTS.md", "Makefile", "package.json", "test_x.py", "README.md", ".gitignore"])
async def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(bench: Bench, name: str) -> None:
    os.mkfifo(bench.root / name)
    understanding = {"understanding": "make x.txt", "requirements": ["x.txt is there"], "complexity": "simple"}
    answers = [understanding, *[act("run_command", command="touch x.txt")] * 3]
    await start_run(bench.services(answers), bench.task("Make x.txt, see README.md", ()), bench.config())
    assert (bench.root / "x.txt").exists() or bench.events(e.RunEnded)

"""Files that the user changes during a run: no rollback overwrites them without asking."""

import asyncio
import os
import subprocess
from typing import Any

import pytest

from support.kit import Bench, fenced, steps, understanding
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep
from surefoot.core.transitions import Stage, StepStatus
from surefoot.engine.loop import start_run
from surefoot.engine.reflector.restore import GRACE_SECONDS
from surefoot.errors import ModelRejected
from surefoot.journal import events as e
from surefoot.models.base import ModelRequest
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import Writes, tool

TEST = """
import unittest
from adder import add

class T(unittest.TestCase):
    def test(self):
        self.assertEqual(add(2, 3), 5)
"""
GOOD = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"
CHECK = "python3 -m unittest -q"
TASK = "Write adder.py with add(a, b)."


def git(bench: Bench, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    result = subprocess.run(["git", *identity, *arguments], cwd=bench.root, capture_output=True, text=True, check=True)
    return result.stdout


@pytest.mark.req("X2", "P13")
async def test_commits_and_files_of_the_user_survive_rollbacks(bench: Bench) -> None:
    bench.write(test_adder__py=TEST)
    git(bench, "init", "-q")
    git(bench, "add", ".")
    git(bench, "commit", "-qm", "first")

    def work_as_user(_: ModelRequest) -> Any:
        (bench.root / "work.txt").write_text("work")
        git(bench, "add", "work.txt")
        git(bench, "commit", "-qm", "second")
        (bench.root / "wip.txt").write_text("not committed")
        return fenced(WRONG + "# again\n")

    answers = [understanding("adder.py"), fenced(WRONG), work_as_user, fenced(GOOD)]
    state = await bench.run(TASK, answers, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert bench.events(e.RolledBack)
    assert git(bench, "log", "--format=%s").split() == ["second", "first"]
    assert (bench.root / "work.txt").read_text() == "work"
    assert (bench.root / "wip.txt").read_text() == "not committed"
    for event in bench.events(e.RolledBack):
        assert event.paths == ("adder.py",)


@pytest.mark.req("X2")
async def test_rollback_asks_when_the_user_edited_the_same_file(bench: Bench) -> None:
    bench.write(test_adder__py=TEST)

    def edit_after_failure(record: e.Record) -> None:
        if isinstance(record.event, e.StepFinished) and record.event.failure:
            (bench.root / "adder.py").write_text("# the user's own\n")

    services = bench.services([understanding("adder.py"), fenced(WRONG), fenced(WRONG), fenced(GOOD)])
    services.bus.subscribe(edit_after_failure)

    state = await start_run(services, bench.task(TASK, [CHECK]), bench.config())
    assert state.stage is Stage.WAITING
    assert (bench.root / "adder.py").read_text() == "# the user's own\n"
    (question,) = state.open_questions
    assert "adder.py" in question.text


@pytest.mark.req("X2", "A11")
async def test_files_changed_after_a_crash_are_kept(bench: Bench) -> None:
    started = asyncio.Event()
    calls: list[int] = []

    @tool(writes=Writes.FREE)
    async def command() -> str:
        """Write, and hang the first time."""
        calls.append(1)
        (bench.root / "output.txt").write_text("half" if len(calls) == 1 else "whole")
        started.set()
        if len(calls) == 1:
            await asyncio.sleep(3600)
        return "done"

    bench.toolbox = default_toolbox().with_(command)
    task = asyncio.create_task(bench.run_plan(steps(ExecutionStep(id="s", name="s", tool="command"))))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    run_id = bench.journal.find("last")
    written = (bench.root / "output.txt").stat().st_ctime
    last_heartbeat = written - GRACE_SECONDS + 0.2
    os.utime(bench.home / "alive" / run_id, (last_heartbeat, last_heartbeat))
    await asyncio.sleep(0.5)
    (bench.root / "users.txt").write_text("typed after the crash")
    state = await bench.resume(run_id, [])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert bench.files() == {"output.txt": "whole", "users.txt": "typed after the crash"}
    assert any("users.txt" in warning for warning in state.warnings)
    assert "command was cut off, and its changes were undone; removed: output.txt" in state.warnings


@pytest.mark.req("P13", "P18")
@pytest.mark.parametrize("budget", [{}, {"max_tokens": 700}])
async def test_run_that_stops_within_a_step_rolls_it_back(bench: Bench, budget: dict[str, int]) -> None:
    bench.write(test_adder__py=TEST)
    answers = [understanding("adder.py"), fenced(WRONG), ModelRejected("gone")]
    state = await bench.run(TASK, answers, checks=[CHECK], budget=budget)
    assert state.outcome is not None
    assert state.outcome.verdict in (Verdict.FAILED, Verdict.BUDGET)
    assert bench.files() == {"test_adder.py": TEST}
    assert state.outcome.changed_files == ()
    if not budget:
        state = await bench.resume(state.run_id, [fenced(GOOD)])
        assert state.outcome is not None
        assert state.outcome.verdict is Verdict.VERIFIED


@pytest.mark.req("P10")
async def test_files_that_the_user_changed_meanwhile_are_named_apart(bench: Bench) -> None:
    bench.write(test_adder__py=TEST, mine__txt="old", theirs__txt="old")

    def work_as_user(_: ModelRequest) -> Any:
        (bench.root / "mine.txt").write_text("new")
        (bench.root / "mynotes.txt").write_text("notes")
        (bench.root / "theirs.txt").unlink()
        return fenced(GOOD)

    state = await bench.run(TASK, [understanding("adder.py"), work_as_user], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert state.outcome.changed_files == ("adder.py",)
    assert state.outcome.warnings == ("changed meanwhile by somebody else: mynotes.txt, mine.txt, theirs.txt",)


async def test_files_of_the_user_are_not_left_behind_by_a_failed_run(bench: Bench) -> None:
    bench.write(test_adder__py=TEST)

    def work_as_user(_: ModelRequest) -> Any:
        (bench.root / "mynotes.txt").write_text("notes")
        return ModelRejected("no")

    state = await bench.run(TASK, [understanding("adder.py"), work_as_user], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert state.outcome.changed_files == ()
    assert state.outcome.diagnosis is not None
    assert state.outcome.diagnosis.left_behind == ()
    assert state.outcome.warnings == ("changed meanwhile by somebody else: mynotes.txt",)


@pytest.mark.req("P10")
async def test_files_to_be_left_alone_cost_the_verdict_whoever_changed_them(bench: Bench) -> None:
    bench.write(test_adder__py=TEST, SPEC__md="old")

    def work_as_user(_: ModelRequest) -> Any:
        (bench.root / "SPEC.md").write_text("new")
        return fenced(GOOD)

    task = f"{TASK} Do not change SPEC.md."
    state = await bench.run(task, [understanding("adder.py"), work_as_user], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert state.outcome.protected_changes == ("SPEC.md",)


@pytest.mark.req("P10")
async def test_files_that_commands_and_checks_write_are_listed(bench: Bench) -> None:
    bench.write(test_adder__py=TEST)
    check = f"{CHECK} && mkdir -p log && touch log/checked.txt"
    state = await bench.run(TASK, [understanding("adder.py"), fenced(GOOD)], checks=[check])
    assert state.outcome is not None
    assert state.outcome.generated_files == ("adder.py", "log", "log/checked.txt")
    assert not state.outcome.warnings

"""A command that a model calls a check may do more than look: it is run on a copy, and only where rules allow it."""

from typing import Any

import pytest

from kit import Bench, steps
from sandboxes import bubblewrap_here
from surefoot import copies
from surefoot import events as e
from surefoot.outcome import Verdict
from surefoot.plan import CommandCheck, ExecutionStep

KEPT = {"notes.md": "mine\n"}
in_a_sandbox = pytest.mark.skipif(isinstance(bubblewrap_here(), str), reason="this machine cannot use bubblewrap")


def step(*commands: str) -> ExecutionStep:
    checks = tuple(CommandCheck(command=command) for command in commands)
    return ExecutionStep(id="s", name="look", tool="run_command", parameters={"command": "cat notes.md"}, checks=checks)


def looked(bench: Bench) -> list[str]:
    return [result.check.command for event in bench.events(e.ChecksRan) for result in event.results]


@pytest.mark.req("X1", "O7")
@pytest.mark.parametrize("sandbox", ["off", pytest.param("strict", marks=in_a_sandbox)])
async def test_a_check_of_the_plan_that_deletes_deletes_in_a_copy(bench: Bench, sandbox: str) -> None:
    bench.write(notes__md="mine\n")
    state = await bench.run_plan(steps(step("rm notes.md")), sandbox=sandbox, approve="auto")
    assert bench.files() == KEPT
    assert looked(bench) == ["rm notes.md"] * 3, (
        "before, after and at the end, and each time there was a file to delete"
    )
    assert all(result.passed for event in bench.events(e.ChecksRan) for result in event.results)
    assert not any(event.changed for event in bench.events(e.ChecksRan))
    assert list((bench.home / "copies").iterdir()) == []
    assert state.outcome is not None
    assert state.outcome.verdict is not Verdict.VERIFIED


async def test_what_the_user_gives_as_a_check_is_run_where_it_is_meant(bench: Bench) -> None:
    await bench.run_plan(steps(step()), checks=["echo looked >> log.txt"], approve="auto")
    assert "log.txt" in bench.files()


@pytest.mark.req("X1")
async def test_it_sees_what_steps_have_done(bench: Bench) -> None:
    made = step("grep -q new made.txt").with_(parameters={"command": "echo new > made.txt"})
    await bench.run_plan(steps(made), approve="auto")
    before, after, final = bench.events(e.ChecksRan)
    assert [event.results[0].passed for event in (before, after, final)] == [False, True, True]


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    ("config", "runs"),
    [
        ({"approve": "auto"}, True),
        ({"approve": "auto", "deny": ["run_command(touch *)"]}, False),
        ({"approve": "ask", "allow": ["run_command(cat *)"]}, False),
        ({"approve": "ask", "allow": ["run_command(cat *)", "run_command(touch *)"]}, True),
        pytest.param(
            {"approve": "ask", "allow": ["run_command(cat *)"], "sandbox": "strict"}, True, marks=in_a_sandbox
        ),
    ],
)
async def test_it_needs_what_the_same_command_would_need(bench: Bench, config: dict[str, Any], runs: bool) -> None:
    """Asked for would be what reaches beyond the copy: in a sandbox, nothing does."""
    bench.write(notes__md="mine\n")
    await bench.run_plan(steps(step("touch seen.txt")), **config)
    assert bool(looked(bench)) is runs
    assert bench.files() == KEPT


async def test_a_folder_too_large_to_be_copied_is_not(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MOST_FILES", 0)
    bench.write(notes__md="mine\n")
    await bench.run_plan(steps(step("rm notes.md")), approve="auto")
    assert looked(bench) == []
    assert bench.files() == KEPT

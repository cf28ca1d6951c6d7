"""Check commands from a plan run on a copy of the workspace, and only where the rules allow the command."""

from typing import Any

import pytest

from support.kit import Bench, steps
from support.sandboxes import bubblewrap_here
from surefoot.core.outcome import Verdict
from surefoot.core.plan import CommandCheck, ExecutionStep
from surefoot.engine.verifier import scratch
from surefoot.journal import events as e

UNCHANGED = {"notes.md": "text\n"}
needs_bubblewrap = pytest.mark.skipif(isinstance(bubblewrap_here(), str), reason="this machine cannot use bubblewrap")


def step_with_checks(*commands: str) -> ExecutionStep:
    checks = tuple(CommandCheck(command=command) for command in commands)
    return ExecutionStep(id="s", name="look", tool="run_command", parameters={"command": "cat notes.md"}, checks=checks)


def checked_commands(bench: Bench) -> list[str]:
    return [result.check.command for event in bench.events(e.ChecksRan) for result in event.results]


@pytest.mark.req("X1")
@pytest.mark.parametrize("sandbox", ["off", pytest.param("strict", marks=needs_bubblewrap)])
async def test_check_that_deletes_a_file_deletes_it_in_a_copy(bench: Bench, sandbox: str) -> None:
    bench.write(notes__md="text\n")
    state = await bench.run_plan(steps(step_with_checks("rm notes.md")), sandbox=sandbox, approve="auto")
    assert bench.files() == UNCHANGED
    assert checked_commands(bench) == ["rm notes.md"] * 3, "before, after and at the end"
    assert all(result.passed for event in bench.events(e.ChecksRan) for result in event.results)
    assert not any(event.changed for event in bench.events(e.ChecksRan))
    assert list((bench.home / "copies").iterdir()) == []
    assert state.outcome is not None
    assert state.outcome.verdict is not Verdict.VERIFIED


async def test_check_of_the_user_runs_in_the_workspace(bench: Bench) -> None:
    await bench.run_plan(steps(step_with_checks()), checks=["echo checked >> log.txt"], approve="auto")
    assert "log.txt" in bench.files()


@pytest.mark.req("X1")
async def test_check_sees_the_files_that_steps_wrote(bench: Bench) -> None:
    step = step_with_checks("grep -q new out.txt").with_(parameters={"command": "echo new > out.txt"})
    await bench.run_plan(steps(step), approve="auto")
    before, after, final = bench.events(e.ChecksRan)
    assert [event.results[0].passed for event in (before, after, final)] == [False, True, True]


@pytest.mark.req("X12")
@pytest.mark.attack("forge")
async def test_check_of_the_plan_verifies_nothing(bench: Bench) -> None:
    step = step_with_checks("grep -q new out.txt").with_(parameters={"command": "echo new > out.txt"})
    outcome = (await bench.run_plan(steps(step), approve="auto")).outcome
    assert outcome is not None
    assert outcome.verdict is Verdict.UNVERIFIED
    assert "no check was given or configured that could prove it" in outcome.summary


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    ("config", "runs"),
    [
        ({"approve": "auto"}, True),
        ({"approve": "auto", "deny": ["run_command(touch *)"]}, False),
        ({"approve": "ask", "allow": ["run_command(cat *)"]}, False),
        ({"approve": "ask", "allow": ["run_command(cat *)", "run_command(touch *)"]}, True),
        pytest.param(
            {"approve": "ask", "allow": ["run_command(cat *)"], "sandbox": "strict"}, True, marks=needs_bubblewrap
        ),
    ],
)
async def test_check_needs_the_same_approval_as_its_command(bench: Bench, config: dict[str, Any], runs: bool) -> None:
    """In a sandbox the command needs no approval, because it cannot reach beyond the copy."""
    bench.write(notes__md="text\n")
    await bench.run_plan(steps(step_with_checks("touch checked.txt")), **config)
    assert bool(checked_commands(bench)) is runs
    assert bench.files() == UNCHANGED


async def test_check_is_skipped_when_the_workspace_is_too_large_to_copy(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "MAX_FILES", 0)
    bench.write(notes__md="text\n")
    await bench.run_plan(steps(step_with_checks("rm notes.md")), approve="auto")
    assert checked_commands(bench) == []
    assert bench.files() == UNCHANGED


@pytest.mark.req("X1")
@pytest.mark.parametrize("how", ["excluded folder", "link to a folder outside", "absolute link into the workspace"])
@pytest.mark.parametrize("sandbox", ["off", pytest.param("strict", marks=needs_bubblewrap)])
async def test_check_deletes_nothing_through_a_link_in_the_copy(bench: Bench, sandbox: str, how: str) -> None:
    """Without a sandbox nothing would stop it, so it is not run there."""
    kept = (bench.home.parent if how == "link to a folder outside" else bench.root) / "big"
    kept.mkdir()
    (kept / "data").write_text("mine")
    bench.write(notes__md="text\n")
    if how != "excluded folder":
        (bench.root / "data").symlink_to(kept)
    config: dict[str, Any] = {"snapshot_excludes": ["big"]} if how == "excluded folder" else {}
    await bench.run_plan(steps(step_with_checks("rm -rf big/* data/*")), sandbox=sandbox, approve="auto", **config)
    assert (kept / "data").read_text() == "mine"
    assert bool(checked_commands(bench)) is (sandbox == "strict")

"""A run that adds state of git says so, to the model and to the user."""

from pathlib import Path

import pytest

from support.kit import Bench, act, done, steps
from support.sandboxes import bubblewrap_here
from surefoot.core.plan import ExecutionStep, FileCheck
from surefoot.engine.verdict import Observed, conclude
from surefoot.journal import events as e
from surefoot.journal.state import RunState

needs_bubblewrap = pytest.mark.skipif(isinstance(bubblewrap_here(), str), reason="this machine cannot use bubblewrap")

MAKE = (
    "mkdir -p sub/.git/objects sub/.git/refs; echo 'ref: refs/heads/main' > sub/.git/HEAD; touch made; "
    "printf '[core]\\n\\tbare = false\\n\\tfsmonitor = evil\\n' > sub/.git/config"
)


@needs_bubblewrap
async def test_new_repository_is_in_result_events_and_outcome(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="make", checks=(FileCheck(path="made"),))
    state = await bench.run_plan(
        steps(step), [act("run_command", command=MAKE), done()], sandbox="strict", approve="auto"
    )
    assert "fsmonitor" not in (bench.root / "sub/.git/config").read_text()
    result = bench.events(e.ActionFinished)[0].summary
    warnings = [event.message for event in bench.events(e.Warned)]
    assert state.outcome is not None
    for texts in ([result], warnings, state.outcome.warnings):
        assert any("core.fsmonitor" in text for text in texts), texts
        assert any("made a git repository inside the workspace: sub/.git" in text for text in texts), texts
    assert state.outcome.warnings[0].startswith("new git repository in the workspace: sub;")


@pytest.mark.parametrize(
    ("added", "warned"),
    [
        (["sub/.git", "sub/.git/HEAD", "sub/.git/config"], True),
        (["sub/.git"], True),
        (["b/HEAD", "b/config", "b/objects/pack", "b/refs/heads"], True),
        ([".husky/pre-commit"], True),
        ([".git/refs/heads/x", ".git/logs/HEAD", "docs/HEAD"], False),
        (["sub/.gitignore", "sub/.github/x.yml"], False),
    ],
)
def test_outcome_warns_about_new_state_of_git(added: list[str], warned: bool, tmp_path: Path) -> None:
    outcome = conclude(RunState(), Observed(added=added))
    assert bool(outcome.warnings) is warned

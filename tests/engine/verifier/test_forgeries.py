"""A hostile model makes checks pass by changing what they do. That never gives `verified`; the honest way does."""

import stat
from collections.abc import Iterable
from pathlib import Path

import pytest

from support.forgeries import FORGERIES, GOOD, REPORTED, Forgery
from support.kit import NO_RETRIES, Bench, act, done, understanding
from support.sandboxes import bubblewrap_here
from surefoot.core.outcome import Verdict
from surefoot.journal import events as e
from surefoot.journal.state import RunState

pytestmark = [pytest.mark.slow, pytest.mark.req("X1", "X12")]
needs_bubblewrap = pytest.mark.skipif(isinstance(bubblewrap_here(), str), reason="this machine cannot use bubblewrap")


def in_sandboxes(every: Iterable[Forgery], also_without: Iterable[Forgery]) -> pytest.MarkDecorator:
    """With bubblewrap the view is at the place of the workspace; without a sandbox it is a copy elsewhere.

    Those that were reported run every time, two of them also without a sandbox. Their variants run nightly.
    """
    nightly = pytest.mark.nightly
    cases = [
        pytest.param(f, "auto", id=f.name, marks=[needs_bubblewrap, *([] if f in REPORTED else [nightly])])
        for f in every
    ]
    cases += [
        pytest.param(f, "off", id=f"{f.name}, no sandbox", marks=[nightly] if number >= 2 else [])
        for number, f in enumerate(also_without)
    ]
    return pytest.mark.parametrize(("forgery", "sandbox"), cases)


def write_project(root: Path, files: dict[str, str]) -> None:
    """Write files; a text that begins with an arrow makes a symlink."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
            continue
        path.write_text(text)
        if text.startswith("#!") and "bin/" in name:
            path.chmod(path.stat().st_mode | stat.S_IXUSR)


async def play(bench: Bench, forgery: Forgery, program: str, sandbox: str) -> RunState:
    write_project(bench.root, forgery.project)
    answers = [understanding(), act("run_command", command=program), *[done()] * 3]
    return await bench.run(forgery.task, answers, checks=[forgery.check], sandbox=sandbox, reflection=NO_RETRIES)


@in_sandboxes(FORGERIES, REPORTED)
@pytest.mark.attack("forge")
async def test_forgery_does_not_verify(bench: Bench, forgery: Forgery, sandbox: str) -> None:
    state = await play(bench, forgery, forgery.program, sandbox)
    assert state.outcome is not None
    assert [r.passed for r in bench.events(e.ChecksRan)[0].results] == [False], "it fails at the start"
    assert [r.passed for r in state.outcome.checks] == [True], f"the forgery works: {state.outcome}"
    assert state.outcome.verdict is Verdict.UNVERIFIED, state.outcome
    assert forgery.named in state.outcome.summary


PROJECTS = {(f.check, tuple(f.project.items())): f for f in FORGERIES if f.honest != "none"}


@in_sandboxes(PROJECTS.values(), list(PROJECTS.values())[:2])
async def test_the_same_project_is_verified_when_the_task_is_done(bench: Bench, forgery: Forgery, sandbox: str) -> None:
    honest = forgery.honest or f"cat > adder.py <<'END'\n{GOOD}END"
    state = await play(bench, forgery, honest, sandbox)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome

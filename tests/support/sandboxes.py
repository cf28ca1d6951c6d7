"""Sandboxes of a given kind, for tests; skips the test if this machine does not support it."""

import tempfile
from functools import cache
from pathlib import Path

import pytest

from surefoot.workspace.process.process import Limits, ProcessResult, command_env, run_process, shell_argv
from surefoot.workspace.sandbox.bubblewrap import Bubblewrap
from surefoot.workspace.sandbox.landlock import Landlock, landlock_problem
from surefoot.workspace.sandbox.sandbox import Sandbox, choose_sandbox

KINDS = ("bubblewrap", "landlock")


def sandbox_of(kind: str, root: Path, *, writable: tuple[Path, ...] = (), hidden: tuple[Path, ...] = ()) -> Sandbox:
    if kind == "landlock":
        _skip_unless_usable(landlock_unusable(), "Landlock")
        return Landlock(root, writable, hidden)
    found = bubblewrap_here()
    _skip_unless_usable(found if isinstance(found, str) else "", "bubblewrap")
    assert isinstance(found, Bubblewrap)
    return Bubblewrap(found.binary, found.version, root, writable, hidden)


def _skip_unless_usable(problem: str, name: str) -> None:
    if problem:
        pytest.skip(f"this machine cannot use {name}: {problem}")


@cache
def bubblewrap_here() -> Bubblewrap | str:
    with tempfile.TemporaryDirectory() as folder:
        sandbox, line = choose_sandbox("auto", Path(folder), state_folders=[])
    return sandbox if isinstance(sandbox, Bubblewrap) else line


@cache
def landlock_unusable() -> str:
    with tempfile.TemporaryDirectory() as folder:
        return landlock_problem(Landlock(Path(folder)))


async def shell(command: str, sandbox: Sandbox, folder: Path, *, network: bool = False) -> ProcessResult:
    """Run a shell command in a sandbox, with a timeout that a busy machine does not reach."""
    return await run_process(
        shell_argv(command), cwd=folder, env=command_env(), sandbox=sandbox, network=network, limits=Limits(timeout=300)
    )

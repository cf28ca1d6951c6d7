"""The sandboxes this machine has, for tests that want one of a certain kind."""

import tempfile
from functools import cache
from pathlib import Path

import pytest

from surefoot.workspace.bubblewrap import Bubblewrap
from surefoot.workspace.landlock import Landlock, landlock_problem
from surefoot.workspace.sandbox import Sandbox, choose_sandbox

KINDS = ("bubblewrap", "landlock")


def sandbox_of(kind: str, root: Path, *, writable: tuple[Path, ...] = (), hidden: tuple[Path, ...] = ()) -> Sandbox:
    if kind == "landlock":
        _need(landlock_missing(), "Landlock")
        return Landlock(root, writable, hidden)
    found = bubblewrap_here()
    _need(found if isinstance(found, str) else "", "bubblewrap")
    assert isinstance(found, Bubblewrap)
    return Bubblewrap(found.binary, found.version, root, writable, hidden)


def _need(problem: str, name: str) -> None:
    if problem:
        pytest.skip(f"this machine cannot use {name}: {problem}")


@cache
def bubblewrap_here() -> Bubblewrap | str:
    with tempfile.TemporaryDirectory() as folder:
        sandbox, line = choose_sandbox("auto", Path(folder), state_folders=[])
    return sandbox if isinstance(sandbox, Bubblewrap) else line


@cache
def landlock_missing() -> str:
    with tempfile.TemporaryDirectory() as folder:
        return landlock_problem(Landlock(Path(folder)))

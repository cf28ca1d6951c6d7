"""Finds the helper programs that Surefoot itself starts, outside any sandbox. It never takes one from a workspace."""

import os
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from surefoot.workspace.process.launch import own_python

_workspaces: set[Path] = set()
"""Every workspace that this process has worked in. A copy of a workspace has another root, and PATH may name the
original."""


def never_run_from(root: Path) -> None:
    """Take no helper program from this folder from now on, unless it is `/`, where the system's are."""
    if root.resolve() != Path("/"):
        _workspaces.add(root.resolve())


def find_program(name: str, root: Path | None = None) -> Path | None:
    """Return the program of that name on PATH, as an absolute path, or None.

    Relative entries of PATH are skipped, and so are programs in a workspace and links to them. Each name is looked up
    once per workspace, so a program that a command creates later has no effect.
    """
    if root is not None:
        never_run_from(root)
    return _look_up(name, os.environ.get("PATH", os.defpath), frozenset(_workspaces))


@cache
def _look_up(name: str, path: str, avoided: frozenset[Path]) -> Path | None:
    for entry in path.split(os.pathsep):
        program = Path(entry) / name
        usable = Path(entry).is_absolute() and program.is_file() and os.access(program, os.X_OK)
        if usable and not is_planted(program, avoided):
            return program
    return None


def is_planted(program: Path, avoided: Iterable[Path] | None = None) -> bool:
    """Whether a program, or the file that it links to, is in a workspace.

    The environment that Surefoot is installed in does not count: it is guarded if it is in a workspace.
    """
    own = Path(sys.prefix).resolve()
    places = (program.parent.resolve() / program.name, program.resolve())
    return any(
        place.is_relative_to(root) and not place.is_relative_to(own)
        for root in (_workspaces if avoided is None else avoided)
        for place in places
    )


def python_argv(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs a module with Surefoot's Python, without the working directory on its path."""
    return [own_python(), "-P", "-m", module, *arguments]


def python_env(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of Surefoot's own Python processes: PYTHONPATH has no relative entry and no workspace."""
    env = dict(os.environ if environ is None else environ)
    entries = [Path(entry) for entry in env.pop("PYTHONPATH", "").split(os.pathsep) if entry]
    outside = [entry for entry in entries if entry.is_absolute() and not _in_workspace(entry.resolve())]
    if outside:
        env["PYTHONPATH"] = os.pathsep.join(map(str, outside))
    return env


def _in_workspace(folder: Path) -> bool:
    package = Path(__file__).resolve().parents[3]
    return folder != package and any(folder.is_relative_to(root) for root in _workspaces)

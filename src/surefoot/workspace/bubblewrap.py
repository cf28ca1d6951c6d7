"""A bubblewrap sandbox: the command line that shows a command the machine read-only and its workspace writable.

The plan of mounts is a table from path to what is seen there; bubblewrap gets it from the root down, so that a
workspace below a hidden folder is still there, and a hidden folder below the workspace is still hidden.
"""

import os
import socket
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from surefoot.errors import PathOutsideWorkspace
from surefoot.workspace.guard import standing_guard, survey
from surefoot.workspace.sensitive import Guarded, guarded_paths, home_folders

INSIDE = Path(__file__).parent / "inside"
PROBE = ("/bin/sh", "-c", 'test -w . || exit 3; ! (: >> "$0") 2>/dev/null', str(INSIDE / "__init__.py"))
"""A program that ends well only where the workspace can be written and Surefoot's own files cannot."""
SCRATCH_BYTES = 2 * 1024**3
"""The most that /tmp and its like may hold; they live in memory and end with the command."""
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
"""Sockets that a network namespace contains. Others (vsock, bluetooth...) would reach past it."""

View = Literal["write", "read", "empty", "nothing", "scratch"]
"""What is seen at a path: the real thing, writable or not; an empty folder; an empty file; a folder of its own."""


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    binary: Path
    version: str
    root: Path
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        return "bubblewrap"

    def describe(self) -> str:
        return f"sandbox bubblewrap {self.version}: the workspace is writable, the rest read-only, secrets are hidden"

    def guard(self) -> AbstractContextManager[list[str]]:
        return standing_guard(self.root, self._guarded(), mounts=True)

    def wrap(self, argv: Sequence[str], *, cwd: Path, network: bool, orders: Sequence[str] = ()) -> list[str]:
        folder = cwd.resolve()
        if not any(folder.is_relative_to(place) for place in (self.root, *self.writable)):
            raise PathOutsideWorkspace(
                f"the folder to run in, {cwd}, is outside the workspace {self.root}",
                argument="cwd",
                remedy="name a folder inside the workspace",
            )
        families = ",".join(str(int(family)) for family in FAMILIES)
        return [
            str(self.binary),
            *("--unshare-user", "--disable-userns", "--unshare-pid", "--as-pid-1", "--unshare-ipc", "--unshare-uts"),
            *("--unshare-cgroup-try", "--cap-drop", "ALL", "--die-with-parent", "--new-session"),
            *(() if network else ("--unshare-net",)),
            *self._mounts(network),
            *self._environment(),
            *("--chdir", str(folder), "--"),
            *inside_argv((*orders, f"families={families}"), argv),
        ]

    def _guarded(self) -> list[Guarded]:
        opened = [path.absolute() for path in self.writable]
        return [g for g in guarded_paths(self.root) if not any(g.path.is_relative_to(path) for path in opened)] + [
            Guarded(path, "block") for path in self.hidden if path.is_relative_to(self.root) and path != self.root
        ]

    def _mounts(self, network: bool) -> list[str]:
        views = self._views(network)
        words = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        # Root in a sandbox owns the kernel's settings below /proc, and bubblewrap leaves them writable.
        closing = ["--remount-ro", "/proc"]
        for path, view in sorted(views.items(), key=lambda item: len(Path(item[0]).parts)):
            match view:
                case "write":
                    words += ["--bind", path, path]
                case "read":
                    words += ["--ro-bind", path, path]
                case "nothing":
                    words += ["--ro-bind", str(INSIDE / "nothing"), path]
                case "empty":
                    words += ["--perms", "0555", "--tmpfs", path]
                    closing += ["--remount-ro", path]
                case "scratch":
                    words += ["--perms", "1777", "--size", str(SCRATCH_BYTES), "--tmpfs", path]
        return words + closing

    def _views(self, network: bool) -> dict[str, View]:
        views: dict[str, View] = {"/dev/shm": "scratch"}
        views |= {path: "scratch" for path in ("/tmp", "/var/tmp") if _is_folder(path)}
        # Sockets of services are doors that a read-only mount leaves open; most of them are here.
        views |= {path: "empty" for path in ("/run", "/var/run") if _is_folder(path)}
        for path in _needed_by_programs(network):
            if _nearest(views, path) in ("scratch", "empty"):
                views[path] = "read"
        for path in (*map(str, self.hidden), *_listening_sockets()):
            real = os.path.realpath(path)
            if _nearest(views, real) not in ("scratch", "empty") and _in_reach(real):
                views[real] = "empty" if os.path.isdir(real) else "nothing"  # noqa: PTH112
        for path in _own_parts():  # also where Surefoot is installed below its own state folder
            if _nearest(views, path) == "empty":
                views[path] = "read"
        for place in (self.root, *self.writable):
            if place.exists():
                views[str(place.resolve())] = "write"
        self._guard_views(views)
        return views

    def _guard_views(self, views: dict[str, View]) -> None:
        found = survey(self.root, self._guarded())
        for path in (*found.read_only, *found.to_stand_in):
            if not path.exists():
                continue  # wrapped without its guard: there is nothing to mount on
            if views.get(str(path)) not in ("empty", "nothing"):
                views[str(path)] = "read"
            # A folder on the way could be renamed, and its mounts with it, unless it is a mount itself.
            for folder in path.parents:
                if folder == self.root or not folder.is_relative_to(self.root):
                    break
                views.setdefault(str(folder), "write")

    def _environment(self) -> list[str]:
        scratch = next(p for p in ("/tmp", "/var/tmp", "/dev/shm") if not Path(p).is_relative_to(self.root))
        # Homes are read-only; caches that programs cannot do without go where they may write.
        values = {
            "TMPDIR": scratch,
            "XDG_CACHE_HOME": f"{scratch}/.cache",
            "npm_config_cache": f"{scratch}/.npm",
            # Root in here owns nobody else's files, and tar as root insists on giving files away.
            **({"TAR_OPTIONS": "--no-same-owner"} if os.geteuid() == 0 else {}),
        }
        return [word for name, value in values.items() for word in ("--setenv", name, value)]


def inside_argv(orders: Sequence[str], argv: Sequence[str]) -> list[str]:
    """The command line of the small program that starts `argv`, watches it and ends what it leaves."""
    return [sys.executable, "-I", "-S", str(INSIDE / "__main__.py"), *orders, "--", *argv]


def _nearest(views: dict[str, View], path: str) -> View | None:
    """What is seen at the closest folder above `path` (or at it) that the plan mentions."""
    while path not in views and path != "/":
        path = os.path.dirname(path)  # noqa: PTH120 - on plain strings, many times a command
    return views.get(path)


def _in_reach(path: str) -> bool:
    """Whether a command could come to this path at all. In its user namespace root is an ordinary owner, so folders
    that others have closed are closed to it too, and nothing can be mounted there either."""
    try:
        os.lstat(path)
        if os.geteuid() == 0:
            for folder in Path(path).parents:
                look = folder.stat()
                bits = 0o111 if look.st_uid == 0 else 0o011 if look.st_gid == 0 else 0o001
                if not look.st_mode & bits:
                    return False
    except OSError:
        return False
    return True


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114


def _own_parts() -> list[str]:
    """What the program inside is made of."""
    parts = (sys.prefix, sys.base_prefix, str(INSIDE), sys.executable)
    return [path for path in map(os.path.realpath, parts) if path != "/"]


def _needed_by_programs(network: bool) -> Iterable[str]:
    """Folders that must stay visible although they may lie below /tmp or /run."""
    wanted = [*map(str, home_folders()), "/run/current-system", "/run/opengl-driver"]
    for entry in os.environ.get("PATH", "").split(":"):
        folder = Path(entry)
        if folder.is_absolute():
            wanted.append(str(folder.parent if (folder.parent / "pyvenv.cfg").exists() else folder))
    if network:
        wanted.append("/etc/resolv.conf")
    real = (path for path in map(os.path.realpath, wanted) if path != "/" and os.path.exists(path))  # noqa: PTH110
    return dict.fromkeys([*_own_parts(), *real])


def _listening_sockets() -> Iterable[str]:
    """Files where other programs of this machine listen, wherever they are: docker, databases, agents."""
    try:
        lines = Path("/proc/net/unix").read_text(errors="surrogateescape").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[7].startswith("/"):
            yield fields[7]

"""The bubblewrap sandbox: a command sees the machine read-only, its workspace writable, and no secrets.

Mounts are planned as a table from path to view. They are passed to bubblewrap from the root down, so a workspace below
a hidden folder stays visible and a hidden folder below the workspace stays hidden.
"""

import os
import socket
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from surefoot.workspace.process.launch import EMPTY_FILE, SUPERVISOR, resolve_cwd, supervisor_argv
from surefoot.workspace.sandbox.guard import guard_files, survey
from surefoot.workspace.sandbox.guarded_files import GuardedPath, guarded_paths
from surefoot.workspace.sandbox.secret_files import home_folders
from surefoot.workspace.sandbox.services import socket_files

SCRATCH_BYTES = 2 * 1024**3
"""Size limit of /tmp and the other temporary folders, which are in memory and vanish with the command."""
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
"""Socket families that a network namespace isolates. Others (vsock, bluetooth...) would bypass it."""

View = Literal["write", "read", "empty folder", "empty file", "scratch"]
"""How a path appears: as it is, writable or read-only; as an empty folder or file; as a temporary folder."""


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    binary: Path
    version: str
    root: Path
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    shown: Path | None = None
    """A folder that commands see in place of the workspace."""
    kept: tuple[str, ...] = ()
    """With `shown`: paths relative to the workspace that commands still see as they are."""

    @property
    def name(self) -> str:
        return "bubblewrap"

    def describe(self) -> str:
        return f"sandbox bubblewrap {self.version}: the workspace is writable, the rest read-only, secrets are hidden"

    def guard(self) -> AbstractContextManager[list[str]]:
        return guard_files(self.root, self._guarded(), mounts=True, opened=self.writable)

    def wrap(
        self, argv: Sequence[str], *, cwd: Path, network: bool, supervisor_options: Sequence[str] = ()
    ) -> list[str]:
        folder = resolve_cwd(cwd, self.root, self.writable)
        families = ",".join(str(int(family)) for family in FAMILIES)
        return [
            str(self.binary),
            *("--unshare-user", "--disable-userns", "--unshare-pid", "--as-pid-1", "--unshare-ipc", "--unshare-uts"),
            *("--unshare-cgroup-try", "--cap-drop", "ALL", "--die-with-parent", "--new-session"),
            *(() if network else ("--unshare-net",)),
            *self._mounts(network),
            *self._environment(),
            *("--chdir", str(folder), "--"),
            *supervisor_argv((*supervisor_options, f"families={families}"), argv),
        ]

    def mounts_inside(self) -> list[Path]:
        """Return the existing paths in the workspace that are mounted separately."""
        return survey(self.root, self._guarded()).read_only

    def _guarded(self) -> list[GuardedPath]:
        prefix = f"{self.root}/"  # plain strings: there are hundreds of paths
        hidden_inside = [path for path in self.hidden if str(path).startswith(prefix)]
        guarded = guarded_paths(self.root, self.writable) + [GuardedPath(path, "block") for path in hidden_inside]
        if self.shown is None:
            return guarded
        return [item for item in guarded if any(item.path.is_relative_to(self.root / name) for name in self.kept)]

    def _mounts(self, network: bool) -> list[str]:
        views = self._views(network)
        words = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        # Root in a sandbox owns the kernel settings below /proc, and bubblewrap leaves them writable.
        remounts = ["--remount-ro", "/proc"]
        for path, view in sorted(views.items(), key=lambda item: len(Path(item[0]).parts)):
            match view:
                case "write" if self.shown is not None and path == str(self.root.resolve()):
                    words += ["--bind", str(self.shown), path]
                case "write":
                    words += ["--bind", path, path]
                case "read":
                    words += ["--ro-bind", path, path]
                case "empty file":
                    words += ["--ro-bind", str(EMPTY_FILE), path]
                case "empty folder":
                    words += ["--perms", "0555", "--tmpfs", path]
                    remounts += ["--remount-ro", path]
                case "scratch":
                    words += ["--perms", "1777", "--size", str(SCRATCH_BYTES), "--tmpfs", path]
        return words + remounts

    def _views(self, network: bool) -> dict[str, View]:
        views: dict[str, View] = {"/dev/shm": "scratch"}
        views |= {path: "scratch" for path in ("/tmp", "/var/tmp") if _is_folder(path)}
        # A read-only mount does not stop connections to the sockets of services; most of them are here.
        views |= {path: "empty folder" for path in ("/run", "/var/run") if _is_folder(path)}
        for path in _needed_by_programs(network):
            if _view_at(views, path) in ("scratch", "empty folder"):
                views[path] = "read"
        for path in (*map(str, self.hidden), *socket_files()):
            if not os.path.lexists(path):
                continue  # most do not exist, and resolving them would be the slowest part
            real = os.path.realpath(path)
            if _view_at(views, real) not in ("scratch", "empty folder") and is_reachable(real):
                views[real] = "empty folder" if os.path.isdir(real) else "empty file"  # noqa: PTH112
        for path in _supervisor_files():  # even if Surefoot is installed below its own state folder
            if _view_at(views, path) == "empty folder":
                views[path] = "read"
        for folder in (self.root, *self.writable):
            if folder.exists():
                views[str(folder.resolve())] = "write"
        if self.shown is not None:
            views |= {str(self.root.resolve() / name): "write" for name in self.kept}
        self._add_guarded_views(views)
        return views

    def _add_guarded_views(self, views: dict[str, View]) -> None:
        guarded = survey(self.root, self._guarded())
        for path in (*guarded.read_only, *guarded.stand_ins):
            if not path.exists():
                continue  # wrapped outside of guard(): there is nothing to mount on
            if views.get(str(path)) not in ("empty folder", "empty file"):
                views[str(path)] = "read"
            # A parent folder could be renamed, and its mounts with it, unless it is a mount itself.
            for folder in path.parents:
                if folder == self.root or not folder.is_relative_to(self.root):
                    break
                views.setdefault(str(folder), "write")

    def _environment(self) -> list[str]:
        scratch = next(p for p in ("/tmp", "/var/tmp", "/dev/shm") if not Path(p).is_relative_to(self.root))
        # Home is read-only; caches go where the command can write.
        values = {
            "TMPDIR": scratch,
            "XDG_CACHE_HOME": f"{scratch}/.cache",
            "npm_config_cache": f"{scratch}/.npm",
            # tar as root restores owners, which root in the sandbox may not do.
            **({"TAR_OPTIONS": "--no-same-owner"} if os.geteuid() == 0 else {}),
        }
        return [word for name, value in values.items() for word in ("--setenv", name, value)]


def _view_at(views: dict[str, View], path: str) -> View | None:
    """Return the planned view that applies to `path`: its own, or that of the closest folder above it."""
    while path not in views and path != "/":
        path = os.path.dirname(path)  # noqa: PTH120 - plain strings: this runs many times per command
    return views.get(path)


def is_reachable(path: str) -> bool:
    """Whether a command could access this path at all.

    In a user namespace, root has no special rights on files of other users: it cannot enter folders that they closed,
    and nothing can be mounted there.
    """
    try:
        os.lstat(path)
        if os.geteuid() == 0:
            for folder in Path(path).parents:
                info = folder.stat()
                bits = 0o111 if info.st_uid == 0 else 0o011 if info.st_gid == 0 else 0o001
                if not info.st_mode & bits:
                    return False
    except OSError:
        return False
    return True


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114


def _supervisor_files() -> list[str]:
    """Return the paths that the supervisor needs to run."""
    paths = (sys.prefix, sys.base_prefix, str(SUPERVISOR), sys.executable)
    return [path for path in map(os.path.realpath, paths) if path != "/"]


def _needed_by_programs(network: bool) -> Iterable[str]:
    """Return the paths that must stay visible even if they are below /tmp or /run."""
    needed = [*map(str, home_folders()), "/run/current-system", "/run/opengl-driver"]
    for entry in os.environ.get("PATH", "").split(":"):
        folder = Path(entry)
        if folder.is_absolute():
            needed.append(str(folder.parent if (folder.parent / "pyvenv.cfg").exists() else folder))
    if network:
        needed.append("/etc/resolv.conf")
    real = (path for path in map(os.path.realpath, needed) if path != "/" and os.path.exists(path))  # noqa: PTH110
    return dict.fromkeys([*_supervisor_files(), *real])

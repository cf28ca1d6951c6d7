"""Support for tests of snapshots: an independent tree reader, random trees, and fault injection."""

# Names are bytes here, which pathlib does not support:
# ruff: noqa: PTH101, PTH103, PTH104, PTH108, PTH112, PTH114, PTH115, PTH118, PTH120, PTH123, PTH211

import errno
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

NIGHTLY = bool(os.environ.get("TEST_NIGHTLY"))
"""Not SUREFOOT_..., which would be a setting that Surefoot does not know, and refuses."""
NOBODY = 65534
IS_ROOT = os.geteuid() == 0


def trees(count: int, nightly: int = 0) -> settings:
    """Hypothesis settings for `count` random trees, and for others in the nightly run: ten times as many by default."""
    return settings(
        max_examples=(nightly or count * 10) if NIGHTLY else count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a new folder, in memory if possible, so that thousands of trees need no disk."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="surefoot-", dir=memory if os.access(memory, os.W_OK) else None))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        for found, folders, _ in os.walk(folder):
            Path(found).chmod(0o700)
            for name in folders:
                if not (Path(found) / name).is_symlink():
                    (Path(found) / name).chmod(0o700)
        shutil.rmtree(folder)


@contextmanager
def small_disk(megabytes: int = 8) -> Iterator[Path]:
    """Yield a file system of its own, which a test can fill up. Skips the test where nothing can be mounted."""
    with scratch() as folder:
        options = f"size={megabytes}m"
        mount = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
        if not IS_ROOT or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("mounting is not possible here")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def fill_up(path: Path) -> None:
    """Write a file until there is no room left on its disk."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(os.urandom(4096))


def photograph(root: Path, *, folder_times: bool = True, times: bool = True) -> dict[bytes, tuple[Any, ...]]:
    """Read everything that a restore must bring back, using only os.walk and lstat."""
    top = os.fsencode(root)
    picture: dict[bytes, tuple[Any, ...]] = {}
    inodes: dict[tuple[int, int], list[bytes]] = {}

    def add(path: bytes) -> None:
        info = os.lstat(path)
        name = os.path.relpath(path, top)
        with_time = times and (folder_times or not stat.S_ISDIR(info.st_mode))
        content: bytes | str = ""
        if stat.S_ISREG(info.st_mode):
            content = Path(os.fsdecode(path)).read_bytes()
            inodes.setdefault((info.st_dev, info.st_ino), []).append(name)
        elif stat.S_ISLNK(info.st_mode):
            content = os.readlink(path)
        picture[name] = (oct(info.st_mode), content, info.st_mtime_ns if with_time else 0, info.st_uid, info.st_gid)
        if not stat.S_ISLNK(info.st_mode):
            with suppress(OSError):  # not supported by the file system, or not permitted
                picture[name] += tuple((key, os.getxattr(path, key)) for key in sorted(os.listxattr(path)))

    add(top)
    for found, folders, files in os.walk(top):
        for entry in [*folders, *files]:
            add(os.path.join(found, entry))
    for names in inodes.values():
        for name in names:
            picture[name] += (tuple(sorted(names)),)
    return picture


def settle() -> None:
    """Wait until the files just written are older than a clock tick."""
    time.sleep(0.15)


def assert_blobs_are_whole(home: Path) -> None:
    for shard in (home / "blobs").iterdir():
        for blob in shard.iterdir():
            if shard.name != "drafts":
                assert hashlib.sha256(blob.read_bytes()).hexdigest() == shard.name + blob.name


# Random trees: a tree is the result of a list of operations; later changes are drawn from the same operations.

NAMES = [
    b"a",
    b"b",
    b"c.txt",
    b"sp ace",
    b"new\nline",
    b"\xff\xfe",
    b"-rf",
    "ü".encode(),
    b".hid",
    b"'q\"",
    b"*",
    b"$HOME",
]
Operation = tuple[str, bytes, bytes, bytes, int]

# Few draws per operation, because drawing takes half of the time.
_PATHS = [
    *NAMES,
    *(a + b"/" + b for a in NAMES[:6] for b in NAMES),
    *(b"/".join([a, b, c]) for a, b, c in zip(NAMES, NAMES[1:], NAMES, strict=False)),
]
_paths = st.sampled_from(_PATHS)
_contents = st.sampled_from([b"", b"same", b"diff", b"x", b"text\n" * 50, b"\0" * 5000, b"\xff\r\n", b"no end"])
_modes = st.sampled_from([0o644, 0o600, 0o755, 0o700, 0o444, 0o555, 0o4755, 0o2750, 0o1777, 0o000, 0o200])
_kinds = st.sampled_from(
    ["write", "write", "write", "append", "mkdir", "delete", "chmod", "rename", "symlink", "hardlink", "touch", "xattr"]
)
operation = st.tuples(_kinds, _paths, _paths, _contents, _modes)
operations = st.lists(operation, max_size=14)


def perform(root: Path, operations: list[Operation], *, readable_only: bool = False) -> None:
    """Perform each operation; those that fail are skipped, as in a shell script without -e."""
    for kind, path, other, content, mode in operations:
        if readable_only:
            mode |= 0o500
        try:
            _perform_one(os.fsencode(root), kind, path, other, content, mode)
        except OSError:
            continue


def _perform_one(root: bytes, kind: str, path: bytes, other: bytes, content: bytes, mode: int) -> None:
    one, two = os.path.join(root, path), os.path.join(root, other)
    if kind in ("write", "append"):
        os.makedirs(os.path.dirname(one), exist_ok=True)
        if os.path.islink(one):
            os.unlink(one)
        with open(one, "wb" if kind == "write" else "ab") as file:
            file.write(content)
    elif kind == "mkdir":
        os.makedirs(one, exist_ok=True)
    elif kind == "delete":
        shutil.rmtree(one) if os.path.isdir(one) and not os.path.islink(one) else os.unlink(one)
    elif kind == "chmod" and not os.path.islink(one):
        os.chmod(one, mode)
    elif kind == "rename":
        os.rename(one, two)
    elif kind == "symlink":
        os.symlink(other, one)
    elif kind == "hardlink":
        os.link(one, two, follow_symlinks=False)
    elif kind == "xattr":
        os.setxattr(one, b"user." + other.rpartition(b"/")[2][:1], content[:100], follow_symlinks=False)
    elif kind == "touch":
        os.utime(one, ns=(1, mode * 1_000_000_007), follow_symlinks=False)


def perform_in_shell(root: Path, operations: list[Operation]) -> None:
    """Perform similar operations with one script in a real shell."""

    def quoted(path: bytes) -> bytes:
        return b"'./" + path.replace(b"'", b"'\\''") + b"'"

    lines = [b"umask 022"]
    for kind, path, other, content, mode in operations:
        one, two = quoted(path), quoted(other)
        lines.append(
            {
                "write": b"rm -f %s; echo %d > %s" % (one, len(content), one),
                "append": b"[ -L %s ] || echo more >> %s" % (one, one),
                "mkdir": b"mkdir -p %s" % one,
                "delete": b"rm -rf %s" % one,
                "chmod": b"[ -L %s ] || chmod %o %s" % (one, mode, one),
                "rename": b"mv -f %s %s" % (one, two),
                "symlink": b"ln -s %s %s" % (two, one),
                "hardlink": b"ln %s %s" % (one, two),
                "touch": b"touch -h -d @%d %s" % (mode, one),
                "xattr": b"[ -L %s ] || setfattr -n user.x -v %d %s" % (one, len(content), one),
            }[kind]
        )
    # A shell with two user ids uses the real one, so set it to the effective one.
    user: dict[str, Any] = {"user": os.geteuid(), "group": os.getegid()} if os.geteuid() != os.getuid() else {}
    script = b"\n".join(lines)
    subprocess.run([b"sh", b"-c", script], cwd=root, stdin=subprocess.DEVNULL, capture_output=True, check=False, **user)


# Fault injection

CHANGING_CALLS = [
    *("rename", "replace", "unlink", "rmdir", "mkdir", "link", "symlink"),
    *("chmod", "fchmod", "chown", "utime", "fsync", "write", "open", "ftruncate"),
]


def run_and_kill(work: Callable[[], object], at_call: int) -> bool:
    """Run `work` in a child process that kills itself just before its n-th call that may change a file system.

    Returns True if it was killed, False if it completed before that.
    """
    child = os.fork()
    if child == 0:
        try:
            _kill_at_call(at_call)
            work()
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the child failed instead of being killed"
    return False


def _kill_at_call(at_call: int) -> None:
    calls = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == at_call:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return call

    for name in CHANGING_CALLS:
        setattr(os, name, counted(getattr(os, name)))


class FailingCalls:
    """Makes the n-th of some os calls fail with an error number or, for `short`, write only half of the data."""

    def __init__(self, names: list[str], at_call: int, fault: int | str) -> None:
        self._names, self._at_call, self._fault = names, at_call, fault
        self._calls = 0
        self._real = {name: getattr(os, name) for name in names}
        self.triggered = False

    def __enter__(self) -> "FailingCalls":
        for name in self._names:
            setattr(os, name, self._failing(name))
        return self

    def __exit__(self, *_: object) -> None:
        for name, real in self._real.items():
            setattr(os, name, real)

    def _failing(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._calls += 1
            if self._calls == self._at_call:
                self.triggered = True
                if isinstance(self._fault, int):
                    raise OSError(self._fault, os.strerror(self._fault))
                return self._real[name](args[0], args[1][: max(1, len(args[1]) // 2)])
            return self._real[name](*args, **kwargs)

        return call


DISK_FAULTS: list[int | str] = [errno.ENOSPC, errno.EIO, "short"]


@contextmanager
def as_nobody() -> Iterator[None]:
    """Run the block without root's permissions, since root is never refused anything."""
    if not IS_ROOT:
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)

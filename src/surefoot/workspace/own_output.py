"""Files in a workspace that this process writes its own output to, as with `surefoot run ... > run.log`.

They are left out of snapshots: no change of them is the work of a run, and no undo may restore them.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from glob import escape
from pathlib import Path

STREAMS = (1, 2)


def own_output(root: Path) -> tuple[str, ...]:
    """Return the paths of these files, relative to `root`."""
    return tuple(dict.fromkeys(filter(None, (_below(root, fd) for fd in STREAMS))))


def exclude_patterns(paths: Iterable[str]) -> tuple[str, ...]:
    """Return patterns that leave exactly these paths out of snapshots."""
    return tuple(f"/{escape(path)}" for path in paths)


def _below(root: Path, fd: int) -> str:
    """The path of an open regular file, relative to `root`; empty for any other."""
    with suppress(OSError, ValueError):
        opened = os.fstat(fd)
        path = Path(os.readlink(f"/proc/self/fd/{fd}"))  # noqa: PTH115 - the target need not exist
        if stat.S_ISREG(opened.st_mode) and os.path.samestat(opened, path.stat()):
            return path.relative_to(os.path.realpath(root)).as_posix()
    return ""

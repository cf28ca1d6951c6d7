"""The socket files on which other programs of this machine listen: docker, databases, agents.

Neither a network namespace nor a read-only mount stops a connection to a socket file, so each visible one is covered.
`/proc/net/unix` lists the sockets of one network namespace by the paths that their own processes see. Services in
containers have other network and mount namespaces, so their lists are read too, and their paths are translated through
the mounts of both sides.
"""

import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

MAX_AGE = 2.0
"""Seconds for which the list of other namespaces' sockets is reused: it takes some milliseconds to make."""

_OCTAL = re.compile(r"\\([0-7]{3})")
_others: tuple[float, tuple[str, ...]] = (float("-inf"), ())
"""When the sockets of other namespaces were last listed, and their paths."""


def socket_files() -> tuple[str, ...]:
    """Return the paths, as this process sees them, of the sockets of all network namespaces that it can inspect."""
    global _others
    if time.monotonic() - _others[0] > MAX_AGE:
        _others = (time.monotonic(), tuple(dict.fromkeys(_in_other_namespaces())))
    return (*_sockets_of("self"), *_others[1])


def _in_other_namespaces() -> Iterator[str]:
    own_mounts = _mounts("self")
    seen = set()
    for process in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - there are many
        try:
            # The inode of this file differs between network namespaces, and its content is long to compare.
            network = os.stat(f"/proc/{process}/net/unix").st_ino  # noqa: PTH116
            text = Path(f"/proc/{process}/mountinfo").read_bytes()
        except OSError:
            continue
        if (network, text) in seen:
            continue
        seen.add((network, text))
        mounts = _parse(text)
        for path in _sockets_of(process):
            yield path
            if mounts != own_mounts:
                yield from _translate(path, mounts, own_mounts)


def _sockets_of(process: str) -> Iterator[str]:
    try:
        lines = Path(f"/proc/{process}/net/unix").read_text(errors="surrogateescape").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[7].startswith("/"):
            yield fields[7]


class _Mount(NamedTuple):
    device: str
    source: str
    """The path within the file system that is mounted."""
    point: str


def _mounts(process: str) -> list[_Mount]:
    try:
        return _parse(Path(f"/proc/{process}/mountinfo").read_bytes())
    except OSError:
        return []


def _parse(mountinfo: bytes) -> list[_Mount]:
    mounts = []
    for line in mountinfo.decode(errors="surrogateescape").splitlines():
        fields = line.split(" ")
        if len(fields) > 4:
            source, point = (_OCTAL.sub(lambda match: chr(int(match[1], 8)), field) for field in fields[3:5])
            mounts.append(_Mount(fields[2], source, point))
    return mounts


def _translate(path: str, theirs: Iterable[_Mount], ours: Iterable[_Mount]) -> Iterator[str]:
    """Yield the paths under which this process sees a file that another one sees as `path`."""
    around = [mount for mount in theirs if _below(path, mount.point) is not None]
    if not around:
        return
    # The longest mount point, and the last mount on it: a later mount covers an earlier one.
    closest = max(enumerate(around), key=lambda item: (len(item[1].point), item[0]))[1]
    in_file_system = _join(closest.source, _below(path, closest.point) or "")
    for mount in ours:
        rest = _below(in_file_system, mount.source) if mount.device == closest.device else None
        if rest is not None:
            yield _join(mount.point, rest)


def _below(path: str, folder: str) -> str | None:
    """Return the part of `path` below `folder`, or None if it is not below it."""
    prefix = folder.rstrip("/")
    if path in (folder, prefix):
        return ""
    return path[len(prefix) + 1 :] if path.startswith(prefix + "/") else None


def _join(folder: str, rest: str) -> str:
    return f"{folder.rstrip('/')}/{rest}" if rest else folder

"""Looks at every path of a tree once, and reads only the files that a former look did not settle.

A record pairs an entry with the stat values it was made from. Where ctime, mtime, inode and size are still the same,
the entry is taken over unread. A file that changed so shortly before the look that it could change again within the
same tick of the clock is not settled: its record is used once and then read anew.
"""

import contextlib
import errno
import os
import stat
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from surefoot.workspace.excludes import Excludes
from surefoot.workspace.manifest import Entry, Kind
from surefoot.workspace.tree import TEMP_NAME, Tree

_TICK_NS = 100_000_000  # ten times the slowest kernel tick
_COARSE_TICK_NS = 2_000_000_000  # for file systems that only keep whole seconds

_GONE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ESTALE}
"""What opening says about a path that was removed or replaced after it was seen: it is no longer part of the tree."""

ReadFile = Callable[[int], tuple[str, int]]
"""Gets an open file, returns hash and size of its content; may store it on the way."""


class Record(NamedTuple):
    ctime_ns: int
    mtime_ns: int
    inode: int
    size: int
    entry: Entry


@dataclass
class Scan:
    started_ns: int
    size: int = 0
    """Bytes in all files, by their length; holes count."""
    records: dict[str, Record] = field(default_factory=dict)
    unread: list[tuple[str, os.stat_result]] = field(default_factory=list)
    """Files whose content is not known yet; `read_contents` gives them their records."""
    fresh: set[str] = field(default_factory=set)
    """Paths whose record was made by this scan."""
    excluded: list[str] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)
    """Temporary files of a restore that was killed."""
    links: dict[tuple[int, int], list[str]] = field(default_factory=lambda: defaultdict(list))

    def entries(self) -> dict[str, Entry]:
        return {path: record.entry for path, record in self.records.items()}

    def unsettled(self) -> set[str]:
        """The fresh records that must not be trusted the next time."""
        return {path for path in self.fresh if not _is_settled(self.records[path], self.started_ns)}


def scan(tree: Tree, known: Mapping[str, Record], excludes: Excludes) -> Scan:
    found = Scan(time.time_ns())
    _take(found, tree, "", tree.lstat(""))
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            pending += _scan_folder(found, tree, folder, known, excludes)
        except OSError as error:
            if error.errno == errno.EACCES and folder:
                _mark_unreadable(found, folder)
                continue
            if error.errno not in _GONE or not folder:
                raise
            found.records.pop(folder, None)
    found.fresh &= found.records.keys()
    return found


def _scan_folder(found: Scan, tree: Tree, folder: str, known: Mapping[str, Record], excludes: Excludes) -> list[str]:
    """Adds what is in one folder, and returns the folders among it. The hot loop of an unchanged tree."""
    records, below, size = found.records, [], 0
    prefix = folder + "/" if folder else ""
    is_excluded = excludes.match if excludes else None
    with os.scandir(tree.folder(folder)) as listing:
        for item in listing:
            name = item.name
            path = prefix + name
            try:
                info = item.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            is_folder = info.st_mode & 0o170000 == stat.S_IFDIR
            if name == TEMP_NAME and not is_folder:
                found.leftovers.append(path)
                continue
            if is_excluded and is_excluded(path, is_folder):
                found.excluded.append(path)
                continue
            if is_folder:
                below.append(path)
            else:
                size += info.st_size
                if info.st_nlink > 1:
                    found.links[info.st_dev, info.st_ino].append(path)
            last = known.get(path)
            if last and last[:4] == (info.st_ctime_ns, info.st_mtime_ns, info.st_ino, info.st_size):
                records[path] = last
            else:
                _take(found, tree, path, info)
    found.size += size
    return below


def _take(found: Scan, tree: Tree, path: str, info: os.stat_result) -> None:
    """Makes the record of a path that is new or changed."""
    if stat.S_ISREG(info.st_mode):
        found.unread.append((path, info))
    elif stat.S_ISDIR(info.st_mode):
        _add(found, path, info, "dir", mtime_ns=info.st_mtime_ns)
    elif stat.S_ISLNK(info.st_mode):
        with contextlib.suppress(FileNotFoundError):
            _add(found, path, info, "symlink", mtime_ns=info.st_mtime_ns, target=tree.readlink(path))
    else:
        _add(found, path, info, "special", mtime_ns=0, target=_special_name(info.st_mode))


def _add(
    found: Scan,
    path: str,
    info: os.stat_result,
    kind: Kind,
    *,
    mtime_ns: int,
    size: int = 0,
    digest: str = "",
    target: str = "",
) -> None:
    mine = info.st_uid == os.geteuid() and info.st_gid == os.getegid()
    owner = "" if mine else f"{info.st_uid}:{info.st_gid}"
    entry = Entry(path, kind, stat.S_IMODE(info.st_mode), mtime_ns, size, digest, target, "", owner)
    found.records[path] = Record(info.st_ctime_ns, info.st_mtime_ns, info.st_ino, info.st_size, entry)
    found.fresh.add(path)


def read_contents(found: Scan, tree: Tree, read: ReadFile, wanted: Callable[[str, int], bool] | None = None) -> None:
    """Gives every unread file its record; one that is not `wanted` has no hash in it, so it equals no other."""
    for path, info in found.unread:
        if wanted is not None and not wanted(path, info.st_size):
            _add(found, path, info, "file", mtime_ns=info.st_mtime_ns, size=info.st_size)
            continue
        try:
            fd = tree.open_file(path)
        except PermissionError:
            _add(found, path, info, "unreadable", mtime_ns=info.st_mtime_ns, size=info.st_size, target="file")
        except OSError as error:
            if error.errno not in _GONE:
                raise
        else:
            try:
                _read_one(found, path, fd, read)
            finally:
                os.close(fd)
    found.unread.clear()
    _group_links(found)


def _read_one(found: Scan, path: str, fd: int, read: ReadFile) -> None:
    """Reads until the file held still for as long as that took, but not for ever: a log may grow all the time."""
    for _ in range(3):
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            return  # swapped for something else since it was seen
        os.lseek(fd, 0, os.SEEK_SET)
        digest, size = read(fd)
        after = os.fstat(fd)
        if (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns):
            break
    _add(found, path, before, "file", mtime_ns=before.st_mtime_ns, size=size, digest=digest)


def _group_links(found: Scan) -> None:
    """Names each set of hard links by the first of its paths, which stays the same wherever the tree is copied."""
    for paths in found.links.values():
        here = sorted(path for path in paths if path in found.records)
        group = here[0] if len(here) > 1 else ""
        for path in here:
            record = found.records[path]
            if record.entry.group != group:
                found.records[path] = record._replace(entry=record.entry._replace(group=group))


def _mark_unreadable(found: Scan, folder: str) -> None:
    """Nothing is known about what is inside, not even about the part that could be listed."""
    inside = folder + "/"
    for path in [path for path in found.records if path.startswith(inside)]:
        del found.records[path]
    found.unread = [(path, info) for path, info in found.unread if not path.startswith(inside)]
    record = found.records[folder]
    found.records[folder] = record._replace(entry=record.entry._replace(kind="unreadable", target="folder"))


def _is_settled(record: Record, looked_at_ns: int) -> bool:
    """ctime alone decides: every change moves it, and nobody can set it back, as they can mtime."""
    tick = _TICK_NS if record.ctime_ns % 1_000_000_000 else _COARSE_TICK_NS
    return record.ctime_ns < looked_at_ns - tick


def _special_name(mode: int) -> str:
    for is_one, name in (
        (stat.S_ISFIFO, "fifo"),
        (stat.S_ISSOCK, "socket"),
        (stat.S_ISBLK, "block device"),
        (stat.S_ISCHR, "character device"),
    ):
        if is_one(mode):
            return name
    return "unknown"

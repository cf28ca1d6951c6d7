"""Scans a tree with one stat per path, and reads only files that changed since an earlier scan.

A record pairs an entry with the stat values it was made from. If ctime, mtime, inode and size are unchanged, the entry
is reused without reading the file. A file changed shortly before the scan is not settled: it could change again within
the same clock tick, so its record is used once and the file is read again by the next scan. Setting an extended
attribute changes ctime, so attributes too are read only of new and changed paths.
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

from surefoot.workspace.snapshots.excludes import Excludes
from surefoot.workspace.snapshots.manifest import Entry, Kind
from surefoot.workspace.snapshots.tree import Tree
from surefoot.workspace.snapshots.xattrs import UNKNOWN, Keep, no_store, read_xattrs

_TICK_NS = 100_000_000  # ten times the slowest kernel tick
_COARSE_TICK_NS = 2_000_000_000  # for file systems that store whole seconds

_GONE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ESTALE}
"""Errors of opening a path that was removed or replaced during the scan. It is not part of the tree any more."""

ReadFile = Callable[[int], tuple[str, int]]
"""Takes an open file, returns hash and size of its content; may also store it. An empty hash: not stored for lack of
room."""


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
    """Total length of all files, holes included."""
    records: dict[str, Record] = field(default_factory=dict)
    unread: list[tuple[str, os.stat_result]] = field(default_factory=list)
    """Files whose content is not known yet; `read_contents` adds their records."""
    fresh: set[str] = field(default_factory=set)
    """Paths whose record was created by this scan."""
    excluded: list[str] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)
    """Temporary files of a restore that was killed."""
    keep_xattrs: Keep = no_store
    links: dict[tuple[int, int], list[str]] = field(default_factory=lambda: defaultdict(list))
    """Paths with more than one hard link, by device and inode."""

    def entries(self) -> dict[str, Entry]:
        return {path: record.entry for path, record in self.records.items()}

    def unsettled(self) -> set[str]:
        """Return the paths of fresh records that the next scan must not trust."""
        return {path for path in self.fresh if not _is_settled(self.records[path], self.started_ns)}


def scan(
    tree: Tree,
    known: Mapping[str, Record],
    excludes: Excludes,
    *,
    temp_name: str = "",
    keep_xattrs: Keep = no_store,
) -> Scan:
    """Scan a tree. `temp_name` is the name of the temporary files of a restore, which are not part of the tree."""
    result = Scan(time.time_ns(), keep_xattrs=keep_xattrs)
    _add_unknown(result, tree, "", tree.lstat(""))
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            pending += _scan_folder(result, tree, folder, known, excludes, temp_name)
            if folder in result.fresh:
                _add_folder_xattrs(result, tree, folder)
        except OSError as error:
            if error.errno == errno.EACCES and folder:
                _mark_unreadable(result, folder)
                continue
            if error.errno not in _GONE or not folder:
                raise
            result.records.pop(folder, None)
    result.fresh &= result.records.keys()
    return result


def _scan_folder(
    result: Scan, tree: Tree, folder: str, known: Mapping[str, Record], excludes: Excludes, temp_name: str
) -> list[str]:
    """Add the content of one folder and return its subfolders. The hot loop for an unchanged tree."""
    records, subfolders, size = result.records, [], 0
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
            if name == temp_name and not is_folder:
                result.leftovers.append(path)
                continue
            if is_excluded and is_excluded(path, is_folder):
                result.excluded.append(path)
                continue
            if is_folder:
                subfolders.append(path)
            else:
                size += info.st_size
                if info.st_nlink > 1:
                    result.links[info.st_dev, info.st_ino].append(path)
            last = known.get(path)
            if last and last[:4] == (info.st_ctime_ns, info.st_mtime_ns, info.st_ino, info.st_size):
                records[path] = last
            else:
                _add_unknown(result, tree, path, info)
    result.size += size
    return subfolders


def _add_unknown(result: Scan, tree: Tree, path: str, info: os.stat_result) -> None:
    """Add the record of a path that is new or changed; files are left to `read_contents`."""
    if stat.S_ISREG(info.st_mode):
        result.unread.append((path, info))
    elif stat.S_ISDIR(info.st_mode):
        _add(result, path, info, "dir", mtime_ns=info.st_mtime_ns)
    elif stat.S_ISLNK(info.st_mode):
        with contextlib.suppress(FileNotFoundError):
            _add(result, path, info, "symlink", mtime_ns=info.st_mtime_ns, target=tree.readlink(path))
    else:
        _add(result, path, info, "special", mtime_ns=0, target=_special_name(info.st_mode))


def _add(
    result: Scan,
    path: str,
    info: os.stat_result,
    kind: Kind,
    *,
    mtime_ns: int,
    size: int = 0,
    digest: str = "",
    target: str = "",
    xattrs: str = "",
) -> None:
    is_own = info.st_uid == os.geteuid() and info.st_gid == os.getegid()
    owner = "" if is_own else f"{info.st_uid}:{info.st_gid}"
    if kind == "file" and not digest:
        target = f"{info.st_ino}:{info.st_mtime_ns}"
    entry = Entry(path, kind, stat.S_IMODE(info.st_mode), mtime_ns, size, digest, target, "", owner, xattrs)
    result.records[path] = Record(info.st_ctime_ns, info.st_mtime_ns, info.st_ino, info.st_size, entry)
    result.fresh.add(path)


def read_contents(result: Scan, tree: Tree, read: ReadFile, wanted: Callable[[str, int], bool] | None = None) -> None:
    """Add the records of unread files. A file that is not `wanted` gets no hash and is known by its inode and time."""
    for path, info in result.unread:
        if wanted is not None and not wanted(path, info.st_size):
            _add(result, path, info, "file", mtime_ns=info.st_mtime_ns, size=info.st_size, xattrs=UNKNOWN)
            continue
        try:
            fd = tree.open_file(path)
        except PermissionError:
            _add(
                *(result, path, info, "unreadable"),
                mtime_ns=info.st_mtime_ns,
                size=info.st_size,
                target="file",
                xattrs=UNKNOWN,
            )
        except OSError as error:
            if error.errno not in _GONE:
                raise
        else:
            try:
                _read_one(result, path, fd, read)
            finally:
                os.close(fd)
    result.unread.clear()
    _group_links(result)


def _read_one(result: Scan, path: str, fd: int, read: ReadFile) -> None:
    """Read a file, up to three times until it did not change during the read: a log may grow all the time."""
    for _ in range(3):
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            return  # replaced since it was listed
        os.lseek(fd, 0, os.SEEK_SET)
        digest, size = read(fd)
        after = os.fstat(fd)
        if (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns):
            break
    xattrs = read_xattrs(fd, result.keep_xattrs)
    _add(result, path, before, "file", mtime_ns=before.st_mtime_ns, size=size, digest=digest, xattrs=xattrs)


def _add_folder_xattrs(result: Scan, tree: Tree, folder: str) -> None:
    if xattrs := read_xattrs(tree.folder(folder), result.keep_xattrs):
        record = result.records[folder]
        result.records[folder] = record._replace(entry=record.entry._replace(xattrs=xattrs))


def _group_links(result: Scan) -> None:
    """Name each group of hard links by its first path, which is the same in every copy of the tree."""
    for paths in result.links.values():
        members = sorted(path for path in paths if path in result.records)
        group = members[0] if len(members) > 1 else ""
        for path in members:
            record = result.records[path]
            if record.entry.group != group:
                result.records[path] = record._replace(entry=record.entry._replace(group=group))


def _mark_unreadable(result: Scan, folder: str) -> None:
    """Record a folder as unreadable, and drop what was listed of its content."""
    prefix = folder + "/"
    for path in [path for path in result.records if path.startswith(prefix)]:
        del result.records[path]
    result.unread = [(path, info) for path, info in result.unread if not path.startswith(prefix)]
    record = result.records[folder]
    closed = record.entry._replace(kind="unreadable", target="folder", xattrs=UNKNOWN)
    result.records[folder] = record._replace(entry=closed)


def _is_settled(record: Record, scanned_at_ns: int) -> bool:
    """Tell whether a later change would be visible in ctime, which every change updates and no program can set."""
    tick = _TICK_NS if record.ctime_ns % 1_000_000_000 else _COARSE_TICK_NS
    return record.ctime_ns < scanned_at_ns - tick


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

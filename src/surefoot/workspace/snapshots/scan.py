"""Scans a tree with one stat per path, and reads only files that changed since an earlier scan.

A record pairs an entry with the stat values it was made from. If ctime, mtime, inode and size are unchanged, the entry
is reused without reading the file. A file changed shortly before the scan is too recent to be trusted: it could change
again within the same clock tick, so its record is used once and the file is read again by the next scan. Setting an
extended attribute changes ctime, so attributes too are read only of new and changed paths.
"""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from surefoot.workspace.snapshots.excludes import Excludes
from surefoot.workspace.snapshots.manifest import Entry, Kind
from surefoot.workspace.snapshots.tree import Tree
from surefoot.workspace.snapshots.xattrs import UNKNOWN, Keep, no_store, read_xattrs
from surefoot.workspace.watch import Watch

_TICK_NS = 100_000_000  # ten times the slowest kernel tick
_COARSE_TICK_NS = 2_000_000_000  # for file systems that store whole seconds

GONE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ESTALE}
"""Errors when opening a path that was removed or replaced during the scan, and is no longer part of the tree."""

ReadFile = Callable[[int], tuple[str, int]]
"""Takes an open file and returns hash and size of its content; may also store it. An empty hash means that there was no
room for it."""


class Record(NamedTuple):
    ctime_ns: int
    mtime_ns: int
    inode: int
    size: int
    entry: Entry

    @property
    def is_folder(self) -> bool:
        return self.entry.kind == "dir" or (self.entry.kind == "unreadable" and self.entry.target == "folder")


@dataclass
class Scan:
    started_ns: int
    size: int = 0
    """Total length of all files, holes included."""
    records: dict[str, Record] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    """The paths in each folder that was listed, without excluded ones."""
    unread: list[tuple[str, os.stat_result]] = field(default_factory=list)
    """Files whose content is not known yet; `read_contents` adds their records."""
    fresh: set[str] = field(default_factory=set)
    """Paths whose record was created by this scan."""
    excluded: set[str] = field(default_factory=set)
    leftovers: list[str] = field(default_factory=list)
    """Temporary files of a restore that was killed."""
    keep_xattrs: Keep = no_store
    links: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Device and inode of the paths with more than one hard link."""
    regrouped: set[str] = field(default_factory=set)
    """Paths whose record differs from an earlier one in its group of hard links."""
    dropped: set[str] = field(default_factory=set)
    """Paths of records that were dropped, even if a new record was added for them."""
    base: "Scan | None" = None
    """The earlier scan that this one is based on; None for a scan of the whole tree."""

    def entries(self) -> dict[str, Entry]:
        return {path: record.entry for path, record in self.records.items()}

    def too_recent(self) -> set[str]:
        """Return the paths of fresh records that the next scan must not trust."""
        return {path for path in self.fresh if not _is_old_enough(self.records[path], self.started_ns)}

    def differing(self) -> set[str]:
        """Return the paths at which this scan may differ from its base."""
        return self.fresh | self.dropped | self.regrouped

    def forget(self, path: str) -> None:
        """Drop the records of a path and of everything below it."""
        pending = [path]
        while pending:
            one = pending.pop()
            record = self.records.pop(one, None)
            if record is None:
                continue
            self.links.pop(one, None)
            self.dropped.add(one)
            if record.is_folder:
                pending += self.children.pop(one, ())
                if self.excluded:
                    self.excluded -= {other for other in self.excluded if other.rpartition("/")[0] == one}
            else:
                self.size -= record.size


def scan(
    tree: Tree,
    known: Mapping[str, Record],
    excludes: Excludes,
    *,
    temp_name: str = "",
    keep_xattrs: Keep = no_store,
    watch: Watch | None = None,
) -> Scan:
    """Scan a tree. `temp_name` is the name of the temporary files of a restore, which are not part of the tree."""
    result = Scan(time.time_ns(), keep_xattrs=keep_xattrs)
    add_unknown(result, tree, "", tree.lstat(""))
    scan_below(result, tree, "", known, excludes, temp_name, watch)
    result.fresh &= result.records.keys()
    return result


def scan_below(
    result: Scan,
    tree: Tree,
    folder: str,
    known: Mapping[str, Record],
    excludes: Excludes,
    temp_name: str = "",
    watch: Watch | None = None,
) -> None:
    """Add the content of a folder that has a record, and of all folders below it."""
    pending = [folder]
    while pending:
        folder = pending.pop()
        try:
            pending += _scan_folder(result, tree, folder, known, excludes, temp_name, watch)
            if folder in result.fresh:
                add_folder_xattrs(result, tree, folder)
        except OSError as error:
            leave_out(result, folder, error)


def leave_out(result: Scan, folder: str, error: OSError) -> None:
    """Record a folder that could not be listed as unreadable, or drop it if it is gone. Other errors are raised."""
    if error.errno == errno.EACCES and folder:
        _mark_unreadable(result, folder)
    elif error.errno in GONE and folder:
        drop_unread(result, folder)
        result.forget(folder)
    else:
        raise error


def _scan_folder(
    result: Scan,
    tree: Tree,
    folder: str,
    known: Mapping[str, Record],
    excludes: Excludes,
    temp_name: str,
    watch: Watch | None,
) -> list[str]:
    """Add the content of one folder and return its subfolders. The hot loop for an unchanged tree."""
    records, subfolders, size = result.records, [], 0
    children = result.children[folder] = []
    prefix = folder + "/" if folder else ""
    is_excluded = excludes.match if excludes else None
    fd = tree.folder(folder)
    if watch is not None:
        watch.add(folder, fd)
    try:
        with os.scandir(fd) as listing:
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
                    result.excluded.add(path)
                    continue
                children.append(path)
                if is_folder:
                    subfolders.append(path)
                else:
                    size += info.st_size
                    if info.st_nlink > 1:
                        result.links[path] = info.st_dev, info.st_ino
                last = known.get(path)
                if last and last[:4] == (info.st_ctime_ns, info.st_mtime_ns, info.st_ino, info.st_size):
                    records[path] = last
                else:
                    add_unknown(result, tree, path, info)
    finally:
        result.size += size
    return subfolders


def add_unknown(result: Scan, tree: Tree, path: str, info: os.stat_result) -> None:
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


def read_contents(
    result: Scan, tree: Tree, read: ReadFile, is_wanted: Callable[[str, int], bool] | None = None
) -> None:
    """Add the records of unread files. A file that `is_wanted` refuses gets no hash: inode and time identify it."""
    for path, info in result.unread:
        result.size -= info.st_size
        if is_wanted is not None and not is_wanted(path, info.st_size):
            _add(result, path, info, "file", mtime_ns=info.st_mtime_ns, size=info.st_size, xattrs=UNKNOWN)
            result.size += info.st_size
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
            result.size += info.st_size
        except OSError as error:
            if error.errno not in GONE:
                raise
        else:
            try:
                _read_one(result, path, fd, read)
            finally:
                os.close(fd)
    result.unread.clear()
    _group_links(result)


def _read_one(result: Scan, path: str, fd: int, read: ReadFile) -> None:
    """Read a file, again if it changed during the read, but at most three times: a log may grow all the time."""
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
    result.size += before.st_size
    _add(result, path, before, "file", mtime_ns=before.st_mtime_ns, size=size, digest=digest, xattrs=xattrs)


def add_folder_xattrs(result: Scan, tree: Tree, folder: str) -> None:
    if xattrs := read_xattrs(tree.folder(folder), result.keep_xattrs):
        record = result.records[folder]
        result.records[folder] = record._replace(entry=record.entry._replace(xattrs=xattrs))


def _group_links(result: Scan) -> None:
    """Name each group of hard links by its first path, which is the same in every copy of the tree."""
    paths_of: dict[tuple[int, int], list[str]] = {}
    for path, file in result.links.items():
        paths_of.setdefault(file, []).append(path)
    for paths in paths_of.values():
        members = sorted(path for path in paths if path in result.records)
        group = members[0] if len(members) > 1 else ""
        for path in members:
            record = result.records[path]
            if record.entry.group != group:
                result.records[path] = record._replace(entry=record.entry._replace(group=group))
                result.regrouped.add(path)


def _mark_unreadable(result: Scan, folder: str) -> None:
    """Record a folder as unreadable, and drop the records of its content."""
    record = result.records[folder]
    drop_unread(result, folder)
    result.forget(folder)
    closed = record.entry._replace(kind="unreadable", target="folder", xattrs=UNKNOWN)
    result.records[folder] = record._replace(entry=closed)


def drop_unread(result: Scan, folder: str) -> None:
    prefix = folder + "/"
    result.size -= sum(info.st_size for path, info in result.unread if path.startswith(prefix))
    result.unread = [(path, info) for path, info in result.unread if not path.startswith(prefix)]


def _is_old_enough(record: Record, scanned_at_ns: int) -> bool:
    """Whether a later change would be visible in ctime, which every change updates and no program can set."""
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

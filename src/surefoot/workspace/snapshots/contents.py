"""Reads the files that a scan found new or changed, and finds hard links among them."""

import os
import stat
from collections.abc import Callable

from surefoot.workspace.snapshots.scan import GONE, Scan, add_record
from surefoot.workspace.snapshots.tree import Tree
from surefoot.workspace.snapshots.xattrs import UNKNOWN, read_xattrs

ReadFile = Callable[[int], tuple[str, int]]
"""Takes an open file, returns hash and size of its content; may also store it. An empty hash: not stored for lack of
room."""


def read_contents(result: Scan, tree: Tree, read: ReadFile, wanted: Callable[[str, int], bool] | None = None) -> None:
    """Add the records of unread files. A file that is not `wanted` gets no hash and is known by its inode and time."""
    for path, info in result.unread:
        result.size -= info.st_size
        if wanted is not None and not wanted(path, info.st_size):
            add_record(result, path, info, "file", mtime_ns=info.st_mtime_ns, size=info.st_size, xattrs=UNKNOWN)
            result.size += info.st_size
            continue
        try:
            fd = tree.open_file(path)
        except PermissionError:
            add_record(
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
    result.size += before.st_size
    add_record(result, path, before, "file", mtime_ns=before.st_mtime_ns, size=size, digest=digest, xattrs=xattrs)


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

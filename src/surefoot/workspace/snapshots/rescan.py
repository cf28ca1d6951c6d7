"""Brings an earlier scan up to date by listing only the folders in which a watch saw changes.

The result equals that of a scan of the whole tree, as far as changes leave events (see `watch`). Besides the changed
folders, it looks at every file with several hard links, because a write through one of them leaves an event only in
that folder, and at the files that the earlier scan found too recent to be trusted.
"""

import os
import stat
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from surefoot.workspace.snapshots.excludes import Excludes
from surefoot.workspace.snapshots.scan import (
    GONE,
    Record,
    Scan,
    add_folder_xattrs,
    add_unknown,
    drop_unread,
    leave_out,
    scan_below,
)
from surefoot.workspace.snapshots.tree import Tree, ancestors, split
from surefoot.workspace.snapshots.xattrs import Keep, no_store
from surefoot.workspace.watch import Watch


def rescan(
    tree: Tree,
    last: Scan,
    too_recent: Collection[str],
    excludes: Excludes,
    watch: Watch,
    *,
    keep_xattrs: Keep = no_store,
) -> Scan:
    """Return a scan of the current tree, based on the earlier scan `last`. `watch` has collected the events since."""
    known = last.records
    if too_recent:
        known = dict(known)
        for path in too_recent:
            known.pop(path, None)
    result = Scan(
        time.time_ns(),
        size=last.size,
        records=dict(last.records),
        children=dict(last.children),
        excluded=set(last.excluded),
        links=dict(last.links),
        keep_xattrs=keep_xattrs,
        base=last,
    )
    work = _Rescan(tree, last, known, excludes, watch, result)
    for folder in sorted({"", *watch.changed}):  # a folder before those in it
        work.list(folder)
    for path in sorted({*last.links, *too_recent}):
        work.look_at(path)
    work.find_new_links()
    result.fresh &= result.records.keys()
    return result


@dataclass
class _Rescan:
    tree: Tree
    last: Scan
    known: Mapping[str, Record]
    excludes: Excludes
    watch: Watch
    result: Scan
    listed: set[str] = field(default_factory=set)
    scanned_below: set[str] = field(default_factory=set)

    def list(self, folder: str) -> None:
        """Examine the content of a folder, unless it is gone or was scanned already."""
        record = self.result.records.get(folder)
        if record is None or record.entry.kind != "dir" or self._is_scanned(folder):
            return
        self.listed.add(folder)
        try:
            fd = self.tree.folder(folder)
            info = os.fstat(fd)
            self._examine(folder, info)
            if folder not in self.scanned_below:
                self._list_content(folder, fd)
        except OSError as error:
            leave_out(self.result, folder, error)

    def look_at(self, path: str) -> None:
        """Examine one path, unless its folder was listed."""
        if path not in self.result.records or split(path)[0] in self.listed or self._is_scanned(path):
            return
        try:
            info = self.tree.lstat(path)
        except OSError as error:
            if error.errno not in GONE:
                raise
            self.result.forget(path)
        else:
            self._examine(path, info)

    def find_new_links(self) -> None:
        """Examine the other paths of files that have more than one link now."""
        new = {file[1] for path, file in self.result.links.items() if self.last.links.get(path) != file}
        if new:
            records, links = self.result.records, self.result.links
            for path in [path for path, record in records.items() if record.inode in new and path not in links]:
                self.look_at(path)

    def _list_content(self, folder: str, fd: int) -> None:
        result, before = self.result, self.result.children.get(folder, [])
        prefix = folder + "/" if folder else ""
        result.excluded -= {path for path in result.excluded if split(path)[0] == folder}
        children: list[str] = []
        result.children[folder] = children
        try:
            with os.scandir(fd) as listing:
                for item in listing:
                    path = prefix + item.name
                    try:
                        info = item.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    if self.excludes and self.excludes.match(path, stat.S_ISDIR(info.st_mode)):
                        result.excluded.add(path)
                        continue
                    children.append(path)
                    self._examine(path, info)
        except BaseException:
            children += before  # all of them are dropped with the folder
            raise
        for path in set(before).difference(children):
            result.forget(path)

    def _examine(self, path: str, info: os.stat_result) -> None:
        """Compare a path with its record. A folder that is new or was replaced is scanned with everything below it."""
        result = self.result
        is_folder = stat.S_ISDIR(info.st_mode)
        if is_folder and path and not self._is_same_folder(path, info):
            drop_unread(result, path)
            result.forget(path)
            add_unknown(result, self.tree, path, info)
            scan_below(result, self.tree, path, self.known, self.excludes, watch=self.watch)
            self.scanned_below.add(path)
            return
        known = self.known.get(path)
        values = (info.st_ctime_ns, info.st_mtime_ns, info.st_ino, info.st_size)
        if known is None or known[:4] != values or path not in result.records:
            if not is_folder:
                result.forget(path)
                result.size += info.st_size
            add_unknown(result, self.tree, path, info)
            if is_folder:
                try:
                    add_folder_xattrs(result, self.tree, path)
                except OSError as error:
                    leave_out(result, path, error)
        if not is_folder and info.st_nlink > 1:
            result.links[path] = info.st_dev, info.st_ino

    def _is_same_folder(self, path: str, info: os.stat_result) -> bool:
        record = self.last.records.get(path)
        if record is None or record.entry.kind != "dir" or record.inode != info.st_ino:
            return False
        return path in self.result.records and self.watch.knows(path)

    def _is_scanned(self, path: str) -> bool:
        scanned = self.scanned_below
        return bool(scanned) and (path in scanned or any(folder in scanned for folder in ancestors(path)))

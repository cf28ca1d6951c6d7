"""Carries out a restore, as acts on single paths in an order in which each can be repeated.

First what must go, then folders, contents (written under a temporary name and renamed), hard links, and last the modes
and times of folders. Killed anywhere, the next look at the tree finds what is left to do.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Mapping

from surefoot.errors import RestoreConflict
from surefoot.workspace.blobs import BlobStore
from surefoot.workspace.faults import shown
from surefoot.workspace.files import sync_names
from surefoot.workspace.manifest import Entry
from surefoot.workspace.restore_plan import Plan
from surefoot.workspace.scan import Record, Scan
from surefoot.workspace.tree import TEMP_NAME, Tree, above, split

_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}


class Restorer:
    """With `careful`, a path that no longer looks as the scan saw it when its turn comes was changed by someone in
    between, and stops the restore."""

    def __init__(self, tree: Tree, blobs: BlobStore, *, careful: bool) -> None:
        self._tree = tree
        self._blobs = blobs
        self._careful = careful
        self._seen: Mapping[str, Record] = {}
        self._entered: set[str] = set()
        """Folders whose content was changed, or which were opened up for that: their mode and time need setting."""

    def carry_out(self, plan: Plan, goal: Mapping[str, Entry], found: Scan) -> None:
        self._seen = found.records
        for path in found.leftovers:
            folder, name = self._enter(path)
            os.unlink(name, dir_fd=folder)
        for path in plan.remove:
            self._remove(path)
        for entry in plan.make:
            self._make(entry)
        for entry in plan.write:
            self._write(entry)
        for entry in plan.link:
            self._link(entry)
        for entry in plan.adjust:
            if entry.kind != "dir":
                self._set_attributes(entry)
        folders = self._entered | {entry.path for entry in plan.adjust if entry.kind == "dir"}
        for path in sorted(folders & goal.keys(), reverse=True):  # a closed folder must not shut out those below it
            self._set_attributes(goal[path])

    def make_durable(self, plan: Plan) -> None:
        made = {entry.path or "." for entry in (*plan.make, *plan.write, *plan.link)}
        removed_from = {split(path)[0] or "." for path in plan.remove}
        sync_names(self._tree.folder(""), made | removed_from)

    def _enter(self, path: str) -> tuple[int, str]:
        """The folder a path is in, opened up so that its content can be changed, and the path's name there."""
        parent, name = split(path)
        if parent not in self._entered:
            for folder in ["", *above(path)]:
                if folder not in self._entered:
                    self.open_up(folder)
                    self._entered.add(folder)
        return self._tree.folder(parent), name

    def open_up(self, folder: str) -> bool:
        """Gives us the right to list and change a folder, if it is ours; tells whether that made a difference."""
        mode = stat.S_IMODE(self._tree.lstat(folder).st_mode)
        if mode & 0o700 == 0o700 or os.geteuid() == 0:
            return False
        try:
            self._tree.chmod(folder, mode | 0o700)
        except PermissionError:
            return False
        return True

    def _remove(self, path: str) -> None:
        folder, name = self._enter(path)
        self._look_again(path, folder, name)
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            self._tree.forget(path)
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError as error:
                if error.errno == errno.ENOTEMPTY:  # someone is just putting something into it
                    raise RestoreConflict([shown(path)]) from error
                raise
            self._entered.discard(path)
        else:
            os.unlink(name, dir_fd=folder)

    def _make(self, entry: Entry) -> None:
        folder, name = self._enter(entry.path)
        os.mkdir(name, 0o700, dir_fd=folder)
        self._entered.add(entry.path)

    def _write(self, entry: Entry) -> None:
        folder, name = self._enter(entry.path)
        with _cleared_on_failure(folder):
            if entry.kind == "symlink":
                os.symlink(entry.target, TEMP_NAME, dir_fd=folder)
            else:
                self._write_content(entry, folder)
            self._set_attributes(entry, under=TEMP_NAME)
            self._rename(entry.path, folder, name)

    def _write_content(self, entry: Entry, folder: int) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(TEMP_NAME, flags, 0o600, dir_fd=folder)
        try:
            self._blobs.copy_out(entry.digest, fd)
        finally:
            os.close(fd)

    def _link(self, entry: Entry) -> None:
        folder, name = self._enter(entry.path)
        first_in, first = split(entry.group)
        try:
            os.link(first, TEMP_NAME, src_dir_fd=self._tree.folder(first_in), dst_dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            self._write(entry)  # a copy for another file system: the content is what matters most
            return
        with _cleared_on_failure(folder):
            self._rename(entry.path, folder, name)

    def _rename(self, path: str, folder: int, name: str) -> None:
        self._look_again(path, folder, name)
        os.rename(TEMP_NAME, name, src_dir_fd=folder, dst_dir_fd=folder)

    def _look_again(self, path: str, folder: int, name: str) -> None:
        if not self._careful:
            return
        seen = self._seen.get(path)
        try:
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if stat.S_ISDIR(info.st_mode) and (seen is None or seen.entry.kind == "dir"):
            return
        if seen is None or (seen.mtime_ns, seen.inode, seen.size) != (info.st_mtime_ns, info.st_ino, info.st_size):
            raise RestoreConflict([shown(path)])

    def _set_attributes(self, entry: Entry, under: str = "") -> None:
        """Owner first, because a change of owner takes setuid away. What we may not do, because the file is someone
        else's, is left and found by the look at the end."""
        parent, name = split(entry.path)
        path = (f"{parent}/{under}" if parent else under) if under else entry.path
        name, folder = under or name or ".", self._tree.folder(parent)
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        uid, gid = _owner_ids(entry.owner)
        if (info.st_uid, info.st_gid) != (uid, gid):
            with contextlib.suppress(PermissionError):
                os.chown(name, uid, gid, dir_fd=folder, follow_symlinks=False)
        if entry.kind != "symlink":
            with contextlib.suppress(PermissionError):
                self._tree.chmod(path, entry.mode)
        with contextlib.suppress(PermissionError):
            os.utime(name, ns=(info.st_atime_ns, entry.mtime_ns), dir_fd=folder, follow_symlinks=False)


@contextlib.contextmanager
def _cleared_on_failure(folder: int) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(TEMP_NAME, dir_fd=folder)
        raise


def _owner_ids(owner: str) -> tuple[int, int]:
    if not owner:
        return os.geteuid(), os.getegid()
    uid, _, gid = owner.partition(":")
    return int(uid), int(gid)

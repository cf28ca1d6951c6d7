"""Applies a restore plan, path by path, in an order that allows every operation to be repeated.

Removals come first, because they make room, then folders, contents (written under a temporary name and renamed, small
files first), hard links, and last the modes and times of folders. After a crash, a new scan of the tree finds what is
left to do.

A file whose content is not stored is moved aside instead of being removed. A file for which the disk has no room is
noted in `failed`, and the rest is restored.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping

from surefoot.errors import RestoreConflict
from surefoot.workspace.durable import sync_names
from surefoot.workspace.errors import is_full, printable
from surefoot.workspace.restore.aside import Aside
from surefoot.workspace.restore.attributes import set_attributes
from surefoot.workspace.restore.plan import Plan
from surefoot.workspace.snapshots.blobs import BlobStore
from surefoot.workspace.snapshots.manifest import Entry
from surefoot.workspace.snapshots.scan import Record, Scan
from surefoot.workspace.snapshots.tree import Tree, ancestors, split

_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}

NO_ROOM = "no room on the disk"
NOT_KEPT = "it is no longer where it was moved to"
IN_THE_WAY = "its content is not stored, and it could not be moved elsewhere"


def new_temp_name() -> str:
    """Return a name for the temporary files of one restore. It is random: nobody can create such a file beforehand."""
    return f".surefoot-restore-{secrets.token_hex(8)}.tmp"


class Restorer:
    """Changes a tree according to a plan.

    With `careful`, a path that changed since the scan raises RestoreConflict instead of being overwritten.
    """

    def __init__(
        self, tree: Tree, blobs: BlobStore, *, careful: bool, temp_name: str = "", aside: Aside | None = None
    ) -> None:
        self._tree = tree
        self._blobs = blobs
        self._careful = careful
        self._temp = temp_name or new_temp_name()
        self._aside = aside
        self._scanned: Mapping[str, Record] = {}
        self._known: Mapping[str, Entry] = {}
        self._entered: set[str] = set()
        """Folders that were changed or made accessible, whose mode and time have to be set at the end."""
        self.failed: dict[str, str] = {}
        """Paths that could not be restored, and why."""
        self.moved: dict[str, str] = {}
        """The new places of files that were moved aside, by their paths."""
        self.leftovers: list[str] = []
        """Temporary files of an earlier restore that could not be removed."""

    def apply(
        self, plan: Plan, goal: Mapping[str, Entry], scanned: Scan, known: Mapping[str, Entry] | None = None
    ) -> None:
        """Carry out the plan. `known` is the tree as captured before; files without stored content in it are kept."""
        self._scanned, self._known = scanned.records, known or {}
        self.remove_leftovers(scanned)
        for path in plan.remove:
            self._remove(path)
        for entry in plan.create:
            self._attempt(entry, self._create)
        for entry in sorted(plan.write, key=lambda entry: entry.size):
            self._attempt(entry, self._write)
        for entry in plan.link:
            self._attempt(entry, self._link)
        for entry in plan.adjust:
            if entry.kind != "dir":
                set_attributes(self._tree, self._blobs, entry)
        folders = self._entered | {entry.path for entry in plan.adjust if entry.kind == "dir"}
        for path in sorted((folders & goal.keys()) - self.failed.keys(), reverse=True):
            set_attributes(self._tree, self._blobs, goal[path])  # a folder may lose access only after those below it

    def remove_leftovers(self, scanned: Scan) -> None:
        for path in scanned.leftovers:
            try:
                folder, name = self._enter(path)
                os.unlink(name, dir_fd=folder)
            except OSError:
                self.leftovers.append(path)
                self._temp = new_temp_name()

    def make_durable(self, plan: Plan) -> None:
        written = {entry.path or "." for entry in (*plan.create, *plan.write, *plan.link)}
        removed_from = {split(path)[0] or "." for path in plan.remove}
        sync_names(self._tree.folder(""), written | removed_from)

    def _attempt(self, entry: Entry, work: Callable[[Entry], None]) -> None:
        """Restore a path, or note that there is no room for it, or for the folder or file that it needs."""
        path = entry.path
        cause = next((self.failed[p] for p in (*ancestors(path), path, entry.group) if p in self.failed), "")
        if not cause and self.failed and any(other.startswith(f"{path}/") for other in self.failed):
            cause = IN_THE_WAY
        if cause:
            self.failed.setdefault(path, cause)
            return
        try:
            work(entry)
        except OSError as error:
            if not is_full(error):
                raise
            if not self._make_room(entry):
                self.failed[path] = NO_ROOM
                return
            try:
                work(entry)
            except OSError as again:
                if not is_full(again):
                    raise
                self.failed[path] = NO_ROOM

    def _make_room(self, entry: Entry) -> bool:
        """Remove the file to replace, if its content is stored and that makes room for the new one."""
        record, known = self._scanned.get(entry.path), self._known.get(entry.path)
        if record is None or known is None or not entry.digest or not known.digest:
            return False
        if record.entry.digest != known.digest or not self._blobs.has(known.digest):
            return False
        folder, name = self._enter(entry.path)
        info, disk = os.stat(name, dir_fd=folder, follow_symlinks=False), os.fstatvfs(folder)
        room = disk.f_bavail * disk.f_frsize + info.st_blocks * 512
        if info.st_nlink > 1 or room < self._blobs.disk_usage(entry.digest):
            return False
        self._require_unchanged(entry.path, folder, name)
        os.unlink(name, dir_fd=folder)
        return True

    def _is_unstored(self, path: str) -> bool:
        """Whether a file's content would be lost if it were removed."""
        record, known = self._scanned.get(path), self._known.get(path)
        if record is None or known is None or not known.is_unstored:
            return False
        return (record.entry.kind, record.entry.size, record.entry.target) == (known.kind, known.size, known.target)

    def _move_aside(self, path: str, folder: int, name: str, *, must_go: bool) -> None:
        """Move an unstored file out of the workspace; if that is impossible, give it another name if it `must_go`."""
        place = self._aside.take(folder, name) if self._aside is not None else None
        if place is not None:
            self.moved[path] = str(place)
        elif must_go:
            new_name = f"{name}.surefoot-{secrets.token_hex(4)}"
            os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=folder)
            new_path = f"{split(path)[0]}/{new_name}".lstrip("/")
            self.moved[path], self.failed[new_path] = new_path, IN_THE_WAY
        else:
            self.failed[path] = IN_THE_WAY

    def _enter(self, path: str) -> tuple[int, str]:
        """Make the folder of a path writable; return its descriptor, and the name of the path in it."""
        parent, name = split(path)
        if parent not in self._entered:
            for folder in ["", *ancestors(path)]:
                if folder not in self._entered:
                    self.make_accessible(folder)
                    self._entered.add(folder)
        return self._tree.folder(parent), name

    def make_accessible(self, folder: str) -> bool:
        """Allow ourselves to list and change a folder, if we own it; return whether that changed its mode."""
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
        self._require_unchanged(path, folder, name)
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            self._tree.forget(path)
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError as error:
                if error.errno == errno.ENOTEMPTY:
                    if any(other.startswith(f"{path}/") for other in self.failed):
                        self.failed[path] = IN_THE_WAY
                        return
                    # another process is adding files to it
                    raise RestoreConflict([printable(path)]) from error
                raise
            self._entered.discard(path)
        elif self._is_unstored(path):
            self._move_aside(path, folder, name, must_go=False)
        else:
            os.unlink(name, dir_fd=folder)

    def _create(self, entry: Entry) -> None:
        folder, name = self._enter(entry.path)
        os.mkdir(name, 0o700, dir_fd=folder)
        self._entered.add(entry.path)

    def _write(self, entry: Entry) -> None:
        folder, name = self._enter(entry.path)
        if entry.is_unstored:
            self._bring_back(entry, folder, name)
            return
        with self._remove_temp_on_failure(folder):
            if entry.kind == "symlink":
                os.symlink(entry.target, self._temp, dir_fd=folder)
            else:
                self._write_content(entry, folder)
            set_attributes(self._tree, self._blobs, entry, self._temp)
            self._rename(entry.path, folder, name)

    def _bring_back(self, entry: Entry, folder: int, name: str) -> None:
        """Move a file back that an earlier restore moved aside. It never has a temporary name: it is the only copy."""
        self._require_unchanged(entry.path, folder, name)
        if self._is_unstored(entry.path):
            self._move_aside(entry.path, folder, name, must_go=True)
        if self._aside is not None and self._aside.bring_back(entry, folder, name):
            set_attributes(self._tree, self._blobs, entry)
        else:
            self.failed[entry.path] = NOT_KEPT

    def _write_content(self, entry: Entry, folder: int) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self._temp, flags, 0o600, dir_fd=folder)
        try:
            self._blobs.copy_out(entry.digest, fd)
        finally:
            os.close(fd)

    def _link(self, entry: Entry) -> None:
        folder, name = self._enter(entry.path)
        parent, first = split(entry.group)
        try:
            os.link(first, self._temp, src_dir_fd=self._tree.folder(parent), dst_dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            self._write(entry)  # the file system has no hard links here: a copy has at least the content
            return
        with self._remove_temp_on_failure(folder):
            self._rename(entry.path, folder, name)

    def _rename(self, path: str, folder: int, name: str) -> None:
        self._require_unchanged(path, folder, name)
        if self._is_unstored(path):
            self._move_aside(path, folder, name, must_go=True)
        os.rename(self._temp, name, src_dir_fd=folder, dst_dir_fd=folder)

    @contextlib.contextmanager
    def _remove_temp_on_failure(self, folder: int) -> Iterator[None]:
        try:
            yield
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(self._temp, dir_fd=folder)
            raise

    def _require_unchanged(self, path: str, folder: int, name: str) -> None:
        if not self._careful:
            return
        record = self._scanned.get(path)
        try:
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if stat.S_ISDIR(info.st_mode) and (record is None or record.entry.kind == "dir"):
            return
        expected = (record.mtime_ns, record.inode, record.size) if record else None
        if expected != (info.st_mtime_ns, info.st_ino, info.st_size):
            raise RestoreConflict([printable(path)])

"""Sets owner, mode, extended attributes and time of a path to those of a manifest entry."""

import contextlib
import os
from pathlib import Path

from surefoot.workspace.snapshots.blobs import BlobStore
from surefoot.workspace.snapshots.manifest import Entry
from surefoot.workspace.snapshots.tree import Tree, split
from surefoot.workspace.snapshots.xattrs import UNKNOWN, has_xattrs, write_xattrs


def set_attributes(tree: Tree, blobs: BlobStore, entry: Entry, temp_name: str = "") -> None:
    """Set the attributes of a path, or of the temporary file that will replace it.

    The owner comes first, because changing it clears setuid and capabilities. Attributes that cannot be set, because
    the file belongs to another user, are found by the final scan.
    """
    parent, name = split(entry.path)
    path = (f"{parent}/{temp_name}" if parent else temp_name) if temp_name else entry.path
    name, folder = temp_name or name or ".", tree.folder(parent)
    info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    uid, gid = _owner_ids(entry.owner)
    if (info.st_uid, info.st_gid) != (uid, gid):
        with contextlib.suppress(PermissionError):
            os.chown(name, uid, gid, dir_fd=folder, follow_symlinks=False)
    if entry.kind != "symlink":
        with contextlib.suppress(PermissionError), tree.handle(path) as place:
            if entry.xattrs != UNKNOWN and (entry.xattrs or has_xattrs(place)):
                Path(place).chmod(entry.mode | 0o600)  # setting them needs permission to write
                write_xattrs(place, entry.xattrs, blobs.get)
            Path(place).chmod(entry.mode)
    with contextlib.suppress(PermissionError):
        os.utime(name, ns=(info.st_atime_ns, entry.mtime_ns), dir_fd=folder, follow_symlinks=False)


def _owner_ids(owner: str) -> tuple[int, int]:
    if not owner:
        return os.geteuid(), os.getegid()
    uid, _, gid = owner.partition(":")
    return int(uid), int(gid)

"""The size limit of a snapshot: refuses a tree that is over it, and chooses the files that a partial snapshot omits."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from surefoot.errors import SnapshotOverQuota
from surefoot.workspace.durable import hash_fd
from surefoot.workspace.errors import printable, suppress_full
from surefoot.workspace.snapshots.blobs import BlobStore
from surefoot.workspace.snapshots.manifest import Entry
from surefoot.workspace.snapshots.scan import Scan

_SLACK = 1024 * 1024  # for manifests, the journal and the blocks of folders


def check_quota(root: Path, scanned: Scan, quota: int) -> None:
    """Raise SnapshotOverQuota, with the largest folders, if the tree is larger than `quota` bytes."""
    if scanned.size <= quota:
        return
    sizes = [(path, record.entry.size) for path, record in scanned.records.items()]
    sizes += [(path, info.st_size) for path, info in scanned.unread]
    by_top: dict[str, int] = {}
    for path, size in sizes:
        top = path.partition("/")[0]
        by_top[top] = by_top.get(top, 0) + size
    largest = sorted(by_top.items(), key=lambda item: -item[1])[:5]
    raise SnapshotOverQuota(
        f"{root} holds {format_size(scanned.size)}, more than the {format_size(quota)} "
        "allowed for a snapshot; largest: "
        + ", ".join(f"{printable(top)} ({format_size(size)})" for top, size in largest),
        remedy=f"exclude what need not be undone (snapshot_excludes, for example {printable(largest[0][0])}), "
        "or allow more (snapshot_quota_gb)",
    )


def within_quota(scanned: Scan, quota: int, likely: Sequence[Mapping[str, Entry]]) -> Callable[[str, int], bool]:
    """Return a predicate that selects the unread files to read within the quota: all but the largest.

    A file of the same size as in one of the `likely` snapshots is read in any case: it may be unchanged.
    """
    excess, omitted = scanned.size - quota, set()
    if excess > 0:
        for path, info in sorted(scanned.unread, key=lambda item: -item[1].st_size):
            if excess <= 0:
                break
            if any((entry := other.get(path)) and entry.digest and entry.size == info.st_size for other in likely):
                continue
            omitted.add(path)
            excess -= info.st_size
    return lambda path, size: path not in omitted


class StoreWhileRoom:
    """Stores contents while the disk has room for them, and for a restore if that uses the same disk."""

    def __init__(self, blobs: BlobStore, root: Path, reserve: int) -> None:
        self._blobs = blobs
        same_disk = blobs.folder.stat().st_dev == root.stat().st_dev
        self._reserve = reserve + _SLACK if same_disk else 0

    def store(self, fd: int) -> tuple[str, int]:
        """Store an open file; return hash and size of its content. The hash is empty if the content is not stored."""
        info, disk = os.fstat(fd), os.statvfs(self._blobs.folder)
        if disk.f_bavail * disk.f_frsize >= min(info.st_size, info.st_blocks * 512) + self._reserve:
            with suppress_full():
                return self._blobs.put_open(fd)
            os.lseek(fd, 0, os.SEEK_SET)
        digest, size = hash_fd(fd)
        return (digest if self._blobs.has(digest) else ""), size

    def keep(self, xattrs: bytes) -> str:
        with suppress_full():
            return self._blobs.put(xattrs)
        return ""


def format_size(size: int) -> str:
    value = float(size)
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1024 or unit == "GB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"

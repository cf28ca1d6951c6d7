"""Garbage collection: removes snapshots that are no longer needed, and the blobs that only they used."""

import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from surefoot.workspace.durable import durable_write
from surefoot.workspace.snapshots.blobs import BlobStore
from surefoot.workspace.snapshots.manifest import ManifestStore


@dataclass(frozen=True)
class GcReport:
    manifests_removed: int
    blobs_removed: int
    bytes_freed: int


class Generation:
    """A token that changes whenever blobs are removed. It invalidates caches that assume they are stored."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> str:
        try:
            return self._file.read_text()
        except FileNotFoundError:
            return ""

    def renew(self) -> None:
        durable_write(self._file, secrets.token_hex(8).encode())


def collect(
    blobs: BlobStore,
    manifests: ManifestStore,
    generation: Generation,
    *,
    keep: Collection[str | None],
    keep_blobs: Collection[str],
    min_age_seconds: float,
    dry_run: bool = False,
) -> GcReport:
    """Remove manifests that are old and not in `keep`, and old blobs that no remaining manifest needs.

    A crash leaves only garbage: manifests are removed before their blobs, and the stat caches are invalidated before
    the first blob is removed.
    """
    older_than = time.time() - min_age_seconds
    stored = manifests.ids()
    dropped = [snapshot for snapshot, used in stored.items() if snapshot not in keep and used <= older_than]
    needed = set(keep_blobs)
    for snapshot in stored.keys() - set(dropped):
        needed |= manifests.needed_blobs(snapshot)
    if not dry_run:
        for snapshot in dropped:
            manifests.remove(snapshot)
        manifests.sweep_drafts()
        generation.renew()
    count, freed = blobs.sweep(needed, older_than=older_than, dry_run=dry_run)
    return GcReport(len(dropped), count, freed)

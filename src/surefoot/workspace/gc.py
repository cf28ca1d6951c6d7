"""Removes the snapshots nobody needs any more, and the contents that only they used."""

import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from surefoot.workspace.blobs import BlobStore
from surefoot.workspace.files import durable_write
from surefoot.workspace.manifest import ManifestStore


@dataclass(frozen=True)
class GcReport:
    manifests_removed: int
    blobs_removed: int
    bytes_freed: int


class Generation:
    """A word that changes whenever blobs are removed, so that nobody goes on believing they are stored."""

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
    """Killed anywhere it leaves only garbage: manifests go before the blobs they need, and the stat caches are told
    before the first blob goes."""
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

"""Syncs files and folders, so that files created, renamed or removed in them stay so after a power failure."""

import os
from collections.abc import Iterable
from pathlib import Path

from surefoot.errors import JournalError


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def store_synced(path: Path, data: bytes, unfinished: Path, folders: Iterable[Path]) -> None:
    """Write a new file atomically, as `unfinished` first, and sync it and these folders.

    Raises JournalError if the disk does not take it.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _write_synced(unfinished, data)
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        for folder in folders:
            sync_folder(folder)
    except OSError as error:
        raise JournalError(
            f"{len(data):,} bytes of content could not be stored in {path.parent.parent}: {error.strerror}",
            remedy="free some space, or check the owner and mode of that folder; then resume",
        ) from error


def _write_synced(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())

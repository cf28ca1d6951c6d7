"""Syncs folders, so that files created, renamed or removed in them stay so after a power failure."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

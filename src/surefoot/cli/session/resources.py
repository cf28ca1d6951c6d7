"""Opens the journal and the workspace for a command."""

import os
from pathlib import Path

from surefoot.cli.import_path import drop_from_path
from surefoot.config import paths
from surefoot.errors import UsageError
from surefoot.journal.store import opening
from surefoot.journal.store.base import OpenJournal


def open_journal(*, read_only: bool = False) -> OpenJournal:
    return opening.open_journal(paths.state_home(), read_only=read_only)


def resolve_workspace(name: str) -> Path:
    """The workspace as an absolute path. Raises UsageError if it is not a writable folder.

    Nothing is imported from it afterwards.
    """
    folder = Path(name).expanduser().absolute()
    if not folder.exists():
        raise UsageError(f"there is no folder {folder}", remedy=f"create it first: mkdir -p {folder}")
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", remedy="name the folder that contains it with -C")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise UsageError(f"{folder} cannot be written to", remedy="change its permissions, or work in a copy")
    drop_from_path(str(folder))
    return folder.resolve()

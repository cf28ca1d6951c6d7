"""The places a command needs before it can do anything: the journal, and the folder it is to work in."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot import paths
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.redact import Redactor
    from surefoot.store.sqlite import SqliteJournal


def open_journal(*, read_only: bool = False, key_variable: str | None = None) -> "SqliteJournal":
    """The journal, which keeps secrets out: those whose variables sound like it, and the one in `key_variable`."""
    from surefoot.store.sqlite import SqliteJournal

    file = paths.journal_file(paths.state_home())
    return SqliteJournal(file, redact=redactor(key_variable).redact, read_only=read_only)


def redactor(key_variable: str | None) -> "Redactor":
    from surefoot.redact import Redactor

    named = {"API_KEY": os.environ.get(key_variable, "")} if key_variable else {}
    return Redactor.from_environment({**os.environ, **named})


def usable_folder(name: str) -> Path:
    """The workspace, looked at before anything else is done for it."""
    folder = Path(name).expanduser().absolute()
    if not folder.exists():
        raise UsageError(f"there is no folder {folder}", remedy=f"make it first: mkdir -p {folder}")
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", remedy="name the folder that holds it with -C")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise UsageError(f"{folder} cannot be written to", remedy="change its permissions, or work in a copy")
    return folder.resolve()


def at_work(run_id: str, folder: Path) -> bool:
    """Whether a process is at work on this run now; a run that was killed looks in its journal as if it were."""
    from surefoot.errors import WorkspaceLocked
    from surefoot.workspace.lock import WorkspaceLock

    try:
        with WorkspaceLock(folder, paths.state_home(), run_id):
            return False
    except WorkspaceLocked:
        return True

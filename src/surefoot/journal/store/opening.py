"""Opens the user's journal. Only this module decides between a file and a database.

An argument `storage` takes precedence over the variables and the user's config.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.config import paths
from surefoot.config.storage import Storage, read_storage, shown_database
from surefoot.journal.store.base import OpenJournal, Reader, RunHeads

if TYPE_CHECKING:
    from surefoot.journal.objects.base import ObjectStore

BUSY_SECONDS = 5.0


def open_journal(home: Path, *, read_only: bool = False, storage: Storage | None = None) -> OpenJournal:
    storage = storage or read_storage()
    if storage.database is None:
        from surefoot.journal.store.sqlite import SqliteJournal

        return SqliteJournal(paths.journal_file(home), read_only=read_only, busy_timeout=BUSY_SECONDS)
    from surefoot.journal.store.postgres.journal import PostgresJournal

    return PostgresJournal(
        storage.database, objects=_objects(storage), read_only=read_only, lease_seconds=storage.lease_seconds
    )


def open_reader(home: Path, storage: Storage | None = None) -> Reader:
    """Open the journal for reading. This imports less than `open_journal`."""
    storage = storage or read_storage()
    if storage.database is None:
        from surefoot.journal.store.reading import JournalReader

        return JournalReader(paths.journal_file(home), busy_timeout=BUSY_SECONDS)
    from surefoot.journal.store.postgres.reading import PostgresReader

    return PostgresReader(storage.database, _objects(storage))


def open_heads(home: Path, storage: Storage | None = None) -> RunHeads:
    storage = storage or read_storage()
    if storage.database is None:
        from surefoot.journal.store.heads import Heads

        return Heads(paths.journal_file(home))
    from surefoot.journal.store.postgres.heads import PostgresHeads

    return PostgresHeads(storage.database)


def journal_name(home: Path, storage: Storage | None = None) -> str:
    """Return the location of the journal, without secrets."""
    storage = storage or read_storage()
    return str(paths.journal_file(home)) if storage.database is None else shown_database(storage.database)


def _objects(storage: Storage) -> "ObjectStore | None":
    if storage.objects is None:
        return None
    from surefoot.journal.objects.opening import open_objects

    return open_objects(storage.objects)

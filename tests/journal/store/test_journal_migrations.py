"""Journals of other versions: older ones are backed up and migrated, newer and foreign ones are not modified."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from support.samples import created, messages, output_of, warned, worker
from surefoot._version import __version__
from surefoot.errors import JournalBroken, JournalError, JournalVersion
from surefoot.journal.store import connection, migrations
from surefoot.journal.store.checksums import event_crc
from surefoot.journal.store.sqlite import SqliteJournal


def add_colour(connection: apsw.Connection) -> None:
    """A migration of a later version."""
    connection.execute("ALTER TABLE runs ADD COLUMN colour TEXT NOT NULL DEFAULT 'green'")


def go_wrong(connection: apsw.Connection) -> None:
    connection.execute("ALTER TABLE runs ADD COLUMN colour TEXT")
    connection.execute("ALTER TABLE no_such_table ADD COLUMN colour TEXT")


@pytest.fixture
def with_migration(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Act as a later version of Surefoot with more migrations."""

    def later(*more: Callable[[apsw.Connection], None]) -> None:
        for module in (migrations, connection):
            monkeypatch.setattr(module, "MIGRATIONS", (migrations.create_tables, *more))

    return later


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of the current version with one run."""
    path = tmp_path / "journal.db"

    async def write() -> None:
        journal = SqliteJournal(path)
        await journal.append("r1", [created("r1"), warned("of old")])
        await journal.aclose()

    asyncio.run(write())
    return path


def _rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    database = apsw.Connection(str(path))
    try:
        return list(database.execute(sql))
    finally:
        database.close()


def test_a_new_journal_records_its_schema_and_version(path: Path) -> None:
    assert _rows(path, "PRAGMA application_id") == [(migrations.APPLICATION_ID,)]
    assert _rows(path, "PRAGMA user_version") == [(len(migrations.MIGRATIONS),)]
    assert _rows(path, "PRAGMA journal_mode") == [("wal",)]
    assert _rows(path, "SELECT name, surefoot FROM migrations") == [("create_tables", __version__)]
    assert not list(path.parent.glob("*.bak"))


async def test_an_older_journal_is_backed_up_and_migrated(path: Path, with_migration: Callable[..., None]) -> None:
    with_migration(add_colour)
    journal = SqliteJournal(path)
    await journal.append("r1", [warned("and new")])
    assert messages(journal.read("r1")) == ["of old", "and new"]
    await journal.aclose()
    assert _rows(path, "SELECT name FROM migrations ORDER BY applied_at") == [("create_tables",), ("add_colour",)]
    assert _rows(path, "SELECT colour FROM runs") == [("green",)]

    with_migration()
    copy = SqliteJournal(path.with_name("journal.db.schema-1.bak"))
    assert messages(copy.read("r1")) == ["of old"]
    copy.close()


def test_a_reader_migrates_an_older_journal_too(path: Path, with_migration: Callable[..., None]) -> None:
    with_migration(add_colour)
    reader = SqliteJournal(path, read_only=True)
    assert messages(reader.read("r1")) == ["of old"]
    reader.close()
    assert _rows(path, "PRAGMA user_version") == [(2,)]
    assert path.with_name("journal.db.schema-1.bak").exists()


async def test_a_failed_migration_changes_nothing(path: Path, with_migration: Callable[..., None]) -> None:
    with_migration(go_wrong)
    with pytest.raises(JournalError, match=r"go_wrong.*no_such_table") as raised:
        await SqliteJournal(path).append("r1", [warned("not written")])
    assert "nothing was changed" in raised.value.remedy
    assert not isinstance(raised.value, JournalBroken)
    with_migration()
    journal = SqliteJournal(path)
    assert messages(journal.read("r1")) == ["of old"]
    await journal.append("r1", [warned("written")])
    await journal.aclose()
    assert ("colour",) not in _rows(path, "SELECT name FROM pragma_table_info('runs')")


async def test_a_newer_journal_is_not_modified(path: Path, with_migration: Callable[..., None]) -> None:
    with_migration(add_colour)
    SqliteJournal(path).summaries()
    database = apsw.Connection(str(path))
    database.execute("UPDATE migrations SET surefoot = '9.8.7' WHERE name = 'add_colour'")
    database.close()
    with_migration()
    before = path.read_bytes()
    for journal in (SqliteJournal(path), SqliteJournal(path, read_only=True)):
        with pytest.raises(JournalVersion, match=r"9\.8\.7 \(schema 2\).*up to 1") as raised:
            journal.read("r1")
        assert "upgrade Surefoot" in raised.value.remedy
    with pytest.raises(JournalVersion):
        await SqliteJournal(path).append("r2", [created("r2")])
    assert path.read_bytes() == before


async def test_a_newer_journal_without_known_tables_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    database = apsw.Connection(str(path))
    database.execute(
        f"CREATE TABLE x (y); PRAGMA application_id = {migrations.APPLICATION_ID}; PRAGMA user_version = 99"
    )
    database.close()
    with pytest.raises(JournalVersion, match="another version"):
        SqliteJournal(path).summaries()


async def test_a_database_of_another_program_is_not_modified(tmp_path: Path) -> None:
    path = tmp_path / "bookmarks.db"
    database = apsw.Connection(str(path))
    database.execute("CREATE TABLE bookmarks (url)")
    database.close()
    before = path.read_bytes()
    for journal in (SqliteJournal(path), SqliteJournal(path, read_only=True)):
        with pytest.raises(JournalBroken, match="not a Surefoot journal") as raised:
            journal.summaries()
        assert str(path) in str(raised.value)
        assert raised.value.remedy
    with pytest.raises(JournalBroken):
        await SqliteJournal(path).append("r1", [created("r1")])
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"\n", b"# notes\n", b"plain text, and long: " * 500])
async def test_a_file_that_is_not_a_database_is_not_modified(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(JournalBroken) as raised:
        SqliteJournal(path, read_only=True).summaries()
    assert raised.value.remedy
    with pytest.raises(JournalBroken):
        await SqliteJournal(path).append("r1", [created("r1")])
    assert path.read_bytes() == content


async def test_an_unknown_event_is_a_version_error(path: Path) -> None:
    body = b'{"colour": "green"}'
    database = apsw.Connection(str(path))
    values = ((1 << 32) + 3, 1.0, "painted", event_crc("r1", 3, 1.0, "painted", body), body)
    database.execute("INSERT INTO events (id, at, kind, crc, body) VALUES (?, ?, ?, ?, ?)", values)
    database.close()
    journal = SqliteJournal(path)
    with pytest.raises(JournalVersion, match=r"event 3 of run r1.*painted"):
        list(journal.read("r1"))
    journal.close()


_MIGRATE = """
import sys
from pathlib import Path
from journal.store.test_journal_migrations import add_colour
from surefoot.journal.store import connection, migrations
from surefoot.journal.store.sqlite import SqliteJournal

migrations.MIGRATIONS = connection.MIGRATIONS = (migrations.create_tables, add_colour)
journal = SqliteJournal(Path(sys.argv[1]))
print(len(list(journal.read("r1"))))
journal.close()
"""


@pytest.mark.slow
def test_concurrent_processes_migrate_an_older_journal_once(path: Path) -> None:
    assert list(output_of(*[worker(_MIGRATE, path) for _ in range(3)])) == ["2\n"] * 3
    assert _rows(path, "SELECT name FROM migrations ORDER BY applied_at") == [("create_tables",), ("add_colour",)]
    assert sorted(file.name for file in path.parent.glob("*.bak*")) == ["journal.db.schema-1.bak"]

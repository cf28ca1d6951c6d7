"""What is particular to a database: its schema, errors without passwords, damage, content elsewhere, heads."""

import threading
from pathlib import Path

import psycopg
import pytest

from support.postgres import PASSWORD, PostgresServer
from support.samples import created, finished_with, messages, warned
from surefoot.core.transitions import Stage
from surefoot.errors import ConfigError, JournalBroken, JournalError, JournalUnreachable, JournalVersion, UnknownRun
from surefoot.journal.objects.files import FileObjects
from surefoot.journal.store.postgres.heads import PostgresHeads
from surefoot.journal.store.postgres.journal import PostgresJournal
from surefoot.journal.store.postgres.migrations import MIGRATIONS, migrate
from surefoot.journal.store.postgres.reading import PostgresReader


def _execute(url: str, sql: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.encode())


async def test_reading_creates_nothing_and_the_first_write_the_schema(postgres_server: PostgresServer) -> None:
    url = postgres_server.url(postgres_server.new_database("template0"))
    journal = PostgresJournal(url)
    assert (journal.summaries(), journal.workspaces(), PostgresHeads(url).changed()) == ([], {}, {})
    with pytest.raises(UnknownRun):
        journal.read("r1")
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT FROM pg_namespace WHERE nspname = 'surefoot'").fetchall() == []
    await journal.append("r1", [created("r1")])
    assert [run.run_id for run in journal.summaries()] == ["r1"]
    await journal.aclose()


def test_many_processes_create_the_schema_once(postgres_server: PostgresServer) -> None:
    url = postgres_server.url(postgres_server.new_database("template0"))
    failures: list[Exception] = []

    def create() -> None:
        try:
            with psycopg.connect(url, autocommit=True) as connection:
                migrate(connection, url)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with psycopg.connect(url) as connection:
        names = connection.execute("SELECT name FROM surefoot.migrations ORDER BY number").fetchall()
    assert names == [(name,) for name, _ in MIGRATIONS]


async def test_a_newer_schema_and_a_foreign_one_are_refused_untouched(database: str) -> None:
    _execute(database, "INSERT INTO surefoot.migrations VALUES (99, 'later', 0, '9.9')")
    for use in (lambda: PostgresReader(database).summaries(), lambda: PostgresJournal(database).acquire("r1")):
        with pytest.raises(JournalVersion, match=r"written by Surefoot 9\.9"):
            use()
    _execute(database, "DROP TABLE surefoot.migrations")
    with pytest.raises(JournalBroken, match="belongs to another program"):
        PostgresReader(database).summaries()


async def test_errors_name_the_database_and_never_the_password(postgres_server: PostgresServer) -> None:
    name = postgres_server.new_database()
    right = PostgresReader(postgres_server.url_with_password(name))
    assert right.summaries() == []
    right.close()
    wrong = "wr0ng-Pass-word"
    cases = {
        postgres_server.url_with_password(name, wrong): (JournalError, "refuses access"),
        postgres_server.url_with_password("nowhere"): (JournalError, "refuses access"),
        f"postgresql://postgres:{wrong}@127.0.0.1:1/{name}": (JournalUnreachable, "does not answer"),
        f"postgresql://postgres:{wrong}@127.0.0.1:5432/{name}?colour={wrong}": (ConfigError, "cannot be read"),
    }
    for url, (kind, text) in cases.items():
        with pytest.raises(kind, match=text) as raised:
            PostgresReader(url).summaries()
        message = f"{raised.value} {raised.value.remedy} {raised.value.__cause__}"
        assert wrong not in message
        assert PASSWORD not in message


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("UPDATE surefoot.events SET body = body || 'x' WHERE seq = 2", "event 2 of run r1 is missing or was changed"),
        ("DELETE FROM surefoot.events WHERE seq = 2", "event 2 of run r1 is missing or was changed"),
        ("DELETE FROM surefoot.events WHERE seq = 3", "the events of run r1 after 2 are missing"),
        ("UPDATE surefoot.runs SET workspace = '/other'", "the entry of run 'r1' was changed"),
    ],
)
async def test_damaged_rows_are_found(database: str, damage: str, message: str) -> None:
    journal = PostgresJournal(database)
    await journal.append("r1", [created("r1"), warned("a"), warned("b")])
    await journal.aclose()
    _execute(database, damage)
    with pytest.raises(JournalBroken, match=message):
        list(PostgresReader(database).read("r1"))


async def test_large_content_goes_to_the_object_store(database: str, tmp_path: Path) -> None:
    import random

    large = random.Random(1).randbytes(300_000)
    objects = FileObjects(tmp_path / "objects")
    journal = PostgresJournal(database, objects=objects)
    digest, small = journal.put_blob(large), journal.put_blob(b"small")
    assert journal.get_blob(digest) == large
    await journal.append("r1", [created("r1"), finished_with(digest)])
    assert list(objects.list()) == [digest]
    assert (journal.get_blob(digest), journal.get_blob(small)) == (large, b"small")
    elsewhere = PostgresReader(database)
    assert elsewhere.has_blob(digest)
    with pytest.raises(JournalError, match="object store that is not configured here"):
        elsewhere.blob(digest)
    (tmp_path / "objects" / digest[:2] / digest).write_bytes(b"changed")
    with pytest.raises(JournalBroken, match="is missing or was changed"):
        journal.get_blob(digest)
    journal.drop_blob(digest)
    assert list(objects.list()) == []
    assert not journal.has_blob(digest)
    await journal.aclose()
    elsewhere.close()


async def test_heads_tell_which_runs_have_changed_and_are_driven(database: str) -> None:
    heads, journal = PostgresHeads(database), PostgresJournal(database)
    assert heads.changed() == {}
    await journal.append("r1", [created("r1")])
    await journal.append("r2", [created("r2"), warned("a")])
    assert heads.changed() == {"r1": 1, "r2": 2}
    assert heads.changed() == {}
    await journal.append("r1", [warned("b")])
    assert heads.changed() == {"r1": 2}
    assert heads.driven() == {"r1", "r2"}
    assert heads.driven(["r1", "r9"]) == {"r1"}
    await journal.aclose()
    assert heads.driven() == heads.driven(["r1"]) == set()
    heads.close()


async def test_runs_that_carried_out_a_plan_are_found(database: str) -> None:
    journal = PostgresJournal(database)
    await journal.append("r1", [created("r1")])
    await journal.append("r2", [created("r2").with_(based_on="r1", starts_at=Stage.EXECUTION)])
    await journal.append("r3", [created("r3").with_(based_on="r1", starts_at=Stage.PLANNING)])
    await journal.append("r4", [created("r4").with_(based_on="r1", starts_at=Stage.EXECUTION)])
    await journal.aclose()
    reader = PostgresReader(database)
    assert reader.carried_out_by("r1") == ["r2", "r4"]
    reader.close()


async def test_long_runs_are_read_in_pages(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.journal.store.postgres.reading.PAGE_EVENTS", 7)
    monkeypatch.setattr("surefoot.journal.store.postgres.reading.PAGE_BYTES", 5_000)
    journal = PostgresJournal(database)
    texts = [f"{n}" * (1 if n % 5 else 4_000) for n in range(60)]
    await journal.append("r1", [created("r1"), *(warned(text) for text in texts)])
    assert messages(journal.read("r1")) == texts
    assert messages(journal.read("r1", after=30)) == texts[29:]
    await journal.aclose()

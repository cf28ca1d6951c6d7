"""Preview of SQLite databases: prompts show their tables and first rows."""

import os
import sqlite3
from pathlib import Path

import pytest

from support.kit import SMALL, Bench, fenced
from surefoot.core.outcome import Verdict
from surefoot.engine.loop import start_run
from surefoot.project.sqlite_preview import tables_in


def make_database(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


@pytest.mark.req("X5")
def test_preview_shows_tables_and_first_rows(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a b?.db",
        "CREATE TABLE buyers (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO buyers VALUES (1, 'Ada'), (2, NULL), (3, 'Cy')",
        'CREATE TABLE "odd ""name""" (picture BLOB, note TEXT)',
        """INSERT INTO [odd "name"] VALUES (x'00ff', '{}')""".format("n" * 100),
        "CREATE VIEW all_buyers AS SELECT * FROM buyers",
    )
    before = sorted(tmp_path.iterdir())
    assert tables_in(path.parent, path.name, 1_000) == (
        "CREATE TABLE buyers (id INTEGER PRIMARY KEY, name TEXT);\n"
        "-- 1, 'Ada'\n"
        "-- 2, NULL\n"
        'CREATE TABLE "odd ""name""" (picture BLOB, note TEXT);\n'
        "-- (2 bytes), (100 characters)"
    )
    assert sorted(tmp_path.iterdir()) == before, "no files are left beside it"
    without_rows = tables_in(path.parent, path.name, 150)
    assert without_rows is not None
    assert [line.split()[0] for line in without_rows.splitlines()] == ["CREATE", "CREATE"]
    assert tables_in(path.parent, path.name, 20) is None


@pytest.mark.req("X5")
def test_unreadable_table_is_still_listed(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "odd.db",
        "CREATE TABLE words (word TEXT)",
        "INSERT INTO words VALUES (CAST(x'4dfc6c6c6572' AS TEXT))",
        "CREATE TABLE large (x INTEGER, y AS (hex(zeroblob(x))))",
        "INSERT INTO large (x) VALUES (300000000)",
        "CREATE TABLE plain (x INTEGER)",
        "INSERT INTO plain VALUES (7)",
    )
    preview = tables_in(path.parent, path.name, 1_000)
    assert preview is not None
    assert preview.splitlines()[0] == "CREATE TABLE words (word TEXT);"
    assert preview.splitlines()[1].startswith("CREATE TABLE large")
    assert preview.splitlines()[2:] == ["CREATE TABLE plain (x INTEGER);", "-- 7"]


@pytest.mark.req("X5")
def test_unusable_files_have_no_preview(tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"no" * 500)
    (tmp_path / "text.db").write_text("hello")
    os.mkfifo(tmp_path / "pipe.db")
    (tmp_path / "link.db").symlink_to(make_database(tmp_path / "real.db", "CREATE TABLE t (x)"))
    make_database(tmp_path / "empty.db", "CREATE TABLE t (x)", "DROP TABLE t")
    writer = sqlite3.connect(tmp_path / "busy.db", isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE t (x)")
    names = ["broken.db", "text.db", "pipe.db", "link.db", "missing.db", "empty.db", "busy.db", "."]
    assert [tables_in(tmp_path, name, 1_000) for name in names] == [None] * len(names)
    writer.close()


@pytest.mark.req("X5")
async def test_prompt_for_a_program_shows_the_tables(bench: Bench) -> None:
    make_database(bench.root / "shop.db", "CREATE TABLE sales (cents INTEGER)", "INSERT INTO sales VALUES (40), (2)")
    before = (bench.root / "shop.db").read_bytes()
    program = fenced("rows = sqlite3.connect('shop.db').execute('SELECT sum(cents) FROM sales')\n"
                     "open('total.csv', 'w').write(f'cents\\n{rows.fetchone()[0]}\\n')")  # fmt: skip
    services = bench.services([program], traits=SMALL)
    task = bench.task("Add up what is in shop.db and write total.csv.", ["grep -q 42 total.csv"])
    state = await start_run(services, task, bench.config())
    assert "CREATE TABLE sales (cents INTEGER);\n-- 40\n-- 2\n" in bench.prompts()[0]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, "the missing import was added"
    assert (bench.root / "shop.db").read_bytes() == before

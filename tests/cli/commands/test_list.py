"""`surefoot list` with many runs: what it reads and imports does not grow with them."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import apsw
import pytest

from cli.conftest import Surefoot
from support import recorded
from surefoot.cli.commands.inspect import list_runs
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal


async def store_runs(surefoot: Surefoot, numbers: range) -> None:
    journal = SqliteJournal(surefoot.journal_file)
    created, *others = (record.event for record in recorded.whole_run())
    assert isinstance(created, e.RunCreated)
    task = created.task.with_(workspace=str(surefoot.workspace))
    for number in numbers:
        run_id = f"20261115-{number:04}-otter"
        await journal.append(run_id, [created.with_(run_id=run_id, task=task), *others])
        if number % 3 == 0:
            await journal.append(
                run_id, [e.RolledBack(step_id="", snapshot="a" * 64, paths=("report.py",), by="me", scope="run")]
            )
    await journal.aclose()


@contextmanager
def counted_statements() -> Iterator[list[str]]:
    """The SQL statements that connections which are opened now carry out."""
    statements: list[str] = []

    def trace(_cursor: object, sql: str, _values: object) -> bool:
        statements.append(sql)
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    apsw.connection_hooks.append(watch)
    try:
        yield statements
    finally:
        apsw.connection_hooks.remove(watch)


async def test_the_number_of_queries_does_not_depend_on_the_number_of_runs(
    surefoot: Surefoot, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(surefoot.home))
    monkeypatch.chdir(surefoot.workspace)
    queries: list[int] = []
    for first, last in ((0, 4), (4, 30)):
        await store_runs(surefoot, range(first, last))
        with counted_statements() as statements:
            assert list_runs.main(["-n", "100"], standalone_mode=False) == 0
        assert len(capsys.readouterr().out.splitlines()) == last
        queries.append(len(statements))
    assert queries[0] == queries[1] > 0, queries


async def test_the_rows_are_those_of_single_runs(surefoot: Surefoot) -> None:
    await store_runs(surefoot, range(4))
    lines = surefoot("list").out.splitlines()
    assert [line.split()[0] for line in lines] == [f"20261115-{number:04}-otter" for number in (3, 2, 1, 0)]
    assert [line.split()[3] for line in lines] == ["undone", "verified", "verified", "undone"]
    assert all("$0.0240" in line and "\x1b" not in line for line in lines)
    items = surefoot("list", "--json").objects
    assert {item["cost_usd"] for item in items} == {0.024}
    assert {item["tokens"]["prompt"] for item in items} == {6000}
    assert [item["undone"] for item in items] == ["undone", "", "", "undone"]


async def test_on_a_terminal_the_status_is_coloured(surefoot: Surefoot) -> None:
    await store_runs(surefoot, range(1, 2))
    terminal = surefoot.on_terminal("list")
    assert terminal.end() == 0
    assert "\x1b[32mverified" in terminal.output
    heading, row = terminal.screen[:2]
    for title, cell in (("RUN", "20261115-"), ("STATUS", "verified"), ("TASK", "add a --json")):
        assert heading.index(title) == row.index(cell), terminal.screen
    assert "STARTED" in heading
    surefoot.environ["NO_COLOR"] = "1"
    terminal = surefoot.on_terminal("list")
    assert terminal.end() == 0
    assert "\x1b[" not in terminal.output


@pytest.mark.parametrize("columns", [80, 120])
async def test_on_a_terminal_a_run_is_one_line(surefoot: Surefoot, columns: int) -> None:
    long = "修正 add 関数を直してください。" * 6
    await surefoot.store(recorded.records([recorded.created(text=long)]))
    for words in (["list"], ["list", "--all"]):
        terminal = surefoot.on_terminal(*words, columns=columns)
        assert terminal.end() == 0
        rows = [row for row in terminal.screen if row.strip()]
        assert len(rows) == 2, rows
        assert rows[1].endswith("…")
    assert long[:60] in surefoot("list").out, "in a pipe there is no width"


def test_the_list_imports_neither_pydantic_nor_the_console(surefoot: Surefoot) -> None:
    """They take longer than the list itself. A time limit would depend on the machine."""
    asyncio.run(store_runs(surefoot, range(2)))
    code = (
        "import sys; sys.argv = ['surefoot', 'list']\n"
        "from surefoot.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as result:\n    assert result.code == 0\n"
        "heavy = {'rich.console', 'rich.text', 'pydantic', 'asyncio', 'surefoot.journal.events', 'surefoot.engine'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=surefoot.workspace,
        env=surefoot.variables(),
    )
    run, undone, loaded = done.stdout.splitlines()
    assert "verified" in run
    assert "undone" in undone
    assert loaded == "[]"


async def test_a_secret_in_a_task_is_listed_nowhere(surefoot: Surefoot) -> None:
    key = "sk-proj-0123456789abcdefghij"
    await surefoot.store(recorded.records([recorded.created(text=f"use {key} here")]))
    surefoot.environ["OPENAI_API_KEY"] = key
    for words in (["list"], ["list", "--json"]):
        listed = surefoot(*words).out
        assert "[redacted]" in listed
        assert key not in listed


def cpu_seconds(surefoot: Surefoot, *arguments: str) -> float:
    """The processor time of a whole process, from its start."""
    process = subprocess.Popen(
        [sys.executable, "-m", "surefoot", *arguments],
        stdout=subprocess.DEVNULL,
        env=surefoot.variables(),
        cwd=surefoot.workspace,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


@pytest.mark.slow
async def test_a_thousand_runs_cost_little_more_than_the_start_of_the_program(surefoot: Surefoot) -> None:
    """Processor time, beside that of `--help` in the same minute: neither the machine nor its load matters. The goal is
    300 ms where `--help` takes 120."""
    await store_runs(surefoot, range(1000))
    rounds = [(cpu_seconds(surefoot, "list"), cpu_seconds(surefoot, "--help")) for _ in range(3)]
    listing, helping = map(min, zip(*rounds, strict=True))
    assert listing < 2.5 * helping, rounds

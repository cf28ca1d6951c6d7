"""`surefoot stats`: scope, charts on a terminal, clean text in a pipe, JSON by its schema, damaged runs."""

import json
import sqlite3

import jsonschema
import pytest

from cli.conftest import Surefoot
from support.recorded import failed_run, whole_run
from surefoot.history.stats.values import stats_schema
from surefoot.journal import events as e

BLOCKS = "█▏▎▍▌▋▊▉"


def another(run: list[e.Record]) -> list[e.Record]:
    """The same run under an id of its own."""
    created = run[0].event
    assert isinstance(created, e.RunCreated)
    return [run[0]._replace(event=created.with_(run_id="0101-000000-aaaa")), *run[1:]]


@pytest.mark.req("A12")
async def test_figures_of_this_folder_and_of_all(surefoot: Surefoot) -> None:
    await surefoot.store(whole_run())
    await surefoot.elsewhere("other").store(another(failed_run()))
    of_folder = surefoot("stats")
    assert of_folder.code == 0
    assert of_folder.out.startswith("1 run in ")
    assert "1 run in other folders: surefoot stats --all" in of_folder.err
    assert not set(of_folder.out) & set(BLOCKS + "\x1b"), "no charts and no colours in a pipe"
    every = surefoot("stats", "--all", "--json")
    found = json.loads(every.out)
    jsonschema.Draft202012Validator(stats_schema()).validate(found)
    assert stats_schema()["version"] == found["version"] == 1
    assert found["runs"] == 2
    assert found["results"]["failed"] == 1
    assert json.loads(surefoot("stats", "--all", "--since", "2999-01-01", "--json").out)["runs"] == 0
    assert json.loads(surefoot("schema", "stats").out) == stats_schema()
    terminal = surefoot.on_terminal("stats", "--all")
    assert terminal.end() == 0
    assert "█" in terminal.output


async def test_a_damaged_run_is_named(surefoot: Surefoot) -> None:
    await surefoot.store(whole_run())
    run_id = await surefoot.store(another(failed_run()))
    database = sqlite3.connect(surefoot.journal_file)
    with database:
        database.execute("UPDATE events SET body = x'7b7d' WHERE kind = 'run_ended' AND id >> 32 = 2")
    database.close()
    result = surefoot("stats")
    assert result.code == 0
    assert result.out.startswith("1 run in ")
    assert f"run {run_id} cannot be read and is not counted" in result.err


def test_a_time_that_cannot_be_read_is_a_usage_error(surefoot: Surefoot) -> None:
    result = surefoot("stats", "--since", "yesterday")
    assert result.code == 2
    assert "write 24h, 7d, 4w or a date" in result.err
    assert surefoot("stats").out.startswith("0 runs")


async def test_a_partly_undone_run_is_not_counted_as_undone(surefoot: Surefoot) -> None:
    run = whole_run()
    undo = e.RolledBack(step_id="", snapshot="s1", towards="s0", scope="step", from_step="s2", by="me", paths=("a",))
    await surefoot.store([*run, e.Record(run[-1].seq + 1, run[-1].at + 1, undo)])
    assert "  partly undone" in surefoot("stats").out
    assert "partly undone" in surefoot("list").out
    results = json.loads(surefoot("stats", "--json").out)["results"]
    assert (results["undone"], results["partly_undone"], results["verified"]) == (0, 1, 0)

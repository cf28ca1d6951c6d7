"""The journal in PostgreSQL from the command line: every command reaches it, and nothing shows its password."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from cli.conftest import Surefoot
from support.forgeries import UNITTEST
from support.pages import DOCS, blocks
from support.postgres import PASSWORD, PostgresServer
from support.stories import UNDERSTANDING, good_script, slow_script
from surefoot.journal.store.postgres.journal import PostgresJournal

pytestmark = pytest.mark.slow


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    """A URL with a password."""
    return postgres_server.url_with_password(postgres_server.new_database())


@pytest.fixture
def shared(surefoot: Surefoot, url: str) -> Surefoot:
    """The command of a user whose journal is a database."""
    surefoot.environ["SUREFOOT_DATABASE"] = url
    return surefoot


def test_commands_use_the_database(surefoot: Surefoot, url: str) -> None:
    there = ("--database", url)
    ran = surefoot(*good_script(surefoot), *there, "--json")
    assert ran.code == 0, ran.err
    assert not surefoot.journal_file.exists()
    (listed,) = surefoot("list", "--json", *there).objects
    run_id = listed["run_id"]
    outputs = [ran]
    for words in (
        ["show", run_id],
        ["show", run_id, "--json"],
        ["stats"],
        ["diff", run_id],
        ["report", run_id, "--format", "md", "-o", "-"],
        ["replay", run_id, "--verify"],
        ["watch", run_id],
        ["config"],
        ["config", "--json"],
        ["doctor"],
        ["undo", run_id, "--yes"],
    ):
        result = surefoot(*words, *there)
        assert result.code == 0 or words == ["doctor"], (words, result.err, result.out)
        outputs.append(result)
    assert not (surefoot.workspace / "adder.py").exists()
    assert surefoot("list", "--json", *there).objects[0]["undone"] == "undone"
    # Nothing of it is in the file, and nothing shows the password.
    assert surefoot("list", "--json").objects == []
    assert all(PASSWORD not in result.out + result.err for result in outputs)
    config = json.loads(outputs[9].out)["storage.database"]
    assert config["source"] == "SUREFOOT_DATABASE"
    assert config["value"].startswith("postgresql://postgres@127.0.0.1:")


def test_a_wrong_password_is_an_error_without_it(surefoot: Surefoot, url: str) -> None:
    wrong = url.replace(PASSWORD, "wr0ng-Pass-word")
    for words in (["list"], ["run", "do it", "-m", surefoot.script()], ["doctor"]):
        surefoot.environ["SUREFOOT_DEBUG"] = "1"
        result = surefoot(*words, "--database", wrong)
        assert result.code != 0
        assert "refuses access" in result.out + result.err
        assert "wr0ng" not in result.out + result.err


def test_the_config_of_the_user_names_the_database_without_a_password(surefoot: Surefoot, url: str) -> None:
    config = surefoot.home / ".config" / "surefoot" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[storage]\ndatabase = "{url}"\n')
    for words in (["list"], ["config"]):
        refused = surefoot(*words)
        assert refused.code == 2
        assert "without a password" in refused.err
        assert PASSWORD not in refused.err
    config.write_text(f'[storage]\ndatabase = "{url.replace(":" + PASSWORD, "")}"\n')
    surefoot.environ["PGPASSWORD"] = PASSWORD
    assert surefoot("list").code == 0
    assert "postgresql://postgres@127.0.0.1" in surefoot("config").out


def test_a_project_cannot_say_where_runs_are_recorded(surefoot: Surefoot) -> None:
    (surefoot.workspace / "surefoot.toml").write_text('[storage]\ndatabase = "postgresql://evil.example/x"\n')
    refused = surefoot("trust")
    assert refused.code == 2
    assert "a project cannot say where runs are recorded" in refused.err


def test_commands_of_a_run_do_not_see_the_database(shared: Surefoot) -> None:
    seen_file = shared.home / "seen"
    act = {"decision": "act", "tool": "run_command", "arguments": {"command": f"env > {seen_file}"}}
    understanding = {**UNDERSTANDING, "files": [], "task_type": "shell"}
    script = shared.script(understanding, act, act, act)
    shared("run", "Look at the variables.", "-m", script, "--check", f"test -f {seen_file}", "--sandbox", "off")
    seen = seen_file.read_text()
    assert "PATH=" in seen
    assert PASSWORD not in seen
    assert "SUREFOOT_DATABASE" not in seen


@pytest.mark.req("A11")
def test_a_killed_run_is_resumed_at_once_on_the_same_machine(shared: Surefoot) -> None:
    process = shared.start(*slow_script(shared), "--sandbox", "off")
    while not (shared.workspace / "begun").exists():
        assert process.poll() is None
    running = shared("resume", "last", "-m", shared.script())
    assert running.code == 1
    # With another state folder, as on another machine, only the lease shows that it is driven.
    elsewhere = replace(shared, environ={**shared.environ, "SUREFOOT_HOME": str(shared.home / "elsewhere")})
    for machine, words in ((shared, f"process {process.pid} since"), (elsewhere, "another process")):
        assert machine("list", "--json").objects[0]["status"] == "running"
        assert f"in progress in {words}" in machine("show").out
    process.send_signal(signal.SIGKILL)
    process.wait()
    for machine in (shared, elsewhere):
        assert machine("list", "--json").objects[0]["status"] == "interrupted", "although its lease has not ended"
        assert "Interrupted" in machine("show").out
    (shared.workspace / "adder.py").write_text("def add(a, b):\n    return a + b\n")
    again = shared("cancel", "last")
    assert again.code == 0, again.err
    resumed = shared("resume", "last", "-m", shared.script(), "--json")
    assert resumed.code == 130, resumed.err
    assert resumed.objects[-1]["type"] == "outcome"


@pytest.mark.req("P14")
def test_a_run_that_was_taken_over_while_stopped_ends_and_changes_nothing(shared: Surefoot, url: str) -> None:
    """The command of the stopped process is ended too: two processes must not work on one run."""
    shared.environ["SUREFOOT_STORAGE__LEASE_SECONDS"] = "1"
    process = shared.start(*slow_script(shared), "--sandbox", "off", "--json")
    while not (shared.workspace / "begun").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGSTOP)
    other = PostgresJournal(url, owner="another machine")
    run_id = other.find("last")
    _wait_for_lease(other, run_id)
    before = [record.seq for record in other.read(run_id)]
    tree = _tree(shared.workspace)
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert f"run {run_id} was taken over" in err
    assert "after the lease of this process had ended; nothing more was written here" in err
    assert "surefoot resume" not in err
    assert [record.seq for record in other.read(run_id)] == before
    assert _tree(shared.workspace) == tree
    other.close()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT max(fence) FROM surefoot.events").fetchone() == (1,)


def test_the_commands_of_the_guide_work(surefoot: Surefoot, postgres_server: PostgresServer) -> None:
    """Every command, statement and program of docs/guides/postgres.md, in its order, against a real server."""
    found = blocks(DOCS / "guides/postgres.md", "sh", "sql", "python", "toml")
    assert [block.language for block in found] == ["sql", "sh", "sh", "toml", "python", "sh", "sql"]
    names, url = (
        "postgresql://surefoot@db.example.com/runs",
        f"postgresql://surefoot@127.0.0.1:{postgres_server.port}/runs",
    )
    model = good_script(surefoot)[3]
    (surefoot.workspace / "test_adder.py").write_text(UNITTEST)
    where = "postgres"
    for kind, text, _ in found:
        if kind == "sql":
            with psycopg.connect(postgres_server.url(where), autocommit=True) as connection:
                for statement in filter(str.strip, text.split(";")):
                    connection.execute(statement.encode())
            where = "runs"
        elif kind == "python":
            done = subprocess.run(
                [sys.executable, "-c", text], env=surefoot.variables(), text=True, capture_output=True, check=False
            )
            assert done.returncode == 0, done.stderr
            assert re.search(r"is ours with fence \d+", done.stdout)
        elif kind == "toml":
            config = surefoot.home / ".config" / "surefoot" / "config.toml"
            config.parent.mkdir(parents=True)
            config.write_text(text.replace(names, url))
            environ = dict(surefoot.environ)
            del surefoot.environ["SUREFOOT_DATABASE"]
            assert len(surefoot("list", "--json").objects) == 1
            surefoot.environ.update(environ)
        else:
            for line in text.replace(names, url).splitlines():
                _follow(surefoot, shlex.split(line), model)


def _follow(surefoot: Surefoot, words: list[str], model: str) -> None:
    """Do what a line of a shell example says. The package is installed already."""
    match words:
        case ["export", assignment]:
            name, _, value = assignment.partition("=")
            surefoot.environ[name] = value
        case ["surefoot", "run", *more]:
            result = surefoot("run", *more, "-m", model)
            assert result.code == 0, result.err
        case ["surefoot", "doctor"]:
            assert "/runs" in surefoot("doctor").out
        case ["surefoot", *more]:
            result = surefoot(*more)
            assert result.code == 0, result.err
            assert "adder.py" in result.out
        case _:
            assert words[:2] == ["pipx", "install"]


def _wait_for_lease(journal: PostgresJournal, run_id: str) -> None:
    from surefoot.errors import JournalBusy

    while True:
        try:
            journal.acquire(run_id, seconds=600)
            return
        except JournalBusy:
            time.sleep(0.1)


def _tree(folder: Path) -> dict[str, bytes]:
    return {
        os.path.relpath(Path(root, name), folder): Path(root, name).read_bytes()
        for root, _, names in os.walk(folder)
        for name in names
    }

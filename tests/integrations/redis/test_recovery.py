"""A run that only Redis has comes back: to be shown, to go on where its snapshots are, to start again with its plan."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Surefoot
from cli.conftest import surefoot as surefoot
from integrations.redis.conftest import Copied
from integrations.redis.test_copier import two_steps
from support.kit import act, done, fenced, steps, understanding
from support.valkey import Valkey
from surefoot.config.integrations import RedisSettings
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep
from surefoot.engine.executor.artifacts import Artifacts
from surefoot.errors import JournalError, SurefootError, UnknownRun, UsageError
from surefoot.integrations.redis.keys import Keys
from surefoot.integrations.redis.recovery import recover
from surefoot.journal.reducers import fold
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.models.base import ModelRequest


def cancel_run(_: ModelRequest) -> Any:
    raise asyncio.CancelledError


def read(journal_file: Path) -> SqliteJournal:
    return SqliteJournal(journal_file, read_only=True)


@pytest.mark.req("A10")
async def test_an_empty_journal_gets_the_whole_run_back(copied: Copied, valkey: Valkey, tmp_path: Path) -> None:
    copied.use(valkey)
    copied.bench.write(notes__txt="".join(f"line {number}\n" for number in range(3_000)))
    state = await copied.run(two_steps())
    there = list(copied.bench.journal.read(state.run_id))
    other = tmp_path / "elsewhere" / "journal.sqlite"
    other.parent.mkdir()
    found = await recover(copied.settings, state.run_id[:6], other)
    assert (found.run_id, found.missing, found.may_be_running) == (state.run_id, 0, False)
    journal = read(other)
    assert list(journal.read(state.run_id)) == there, "numbers, times and events"
    back = fold(journal.read(state.run_id))
    assert back.outcome == state.outcome
    assert Artifacts(back, journal)["read"] == Artifacts(state, copied.bench.journal)["read"]
    (summary,) = journal.summaries()
    assert summary.verdict is (state.outcome and state.outcome.verdict)
    journal.close()
    with pytest.raises(UsageError, match="is in this journal already"):
        await recover(copied.settings, "last", other)


@pytest.mark.req("A10", "A11")
async def test_an_interrupted_run_goes_on_from_a_recovered_journal(copied: Copied, valkey: Valkey) -> None:
    copied.use(valkey)
    plan = steps(
        ExecutionStep(id="first", name="first", tool="write_file", parameters={"path": "a.txt", "content": "1\n"}),
        ExecutionStep(id="second", name="second", description="Write b.txt with 2."),
        after=[("second", "first")],
    )
    with pytest.raises(asyncio.CancelledError):
        await copied.run(plan, [cancel_run])
    run_id = copied.bench.journal.find("last")
    copied.bench.journal.close()  # type: ignore[attr-defined]
    for file in copied.bench.home.glob("journal.sqlite*"):
        if file.is_file():
            file.unlink()
    await recover(copied.settings, run_id, copied.journal_file)
    copied.bench.journal = SqliteJournal(copied.journal_file)
    state = await copied.resume(run_id, [act("write_file", path="b.txt", content="2\n"), done()])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert copied.bench.files() == {"a.txt": "1\n", "b.txt": "2\n"}
    assert state.steps["first"].attempt == 1, "what was done is not done again"


@pytest.mark.req("A10")
async def test_lost_events_at_the_end_are_named(copied: Copied, valkey: Valkey, tmp_path: Path) -> None:
    copied.use(valkey)
    copied.bench.write(notes__txt="x\n")
    state = await copied.run(two_steps())
    keys = Keys("surefoot", state.run_id)
    valkey.client.hdel(keys.events, str(state.seq - 2))
    found = await recover(copied.settings, "last", tmp_path / "journal.sqlite")
    assert (found.missing, found.state.seq) == (3, state.seq - 3)


@pytest.mark.req("A10")
@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("1", None, "the beginning of run .* is not in Redis any more"),
        ("2", b"{", "event 2 of run .* cannot be read"),
        ("2", b'{"at":1,"kind":"no_such_kind","body":{}}', "event 2 of run .* cannot be read"),
        ("2", b'{"at":1,"kind":"step_started","body":{"attempt":"x"}}', "event 2 of run .* cannot be read"),
    ],
)
async def test_damaged_runs_are_refused_and_nothing_is_written(
    copied: Copied, valkey: Valkey, tmp_path: Path, field: str, value: bytes | None, message: str
) -> None:
    copied.use(valkey)
    state = await copied.run(steps(ExecutionStep(id="list", name="list", tool="list_files")))
    key = Keys("surefoot", state.run_id).events
    valkey.client.hdel(key, field) if value is None else valkey.client.hset(key, field, value)
    with pytest.raises(JournalError, match=message):
        await recover(copied.settings, "last", tmp_path / "journal.sqlite")
    assert not (tmp_path / "journal.sqlite").exists()


@pytest.mark.req("A10")
async def test_content_that_is_not_what_its_hash_says_is_left_out(
    copied: Copied, valkey: Valkey, tmp_path: Path
) -> None:
    copied.use(valkey)
    copied.bench.write(notes__txt="".join(f"line {number}\n" for number in range(3_000)))
    state = await copied.run(two_steps())
    key = Keys("surefoot", state.run_id).blobs
    digests = valkey.client.hkeys(key)
    assert digests
    for digest in digests:
        valkey.client.hset(key, digest, b"forged")
    found = await recover(copied.settings, "last", tmp_path / "journal.sqlite")
    assert found.blobs == 0


@pytest.mark.req("A10")
async def test_errors_name_the_remedy_and_no_password(valkey: Valkey, tmp_path: Path) -> None:
    journal = tmp_path / "journal.sqlite"
    with pytest.raises(UsageError, match="no Redis server is configured"):
        await recover(RedisSettings(), "last", journal)
    with pytest.raises(UnknownRun, match="no runs in Redis"):
        await recover(RedisSettings(url=valkey.url), "last", journal)
    with pytest.raises(SurefootError, match="cannot be used") as error:
        await recover(RedisSettings(url="redis://:s3cret-pass-1@127.0.0.1:1/0"), "last", journal)
    assert "s3cret" not in str(error.value)
    assert "[redacted]" in str(error.value)


@pytest.mark.slow
@pytest.mark.req("A10")
def test_another_machine_shows_the_run_and_starts_again_with_its_plan(surefoot: Surefoot, valkey: Valkey) -> None:
    surefoot.environ["SUREFOOT_REDIS__URL"] = valkey.url
    good = "def add(a, b):\n    return a + b\n"
    words = "Write adder.py with add(a, b)"
    answers = [{**understanding("adder.py"), "understanding": words}, fenced(good)]
    result = surefoot("run", words, "-m", surefoot.script(*answers), "--json", "--baseline", "off")
    run_id = result.objects[-1]["run_id"]
    shown = surefoot("show", run_id)

    machine = Surefoot(surefoot.home.parent / "other", surefoot.workspace.parent / "there", dict(surefoot.environ))
    machine.home.mkdir()
    machine.workspace.mkdir()
    assert machine("show", run_id).code != 0
    recovered = machine("recover", run_id)
    assert (recovered.code, recovered.out.strip()) == (0, run_id)
    assert recovered.err.startswith(f"recovered run {run_id}: unverified")
    assert machine("show", run_id).out == shown.out
    report = machine("report", run_id, "--format", "json", "-o", "-")
    assert report.code == 0, report.err
    again = machine("run", "--based-on", run_id, "-m", machine.script(fenced(good)), "--json", "--baseline", "off")
    assert (again.code, again.objects[-1]["verdict"]) == (result.code, "unverified")
    assert (machine.workspace / "adder.py").read_text() == good


@pytest.mark.req("A10")
def test_a_password_is_shown_nowhere(surefoot: Surefoot) -> None:
    password = "hippo-7788-rhino"
    surefoot.environ["SUREFOOT_REDIS__URL"] = f"redis://:{password}@127.0.0.1:1/0"
    command = ["run", "list the files", "-m", surefoot.script(understanding(), "none"), "--baseline", "off"]
    outputs = [
        surefoot("config"),
        surefoot("config", "--json"),
        surefoot(*command, "--json"),
        surefoot("recover"),
    ]
    for output in outputs:
        assert password not in output.out + output.err
    assert "redis://:[redacted]@127.0.0.1:1/0" in outputs[0].out
    assert json.loads(outputs[1].out)["redis.url"]["value"] == "redis://:[redacted]@127.0.0.1:1/0"
    assert outputs[2].err.count("Redis at redis://:[redacted]@127.0.0.1:1/0 cannot be used") == 1
    assert outputs[3].code == 1


def test_a_password_in_a_config_file_is_refused(surefoot: Surefoot) -> None:
    path = surefoot.home / ".config/surefoot/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text('[redis]\nurl = "redis://:hippo-7788@127.0.0.1/0"\n')
    result = surefoot("config")
    assert result.code == 2
    assert "secrets do not belong in a config file" in result.err
    assert "SUREFOOT_REDIS__URL" in result.err
    assert "hippo" not in result.err
    path.write_text('[redis]\nurl = "redis//:hippo-7788@127.0.0.1/0"\n')
    assert "hippo" not in surefoot("config").err

"""Shared limits: never exceeded, whatever processes ask, and the places of dead processes come back."""

import asyncio
import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.config.model import ModelSettings
from surefoot.errors import ModelUnavailable
from surefoot.models.base import Message, ModelReply, ModelRequest, ModelTraits, OnText, Usage
from surefoot.models.limits import line, local, shared
from surefoot.models.limits.base import CallTable, Limits
from surefoot.models.limits.limited import LimitedModel
from surefoot.models.limits.local import LocalCalls
from surefoot.models.limits.opening import limited
from surefoot.models.limits.shared import SharedCalls
from surefoot.models.select import choose_model

REQUEST = ModelRequest(messages=(Message(role="user", content="hello"),), max_tokens=100)


@pytest.fixture(params=["file", "database"])
def calls(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CallTable]:
    table: CallTable
    if request.param == "file":
        table = LocalCalls(tmp_path / "limits.sqlite")
    else:
        table = SharedCalls(request.getfixturevalue("database"))
    yield table
    table.close()


def test_calls_beyond_the_limit_wait_until_one_ends(calls: CallTable) -> None:
    limits = Limits("a", concurrent_calls=2)
    assert calls.begin(limits, "1", 10, 30) == calls.begin(limits, "2", 10, 30) == 0
    assert calls.begin(limits, "3", 10, 30) > 0
    assert calls.begin(Limits("b", concurrent_calls=1), "other provider", 10, 30) == 0
    calls.end("1", None)
    assert calls.begin(limits, "3", 10, 30) == 0


def test_tokens_beyond_the_limit_wait_and_unused_ones_come_back(calls: CallTable) -> None:
    limits = Limits("a", tokens_per_minute=100)
    assert calls.begin(limits, "1", 60, 30) == 0
    assert 0 < calls.begin(limits, "2", 50, 30) <= 60
    calls.end("1", 20)
    assert calls.begin(limits, "2", 50, 30) == 0
    calls.end("2", None)
    assert calls.begin(limits, "3", 31, 30) > 0


def test_the_place_of_a_call_that_is_not_renewed_expires(calls: CallTable) -> None:
    limits = Limits("a", concurrent_calls=1)
    assert calls.begin(limits, "1", 10, 0.3) == 0
    assert calls.renew("1", 0.3)
    while calls.begin(limits, "2", 10, 30):
        time.sleep(0.05)
    assert not calls.renew("1", 30), "another call has its place"


@given(
    st.lists(
        st.tuples(st.floats(0, 40), st.integers(1, 120), st.sampled_from(["end", "end with less", "die"])), max_size=30
    ),
    st.integers(1, 3),
    st.integers(1, 120),
)
def test_no_sequence_of_calls_exceeds_the_limits(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[float, int, str]], most: int, per_minute: int
) -> None:
    now, lease = 1_000_000.0, 10.0
    calls = LocalCalls(tmp_path_factory.mktemp("limits") / "limits.sqlite", clock=lambda: now)
    limits = Limits("a", most, per_minute)
    begun: list[list[float]] = []
    """Start, last moment, and tokens of every call that was allowed."""
    for number, (pause, tokens, fate) in enumerate(asked):
        now += pause
        if calls.begin(limits, str(number), tokens, lease):
            continue
        begun.append([now, now + lease, tokens])
        if fate != "die":
            now += pause / 2
            begun[-1][1] = min(now, begun[-1][1])
            spent = tokens // 2 if fate == "end with less" else tokens
            begun[-1][2] = spent
            calls.end(str(number), spent)
    calls.close()
    for start, _, _ in begun:
        assert sum(first <= start < last for first, last, _ in begun) <= most
        assert sum(tokens for first, _, tokens in begun if start - 60 < first <= start) <= per_minute


CALLER = """
import os, sys, time
from surefoot.models.limits.base import Limits
from surefoot.models.limits import local, shared
where, name, log = sys.argv[1:]
shared.WINDOW_SECONDS = local.WINDOW_SECONDS = 1.0
calls = shared.SharedCalls(where) if "://" in where else local.LocalCalls(__import__("pathlib").Path(where))
limits, number = Limits("a", 3, 100), 0
while not os.path.exists(log + ".stop"):
    call = f"{name}.{number}"
    if wait := calls.begin(limits, call, 7, 2.0):
        time.sleep(min(wait, 0.02))
        continue
    begun = time.monotonic()
    time.sleep(0.02)
    ended = time.monotonic()
    with open(log, "a") as file:
        file.write(f"{begun} {ended}\\n")
    calls.end(call, 7)
    number += 1
"""


def caller(where: str, name: str, log: Path) -> "subprocess.Popen[bytes]":
    libc = ctypes.CDLL(None)
    return subprocess.Popen(
        [sys.executable, "-c", CALLER, where, name, str(log)],
        preexec_fn=lambda: libc.prctl(1, signal.SIGKILL),
    )


def wait_for_lines(log: Path, count: int, processes: "list[subprocess.Popen[bytes]]") -> None:
    while len(log.read_text().splitlines()) < count:
        assert all(process.poll() is None for process in processes)
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "database"])
def test_processes_that_die_and_stop_never_exceed_the_limits(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Six processes, of which one is killed and one stopped for longer than its lease."""
    where, log = str(tmp_path / "limits.sqlite"), tmp_path / "log"
    log.touch()
    if kind == "database":
        where = request.getfixturevalue("database")
        with psycopg.connect(where) as connection:
            connection.execute("CREATE TABLE audit (started timestamptz, tokens bigint)")
            connection.execute(
                "CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN INSERT INTO audit VALUES (NEW.started, NEW.tokens); RETURN NEW; END $$"
            )
            connection.execute(
                "CREATE TRIGGER audit AFTER INSERT ON surefoot.calls FOR EACH ROW EXECUTE FUNCTION audit()"
            )
    processes = [caller(where, str(number), log) for number in range(6)]
    wait_for_lines(log, 20, processes)
    processes[0].kill()
    processes[1].send_signal(signal.SIGSTOP)
    time.sleep(3)
    processes[1].send_signal(signal.SIGCONT)
    wait_for_lines(log, 40, processes[1:])
    log.with_name("log.stop").touch()
    codes = [process.wait() for process in processes]
    assert codes == [-signal.SIGKILL, 0, 0, 0, 0, 0]
    # A call that was stopped longer than its lease had lost its place meanwhile.
    held = [(a, b) for a, b in (map(float, line.split()) for line in log.read_text().splitlines()) if b - a < 2.0]
    for begun, _ in held:
        assert sum(a <= begun < b for a, b in held) <= 3
    assert len(held) > 30
    if kind == "database":
        with psycopg.connect(where) as connection:
            rows = [(at.timestamp(), tokens) for at, tokens in connection.execute("SELECT started, tokens FROM audit")]
        assert len(rows) >= len(held)
        for at, _ in rows:
            assert sum(tokens for other, tokens in rows if at - 1 < other <= at) <= 100


class QuickModel:
    name, traits = "quick", ModelTraits()

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        await asyncio.sleep(0.02)
        return ModelReply(text="hello", usage=Usage(prompt_tokens=3, output_tokens=2))

    async def aclose(self) -> None:
        pass


class SlowModel:
    name, traits = "slow", ModelTraits()

    def __init__(self) -> None:
        self.running = self.most = self.cancelled = 0
        self.begun, self.release = asyncio.Event(), asyncio.Event()

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        self.running += 1
        self.begun.set()
        self.most = max(self.most, self.running)
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        return ModelReply(text="hello", usage=Usage(prompt_tokens=3, output_tokens=2))

    async def aclose(self) -> None:
        pass


async def test_a_limited_model_waits_and_renews(calls: CallTable) -> None:
    inner = SlowModel()
    model = LimitedModel(inner, Limits("a", concurrent_calls=2), calls, lease_seconds=1.0)
    asking = [asyncio.create_task(model.complete(REQUEST)) for _ in range(5)]
    # Longer than a lease: without renewal the others would get these places.
    await asyncio.sleep(1.5)
    assert inner.running == 2
    inner.release.set()
    replies = await asyncio.gather(*asking)
    assert [reply.text for reply in replies] == ["hello"] * 5
    assert inner.most == 2


async def test_a_call_that_lost_its_place_is_given_up_and_may_be_repeated(calls: CallTable) -> None:
    inner = SlowModel()
    model = LimitedModel(inner, Limits("a", concurrent_calls=1), calls, lease_seconds=0.6)
    asking = asyncio.create_task(model.complete(REQUEST))
    await inner.begun.wait()
    # As a process that is stopped: the loop stands still for longer than the lease.
    time.sleep(1)  # noqa: ASYNC251
    with pytest.raises(ModelUnavailable) as caught:
        await asking
    assert caught.value.temporary
    assert (inner.running, inner.cancelled) == (0, 1)


async def test_a_cancelled_call_frees_its_place(calls: CallTable) -> None:
    inner = SlowModel()
    model = LimitedModel(inner, Limits("a", concurrent_calls=1), calls)
    asking = asyncio.create_task(model.complete(REQUEST))
    await inner.begun.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    inner.release.set()
    assert (await model.complete(REQUEST)).text == "hello"


class Asked:
    """A table that notes who asks, and in which order calls begin."""

    def __init__(self, table: CallTable) -> None:
        self.renew, self.end, self.close, self._begin = table.renew, table.end, table.close, table.begin
        self.refused: list[str] = []
        self.begun: list[str] = []

    def begin(self, limits: Limits, call_id: str, tokens: int, lease_seconds: float) -> float:
        seconds = self._begin(limits, call_id, tokens, lease_seconds)
        (self.refused if seconds else self.begun).append(call_id)
        return seconds


def test_who_waits_asks_less_often_but_not_for_ever() -> None:
    pauses = [line.pause_after(refusals, 0) for refusals in range(1, 8)]
    assert pauses == [0.25, 0.5, 1.0, 2.0, 2.0, 2.0, 2.0]
    assert line.pause_after(1_000_000, 19.9) == 2.0
    assert line.pause_after(1_000_000, 20.0) == 0.25


async def test_of_many_waiting_calls_of_a_process_only_the_first_asks(
    calls: CallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line, "LOOK_SECONDS", 0.01)
    inner, table, limits, waiting = SlowModel(), Asked(calls), Limits("a", concurrent_calls=1), line.Line()
    monkeypatch.setattr(shared, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(local, "LOOK_SECONDS", 0.01)
    models = [LimitedModel(inner, limits, table, line=waiting) for _ in range(4)]
    first = asyncio.create_task(models[0].complete(REQUEST))
    await inner.begun.wait()
    others = [asyncio.create_task(models[number % 4].complete(REQUEST)) for number in range(20)]
    while len(table.refused) < 5:  # noqa: ASYNC110 - they are appended in a thread
        await asyncio.sleep(0.01)
    assert len(set(table.refused)) == 1
    inner.release.set()
    await asyncio.gather(first, *others)
    assert len(table.begun) == 21
    assert inner.most == 1
    # Each call that was refused begins before another asks.
    assert table.begun[1] == table.refused[0]


async def test_a_process_whose_calls_follow_each_other_leaves_places_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (line, local):
        monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(line, "LONGEST_PAUSE", 0.08)
    monkeypatch.setattr(line, "IMPATIENT_SECONDS", 0.8)
    limits, tables = Limits("a", concurrent_calls=1), [LocalCalls(tmp_path / "limits.sqlite") for _ in range(2)]
    greedy, other = (LimitedModel(QuickModel(), limits, table) for table in tables)

    async def keep_asking() -> None:
        while True:
            await greedy.complete(REQUEST)

    asking = [asyncio.create_task(keep_asking()) for _ in range(4)]
    for _ in range(5):
        await other.complete(REQUEST)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    for table in tables:
        table.close()


async def test_all_models_of_a_process_share_one_connection(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUREFOOT_DATABASE", database)
    script = tmp_path / "answers.json"
    script.write_text('["one", "two"]')
    settings = ModelSettings(concurrent_calls=2)
    models = [await choose_model(f"scripted:{script}", settings) for _ in range(5)]
    replies = await asyncio.gather(*(model.complete(REQUEST) for model in models))
    assert {reply.text for reply in replies} == {"one"}
    assert await asyncio.to_thread(connections, database) == 1
    for model in models[1:]:
        await model.aclose()
        await model.aclose()
    assert (await models[0].complete(REQUEST)).text == "two", "the others have not closed its table"
    await models[0].aclose()
    while await asyncio.to_thread(connections, database):  # noqa: ASYNC110 - the server ends it a little later
        await asyncio.sleep(0.05)


def connections(database: str) -> int:
    with psycopg.connect(database) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'surefoot' AND datname = current_database()"
        ).fetchone()
    assert row is not None
    return int(row[0])


async def test_the_settings_of_the_model_apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREFOOT_HOME", str(tmp_path))
    monkeypatch.delenv("SUREFOOT_DATABASE", raising=False)
    script = tmp_path / "answers.json"
    script.write_text('["one"]')
    plain = await choose_model(f"scripted:{script}")
    assert limited(plain, "a", ModelSettings()) is plain
    model = await choose_model(f"scripted:{script}", ModelSettings(concurrent_calls=1, tokens_per_minute=10_000))
    assert isinstance(model, LimitedModel)
    assert (await model.complete(REQUEST)).text == "one"
    assert (tmp_path / "limits.sqlite").exists()
    assert model.traits == plain.traits
    await model.aclose()

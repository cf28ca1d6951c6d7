"""Statistics over runs: what is counted, what is not, and that one damaged run does not end them."""

import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from support.kit import NO_RETRIES, Bench, act, done, steps
from support.recorded import failed_run, whole_run
from surefoot.core.outcome import Outcome, Verdict
from surefoot.core.plan import CommandCheck, ExecutionStep
from surefoot.core.proof import ProofLevel
from surefoot.core.task import Task
from surefoot.core.transitions import Rung, Stage
from surefoot.errors import UsageError
from surefoot.history.stats.compute import compute, spread
from surefoot.history.stats.facts import BODIES, RunFacts, facts_of
from surefoot.history.stats.read import Known, parse_since, read_statistics
from surefoot.history.stats.values import Statistics
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.store.base import Scanned
from surefoot.journal.store.reading import JournalReader
from surefoot.journal.store.sqlite import SqliteJournal

TEST = "from adder import add\nassert add(2, 3) == 5\n"
CHECK = CommandCheck(command="python3 test_adder.py")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


async def store(file: Path, run_id: str, *events: e.Event, **created: Any) -> None:
    """Write a run of these events; without any, it has only begun."""
    first = whole_run()[0].event
    assert isinstance(first, e.RunCreated)
    journal = SqliteJournal(file)
    task = Task(text="do it", workspace=created.pop("workspace", "/work"))
    await journal.append(run_id, [first.with_(run_id=run_id, task=task, **created), *events])
    journal.close()


def end(verdict: Verdict, proof: ProofLevel = ProofLevel.NONE) -> list[e.Event]:
    stage = Stage.COMPLETED if verdict in (Verdict.VERIFIED, Verdict.UNVERIFIED) else Stage.FAILED
    outcome = Outcome(verdict=verdict, proof=proof, summary="so it went")
    return [e.StageEntered(stage=stage), e.RunEnded(outcome=outcome)]


def read(file: Path, **scope: Any) -> Statistics:
    reader = JournalReader(file, 5.0)
    try:
        return read_statistics(reader, **scope)
    finally:
        reader.close()


UNDO = e.RolledBack(step_id="", snapshot="s1", towards="s0", scope="run", by="me", paths=("a",))


@pytest.mark.req("A12")
async def test_every_run_has_one_result(file: Path) -> None:
    plan_only = whole_run()[0].event.config.with_(phases="plan")  # type: ignore[union-attr]
    await store(file, "verified", *end(Verdict.VERIFIED, ProofLevel.GIVEN_CHECK))
    await store(file, "own", *end(Verdict.UNVERIFIED, ProofLevel.OWN_TEST))
    await store(file, "done", *end(Verdict.UNVERIFIED))
    for verdict in (Verdict.FAILED, Verdict.BUDGET, Verdict.BUDGET, Verdict.TIME, Verdict.LOOP, Verdict.BLOCKED):
        await store(file, f"failed-{time.monotonic_ns()}", *end(verdict))
    await store(file, "waiting", e.StageEntered(stage=Stage.WAITING))
    await store(file, "undone", *end(Verdict.VERIFIED, ProofLevel.GIVEN_CHECK), UNDO)
    await store(
        file, "partly", *end(Verdict.VERIFIED, ProofLevel.GIVEN_CHECK), UNDO.with_(scope="step", from_step="s2")
    )
    await store(file, "failed-and-undone", *end(Verdict.FAILED), UNDO)
    await store(file, "cancelled", *end(Verdict.CANCELLED))
    await store(file, "planned", *end(Verdict.UNVERIFIED), config=plan_only)
    await store(file, "running")
    await store(file, "interrupted", e.RunInterrupted(reason="Ctrl-C"))
    found = read(file)
    assert found.results.model_dump() == {
        "verified": 1,
        "own_test": 1,
        "done": 1,
        "failed": 7,
        "waiting": 1,
        "undone": 1,
        "partly_undone": 1,
        "cancelled": 1,
        "planned": 1,
        "unfinished": 2,
    }
    assert sum(found.results.model_dump().values()) == found.runs == 17
    assert [(item.name, item.count) for item in found.failed_by][:2] == [("budget", 2), ("failed", 2)]
    assert [day.results.verified for day in found.days] == [1]


async def test_an_undo_that_was_taken_back_is_a_success_again(file: Path) -> None:
    before = e.RolledBack(step_id="", snapshot="s1")
    redo = e.RolledBack(step_id="", snapshot="s2", towards="s1", scope="snapshot", redoes="s1", paths=("a",))
    await store(file, "redone", *end(Verdict.VERIFIED, ProofLevel.GIVEN_CHECK), before, UNDO, redo)
    assert read(file).results.verified == 1


@pytest.mark.req("A12")
async def test_a_real_run_is_counted_as_it_was(bench: Bench, file: Path) -> None:
    """Compared with the fold of the same events, which reads everything."""
    bench.journal = SqliteJournal(file)
    bench.write(test_adder__py=TEST)
    wrote = [act("write_file", path="adder.py", content=f"def add(a, b):\n    return a {sign} b\n") for sign in "-+"]
    plan = steps(ExecutionStep(id="write", name="Write adder.py", checks=(CHECK,)))
    state = await bench.run_plan(plan, [wrote[0], done(), wrote[1], done()], checks=[CHECK.command])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    await bench.journal.aclose()
    found = read(file)
    assert found.results.verified == 1
    assert found.seconds.median == pytest.approx(state.active_seconds, abs=0.001)
    assert found.usage.calls == state.model_calls
    assert found.usage.prompt_tokens == state.prompt_tokens
    assert found.usage.unpriced_calls == state.unpriced_calls
    assert (found.attempts.steps, found.attempts.retries) == (2, 1)
    (rung,) = found.rungs
    assert (rung.rung, rung.taken, rung.healed) == (Rung.ADJUST_PARAMETERS, 1, 1)
    assert [(kind.name, kind.count) for kind in found.failures.kinds] == [("check_failed", 1)]
    assert found.failures.categories[0].count == 1
    (check,) = found.checks
    ran = [r for event in bench.events(e.ChecksRan) for r in event.results if not r.reused]
    assert (check.command, check.times) == (CHECK.command, len(ran))
    assert check.seconds.longest == pytest.approx(max(r.duration_ms for r in ran) / 1000)


@pytest.mark.parametrize("run", [whole_run(), failed_run()])
async def test_figures_agree_with_the_state(file: Path, run: list[e.Record]) -> None:
    state = fold(run)
    journal = SqliteJournal(file)
    await journal.append(state.run_id, [record.event for record in run])
    journal.close()
    found = read(file)
    assert (found.usage.prompt_tokens, found.usage.output_tokens) == (state.prompt_tokens, state.output_tokens)
    assert found.usage.cost_usd == pytest.approx(state.cost_usd)
    rungs = [rung for step_run in state.steps.values() for rung in step_run.rungs]
    assert sum(use.taken for use in found.rungs) == len(rungs)


async def test_a_rung_that_led_to_a_failure_has_not_healed(bench: Bench, file: Path) -> None:
    bench.journal = SqliteJournal(file)
    limits = {**NO_RETRIES, "max_step_retries": 1}
    step = ExecutionStep(id="s", name="Fail", tool="run_command", parameters={"command": "exit 3"}, max_retries=1)
    await bench.run_plan(steps(step), [{}] * 6, reflection=limits)
    await bench.journal.aclose()
    found = read(file)
    assert found.results.failed == 1
    assert {use.rung for use in found.rungs} >= {Rung.GIVE_UP}
    assert sum(use.healed for use in found.rungs) == 0


@pytest.mark.req("A12")
async def test_working_time_is_that_of_the_fold(file: Path) -> None:
    """Waiting for a person, the time between two processes, undos and alerts do not count."""
    run = whole_run()
    created = run[0].event
    middle: list[e.Event] = [
        e.StageEntered(stage=Stage.WAITING),
        e.QuestionAsked(question_id="q", kind="clarification", text="?"),
        e.QuestionAnswered(question_id="q", answer="a"),
        e.RunResumed(model="other", surefoot="0"),
        e.StageEntered(stage=Stage.UNDERSTANDING),
        *end(Verdict.FAILED),
        e.AlertStarted(alert_id="1", on="failure", target="mail", document="0" * 64),
        e.AlertFinished(alert_id="1", ok=True, attempts=1),
        UNDO,
        e.UndoIncomplete(paths=("a",)),
    ]
    records = [e.Record(seq, 100.0 * 2**seq, event) for seq, event in enumerate([created, *middle], 1)]
    state = fold(records)
    journal = SqliteJournal(file)
    ticking = iter(records)
    with pytest.MonkeyPatch.context() as patch:
        for record in ticking:
            patch.setattr("surefoot.journal.store.sqlite.time.time", lambda at=record.at: at)
            await journal.append(state.run_id, [record.event])
    journal.close()
    reader = JournalReader(file, 5.0)
    (summary,) = reader.summaries(1)
    facts = facts_of(summary, reader.scan(state.run_id, BODIES))
    reader.close()
    assert facts.seconds == pytest.approx(state.active_seconds)
    assert facts.seconds > 0
    assert facts.model == "other"


async def test_what_a_fork_copied_is_not_counted_again(file: Path) -> None:
    call = e.ModelAnswered(purpose="act", prompt="p", answer="a", prompt_tokens=7, cost_usd=0.5)
    rung = e.RungChosen(step_id="s", rung=Rung.REPAIR_STEP, why="copied")
    await store(file, "fork", rung, call, call, copied=2)
    found = read(file)
    assert (found.usage.prompt_tokens, found.usage.cost_usd) == (7, 0.5)
    assert not found.rungs


@pytest.mark.req("A12")
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET body = x'7b7d' WHERE kind = 'run_ended' AND id >> 32 = 2",
        "DELETE FROM events WHERE kind = 'stage_entered' AND id >> 32 = 2",
        "UPDATE runs SET task = 'other' WHERE number = 2",
    ],
)
async def test_a_damaged_run_is_named_and_the_others_are_counted(file: Path, damage: str) -> None:
    import apsw

    for name in ("one", "two", "three"):
        await store(file, name, *end(Verdict.VERIFIED, ProofLevel.GIVEN_CHECK))
    connection = apsw.Connection(str(file))
    connection.execute(damage)
    connection.close()
    found = read(file)
    assert found.runs == found.results.verified == 2
    (bad,) = found.unreadable
    assert bad.run_id == "two"
    assert bad.problem


async def test_runs_are_chosen_by_time_and_folder(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("surefoot.journal.store.sqlite.time.time", lambda: 1_000_000.0)
        await store(file, "old", *end(Verdict.FAILED))
    await store(file, "new", *end(Verdict.FAILED))
    await store(file, "there", *end(Verdict.VERIFIED), workspace="/there")
    assert read(file).runs == 3
    assert read(file, since=2_000_000.0).runs == 2
    assert read(file, workspaces=["/there"]).results.verified == 1
    assert read(file, since=2_000_000.0, workspaces=["/work"]).runs == 1
    assert read(file, workspaces=[]).runs == 0


async def test_only_runs_with_new_events_are_read_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await store(file, "ended", *end(Verdict.VERIFIED))
    await store(file, "running")
    known: Known = {}
    assert read(file, known=known).results.unfinished == 1
    journal = SqliteJournal(file)
    await journal.append("running", end(Verdict.FAILED))
    journal.close()
    scanned: list[str] = []
    scan = JournalReader.scan

    def counted(self: JournalReader, run_id: str, kinds: Collection[str]) -> list[Scanned]:
        scanned.append(run_id)
        return scan(self, run_id, kinds)

    monkeypatch.setattr(JournalReader, "scan", counted)
    found = read(file, known=known)
    assert (found.results.verified, found.results.failed) == (1, 1)
    assert scanned == ["running"]


def test_spreads_name_measured_values() -> None:
    assert spread([]).median is None
    assert spread([5]).p90 == 5
    ten = spread([float(n) for n in range(1, 11)])
    assert (ten.median, ten.p90, ten.longest, ten.total) == (5, 9, 10, 55)


def test_models_that_only_answered_part_of_a_run_are_listed() -> None:
    from surefoot.history.stats.facts import UsageCount

    run = RunFacts("r", 0.0, "new", result="done", usage={"old": UsageCount(calls=2), "new": UsageCount(calls=1)})
    models = {use.model: (use.runs, use.usage.calls) for use in compute([run], at=0.0).models}
    assert models == {"new": (1, 1), "old": (0, 2)}


def test_times_are_read() -> None:
    assert parse_since("7d", now=1_000_000.0) == 1_000_000.0 - 7 * 86_400
    assert parse_since("90m", now=6_000.0) == 600.0
    assert parse_since("2026-11-01") == time.mktime((2026, 11, 1, 0, 0, 0, 0, 0, -1))
    for text in ("", "7", "yesterday", "7y", "2026-13-01"):
        with pytest.raises(UsageError, match="is not a time"):
            parse_since(text)

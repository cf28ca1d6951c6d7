"""Rows: whole, keyed, and enough to go from any event to any later one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from support.recorded import answered, asking, failed_run, only_planned, phases, records, whole_run
from surefoot.core.outcome import Failure, FailureKind
from surefoot.core.phases import ExecutionPhase
from surefoot.core.transitions import Rung, StepStatus
from surefoot.engine.planner.gate import skipped as skip
from surefoot.history.stats.values import Statistics
from surefoot.journal import events as e
from surefoot.server.typescript import as_typescript
from surefoot.view.fold import advance, changed_since, snapshot, view_of
from surefoot.view.rows import Row, RunRows, RunSnapshot
from surefoot.view.state import RunView

WEB = Path(__file__).parents[2] / "web"
RUNS: dict[str, Callable[[], list[e.Record]]] = {
    "whole": whole_run,
    "failed": failed_run,
    "plan": only_planned,
    "asking": lambda: records([*phases(), *asking()]),
}


def by_key(rows: list[Row]) -> dict[str, Any]:
    return {row["key"]: row for row in rows}


@pytest.mark.req("A7")
@pytest.mark.parametrize("name", RUNS)
def test_a_batch_brings_a_client_from_any_event_to_the_end(name: str) -> None:
    run = RUNS[name]()
    end = by_key(snapshot(view_of(run)))
    view, whole = RunView(), view_of(run)
    for record in run:
        advance(view, record)
        rows_of_client = by_key(snapshot(view))
        upserts, removed = changed_since(whole, record.seq)
        reached = {key: row for key, row in {**rows_of_client, **by_key(upserts)}.items() if key not in removed}
        assert reached == end, f"after event {record.seq}"


def test_rows_have_exactly_the_documented_fields() -> None:
    adapter = TypeAdapter(RunSnapshot)
    for make in RUNS.values():
        rows = snapshot(view_of(make()))
        adapter.validate_python({"v": 1, "run": "r", "seq": 1, "rows": rows}, strict=True)
        assert json.loads(json.dumps(rows)) == rows


def next_try(events: list[e.Event]) -> Any:
    view = view_of(records(events))
    view.live = True
    return by_key(snapshot(view))["run"]["next_try"]


@pytest.mark.req("P12")
def test_the_next_try_of_a_model_call_is_said_until_the_model_answers() -> None:
    retried = e.ModelRetried(error="busy", attempt=2, of=4, wait_seconds=8.0)
    events = [*phases(), e.StepStarted(step_id="s0", attempt=1)]
    assert next_try(events) is None
    at = 1_800_000_000 + (len(events) + 1) * 1.5 + 8
    assert next_try([*events, retried]) == {"at": at, "what": "model", "step": "s0", "number": 3, "of": 4}
    # What comes between does not end the wait; the answer does.
    between = e.ControlReceived(command="skip", step_id="s2")
    assert next_try([*events, retried, between])["at"] == at
    assert next_try([*events, retried, answered("act", "s0")]) is None
    assert next_try([*events, retried, e.RunInterrupted(reason="killed")]) is None
    # Without a process nothing is tried again.
    assert by_key(snapshot(view_of(records([*events, retried]))))["run"]["next_try"] is None


@pytest.mark.req("P12")
def test_the_next_try_of_a_step_is_said_until_it_is_reset() -> None:
    failed = Failure(kind=FailureKind.TOOL_ERROR, message="refused", temporary=True)
    events = [
        *phases(),
        e.StepStarted(step_id="s0", attempt=1),
        e.StepFinished(step_id="s0", status=StepStatus.FAILED, attempt=1, failure=failed, duration_ms=1),
    ]
    chosen = e.RungChosen(step_id="s0", rung=Rung.RETRY_LATER, why="it is temporary")
    at = 1_800_000_000 + (len(events) + 1) * 1.5 + 1
    assert next_try([*events, chosen]) == {"at": at, "what": "step", "step": "s0", "number": 2, "of": 4}
    later = view_of(records([*events, chosen]))
    (update,) = [message for _, name, message in later.messages if name == "tool:message:update" and "rung" in message]
    assert update["retryInSeconds"] == 1
    assert next_try([*events, chosen, e.StepReset(step_id="s0", rung=Rung.RETRY_LATER)]) is None
    assert next_try([*events, e.RungChosen(step_id="s0", rung=Rung.ADJUST_PARAMETERS, why="")]) is None


def test_a_step_that_failed_and_succeeded_later_shows_both_attempts() -> None:
    rows = by_key(snapshot(view_of(whole_run())))
    assert rows["step:s1"]["healed"]
    assert [bar["outcome"] for bar in rows["step:s1"]["bars"]] == ["failed", "ok"]
    first, second = rows["try:s1:1"], rows["try:s1:2"]
    assert first["failure"]["category"] == "check_failed"
    assert first["reflection"]["root_cause"]
    assert first["rung"]
    assert second["status"] == "succeeded"
    assert rows["run"]["steps"]["healed"] == 1


@pytest.mark.req("P12")
def test_a_question_is_shown_with_its_choices_and_disappears_from_the_open_ones_when_answered() -> None:
    run = records([*phases(), *asking(), e.QuestionAnswered(question_id="q1", answer="yes", by="somebody")])
    open_rows, answered = (by_key(snapshot(view_of(part))) for part in (run[:-1], run))
    assert open_rows["run"]["status"] == "waiting"
    assert open_rows["run"]["open_questions"] == 1
    assert open_rows["question:q1"]["answer"] is None
    assert open_rows["phase:execution"]["status"] == "awaiting_confirmation"
    assert answered["run"]["open_questions"] == 0
    assert (answered["question:q1"]["answer"], answered["question:q1"]["answered_by"]) == ("yes", "somebody")


def test_a_removed_step_stays_visible_with_the_revision_that_removed_it() -> None:
    run = records([*phases(), e.PlanRevised(by="user", reason="not needed", removed=("s2",))])
    rows = by_key(snapshot(view_of(run)))
    assert rows["step:s2"]["revision_removed"] == 2
    assert rows["revision:2"]["removed"] == ["s2"]
    assert rows["step:s1"]["revision_removed"] is None


def test_the_statistics_of_the_page_are_valid() -> None:
    TypeAdapter(Statistics).validate_python(json.loads((WEB / "fixtures" / "stats.json").read_text("utf-8")))


def test_the_page_has_the_same_types() -> None:
    """If this fails: python -m surefoot.server.typescript > web/src/lib/protocol.ts"""
    assert (WEB / "src" / "lib" / "protocol.ts").read_text("utf-8") == as_typescript()


@pytest.mark.parametrize("name", ["asking", "healed", pytest.param("many", marks=pytest.mark.slow)])
def test_the_fixtures_of_the_page_are_valid(name: str) -> None:
    """If this fails: python tests/server/make_fixtures.py"""
    fixture = json.loads((WEB / "fixtures" / f"{name}.json").read_text("utf-8"))
    for part in ("snapshot", "end"):
        TypeAdapter(RunSnapshot).validate_python(fixture[part])
    rows = by_key(fixture["snapshot"]["rows"])
    seq = fixture["snapshot"]["seq"]
    for batch in fixture["batches"]:
        TypeAdapter(RunRows).validate_python(batch)
        assert batch["after"] == seq
        rows |= by_key(batch["upserts"])
        seq = batch["upto"]
    end = by_key(fixture["end"]["rows"])
    assert {key: rows[key] for key in end} == end


@pytest.mark.req("P2")
def test_a_skipped_phase_claims_no_confidence() -> None:
    skipped = e.ApproachChosen(result=skip(ExecutionPhase.Approach(), "the task is simple"))
    without_approach = [event for event in phases() if not isinstance(event, e.ApproachChosen)]
    place = next(n for n, event in enumerate(without_approach) if isinstance(event, e.Understood)) + 1
    rows = by_key(snapshot(view_of(records([*without_approach[:place], skipped, *without_approach[place:]]))))
    assert (rows["phase:approach"]["status"], rows["phase:approach"]["confidence"]) == ("skipped", None)
    assert rows["phase:understanding"]["confidence"] is not None

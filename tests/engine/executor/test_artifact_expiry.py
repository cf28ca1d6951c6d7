"""Artifacts at the default settings: they expire after a day, are deleted then, and are produced again if needed."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from support.kit import Bench, steps
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep
from surefoot.core.transitions import StepStatus
from surefoot.engine.executor import artifacts
from surefoot.errors import JournalError
from surefoot.history import gc
from surefoot.journal.messages import AnswerMessage
from surefoot.journal.state import RunState
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.tools.context import ToolContext
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import tool

CALLS: list[int] = []


@tool
def load(rows: int) -> dict[str, object]:
    """Load rows."""
    CALLS.append(rows)
    return {"rows": rows, "text": "x" * rows}


@tool(external=True)
def order(rows: int) -> dict[str, object]:
    """Order something that can be ordered only once."""
    return {"rows": rows}


def producer(tool_name: str = "load", **more: Any) -> ExecutionStep:
    return ExecutionStep(id="load", name="Load the rows", tool=tool_name, parameters={"rows": 9_000}, **more)


USE = ExecutionStep(id="use", name="Use them", tool="list_files", requires_confirmation=True)


async def paused(bench: Bench, first: ExecutionStep) -> RunState:
    """A run whose second step waits for a person."""
    CALLS.clear()
    bench.journal = SqliteJournal(bench.home / "journal.sqlite")
    bench.toolbox = default_toolbox().with_(load, order)
    state = await bench.run_plan(steps(first, USE, after=[("use", "load")]), allow=("order",))
    assert state.open_questions
    return state


async def go_on(bench: Bench, state: RunState, hours: float, monkeypatch: pytest.MonkeyPatch) -> RunState:
    """Answer, and continue the run so many hours later."""
    monkeypatch.setattr(artifacts, "time", SimpleNamespace(time=lambda: time.time() + hours * 3600))
    (question,) = state.open_questions
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes", at=None))
    state = await bench.resume(state.run_id, [])
    for question in state.open_questions:
        bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes", at=None))
        state = await bench.resume(state.run_id, [])
    return state


@pytest.mark.req("A2", "A5")
async def test_expired_result_is_deleted_and_its_producer_done_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = await paused(bench, producer())
    artifact = state.steps["load"].artifact
    assert artifact is not None
    assert artifact.hash
    assert bench.journal.get_blob(artifact.hash)
    state = await go_on(bench, state, 25, monkeypatch)
    with pytest.raises(JournalError):
        bench.journal.get_blob(artifact.hash)
    assert CALLS == [9_000, 9_000]
    assert [run.status for run in state.steps.values()] == [StepStatus.SUCCEEDED] * 2
    assert state.outcome is not None
    assert any("'Load the rows' is done again" in warning for warning in state.outcome.warnings)


@pytest.mark.req("A2")
@pytest.mark.parametrize(("pinned", "hours"), [(False, 23), (True, 1_000)])
async def test_result_stays_for_a_day_and_a_pinned_one_for_good(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, pinned: bool, hours: float
) -> None:
    state = await paused(bench, producer(pinned=pinned))
    state = await go_on(bench, state, hours, monkeypatch)
    assert CALLS == [9_000]
    artifact = state.steps["load"].artifact
    assert artifact is not None
    assert bench.journal.get_blob(artifact.hash)
    assert state.steps["use"].status is StepStatus.SUCCEEDED


@pytest.mark.req("A5")
async def test_dependant_is_blocked_if_its_producer_must_not_be_repeated(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = await paused(bench, producer("order"))
    state = await go_on(bench, state, 25, monkeypatch)
    assert state.steps["use"].status is StepStatus.BLOCKED
    assert state.steps["load"].status is StepStatus.SUCCEEDED
    assert state.outcome is not None
    assert state.outcome.verdict is not Verdict.VERIFIED
    (warning,) = [w for w in state.outcome.warnings if "is blocked" in w]
    assert "it needs the result of 'Load the rows' (load)" in warning
    assert f"surefoot retry {state.run_id} load" in warning


@pytest.mark.req("A2")
async def test_results_are_immutable(bench: Bench) -> None:
    """A tool that changes what it is given changes its own copy."""
    seen: list[int] = []

    @tool
    def spoil(context: ToolContext) -> str:
        """Change the result of another step."""
        context.step_outputs["load"]["result"]["rows"] = -1
        seen.append(context.step_outputs["load"]["result"]["rows"])
        return "spoilt"

    for rows in (3, 9_000):
        bench.toolbox = default_toolbox().with_(load, spoil)
        first = ExecutionStep(id="load", name="load", tool="load", parameters={"rows": rows})
        plan = steps(first, ExecutionStep(id="spoil", name="spoil", tool="spoil"), after=[("spoil", "load")])
        state = await bench.run_plan(plan)
        assert state.steps["spoil"].status is StepStatus.SUCCEEDED
    assert seen == [3, 9_000]


@pytest.mark.req("A2")
async def test_garbage_collection_deletes_expired_results_of_all_runs(bench: Bench) -> None:

    state = await paused(bench, producer())
    artifact = state.steps["load"].artifact
    assert artifact is not None
    assert gc.expire_artifacts(bench.journal, now=time.time() + 23 * 3600) == 0
    assert gc.expire_artifacts(bench.journal, now=time.time() + 25 * 3600) == 1
    with pytest.raises(JournalError):
        bench.journal.get_blob(artifact.hash)
    assert gc.expire_artifacts(bench.journal, now=time.time() + 25 * 3600) == 0

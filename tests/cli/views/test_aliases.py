"""The seven states and the event names of the design documents in the JSON stream of real runs."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.kit import Bench, act, done, steps, understanding
from support.talk import submit
from surefoot.cli.report.symbols import UNICODE
from surefoot.cli.views.jsonl import JsonLines, as_object, outcome_object
from surefoot.cli.views.plain import PlainLines
from surefoot.core.plan import ExecutionStep
from surefoot.core.transitions import ORCHESTRATION, Stage
from surefoot.journal import events as e
from surefoot.journal.events.aliases import ALIASES
from surefoot.journal.events.record import KINDS

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "events.md").read_text()
PLAN = {"steps": [{"name": "Touch", "description": "touch x", "type": "command_execution"}], "success_criteria": ["x"]}


def stream(bench: Bench) -> list[dict[str, Any]]:
    out = io.StringIO()
    view = JsonLines(out)
    for record in bench.records:
        view.on_record(record)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.req("O1", "O12")
async def test_stream_of_a_run_that_ends_well(bench: Bench) -> None:
    script = [submit(), [("run_command", {"command": "touch x"}), ("finish_step", {"summary": "made"})]]
    state = await bench.talk("Make a file x.", script)
    lines = stream(bench)
    states = [line["state"] for line in lines if line.get("alias") == "state"]
    assert states == ["INTAKE", "PLANNING", "PLANNING", "EXECUTING", "VERIFYING", "DONE"]
    names = [line["alias"] for line in lines if line.get("alias", "state") != "state"]
    assert names == ["plan_generated", "plan_step_start", "final_verify"]
    assert state.outcome is not None
    assert outcome_object(state, state.outcome.verdict)["state"] == "DONE"


@pytest.mark.req("O1", "O12")
async def test_stream_of_a_run_that_recovers(bench: Bench) -> None:
    failing = ExecutionStep(id="s", name="s", tool="run_command", parameters={"command": "test -e x || ! touch x"})
    await bench.run_plan(
        steps(failing), [{"category": "tool_error", "root_cause": "x"}, act("run_command", command="ls")]
    )
    states = [line["state"] for line in stream(bench) if line.get("alias") == "state"]
    assert states[:3] == ["EXECUTING", "RECOVERING", "EXECUTING"]


@pytest.mark.req("O12", "O2")
async def test_refused_plan_is_a_planning_retry_and_a_failed_run_is_blocked(bench: Bench) -> None:
    approach = {"approach": "touch it", "expected_outcomes": ["x is there"], "alternatives": [{"name": "write it"}]}
    answers = [understanding(complexity="moderate"), approach, *[{"steps": []}] * 3, PLAN]
    await bench.run("Touch x.", [*answers, act("run_command", command="touch x"), done()])
    lines = stream(bench)
    refused = [line for line in lines if line["type"] == "gate_refused"]
    assert [line["alias"] for line in refused if line["phase"] == "planning"] == ["planning_retry"]
    assert not any("alias" in line for line in refused if line["phase"] != "planning")
    bench.records.clear()
    state = await bench.run("Touch x.", [understanding(), *[{"nonsense": 1}] * 30])
    assert state.outcome is not None
    assert stream(bench)[-2]["state"] == "BLOCKED"


@pytest.mark.req("O12")
async def test_verbose_lines_name_the_states(bench: Bench) -> None:
    await bench.talk("Make x.", [submit(), [("run_command", {"command": "touch x"}), ("finish_step", {})]])
    out = io.StringIO()
    view = PlainLines(out, UNICODE, verbose=True)
    for record in bench.records:
        view.on_record(record)
    assert re.findall(r"state ([A-Z]+)", out.getvalue()) == ["PLANNING", "PLANNING", "EXECUTING", "VERIFYING", "DONE"]


@pytest.mark.req("O12")
def test_page_lists_every_alias_and_state() -> None:
    for cls, alias in ALIASES.items():
        (row,) = [row for row in PAGE.splitlines() if row.startswith(f"| `{alias}` |")]
        assert f"`{KINDS[cls]}`" in row
    for stage, state in ORCHESTRATION.items():
        (row,) = [row for row in PAGE.splitlines() if row.startswith(f"| `{state}` |")]
        assert stage.value in row


def test_event_can_be_parsed_without_the_added_fields() -> None:
    record = e.Record(3, 1.0, e.StageEntered(stage=Stage.EXECUTION))
    fields = as_object(record)
    for name in ("seq", "at", "alias", "state"):
        del fields[name]
    assert e.event_adapter.validate_python(fields) == record.event

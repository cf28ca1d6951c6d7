"""`surefoot retry`: one step of a failed run is corrected and repeated, and the run continues."""

from typing import Any

import pytest

from cli.conftest import Surefoot
from support.stories import CHECK, TASK, TEST, UNDERSTANDING, adder, good_script
from surefoot.cli.commands.retry import parse_parameter
from surefoot.config.model import ExecutionConfig, ReflectionConfig
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import CommandCheck, DetailedPlan, ExecutionStep, StepDependency
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.engine.loop import start_run
from surefoot.engine.planner.gate import skipped
from surefoot.engine.runtime.services import Services
from surefoot.history.requests import resolve_step
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.models.testing.scripted import ScriptedModel

GIVE_UP = ReflectionConfig(max_step_retries=0, max_single_step_repairs=0, max_task_replanning_attempts=0)


async def failed_run(surefoot: Surefoot) -> str:
    """A run of three tool calls, of which the second fails because a file is missing."""
    plan = DetailedPlan(
        steps=(
            ExecutionStep(id="look", sequence=0, name="look around", tool="list_files"),
            ExecutionStep(id="read", sequence=1, name="read", tool="read_file", parameters={"path": "missing.txt"}),
            ExecutionStep(
                id="mark", sequence=2, name="mark", tool="run_command", parameters={"command": "echo marked > done.txt"}
            ),
        ),
        dependencies=(
            StepDependency(step_id="read", depends_on="look"),
            StepDependency(step_id="mark", depends_on="read"),
        ),
    )
    surefoot.state.mkdir(parents=True)
    journal = SqliteJournal(surefoot.journal_file)
    task = Task(
        text="Read and mark.",
        workspace=str(surefoot.workspace),
        checks=(CommandCheck(command="grep -q marked done.txt", origin="user"),),
    )
    state = await start_run(
        Services(journal, ScriptedModel([]), surefoot.state),
        task,
        ExecutionConfig(sandbox="off", reflection=GIVE_UP),
        first=Stage.EXECUTION,
        given=[e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan))],
    )
    await journal.aclose()
    assert state.stage is Stage.FAILED
    return state.run_id


def load_state(surefoot: Surefoot, run_id: str) -> RunState:
    journal = SqliteJournal(surefoot.journal_file, read_only=True)
    state = fold(journal.read(run_id))
    journal.close()
    return state


@pytest.mark.req("R5", "A8")
async def test_a_wrong_parameter_is_corrected_and_the_run_continues(surefoot: Surefoot) -> None:
    run_id = await failed_run(surefoot)
    (surefoot.workspace / "there.txt").write_text("here I am\n")
    result = surefoot("retry", run_id[:11], "read", "--set", "path=there.txt", "-m", surefoot.script())
    assert result.code == 0, result.err
    assert "✓ Verified" in result.out
    state = load_state(surefoot, run_id)
    assert [event.step_id for event in started_steps(surefoot, run_id)] == ["look", "read", "read", "mark"]
    assert state.steps["read"].output is not None
    assert "here I am" in str(state.steps["read"].output.outputs)


@pytest.mark.req("R5")
async def test_another_tool_for_a_step_given_by_its_number(surefoot: Surefoot) -> None:
    run_id = await failed_run(surefoot)
    changes = ["--tool", "run_command", "--set", "command=echo instead > missing.txt"]
    result = surefoot("retry", "last", "2", *changes, "-m", surefoot.script(), "--json")
    assert result.code == 0, result.err
    assert (surefoot.workspace / "missing.txt").read_text() == "instead\n"
    *_, reset = (item for item in result.objects if item["type"] == "step_reset")
    assert (reset["by"], reset["tool"], reset["step_id"]) == ("user", "run_command", "read")
    assert load_state(surefoot, run_id).steps["read"].step.parameters == {}, "run_command takes no path"


@pytest.mark.req("R5")
def test_a_step_without_a_tool_becomes_a_tool_call(surefoot: Surefoot) -> None:
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    config = surefoot.home / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[reflection]\nmax_step_retries = 0\nmax_single_step_repairs = 0\n"
                      "max_task_replanning_attempts = 0\n")  # fmt: skip
    wrong = [adder("-"), adder("*"), adder("%")]
    assert surefoot("run", TASK, "-m", surefoot.script(UNDERSTANDING, *wrong), "--check", CHECK).code == 1
    refused = surefoot("retry", "last", "1", "--set", "path=adder.py")
    assert refused.code == 2
    assert "names no tool" in refused.err
    body = "def add(a, b): return a + b"
    changes = ["--set", "path=adder.py", "--set", f"content={body}"]
    result = surefoot("retry", "last", "1", "--tool", "write_file", *changes, "-m", surefoot.script())
    assert result.code == 0, result.err + result.out
    assert (surefoot.workspace / "adder.py").read_text().strip() == body


@pytest.mark.req("R5")
async def test_without_changes_the_step_is_repeated(surefoot: Surefoot) -> None:
    run_id = await failed_run(surefoot)
    (surefoot.workspace / "missing.txt").write_text("found\n")
    assert surefoot("retry", run_id, "read", "-m", surefoot.script()).code == 0


@pytest.mark.req("R5")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], "its steps: look, read, mark"),
        (["9"], "its steps: look, read, mark"),
        (["mark"], "has not started yet"),
        (["read", "--set", "path"], "is not of the form KEY=VALUE"),
        (["read", "--set", "=x"], "is not of the form KEY=VALUE"),
        (["read", "--set", "rows=3"], "read_file has no parameter 'rows'"),
        (["read", "--tool", "cat"], "did you mean read_file?"),
    ],
)
async def test_an_invalid_request_is_refused_without_recording_anything(
    surefoot: Surefoot, arguments: list[str], message: str
) -> None:
    run_id = await failed_run(surefoot)
    before = load_state(surefoot, run_id).seq
    refused = surefoot("retry", run_id, *arguments)
    assert refused.code != 0
    assert message in refused.err
    assert "Traceback" not in refused.err
    assert load_state(surefoot, run_id).seq == before


def test_a_finished_run_is_not_retried(surefoot: Surefoot) -> None:
    assert surefoot(*good_script(surefoot)).code == 0
    refused = surefoot("retry", "last", "s1")
    assert refused.code == 2
    assert "has ended, so its steps cannot be changed" in refused.err
    assert "--based-on" in refused.err


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("path=a.txt", ("path", "a.txt")),
        ("rows=3", ("rows", 3)),
        ("names=[1, 2]", ("names", [1, 2])),
        ("on=true", ("on", True)),
        ("query=a=b", ("query", "a=b")),
        ("empty=", ("empty", "")),
    ],
)
def test_parameter_values_are_parsed_as_json_if_possible(text: str, parsed: tuple[str, Any]) -> None:
    assert parse_parameter(text) == parsed


def test_steps_are_resolved_by_id_before_number() -> None:
    assert resolve_step("1", ["2", "1"]) == "1"
    assert resolve_step("1", ["s1", "s2"]) == "s1"
    assert resolve_step("0", ["s1"]) == "0"


def started_steps(surefoot: Surefoot, run_id: str) -> list[e.StepStarted]:
    journal = SqliteJournal(surefoot.journal_file, read_only=True)
    events = [record.event for record in journal.read(run_id) if isinstance(record.event, e.StepStarted)]
    journal.close()
    return events

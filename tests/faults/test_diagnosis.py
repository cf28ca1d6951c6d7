"""A run that failed says what failed, why, what was tried, what is left and what to do: everywhere the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Result, Surefoot
from support.kit import Bench, act, done, fenced, steps, understanding
from support.stories import CHECK, TASK, TEST, UNDERSTANDING
from surefoot.cli.report.summary import summary
from surefoot.cli.report.symbols import UNICODE
from surefoot.core.outcome import Diagnosis, Outcome, Verdict
from surefoot.core.plan import ExecutionStep, FileCheck, StepType
from surefoot.engine.verdict import MAX_LISTED, Observed, stopped
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.models.testing.scripted import Rule

pytestmark = pytest.mark.slow

WRONG = [f"```python\ndef add(a, b):\n    return {number}\n```" for number in range(100, 200)]
REPAIR = {"name": "again", "description": "differently", "type": "code_generation", "file": "adder.py", "after": [],
          "check": {"kind": "none", "value": ""}}  # fmt: skip
SCRIPT: list[Any] = [
    {"when": "Say what the task wants", "answer": UNDERSTANDING},
    {"when": "Plan this one step again", "answer": REPAIR},
    {"when": "Make a plan of at most", "answer": {"steps": [REPAIR], "success_criteria": []}},
    *WRONG,
]


@pytest.fixture
def surefoot(tmp_path: Path) -> Surefoot:
    home, workspace = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    workspace.mkdir()
    (workspace / "check_adder.py").write_text(TEST)
    # A short ladder: what is compared does not depend on its length.
    limits = {"SUREFOOT_REFLECTION__MAX_STEP_RETRIES": "1", "SUREFOOT_REFLECTION__CANDIDATES": "1"}
    return Surefoot(home, workspace, limits)


def rows(ended: Result) -> list[str]:
    return [line.strip() for line in ended.out.splitlines()]


def shows(ended: Result, diagnosis: Diagnosis) -> bool:
    """Every line of it, in its order, one after the other."""
    wanted = [line.strip() for line in diagnosis.as_text().splitlines()]
    seen = rows(ended)
    return any(seen[i : i + len(wanted)] == wanted for i in range(len(seen)))


@pytest.mark.req("P18")
def test_terminal_json_and_journal_tell_the_same(surefoot: Surefoot) -> None:
    ran = surefoot("run", TASK, "-m", surefoot.script(*SCRIPT), "--check", CHECK, "--json")
    assert ran.code == 1, ran.err
    *events, last = ran.objects
    (ending,) = (event for event in events if event["type"] == "run_ended")
    diagnosis = Diagnosis.model_validate(ending["outcome"]["diagnosis"])
    assert Diagnosis.model_validate(last["diagnosis"]) == diagnosis
    assert last["diagnosis_text"] == diagnosis.as_text()
    shown = json.loads(surefoot("show", "--json").out)
    assert Diagnosis.model_validate(shown["outcome"]["diagnosis"]) == diagnosis
    assert shows(surefoot("show"), diagnosis)


@pytest.mark.req("P18")
def test_the_summary_at_the_end_of_a_run_tells_it_too(surefoot: Surefoot) -> None:
    ran = surefoot("run", TASK, "-m", surefoot.script(*SCRIPT), "--check", CHECK)
    shown = json.loads(surefoot("show", "--json").out)
    assert shows(ran, Diagnosis.model_validate(shown["outcome"]["diagnosis"]))


@pytest.mark.req("P18")
async def test_it_says_everything_in_its_order(bench: Bench) -> None:
    bench.write(check_adder__py=TEST)
    answers = [Rule(**answer) if isinstance(answer, dict) else answer for answer in SCRIPT]
    state = await bench.run(TASK, answers, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.diagnosis is not None
    diagnosis = state.outcome.diagnosis
    rungs = [event.rung.replace("_", " ") for event in bench.events(e.RungChosen)]
    failures = [event.failure for event in bench.events(e.StepFinished) if event.failure]
    assert diagnosis.what_failed == state.outcome.summary
    assert diagnosis.root_cause == state.steps[state.recovering].reflections[-1].root_cause
    assert diagnosis.evidence == failures[-1].evidence
    assert [line.rsplit(" -> ", 1)[1] for line in diagnosis.tried] == rungs, "everything, also of the first plan"
    assert len(diagnosis.tried) == len(failures)
    assert diagnosis.left_behind == ()
    text = diagnosis.as_text()
    places = [text.index(part) for part in ("What failed:", "Root cause:", "Evidence:", "Tried, in order:",
                                            "Left in the workspace:", "What to do next:")]  # fmt: skip
    assert places == sorted(places)
    assert text.rstrip().endswith(f"surefoot resume {state.run_id}")
    assert f"surefoot retry {state.run_id} {state.recovering} " in text


@pytest.mark.req("P18", "P13")
async def test_what_is_left_is_what_is_there(bench: Bench) -> None:
    bench.write(kept__txt="kept\n", changed__txt="before\n", gone__txt="gone\n")
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION,
                         checks=(FileCheck(path="never"),))  # fmt: skip
    answers = [act("run_command", command="echo new > new.txt; echo after > changed.txt; rm gone.txt"), done()]
    limits = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
    state = await bench.run_plan(steps(step), answers, enable_auto_rollback=False, reflection=limits)
    assert state.outcome is not None
    assert state.outcome.diagnosis is not None
    assert state.outcome.diagnosis.left_behind == ("new.txt", "changed.txt", "gone.txt")


@pytest.mark.req("P18")
async def test_a_step_that_got_back_up_is_not_blamed_for_what_ended_the_run(bench: Bench) -> None:
    answers = [
        understanding("a.py", "b.py"),
        fenced("def broken(:\n"),
        fenced("def broken(:\n\n"),
        fenced("a = 1\n"),
        *[fenced(f"b = {n}\n") for n in range(40)],
    ]
    state = await bench.run(
        "Write a.py and b.py.",
        answers,
        checks=["python3 -c 'import b; assert b.b == 99'"],
        budget={"max_tool_calls": 5},
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.BUDGET
    assert state.outcome.diagnosis is not None
    assert "SyntaxError" not in state.outcome.diagnosis.root_cause
    assert any("a.py" in line or "s1" in line for line in state.outcome.diagnosis.tried), (
        "but it is told that it slipped"
    )


@pytest.mark.req("P18")
def test_a_folder_full_of_leftovers_does_not_hide_what_to_do() -> None:
    many = [f"file-{number}.txt" for number in range(5_000)]
    diagnosis = stopped(RunState(run_id="r1"), Observed(added=many), Verdict.FAILED, "it failed").diagnosis
    assert diagnosis is not None
    assert len(diagnosis.left_behind) == MAX_LISTED + 1
    assert diagnosis.left_behind[-1] == f"and {5_000 - MAX_LISTED} more: surefoot show r1 --diff"
    assert diagnosis.next_steps


@pytest.mark.req("P18")
def test_a_long_story_does_not_hide_what_to_do() -> None:
    diagnosis = Diagnosis(
        what_failed="the step failed",
        tried=tuple(
            f"s{n} try 1: its checks fail, and this is why: {'x' * 100} -> adjust parameters" for n in range(60)
        ),
        next_steps=("go on from here: surefoot resume r1",),
    )
    state = RunState(run_id="r1", outcome=Outcome(verdict=Verdict.FAILED, summary="it failed", diagnosis=diagnosis))
    shown = [line.plain.strip() for line in summary(state, UNICODE)]
    assert [line.strip() for line in diagnosis.as_text().splitlines() if line.strip() not in shown] == []

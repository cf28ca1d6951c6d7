"""Whole runs, from the task to its outcome, with a scripted model and everything else real."""

import pytest

from support.kit import Bench, act, done, fenced, understanding
from surefoot.core.outcome import Verdict
from surefoot.core.phases import ExecutionPhase, PhaseStatus
from surefoot.core.transitions import Stage
from surefoot.engine import loop
from surefoot.journal import events as e
from surefoot.models.testing.scripted import Rule

TEST = """
import unittest
from adder import add

class Add(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(2, 3), 5)
"""
GOOD = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"
ALSO_WRONG = "def add(a, b):\n    return a * b\n"
CHECK = "python3 -m unittest -q"


@pytest.mark.req("P1", "P4", "X1")
async def test_simple_task_is_verified_with_two_model_calls(bench: Bench) -> None:
    bench.write(test_adder__py=TEST)
    state = await bench.run("Write adder.py with add(a, b).", [understanding("adder.py"), fenced(GOOD)], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome
    assert state.outcome.generated_files == ("adder.py",)
    assert state.model_calls == 2
    assert bench.files()["adder.py"] == GOOD


@pytest.mark.req("P2", "P5", "P10")
async def test_structured_plan_reports_what_was_observed(bench: Bench) -> None:
    bench.write(test_adder__py=TEST)
    understood = understanding("adder.py", understanding="Write adder.py with a function add")
    state = await bench.run("Write adder.py with add(a, b).", [understood, fenced(GOOD)], checks=[CHECK])
    plan = state.as_plan()
    assert plan.current_phase == ExecutionPhase.Completed()
    assert plan.understanding is not None
    assert plan.understanding.status is PhaseStatus.SUCCESS
    assert plan.understanding.validation is not None
    assert plan.understanding.validation.confidence == 1.0
    assert plan.approach is not None
    assert plan.approach.status is PhaseStatus.SKIPPED
    (step,) = plan.execution_history
    assert step.output is not None
    assert step.output.generated_files == ("adder.py",)
    assert step.output.proven
    assert plan.completed_steps_count() == 1
    assert plan.find_failed_step() is None
    assert plan.completed_at is not None
    assert plan.total_duration_minutes() >= 0


@pytest.mark.req("X1", "P4")
async def test_claim_of_success_with_failing_checks_fails(bench: Bench) -> None:
    bench.write(test_adder__py=TEST)
    answers = [understanding(complexity="simple"), *[done("I did it")] * 20]
    no_replan = {"max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
    state = await bench.run("Do the adder thing.", answers, checks=[CHECK], reflection=no_replan)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert state.outcome.diagnosis is not None
    assert "checks say it is not" in state.outcome.diagnosis.what_failed


@pytest.mark.req("R8", "P13")
async def test_failed_checks_are_fed_back_and_the_attempt_is_rolled_back(bench: Bench) -> None:
    bench.write(test_adder__py=TEST)
    answers = [understanding("adder.py"), fenced(WRONG), fenced(ALSO_WRONG), fenced(GOOD)]
    state = await bench.run("Write adder.py with add(a, b).", answers, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    second, third = bench.prompts()[2:4]
    assert "-1 != 5" in second, "the failing assertion is quoted"
    assert "a - b" in second, "with the code that it tests"
    assert "a * b" not in third, "a fresh attempt does not show the old draft"
    assert bench.events(e.RolledBack)
    assert [r.output.status.value for r in state.history if r.output] == ["rolled_back", "success"]


@pytest.mark.req("R8")
async def test_failed_action_is_not_repeated(bench: Bench) -> None:
    bench.write(test_adder__py=TEST)
    answers = [understanding("adder.py"), fenced(WRONG), fenced(WRONG), fenced(WRONG), fenced(GOOD)]
    state = await bench.run("Write adder.py with add(a, b).", answers, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert len(bench.events(e.ActionRefused)) == 2
    assert len(bench.events(e.ActionStarted)) == 2
    temperatures = [request.temperature or 0.0 for request in bench.model.requests[1:]]
    assert temperatures == sorted(temperatures), "each fresh attempt has a higher temperature"
    assert temperatures[0] == 0
    assert temperatures[-1] > 0


@pytest.mark.slow
@pytest.mark.req("P18")
async def test_failed_run_ends_with_a_full_diagnosis(bench: Bench) -> None:
    bench.write(test_adder__py=TEST)
    wrong = [fenced(f"def add(a, b):\n    return {n}\n") for n in range(10, 60)]
    repair = {"name": "again", "description": "differently", "type": "code_generation", "file": "adder.py", "after": [],
              "check": {"kind": "none", "value": ""}}  # fmt: skip
    replan = {"steps": [repair], "success_criteria": []}

    answers = [
        Rule(when="Say what the task wants", answer=understanding("adder.py")),
        Rule(when="Plan this one step again", answer=repair),
        Rule(when="Make a plan of at most", answer=replan),
        *wrong,
    ]
    state = await bench.run("Write adder.py with add(a, b).", answers, checks=[CHECK])
    outcome = state.outcome
    assert outcome is not None
    assert outcome.verdict is Verdict.FAILED
    assert outcome.exit_code == 1
    assert bench.files() == {"test_adder.py": TEST}, "failed attempts leave nothing behind"
    assert outcome.diagnosis is not None
    text = outcome.diagnosis.as_text()
    parts = ["What failed", "Root cause", "AssertionError", "Tried, in order", "adjust parameters", "repair step"]
    parts += ["replan task", "Left in the workspace", "nothing: no changes remain", "surefoot resume"]
    assert [part for part in parts if part not in text] == []
    assert state.phase.kind == "failed"


async def test_run_without_checks_is_unverified(bench: Bench) -> None:
    state = await bench.run("Write adder.py with add(a, b).", [understanding("adder.py"), fenced(GOOD)])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert state.outcome.exit_code == 3


@pytest.mark.req("X1")
async def test_check_that_passed_before_does_not_verify(bench: Bench) -> None:
    state = await bench.run(
        "Write adder.py with add(a, b).", [understanding("adder.py"), fenced(GOOD)], checks=["true"]
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert "passed before too" in state.outcome.summary


@pytest.mark.req("X1")
async def test_weakening_existing_tests_is_refused_or_detected(bench: Bench) -> None:
    """A tool is refused; a change made by a command is detected."""
    bench.write(test_adder__py=TEST)
    answers = [
        understanding(),
        act("write_file", path="test_adder.py"),
        fenced("import unittest\n"),
        act("run_command", command="rm test_adder.py; printf 'import unittest' > test_adder.py; touch adder.py"),
        done(),
    ]
    state = await bench.run("Make the tests pass.", answers, checks=["python3 -c 'import adder, test_adder'"])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert "test_adder.py::Add::test_adds was removed" in state.outcome.summary
    assert any("may be extended but not weakened" in a.summary for a in bench.events(e.ActionFinished) if not a.ok)


@pytest.mark.req("P4", "O2")
async def test_refused_answer_is_requested_again_with_the_reason(bench: Bench) -> None:
    bad = understanding("adder.py", understanding="string")
    answers = [bad, understanding("adder.py"), fenced(GOOD)]
    await bench.run("Write adder.py with add(a, b).", answers)
    assert "empty or a placeholder" in bench.prompts()[1]
    (refused,) = bench.events(e.GateRefused)
    assert refused.phase == "understanding"


@pytest.mark.req("P3", "O2")
async def test_unparsable_answers_end_the_run(bench: Bench) -> None:
    state = await bench.run("Write adder.py.", ["what a nice day"] * 100, max_retries_per_phase=2)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert state.stage is Stage.FAILED
    assert state.failed_at is Stage.UNDERSTANDING
    assert state.model_calls == 9, "three readings for each of three attempts"


@pytest.mark.req("O4")
async def test_token_budget_ends_the_run(bench: Bench) -> None:
    bench.write(test_adder__py=TEST)
    answers = [understanding("adder.py"), *[fenced(f"x = {n}") for n in range(50)]]
    state = await bench.run("Write adder.py with add(a, b).", answers, checks=[CHECK], budget={"max_tokens": 1500})
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.BUDGET
    assert state.outcome.exit_code == 5


async def test_task_in_another_language_is_verified(bench: Bench) -> None:
    bench.write(test_adder__py=TEST)
    answers = [
        understanding("adder.py", understanding="写一个加法函数", requirements=["add 返回两数之和"]),
        fenced(GOOD),
    ]
    state = await bench.run("请写 adder.py,其中 add(a, b) 返回两数之和。", answers, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


@pytest.mark.req("X6")
def test_ids_of_runs_that_start_in_the_same_second_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two random bytes, about 30 of 2,000 were taken already."""
    monkeypatch.setattr("time.strftime", lambda _: "1118-194350-")
    assert len({loop.new_run_id() for _ in range(2_000)}) > 1_990

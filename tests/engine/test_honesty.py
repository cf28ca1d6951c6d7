"""What must not pass as proof, and what people's words do."""

import pytest

from kit import Bench, act, fenced, steps, understanding
from surefoot import events as e
from surefoot.engine import resume_run
from surefoot.machine import Stage
from surefoot.models.scripted import Rule
from surefoot.outcome import Verdict
from surefoot.plan import CommandCheck, ExecutionStep, StepType
from surefoot.verify import ran_no_test

TEST = """
import unittest
from adder import add

class T(unittest.TestCase):
    def test(self):
        self.assertEqual(add(2, 3), 5)
"""
GOOD = "def add(a, b):\n    return a + b\n"
CHECK = "python3 -m unittest -q"
TASK = "Write adder.py with add(a, b)."
NO_RETRIES = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
FREE = ExecutionStep(id="s", name="do it", description="do it", step_type=StepType.COMMAND_EXECUTION)


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    "trick",
    [
        "echo \"print('Ran 1 test in 0.1s')\" > unittest.py",
        "printf 'import os; os._exit(0)' > adder.py",
    ],
)
async def test_a_test_runner_that_is_replaced_or_cut_short_proves_nothing(bench: Bench, trick: str) -> None:
    bench.write(test_adder__py=TEST)
    answers = [act("run_command", command=trick), *[act("run_command", command=f"echo {n}") for n in range(12)]]
    state = await bench.run_plan(steps(FREE), answers, checks=[CHECK], reflection=NO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.verdict is not Verdict.VERIFIED, state.outcome.summary


@pytest.mark.parametrize(
    ("command", "output", "nothing"),
    [
        ("python3 -m unittest -q", "----\nRan 3 tests in 0.1s\n\nOK", False),
        ("python3 -m unittest -q", "----\nRan 0 tests in 0.1s\n\nOK", True),
        ("python3 -m unittest -q", "", True),
        ("pytest -q", "..                [100%]\n2 passed in 0.1s", False),
        ("pytest -qq", "..                [100%]", False),
        ("pytest -q", "no tests ran in 0.1s", True),
        ("pytest -q", "", True),
        ("pytest -q > log", "", False),
        ("/opt/bin/pytest -q", "", True),
        ("make test", "", False),
        ("test -e /tmp/pytest-of-me/x", "", False),
    ],
)
def test_whether_tests_were_run(command: str, output: str, nothing: bool) -> None:
    assert ran_no_test(command, output) is nothing


@pytest.mark.req("P12")
async def test_words_instead_of_yes_change_the_phase(bench: Bench) -> None:
    answers = [Rule("Say what the task wants", understanding("adder.py")), fenced(GOOD)]
    state = await bench.run(TASK, answers, checks=[CHECK], require_confirmation=True)
    (question,) = state.open_questions
    bench.journal.send(state.run_id, {"type": "answer", "question_id": question.id, "answer": "handle floats too"})
    state = await bench.resume(state.run_id, answers)
    assert state.stage is Stage.WAITING, "it asks again about what it made of that"
    assert "the user wants it differently: handle floats too" in bench.prompts()[-1]
    (again,) = state.open_questions
    assert again.id != question.id


@pytest.mark.req("O4")
async def test_a_spent_budget_can_be_raised_on_resume(bench: Bench) -> None:
    bench.write(test_adder__py=TEST)
    answers = [understanding("adder.py"), fenced(GOOD)]
    state = await bench.run(TASK, answers, checks=[CHECK], budget={"max_tokens": 10})
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.BUDGET
    more = state.config.with_(budget=state.config.budget.with_(max_tokens=100_000))
    state = await resume_run(bench.services([fenced(GOOD)]), state.run_id, config=more)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


async def test_a_check_that_cannot_be_run_is_told_before_the_model_is_asked(bench: Bench) -> None:
    state = await bench.run(TASK, [], checks=["pytset -q"])
    assert state.outcome is not None
    assert "'pytset -q' cannot be run" in state.outcome.summary
    assert state.model_calls == 0


async def test_an_empty_check_is_none() -> None:
    with pytest.raises(ValueError, match="should match pattern"):
        CommandCheck(command="  ")


async def test_planning_runs_no_checks(bench: Bench) -> None:
    await bench.run(TASK, [understanding("adder.py")], checks=["touch made; false"], phases="plan")
    assert bench.files() == {}
    assert not bench.events(e.ChecksRan)

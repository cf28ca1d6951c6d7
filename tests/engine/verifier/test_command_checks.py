"""Command checks: which results do not count, and when the commands run."""

import pytest

from support.kit import NO_RETRIES, Bench, act, steps, understanding
from surefoot.core.outcome import Verdict
from surefoot.core.plan import CommandCheck, ExecutionStep, StepType
from surefoot.engine.verifier.verifier import ran_no_test
from surefoot.errors import CommandNotFound
from surefoot.journal import events as e

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
STEP = ExecutionStep(id="s", name="do it", description="do it", step_type=StepType.COMMAND_EXECUTION)


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    "trick",
    [
        "echo \"print('Ran 1 test in 0.1s')\" > unittest.py",
        "printf 'import os; os._exit(0)' > adder.py",
        "printf 'import unittest; raise unittest.SkipTest' > adder.py",
        "printf 'import unittest\ndef add(a, b): raise unittest.SkipTest' > adder.py",
    ],
)
async def test_replaced_or_aborted_test_runner_does_not_verify(bench: Bench, trick: str) -> None:
    bench.write(test_adder__py=TEST)
    answers = [act("run_command", command=trick), *[act("run_command", command=f"echo {n}") for n in range(12)]]
    state = await bench.run_plan(steps(STEP), answers, checks=[CHECK], reflection=NO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.verdict is not Verdict.VERIFIED, state.outcome.summary


@pytest.mark.parametrize(
    ("command", "output", "no_test"),
    [
        ("python3 -m unittest -q", "----\nRan 3 tests in 0.1s\n\nOK", False),
        ("python3 -m unittest -q", "----\nRan 0 tests in 0.1s\n\nOK", True),
        ("python3 -m unittest -q", "", True),
        ("python3 -m unittest -q", "----\nRan 1 test in 0.1s\n\nOK (skipped=1)", True),
        ("python3 -m unittest -q", "----\nRan 2 tests in 0.1s\n\nOK (skipped=1)", False),
        ("pytest -q", "..                [100%]\n2 passed in 0.1s", False),
        ("pytest -qq", "..                [100%]", False),
        ("pytest -q", "no tests ran in 0.1s", True),
        ("pytest -q", "s                 [100%]\n1 skipped in 0.1s", True),
        ("pytest -qq", "s                 [100%]", True),
        ("pytest -qq", "s.                [100%]", False),
        ("pytest -q", "", True),
        ("pytest -q > log", "", False),
        ("/opt/bin/pytest -q", "", True),
        ("make test", "", False),
        ("test -e /tmp/pytest-of-me/x", "", False),
    ],
)
def test_detection_of_runs_without_tests(command: str, output: str, no_test: bool) -> None:
    assert ran_no_test(command, output) is no_test


async def test_unrunnable_check_fails_before_any_model_call(bench: Bench) -> None:
    with pytest.raises(CommandNotFound, match="the check cannot be run: pytset is not a command") as refused:
        await bench.run(TASK, [], checks=["pytset -q"])
    assert refused.value.remedy.startswith("did you mean pytest? ")
    assert bench.events(e.RunCreated) == []
    # What an earlier command of the line may install is known only when it has run.
    state = await bench.run(TASK, [], checks=["sh -c : && pytset -q"])
    assert state.outcome is not None
    assert state.outcome.diagnosis is not None
    assert "pytset is not a command" in state.outcome.summary
    assert state.outcome.diagnosis.cause == "command_not_found"
    assert state.model_calls == 0


@pytest.mark.parametrize("command", ["python3 -m unittest -q 'x", "if true", "echo )"])
async def test_a_check_that_the_shell_cannot_parse_ends_the_run_before_any_model_call(
    bench: Bench, command: str
) -> None:
    state = await bench.run(TASK, [], checks=[command])
    assert state.outcome is not None
    assert "the shell does not understand it" in state.outcome.summary
    assert state.model_calls == 0


async def test_a_script_with_a_syntax_error_is_a_red_check(bench: Bench) -> None:
    """The task may be to correct it."""
    bench.write(build__sh="if true\n")
    state = await bench.run(TASK, [], checks=["sh build.sh", "bash build.sh"])
    assert state.outcome is not None
    assert state.checked_before
    assert "cannot be run" not in state.outcome.summary


@pytest.mark.parametrize("command", ["./build.sh", "sh ./build.sh", "python3 app.py", "sh -c ./build.sh"])
async def test_a_script_that_the_task_is_to_make_is_a_red_check(bench: Bench, command: str) -> None:
    state = await bench.run(TASK, [], checks=[command])
    assert state.outcome is not None
    assert state.checked_before
    assert "cannot be run" not in state.outcome.summary, "the script of answers is empty, and that ends it"


async def test_empty_command_is_invalid() -> None:
    with pytest.raises(ValueError, match="should match pattern"):
        CommandCheck(command="  ")


async def test_planning_runs_no_checks(bench: Bench) -> None:
    await bench.run(TASK, [understanding("adder.py")], checks=["touch out; false"], phases="plan")
    assert bench.files() == {}
    assert not bench.events(e.ChecksRan)

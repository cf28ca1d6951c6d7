"""Levels of proof, regressions and weakened tests in whole runs."""

import shlex
from typing import Any

import pytest

from support.kit import NO_RETRIES, SMALL, Bench, act, done, fenced, steps
from surefoot.core.outcome import FailureKind, Outcome, Verdict
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import ExecutionStep, StepType
from surefoot.core.proof import ProofLevel
from surefoot.core.transitions import Stage
from surefoot.engine.loop import start_run
from surefoot.engine.planner.gate import skipped
from surefoot.journal import events as e
from surefoot.journal.state import RunState

pytestmark = pytest.mark.slow

STEP = ExecutionStep(id="s", name="do it", description="do it", step_type=StepType.COMMAND_EXECUTION)
BAD_ADD = "def add(a, b):\n    return a - b\n"
GOOD_ADD = "def add(a, b):\n    return a + b\n"
OLD_TEST = """import unittest
from adder import add


class TestAdd(unittest.TestCase):
    def test_zero(self):
        self.assertEqual(add(0, 0), 0)
"""
MORE_TESTS = (
    OLD_TEST
    + """
    def test_more(self):
        self.assertEqual(add(2, 3), 5)
"""
)
LAST_LINE = "        self.assertEqual(add(0, 0), 0)\n"
CHECK = "python3 -m unittest -q"


def write(**files: str) -> dict[str, Any]:
    """An answer that writes files with a command; `write(a__py="...")` writes a.py."""
    commands = (f"printf %s {shlex.quote(text)} > {name.replace('__', '.')}" for name, text in files.items())
    return act("run_command", command=" && ".join(commands))


async def run(bench: Bench, *answers: Any, checks: tuple[str, ...] = (), **config: Any) -> RunState:
    config = {"sandbox": "auto", **config}
    return await bench.run_plan(steps(STEP), [*answers, done()], checks=checks, **config)


def outcome_of(state: RunState) -> Outcome:
    assert state.outcome is not None
    return state.outcome


@pytest.mark.req("X12")
async def test_a_given_check_that_failed_before_is_level_a(bench: Bench) -> None:
    bench.write(adder__py=BAD_ADD, test_adder__py=MORE_TESTS)
    outcome = outcome_of(await run(bench, write(adder__py=GOOD_ADD), checks=(CHECK,)))
    assert (outcome.verdict, outcome.proof, outcome.exit_code) == (Verdict.VERIFIED, ProofLevel.GIVEN_CHECK, 0)
    assert outcome.tests is not None
    assert outcome.tests.before is not None
    assert outcome.tests.before.failed == 1
    assert outcome.tests.after is not None
    assert outcome.tests.after.passed == 2


@pytest.mark.req("X12")
async def test_an_own_test_that_fails_on_the_old_tree_is_level_b(bench: Bench) -> None:
    bench.write(adder__py=BAD_ADD, test_adder__py=OLD_TEST)
    state = await run(bench, write(adder__py=GOOD_ADD, test_adder__py=MORE_TESTS), checks=(CHECK,))
    outcome = outcome_of(state)
    assert (outcome.verdict, outcome.proof, outcome.exit_code) == (Verdict.UNVERIFIED, ProofLevel.OWN_TEST, 3)
    assert outcome.tests is not None
    assert outcome.tests.own_tests == ("test_adder.py::TestAdd::test_more",)
    assert outcome.summary.startswith("proven by its own tests: test_adder.py::TestAdd::test_more fails on the tree")


@pytest.mark.req("X12")
async def test_accepting_own_tests_makes_the_exit_code_0(bench: Bench) -> None:
    bench.write(adder__py=BAD_ADD, test_adder__py=OLD_TEST)
    answer = write(adder__py=GOOD_ADD, test_adder__py=MORE_TESTS)
    outcome = outcome_of(await run(bench, answer, checks=(CHECK,), accept="own-tests"))
    assert (outcome.verdict, outcome.proof, outcome.exit_code) == (Verdict.UNVERIFIED, ProofLevel.OWN_TEST, 0)


@pytest.mark.req("X12")
@pytest.mark.parametrize("runner", ["unittest", "pytest"])
async def test_an_own_test_in_a_project_without_tests(bench: Bench, runner: str) -> None:
    """What the test imports is not there before the run: that is a legitimate failure."""
    pytest_style = "from adder import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
    text = pytest_style if runner == "pytest" else MORE_TESTS
    outcome = outcome_of(await run(bench, write(adder__py=GOOD_ADD, test_adder__py=text)))
    assert outcome.proof is ProofLevel.OWN_TEST, outcome.summary


@pytest.mark.req("X12")
@pytest.mark.parametrize(
    ("test", "problem"),
    [
        ("self.assertTrue(add)", "they also pass on the tree before the run"),
        ("import extra", "they also pass when nothing is in the new files"),
    ],
)
async def test_an_own_test_that_proves_nothing_is_level_c(bench: Bench, test: str, problem: str) -> None:
    bench.write(adder__py=BAD_ADD, test_adder__py=OLD_TEST)
    tests = f"{OLD_TEST}\n    def test_more(self):\n        {test}\n"
    answer = write(adder__py=GOOD_ADD, extra__py="x = 1\n", test_adder__py=tests)
    outcome = outcome_of(await run(bench, answer, checks=(CHECK,)))
    assert (outcome.proof, outcome.exit_code) == (ProofLevel.NONE, 3)
    assert outcome.tests is not None
    assert outcome.tests.own_tests_problem == problem
    assert problem in outcome.summary


@pytest.mark.req("X13")
@pytest.mark.parametrize(
    ("new", "word"),
    [
        (OLD_TEST.replace("add(0, 0), 0", "add(0, 0), 0, 'sum'"), "changed"),
        (OLD_TEST.replace("    def test_zero", "    @unittest.skip('x')\n    def test_zero"), "skipped"),
        ("import unittest\n\n\nclass TestOther(unittest.TestCase):\n    def test_x(self):\n        pass\n", "removed"),
    ],
)
async def test_a_weakened_test_costs_the_verdict(bench: Bench, new: str, word: str) -> None:
    bench.write(adder__py=BAD_ADD, test_adder__py=OLD_TEST)
    answer = write(adder__py=GOOD_ADD, test_adder__py=new)
    outcome = outcome_of(await run(bench, answer, checks=("python3 -c 'from adder import *; assert add(1, 1) == 2'",)))
    assert outcome.verdict is Verdict.UNVERIFIED
    assert f"test_adder.py::TestAdd::test_zero was {word}" in outcome.summary


@pytest.mark.req("X13")
async def test_an_extended_test_file_does_not_cost_the_verdict(bench: Bench) -> None:
    bench.write(adder__py=BAD_ADD, test_adder__py=MORE_TESTS)
    extended = MORE_TESTS + "\n    def test_negative(self):\n        self.assertEqual(add(-1, -1), -2)\n"
    outcome = outcome_of(await run(bench, write(adder__py=GOOD_ADD, test_adder__py=extended), checks=(CHECK,)))
    assert (outcome.verdict, outcome.proof) == (Verdict.VERIFIED, ProofLevel.GIVEN_CHECK), outcome.summary


@pytest.mark.req("X13")
async def test_a_test_skipped_from_the_code_under_test_costs_the_verdict(bench: Bench) -> None:
    bench.write(adder__py=BAD_ADD, test_adder__py=MORE_TESTS)
    skipping = "import unittest\n\ndef add(a, b):\n    if a:\n        raise unittest.SkipTest('no')\n    return 0\n"
    outcome = outcome_of(await run(bench, write(adder__py=skipping), checks=(CHECK,)))
    assert outcome.verdict is Verdict.UNVERIFIED
    assert "tests are skipped or no longer run: test_adder.TestAdd.test_more" in outcome.summary


@pytest.mark.req("X13")
async def test_a_module_that_skips_all_its_tests_costs_the_verdict(bench: Bench) -> None:
    """Before the run the test file could not be loaded, so its tests are not known by name."""
    bench.write(test_adder__py=MORE_TESTS)
    skipping = "import unittest\n\ndef add(a, b):\n    if a:\n        raise unittest.SkipTest('no')\n    return 0\n"
    outcome = outcome_of(await run(bench, write(adder__py=skipping), checks=(CHECK,)))
    assert outcome.verdict is Verdict.UNVERIFIED, outcome.summary


OTHER = "def name():\n    return 'x'\n"
OTHER_TEST = """import unittest
from other import name


class TestName(unittest.TestCase):
    def test_name(self):
        self.assertEqual(name(), 'x')

    def test_broken_before(self):
        self.fail('always')
"""
ADD_CHECK = "python3 -c 'from adder import add; assert add(2, 3) == 5'"


@pytest.mark.req("X13")
async def test_a_regression_is_fed_back_and_can_be_mended(bench: Bench) -> None:
    bench.write(adder__py=BAD_ADD, other__py=OTHER, test_other__py=OTHER_TEST)
    answers = [
        write(adder__py=GOOD_ADD, other__py="def name():\n    return 'y'\n"),
        write(other__py=OTHER, adder__py=GOOD_ADD + "\n"),
    ]
    outcome = outcome_of(await run(bench, *answers, checks=(ADD_CHECK,)))
    (failed,) = [s for s in bench.events(e.StepFinished) if s.failure]
    assert failed.failure.kind is FailureKind.REGRESSION
    assert "test_other.TestName.test_name" in failed.failure.message
    assert "test_broken_before" not in failed.failure.message
    assert "'y' != 'x'" in failed.failure.evidence
    assert outcome.verdict is Verdict.VERIFIED, outcome.summary
    assert outcome.tests is not None
    assert outcome.tests.regressions == ()


@pytest.mark.req("X13")
async def test_a_regression_that_stays_costs_the_verdict(bench: Bench) -> None:
    bench.write(adder__py=BAD_ADD, other__py=OTHER, test_other__py=OTHER_TEST)
    wrong = [write(adder__py=GOOD_ADD, other__py=f"def name():\n    return 'y{n}'\n") for n in range(12)]
    outcome = outcome_of(await run(bench, *wrong, checks=(ADD_CHECK,)))
    assert outcome.verdict is Verdict.UNVERIFIED
    assert outcome.summary == "tests of the project that passed before fail now: test_other.TestName.test_name"


async def test_regressions_are_unknown_where_the_tests_take_too_long(bench: Bench) -> None:
    slow = "import time, unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n        time.sleep(60)\n"
    bench.write(adder__py=BAD_ADD, test_slow__py=slow)
    outcome = outcome_of(await run(bench, write(adder__py=GOOD_ADD), checks=(ADD_CHECK,), baseline_seconds=2))
    assert outcome.verdict is Verdict.VERIFIED
    assert outcome.tests is not None
    assert outcome.tests.regressions_unknown == "before the run: did not end within 2 s"
    assert any("regressions: unknown, because before the run: did not end within 2 s" in w for w in outcome.warnings)


async def test_the_comparison_can_be_switched_off_or_given(bench: Bench) -> None:
    bench.write(adder__py=BAD_ADD, other__py=OTHER, test_other__py=OTHER_TEST)
    answer = write(adder__py=GOOD_ADD, other__py="def name():\n    return 'y'\n")
    outcome = outcome_of(await run(bench, answer, checks=(ADD_CHECK,), baseline="off"))
    assert outcome.verdict is Verdict.VERIFIED
    bench.write(adder__py=BAD_ADD, other__py=OTHER)
    command = "python3 -c 'from other import name; assert name() == \"x\"'"
    outcome = outcome_of(await run(bench, answer, checks=(ADD_CHECK,), baseline=command, reflection=NO_RETRIES))
    assert outcome.verdict is Verdict.FAILED
    assert f"the command {command!r} as a whole" in outcome.summary


async def test_a_flaky_test_is_no_regression(bench: Bench) -> None:
    """It fails every other time; only what fails twice in a row counts."""
    counter = bench.home / "counter"
    flaky = (
        "import pathlib, unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n"
        f"        p = pathlib.Path({str(counter)!r})\n        n = len(p.read_text()) if p.exists() else 0\n"
        "        p.write_text('x' * (n + 1))\n        self.assertNotEqual(n, 1)\n"
    )
    bench.write(adder__py=BAD_ADD, test_flaky__py=flaky)
    outcome = outcome_of(await run(bench, write(adder__py=GOOD_ADD), checks=(ADD_CHECK,), sandbox="off"))
    assert counter.read_text() == "xxx"
    assert outcome.verdict is Verdict.VERIFIED, outcome.summary


@pytest.mark.req("X13")
async def test_tools_may_extend_given_tests_and_not_weaken_them(bench: Bench) -> None:
    bench.write(adder__py=BAD_ADD, test_adder__py=OLD_TEST)
    answers = [
        act("write_file", path="test_adder.py"),
        fenced(OLD_TEST.replace("0), 0", "0), 1")),
        act("delete_file", path="test_adder.py"),
        act("edit_file", path="test_adder.py", search=LAST_LINE, replace=LAST_LINE + MORE_TESTS.removeprefix(OLD_TEST)),
        write(adder__py=GOOD_ADD),
    ]
    outcome = outcome_of(await run(bench, *answers, checks=(CHECK,)))
    refused = [a.summary for a in bench.events(e.ActionFinished) if not a.ok]
    assert len(refused) == 2
    assert "test_adder.py::TestAdd::test_zero was changed" in refused[0]
    assert "test_adder.py::TestAdd::test_zero was removed" in refused[1]
    assert bench.files()["test_adder.py"].rstrip() == MORE_TESTS.rstrip()
    assert outcome.proof is ProofLevel.OWN_TEST, outcome.summary


@pytest.mark.attack("forge")
@pytest.mark.parametrize("target", ["adder_cases.py", "old/notes.txt", ".hidden/test_adder.py"])
@pytest.mark.parametrize("how", ["move_file", "apply_patch", "two parts of a patch"])
async def test_tools_move_no_test_to_where_no_runner_finds_it(bench: Bench, how: str, target: str) -> None:
    bench.write(adder__py=BAD_ADD, test_adder__py=OLD_TEST)
    patch = f"*** Begin Patch\n*** Update File: test_adder.py\n*** Move to: {target}\n*** End Patch"
    if how == "two parts of a patch":
        weaker = "@@\n-        self.assertEqual(add(0, 0), 0)\n+        pass"
        patch = patch.replace(target, "test_moved.py").replace(
            "*** End", f"*** Update File: test_moved.py\n{weaker}\n*** End"
        )
    call = act(how, source="test_adder.py", target=target) if how == "move_file" else act("apply_patch", patch=patch)
    await run(bench, call, write(adder__py=GOOD_ADD), checks=(CHECK,))
    (refused,) = [a.summary for a in bench.events(e.ActionFinished) if not a.ok]
    assert "test_adder.py::TestAdd::test_zero was removed" in refused
    assert bench.files()["test_adder.py"] == OLD_TEST


@pytest.mark.req("X13")
@pytest.mark.attack("forge")
@pytest.mark.parametrize(("runner", "tool"), [("unittest", "mv"), ("pytest", "mv"), ("unittest", "move_file")])
async def test_a_test_moved_to_where_the_runner_does_not_look_costs_the_verdict(
    bench: Bench, runner: str, tool: str
) -> None:
    """Its name is that of a test, so only running the tests tells: unittest looks into packages alone."""
    check = CHECK if runner == "unittest" else "python3 -m pytest -q"
    ignored = {"pytest__ini": "[pytest]\nnorecursedirs = old\n"} if runner == "pytest" else {}
    bench.write(
        adder__py=BAD_ADD, test_adder__py=MORE_TESTS, test_other__py=OLD_TEST.replace("Add(", "Other("), **ignored
    )
    move = act("run_command", command="mkdir old && mv test_other.py old/")
    if tool == "move_file":
        move = act("move_file", source="test_other.py", target="old/test_other.py")
    outcome = outcome_of(await run(bench, move, write(adder__py=GOOD_ADD), checks=(check,)))
    assert outcome.verdict is Verdict.UNVERIFIED
    assert "tests are skipped or no longer run: old/test_other.py::TestOther::test_zero" in outcome.summary


@pytest.mark.req("X13")
async def test_a_test_moved_to_where_the_runner_finds_it_costs_nothing(bench: Bench) -> None:
    bench.write(adder__py=BAD_ADD, test_adder__py=MORE_TESTS, test_other__py=OLD_TEST.replace("Add(", "Other("))
    move = act("move_file", source="test_other.py", target="test_zero.py")
    outcome = outcome_of(await run(bench, move, write(adder__py=GOOD_ADD), checks=(CHECK,)))
    assert outcome.verdict is Verdict.VERIFIED, outcome.summary


async def test_tests_stay_read_only_for_a_small_model(bench: Bench) -> None:
    bench.write(adder__py=BAD_ADD, test_adder__py=OLD_TEST)
    call = ExecutionStep(
        id="s", name="x", tool="write_file", parameters={"path": "test_adder.py", "content": MORE_TESTS}
    )
    state = await bench.run_plan(steps(call), traits=SMALL, reflection=NO_RETRIES)
    assert outcome_of(state).verdict is Verdict.FAILED
    (refused,) = bench.events(e.ActionFinished)
    assert "it decides what a check shows (a test or a script from before the run)" in refused.summary
    assert bench.files()["test_adder.py"] == OLD_TEST


@pytest.mark.parametrize("refused", ["rm -r .", "nonsense"])
async def test_a_step_in_which_nothing_was_done_is_not_done(bench: Bench, refused: str) -> None:
    """Its only action was refused, and the model says that it is done."""
    answers = [act("run_command", command=refused)]
    outcome = outcome_of(await run(bench, *answers, deny=["run_command(*)"], reflection=NO_RETRIES))
    assert outcome.verdict is Verdict.LOOP
    assert "nothing was done in this step: its action was refused (run_command: the user's rules" in outcome.summary


async def test_saying_done_without_an_action_is_not_enough(bench: Bench) -> None:
    outcome = outcome_of(await run(bench, reflection=NO_RETRIES))
    assert outcome.verdict is Verdict.LOOP
    assert "no action was carried out, and the model says that it is done" in outcome.summary


async def test_a_step_whose_work_an_earlier_step_did_is_done(bench: Bench) -> None:
    first, second = STEP.with_(id="a"), STEP.with_(id="b", checks=())
    answers = [write(adder__py=GOOD_ADD), done(), done()]
    state = await bench.run_plan(steps(first, second, after=[("b", "a")]), answers, checks=[ADD_CHECK])
    assert outcome_of(state).verdict is Verdict.VERIFIED, outcome_of(state).summary


async def test_a_question_needs_no_action(bench: Bench) -> None:
    given = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", steps(STEP)))
    task = bench.task("What does add() return?", ())
    services = bench.services([done("the sum")])
    state = await start_run(services, task, bench.config(), first=Stage.EXECUTION, given=[given])
    assert outcome_of(state).verdict is Verdict.UNVERIFIED

"""A step of a conversation that weakens a given test through a command is not done until the test is restored."""

import pytest

from support.kit import NO_RETRIES, Bench
from support.talk import CALC_TEST, results, submit
from surefoot.core.outcome import FailureKind, Verdict
from surefoot.core.transitions import StepStatus

FINISH = ("finish_step", {"summary": "done"})
FREE = submit({"name": "Do it", "description": "do the task"})
CHECK = "python3 test_calc.py"
NAMED = "'test_calc.py' has tests from before the run, which may be extended but not weakened: "
CHANGED = f"{NAMED}test_calc.py::Add::test_adds was changed"
WEAKEN = ("run_command", {"command": "sed -i 's/, 3)/, -1)/' test_calc.py"})
RESTORE = ("run_command", {"command": "sed -i 's/, -1)/, 3)/' test_calc.py"})
MEND = "sed -i 's/a - b/a + b/' calc.py"
FIX = ("write_file", {"path": "calc.py", "content": "def add(a, b):\n    return a + b\n"})


@pytest.fixture
def calc(bench: Bench) -> Bench:
    bench.write(calc__py="def add(a, b):\n    return a - b\n", test_calc__py=CALC_TEST)
    return bench


@pytest.mark.req("X13")
async def test_the_end_of_the_step_is_refused_until_the_test_is_restored(calc: Bench) -> None:
    edit = ("edit_file", {"path": "test_calc.py", "search": ", 3)", "replace": ", -1)"})
    state = await calc.talk("Fix add.", [FREE, [edit], [WEAKEN, FINISH], [RESTORE, FIX, FINISH]], checks=[CHECK])
    (by_edit,), (_, by_shell) = results(calc.talker.requests[2]), results(calc.talker.requests[3])
    assert CHANGED in by_edit
    assert CHANGED in by_shell
    assert "change the code, not the tests" in by_shell
    assert "say why it is not needed" not in by_shell
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


@pytest.mark.req("X13")
async def test_a_step_that_keeps_a_weakened_test_fails_and_is_undone(calc: Bench) -> None:
    script = [FREE, [WEAKEN, FINISH], [FINISH], [FINISH], [("cannot", {"reason": "no"})]]
    state = await calc.talk("Fix add.", script, checks=[CHECK], reflection=NO_RETRIES)
    (failure,) = state.steps["s1"].failures
    assert failure.kind is FailureKind.NO_PROGRESS
    assert CHANGED in failure.message
    assert state.outcome is not None
    assert state.outcome.verdict is not Verdict.VERIFIED
    assert calc.files()["test_calc.py"] == CALC_TEST


@pytest.mark.parametrize(
    ("task", "command"),
    [
        ("Fix add and update the existing tests to the new sign.", "sed -i 's/, 3)/, -1)/' test_calc.py"),
        ("Fix add.", f"{MEND} && mv test_calc.py test_sum.py"),
        (
            "Fix add.",
            f"{MEND} && sed -i 's/    def test_adds/    def test_b(self): pass\\n\\n&/' test_calc.py",
        ),
    ],
    ids=["asked", "moved", "extended"],
)
async def test_what_is_asked_for_moved_or_extended_is_not_refused(calc: Bench, task: str, command: str) -> None:
    state = await calc.talk(task, [FREE, [("run_command", {"command": command}), FINISH]], baseline="off")
    assert state.steps["s1"].status is StepStatus.SUCCEEDED
    assert state.steps["s1"].refused == ()


async def test_another_refusal_is_still_told_after_that(calc: Bench) -> None:
    """A model that was told of a weakened test was not told that the documentation is missing."""
    script = [FREE, [WEAKEN, FINISH], [RESTORE, FIX, FINISH], [FINISH]]
    await calc.talk("Fix add and update the docs.", script, checks=[CHECK])
    assert "asks for documentation" in results(calc.talker.requests[3])[-1]

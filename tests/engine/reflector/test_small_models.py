"""Recovery with a small model: candidates first, merged function by function, and no reflection."""

import pytest

from support.candidates import CHECK, RIGHT, WRONG, candidates_of, rungs_of
from support.kit import SMALL, Bench, fenced, steps, understanding
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep
from surefoot.core.transitions import Rung
from surefoot.engine.loop import start_run
from surefoot.journal import events as e
from surefoot.models.base import ModelTraits

pytestmark = pytest.mark.slow


@pytest.mark.req("R8", "X5")
async def test_small_model_is_shown_the_file_without_the_wrong_body(bench: Bench) -> None:
    """A small model copies the code that it is shown, so the retry shows only the signature."""
    bench.write(half__py="KEEP = 1\n\n\ndef half(n):\n    return n / 3\n")
    copied, right = fenced("KEEP = 1\n\n\ndef half(n):\n    return n / 3\n"), fenced("def half(n):\n    return n / 2\n")
    task = bench.task("half in half.py is wrong.", ["python3 -c 'import half; assert half.half(4) == 2, half.half(4)'"])
    services = bench.services([copied, right], traits=SMALL)
    state = await start_run(services, task, bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert rungs_of(bench) == [Rung.CANDIDATES]
    first, retry = bench.prompts()
    assert "return n / 3" in first
    assert "return n / 3" not in retry
    assert "def half(n):\n    ..." in retry
    assert "KEEP = 1" in retry


@pytest.mark.req("R8", "X5")
async def test_small_model_is_asked_in_other_words_after_its_candidates(bench: Bench) -> None:
    task = bench.task("Write sum.py.", [CHECK])
    services = bench.services([*WRONG], traits=SMALL)
    state = await start_run(services, task, bench.config(reflection={"candidates": 3}))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert rungs_of(bench) == [Rung.CANDIDATES, Rung.REPAIR_STEP, Rung.REPLAN_TASK, Rung.GIVE_UP]
    assert state.model_calls == 1 + 3 + 2, "one answer, the candidates, and two more questions"
    assert bench.files() == {}


@pytest.mark.req("R8")
async def test_answer_that_failed_in_an_earlier_plan_is_not_tried_again(bench: Bench) -> None:
    """The first answer and a candidate come back in the new plan, on the same files. A warmer answer is taken."""
    right = fenced("5\n")
    answers = [*WRONG[:5], WRONG[0], WRONG[2], right]
    services = bench.services(answers, traits=SMALL)
    state = await start_run(services, bench.task("Write sum.txt.", ["grep -qx 5 sum.txt"]), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert rungs_of(bench) == [Rung.CANDIDATES, Rung.REPAIR_STEP, Rung.REPLAN_TASK]
    refused = bench.events(e.ActionRefused)
    assert [event.reason for event in refused] == [
        "exactly this was tried in an earlier plan, and the checks failed"
    ] * 2
    assert {event.step_id for event in refused} == {*state.steps}, "the step of the new plan"
    temperatures = [request.temperature or 0 for request in bench.model.requests[-3:]]
    assert temperatures == sorted(temperatures)
    assert temperatures[0] < temperatures[-1]


@pytest.mark.req("R8", "R7")
async def test_answer_that_failed_may_come_again_where_files_have_changed(bench: Bench) -> None:
    """The new plan brings the missing file first: what failed without it is right with it."""
    use = ExecutionStep(id="use", name="use", description="use x", writes=("use.py",))
    body = fenced("import base\nY = base.X + 1\n")
    plan = {
        "steps": [
            {"name": "base", "description": "write base.py", "file": "base.py"},
            {"name": "use", "description": "use x", "file": "use.py", "after": [1]},
        ]
    }
    limits = {"max_step_retries": 0, "max_single_step_repairs": 0}
    check = "python3 -c 'import use; assert use.Y == 2'"
    answers = [body, fenced("Y = 1\n"), plan, fenced("X = 1\n"), body]
    state = await bench.run_plan(steps(use), answers, checks=[check], reflection=limits)
    assert rungs_of(bench) == [Rung.REPLAN_TASK]
    assert not bench.events(e.ActionRefused)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


@pytest.mark.req("R8", "X5")
async def test_small_model_is_not_asked_to_reflect(bench: Bench) -> None:
    for small, purposes in ((True, {"write"}), (False, {"understand", "write", "reflect"})):
        task = bench.task("Write sum.py.", ["grep -sqx 5 sum.py || { echo nope; false; }"])
        answers = [*([] if small else [understanding("sum.py")]), *[fenced(f"{n}") for n in range(100, 140)]]
        services = bench.services(answers, traits=ModelTraits(small=small, inline_bodies=False))
        state = await start_run(services, task, bench.config())
        records = [record.event for record in services.journal.read(state.run_id)]
        answered = {event.purpose for event in records if isinstance(event, e.ModelAnswered)}
        assert answered >= purposes if not small else answered == purposes


@pytest.mark.req("R8", "X5")
async def test_unreadable_answer_of_a_small_model_counts_as_an_attempt(bench: Bench) -> None:
    task = bench.task("Write sum.py.", [CHECK])
    answers = ["I cannot say.", "nor now", RIGHT.replace("```", "```python", 1)]
    services = bench.services(answers, traits=SMALL)
    state = await start_run(services, task, bench.config())
    assert {event.purpose for event in bench.events(e.ModelAnswered)} == {"write"}
    assert rungs_of(bench)[0] == Rung.CANDIDATES
    assert state.outcome is not None


@pytest.mark.req("R8", "X5")
async def test_functions_of_several_candidates_are_merged(bench: Bench) -> None:
    bench.write(
        test_two__py="import unittest, two\n\n\nclass T(unittest.TestCase):\n"
        "    def test_one(self):\n        self.assertEqual(two.one(), 1)\n\n"
        "    def test_two(self):\n        self.assertEqual(two.two(), 2)\n"
    )
    task = bench.task("Write two.py.", ["python3 -m unittest -q"])
    answers = [
        fenced(f"def one():\n    return {a}\n\n\ndef two():\n    return {b}")
        for a, b in ((5, 6), (1, 7), (9, 2), (3, 4))
    ]
    services = bench.services(answers, traits=SMALL)
    state = await start_run(services, task, bench.config(reflection={"candidates": 3}))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert state.model_calls == 3, "merging needs no model call"
    assert [c.made_of for c in candidates_of(bench)] == [(), (), (1, 2)]
    assert bench.files()["two.py"] == "def one():\n    return 1\n\n\ndef two():\n    return 2\n"


@pytest.mark.req("R8", "X5")
async def test_functions_of_the_original_file_are_merged_in(bench: Bench) -> None:
    bench.write(
        test_two__py="import unittest, two\n\n\nclass T(unittest.TestCase):\n"
        "    def test_one(self):\n        self.assertEqual(two.one(), 1)\n\n"
        "    def test_two(self):\n        self.assertEqual(two.two(), 2)\n",
        two__py="def one():\n    return 5\n\n\ndef two():\n    return 2\n",
    )
    task = bench.task("Fix two.py.", ["python3 -m unittest -q"])
    answers = [fenced(f"def one():\n    return {a}\n\n\ndef two():\n    return {b}") for a, b in ((6, 6), (1, 7))]
    services = bench.services(answers, traits=SMALL)
    state = await start_run(services, task, bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert [c.made_of for c in candidates_of(bench)] == [(), (0, 1)]
    assert candidates_of(bench)[-1].label == "candidate 1 and what was there put together"
    assert bench.files()["two.py"] == "def one():\n    return 1\n\n\ndef two():\n    return 2\n"

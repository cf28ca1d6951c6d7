"""What a new plan may be, and what it keeps: after a replan, after the next approach, after a person asks for more."""

from typing import Any

import pytest

from support.kit import Bench, act, done, fenced, understanding
from surefoot.cli.report.symbols import UNICODE
from surefoot.cli.views.plain import event_lines
from surefoot.core.outcome import Verdict
from surefoot.core.transitions import Rung, StepStatus
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.models.testing.scripted import Rule

CHECK = 'test "$(cat sum.txt)" = 5'


def wish(name: str, file: str = "", check: str = "", after: tuple[int, ...] = ()) -> dict[str, Any]:
    kind = {"kind": "command", "value": check} if check else {"kind": "none", "value": ""}
    return {"name": name, "description": name, "type": "code_generation" if file else "command_execution",
            "file": file, "after": list(after), "check": kind}  # fmt: skip


def plan(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"steps": list(steps), "success_criteria": []}


APPROACH = {
    "approach": "by hand", "tech_stack": [], "architecture_pattern": "", "key_decisions": [],
    "expected_outcomes": ["sum.txt"], "alternatives": [{"name": "with a program", "description": "let sh add"}],
}  # fmt: skip
COMPLEX = understanding("sum.txt", complexity="complex")
NO_RETRIES = {"max_step_retries": 0, "max_single_step_repairs": 0}


def rungs(bench: Bench) -> list[str]:
    return [event.rung for event in bench.events(e.RungChosen)]


@pytest.mark.req("P17", "R2")
async def test_when_the_plans_of_one_approach_are_used_up_the_next_one_is_tried(bench: Bench) -> None:
    answers = [
        Rule("Say what the task wants", COMPLEX),
        Rule("Choose how to do it", APPROACH),
        Rule("Make a plan of at most", plan(wish("write the sum", "sum.txt"))),
        *[fenced(f"{wrong}\n", "text") for wrong in (6, 7, 8, 9)],
        fenced("5\n", "text"),
    ]
    state = await bench.run("Write the sum of 2 and 3 to sum.txt.", answers, checks=[CHECK], reflection=NO_RETRIES)
    assert rungs(bench) == [Rung.REPLAN_TASK, Rung.NEXT_APPROACH]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    asked = [prompt for prompt in bench.prompts() if "Make a plan of at most" in prompt]
    assert "with a program: let sh add" in asked[-1]
    assert "Tried before and failed: by hand" in asked[-1]


@pytest.mark.req("R2", "P14")
async def test_a_person_who_asks_for_more_gets_new_plans_too(bench: Bench) -> None:
    answers = [
        Rule("Say what the task wants", understanding("sum.txt")),
        Rule("Make a plan of at most", plan(wish("write the sum", "sum.txt"))),
    ]
    wrong = [fenced(f"{number}\n", "text") for number in range(10, 30)]
    state = await bench.run("Write sum.txt.", [*answers, *wrong], checks=[CHECK], reflection=NO_RETRIES)
    assert rungs(bench) == [Rung.REPLAN_TASK, Rung.GIVE_UP]
    more = [fenced(f"{number}\n", "text") for number in (40, 41)]
    state = await bench.resume(state.run_id, [*answers, *more, fenced("5\n", "text")])
    assert rungs(bench) == [Rung.REPLAN_TASK, Rung.GIVE_UP, Rung.REPLAN_TASK]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


@pytest.mark.req("R2")
async def test_what_is_done_stays_done_in_a_new_plan(bench: Bench) -> None:
    first = plan(wish("write a", "a.txt"), wish("write the sum", "sum.txt", after=(1,)))
    answers = [
        Rule("Say what the task wants", COMPLEX),
        Rule("Choose how to do it", APPROACH),
        Rule("Make a plan of at most", first, times=1),
        Rule("Make a plan of at most", plan(wish("write the sum anew", "sum.txt"))),
        Rule("content of `a.txt`", fenced("a\n", "text")),
        *[fenced(f"{wrong}\n", "text") for wrong in (6, 7)],
        fenced("5\n", "text"),
    ]
    state = await bench.run("Write sum.txt and a.txt.", answers, checks=[CHECK], reflection=NO_RETRIES)
    assert [s for s, r in state.steps.items() if r.status is StepStatus.SUCCEEDED] == ["s1", "s1r1"]
    assert [event.step_id for event in bench.events(e.StepStarted)].count("s1") == 1
    assert bench.files() == {"a.txt": "a\n", "sum.txt": "5\n"}
    plans = [record for record in bench.records if isinstance(record.event, e.PlanMade)]
    then = fold(record for record in bench.records if record.seq <= plans[1].seq)
    shown = [line.strip() for line in event_lines(plans[1].event, then, UNICODE)]
    assert shown[1:] == ["- write the sum", "= write a (done, stays)", "+ write the sum anew"], "a difference of plans"


@pytest.mark.req("R2")
async def test_a_new_plan_may_write_anew_what_an_earlier_step_wrote_wrongly(bench: Bench) -> None:
    """The step that fails may not be the one that is wrong: its data came from one that counted as done."""
    first = plan(wish("write the data", "data.txt"), wish("add the data up", check=CHECK, after=(1,)))
    again = plan(wish("write the right data", "data.txt"), wish("add it up", check=CHECK, after=(1,)))
    add = act("run_command", command="awk '{s += $1} END {print s}' data.txt > sum.txt")
    answers = [
        Rule("Say what the task wants", understanding("data.txt", complexity="complex")),
        Rule("Choose how to do it", APPROACH),
        Rule("Make a plan of at most", first, times=1),
        Rule("Make a plan of at most", again),
        Rule("content of `data.txt`", fenced("2\n2\n", "text"), times=1),
        Rule("content of `data.txt`", fenced("2\n3\n", "text")),
        Rule("Done in this step so far\n(nothing yet)", add),
        Rule("Choose the one next action", done()),
    ]
    state = await bench.run("Write 2 and 3 to data.txt and their sum to sum.txt.", answers, checks=[CHECK],
                            reflection=NO_RETRIES)  # fmt: skip
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome.summary
    assert bench.files() == {"data.txt": "2\n3\n", "sum.txt": "5\n"}


@pytest.mark.req("X1", "P4")
async def test_a_plan_that_names_the_user_s_own_check_does_not_make_it_weaker(bench: Bench) -> None:
    answers = [
        Rule("Say what the task wants", COMPLEX),
        Rule("Choose how to do it", APPROACH),
        Rule("Make a plan of at most", plan(wish("write the sum", "sum.txt", check=CHECK))),
        fenced("5\n", "text"),
    ]
    state = await bench.run("Write sum.txt.", answers, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


@pytest.mark.req("A3", "P18")
async def test_when_everything_was_skipped_and_the_task_is_not_done_that_is_said(bench: Bench) -> None:
    from support.kit import steps
    from surefoot.core.plan import ExecutionStep

    step = ExecutionStep(id="a", name="a", tool="read_file", parameters={"path": "missing"}, critical=False)
    state = await bench.run_plan(
        steps(step), checks=["test -e made.txt"], reflection={**NO_RETRIES, "enable_step_level_reflection": False}
    )
    assert state.outcome is not None
    assert state.outcome.verdict is not Verdict.VERIFIED
    assert state.outcome.exit_code != 0

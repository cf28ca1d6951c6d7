"""Gates in real runs at the default settings: what they refuse, what they repair, and what a failed phase leaves."""

from typing import Any

import pytest

from support.kit import SMALL, Bench, fenced, understanding
from support.talk import CALC_TEST, results, submit
from surefoot.core.outcome import Verdict
from surefoot.core.phases import ExecutionPhase, PhaseResult, PhaseStatus
from surefoot.core.transitions import Stage
from surefoot.engine.loop import start_run
from surefoot.journal import events as e
from surefoot.journal.reducers import fold

FIX = ("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a + b"})
FINISH = ("finish_step", {"summary": "done"})
CHECK = "python3 test_calc.py"
TASK = "Fix add in calc.py."


@pytest.fixture
def calc(bench: Bench) -> Bench:
    bench.write(
        calc__py="def add(a, b):\n    return a - b\n",
        test_calc__py=CALC_TEST,
    )
    return bench


WRONG_UNDERSTANDINGS = [
    ({"understanding": "Cook a soup", "requirements": ["it is hot"]}, "shares no word"),
    ({"understanding": TASK, "requirements": []}, "`requirements` is empty"),
    ({"understanding": TASK, "files": ["/etc/passwd", "../../up.py"]}, "/etc/passwd, ../../up.py"),
]


@pytest.mark.req("P3", "P4")
@pytest.mark.parametrize(("wrong", "message"), WRONG_UNDERSTANDINGS)
async def test_a_wrong_understanding_is_refused_and_asked_for_again(
    calc: Bench, wrong: dict[str, Any], message: str
) -> None:
    script = [submit(**wrong), submit()[:1], [FIX, FINISH]]
    state = await calc.talk(TASK, script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    (refused,) = calc.events(e.GateRefused)
    assert refused.phase == "understanding"
    assert refused.confidence < 0.8
    assert message in results(calc.talker.requests[1])[0]
    assert state.understanding is not None
    assert state.understanding.retry_count == 1


@pytest.mark.req("P3", "P4")
@pytest.mark.parametrize(("wrong", "message"), WRONG_UNDERSTANDINGS)
async def test_a_wrong_understanding_without_tool_calls(calc: Bench, wrong: dict[str, Any], message: str) -> None:
    answers = [understanding(**wrong), understanding("calc.py"), fenced("def add(a, b):\n    return a + b")]
    state = await calc.run(TASK, answers, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    (refused,) = calc.events(e.GateRefused)
    assert message in "; ".join(refused.messages)
    assert message in calc.prompts()[1]


CYCLE = [{"name": "One", "description": "a", "after": [2]}, {"name": "Two", "description": "b", "after": [1]}]


@pytest.mark.req("P4", "A6")
async def test_a_plan_with_a_cycle_is_refused(calc: Bench) -> None:
    state = await calc.talk(TASK, [submit(*CYCLE), submit()[2:], [FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert "in a cycle" in results(calc.talker.requests[1])[-1]


@pytest.mark.req("P20", "P2", "P1")
async def test_a_phase_that_never_passes_leaves_its_failed_result(calc: Bench) -> None:
    wrong = submit(understanding="Bake a cake with plums", requirements=["it is sweet"])[:1]
    state = await calc.talk(TASK, [wrong] * 4, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    result = fold(calc.journal.read(state.run_id)).as_plan().understanding
    assert result is not None
    assert result.validation is not None
    assert (result.status, result.retry_count) == (PhaseStatus.FAILED, 3)
    assert result.output is not None
    assert result.output.understanding == "Bake a cake with plums"
    assert result.error is not None
    assert result.error.startswith("Validation confidence too low")
    assert not result.validation.passed
    assert result.validation.suggestions
    plan = state.as_plan()
    match plan.current_phase:
        case ExecutionPhase.Failed(failed_at=ExecutionPhase.Understanding()):
            pass
        case other:
            pytest.fail(str(other))
    assert plan.final_validation is not None
    assert plan.final_validation.status is PhaseStatus.PENDING
    again = await calc.talk_on(state.run_id, [submit(understanding=TASK), [FIX, FINISH]])
    assert again.outcome is not None
    assert again.outcome.verdict is Verdict.VERIFIED
    assert again.as_plan().understanding is not None
    assert again.as_plan().understanding.status is PhaseStatus.SUCCESS  # type: ignore[union-attr]


@pytest.mark.req("A14", "P20")
async def test_a_plan_that_never_passes_is_recorded_as_failed_and_replaced_by_one_step(calc: Bench) -> None:
    script = [submit(*CYCLE), *[submit(*CYCLE)[2:]] * 3, [FIX, FINISH]]
    state = await calc.talk(TASK, script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    failed, used = (event.result for event in calc.events(e.PlanMade))
    assert failed.status is PhaseStatus.FAILED
    assert failed.error is not None
    assert failed.error.startswith("Validation confidence too low")
    assert used.status is PhaseStatus.SKIPPED
    assert len(state.steps) == 1
    assert any("fallback plan" in warning for warning in state.warnings)


@pytest.mark.req("P20", "P2")
async def test_a_model_without_tool_calls_that_never_understands_leaves_a_failed_result(calc: Bench) -> None:
    wrong = understanding("calc.py", requirements=[])
    state = await calc.run(TASK, [wrong] * 4, checks=[CHECK])
    result = state.as_plan().understanding
    assert result is not None
    assert (result.status, result.retry_count) == (PhaseStatus.FAILED, 3)
    assert result.output is not None
    assert result.error is not None
    assert "Validation confidence too low" in result.error


@pytest.mark.req("P20", "P2")
async def test_pending_and_running_are_real_states(calc: Bench) -> None:
    seen: list[list[PhaseStatus | None]] = []

    def status(result: PhaseResult[Any] | None) -> PhaseStatus | None:
        return result.status if result else None

    def look() -> None:
        plan = fold(calc.records).as_plan()
        seen.append([status(r) for r in (plan.understanding, plan.approach, plan.plan, plan.final_validation)])

    def asked(turn: Any) -> Any:
        def answer(request: Any) -> Any:
            look()
            return turn

        return answer

    script = [asked(submit()), asked([FIX, FINISH])]
    state = await calc.talk(TASK, script, checks=[CHECK])
    look()
    pending, running, success = PhaseStatus.PENDING, PhaseStatus.RUNNING, PhaseStatus.SUCCESS
    assert seen == [[running, pending, pending, pending], [success, success, success, pending], [success] * 4]
    assert state.stage is Stage.COMPLETED


@pytest.mark.req("P2", "P3")
async def test_skipped_phases_say_why_and_claim_no_confidence(calc: Bench) -> None:
    services = calc.services([fenced("def add(a, b):\n    return a + b")], traits=SMALL)
    state = await start_run(services, calc.task(TASK, [CHECK]), calc.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    plan = state.as_plan()
    for result in (plan.understanding, plan.approach, plan.plan):
        assert result is not None
        assert result.validation is not None
        assert (result.status, result.validation.confidence) == (PhaseStatus.SKIPPED, 0.0)
        assert result.validation.messages


@pytest.mark.req("P4", "X1")
async def test_no_checks_at_all_is_not_verified(bench: Bench) -> None:
    write = ("write_file", {"path": "haiku.txt", "content": "old pond\n"})
    state = await bench.talk("Write a haiku into haiku.txt.", [submit(), [write, FINISH]])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    validation = state.as_plan().final_validation
    assert validation is not None
    assert validation.validation is not None
    assert validation.status is PhaseStatus.SKIPPED
    assert (validation.validation.passed, validation.validation.confidence) == (False, 0.0)
    assert validation.error is not None
    assert "not verified" in validation.error
    assert "--check" in validation.validation.suggestions[0]


@pytest.mark.req("P4")
async def test_a_final_gate_that_does_not_pass_costs_the_verdict(calc: Bench) -> None:
    plan = submit({"name": "Fix", "description": "Fix add."})
    plan[2][1]["success_criteria"] = ["the users are happy with it"]
    state = await calc.talk(TASK, [plan, [FIX, FINISH]], checks=[CHECK], min_confidence_threshold=0.95)
    assert state.outcome is not None
    assert state.validation is not None
    assert state.validation.status is PhaseStatus.FAILED
    assert (state.validation.error or "").startswith("Validation confidence too low (0.90 of 0.95)")
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert "the final gate did not pass" in state.outcome.summary


@pytest.mark.req("P4", "P21")
async def test_criteria_are_shown_by_the_checks_that_the_plan_names(calc: Bench) -> None:
    plan = submit({"name": "Fix", "description": "Fix add.", "validation_criteria": ["calc.py exists"]})
    shown = 'python3 -c "from calc import add; assert add(-1, -1) == -2"'
    plan[2][1]["success_criteria"] = [{"criterion": "negative numbers work", "check": shown}, "it is elegant"]
    state = await calc.talk(TASK, [plan, [FIX, FINISH]], checks=[CHECK])
    assert state.validation is not None
    assert state.validation.output is not None
    met = {c.criterion: c.met for c in state.validation.output.criteria}
    assert met == {"negative numbers work": True, "it is elegant": None, "calc.py exists": True}
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


# -- never against the user's words ----------------------------------------------------------------------------------


@pytest.mark.req("P4")
async def test_files_that_exist_and_are_only_read_get_no_step(bench: Bench) -> None:
    bench.write(sales__csv="day,amount\n1,2\n", rates__json="{}")
    task = "Read sales.csv and rates.json and write report.py, which prints the total."
    script = [understanding("sales.csv", "rates.json", "report.py"), fenced("print(2)")]
    state = await bench.run(task, script, checks=["python3 report.py"])
    assert [step_run.step.name for step_run in state.steps.values()] == ["Write report.py"]
    assert bench.files()["sales.csv"] == "day,amount\n1,2\n"


@pytest.mark.req("P4", "P21")
async def test_what_the_engine_changes_in_a_plan_is_told(calc: Bench) -> None:
    plan = submit({"name": "Fix", "description": "Fix add.", "after": [7], "tools": ["edit_file", "telepathy"]})
    state = await calc.talk(TASK, [plan, [FIX, FINISH]], checks=[CHECK])
    assert state.planning is not None
    assert state.planning.validation is not None
    repair = "repaired: dropped the dependency of step 1 on 7"
    assert any(repair in warning for warning in state.planning.validation.warnings)
    accepted = results(calc.talker.requests[1])[-1]
    assert accepted.startswith("Accepted.")
    assert repair in accepted
    assert "telepathy" in accepted
    assert calc.events(e.PlanMade)[0].mended == ("dropped the dependency of step 1 on 7, which is not another step",)


@pytest.mark.req("P4")
async def test_a_right_task_in_another_language_is_not_refused(bench: Bench) -> None:
    bench.write(calc__py="def add(a, b):\n    return a - b\n", test_calc__py=CALC_TEST)
    plan = submit(understanding="The sum is wrong because of the sign", requirements=["1 and 2 give 3"])
    state = await bench.talk("修复计算器模块里加法函数的错误，保证测试通过。", [plan, [FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert not bench.events(e.GateRefused)
    assert state.understanding is not None
    assert state.understanding.validation is not None
    assert state.understanding.validation.warnings
    assert state.understanding.validation.confidence < 1


@pytest.mark.req("O2", "O4")
async def test_a_submitted_plan_that_stays_too_long_is_shortened_with_a_note(bench: Bench) -> None:
    """The planner is asked to condense it first. Nothing of the plan is lost."""
    steps = [
        {
            "name": f"Write {n}.txt",
            "description": f"number {n}",
            "files": [f"{n}.txt"],
            "after": [n - 1] if n > 1 else [],
        }
        for n in range(1, 6)
    ]
    plan = submit(*steps)
    plan[2][1]["milestones"] = [{"name": "all of it", "after": [5]}]
    write = [("write_file", {"path": f"{n}.txt", "content": "x"}) for n in range(1, 6)]
    turns = [[write[0], FINISH], [write[1], FINISH], [*write[2:], FINISH]]
    state = await bench.talk("Write five files.", [plan, *[plan[2:]] * 3, *turns], max_plan_steps=3)
    refused = [event.messages for event in bench.events(e.GateRefused)]
    assert refused == [("more than 3 steps: condense the plan",)] * 3
    assert [run.step.name for run in state.steps.values()] == [
        "Write 1.txt", "Write 2.txt", "The rest of the plan: Write 3.txt and 2 more",
    ]  # fmt: skip
    last = state.steps["s3"].step
    assert [f"number {n}" in last.description for n in (2, 3, 4, 5)] == [False, True, True, True]
    assert last.expected_outputs == ("3.txt", "4.txt", "5.txt")
    assert state.plan is not None
    assert [(m.name, m.step_ids) for m in state.plan.milestones] == [("all of it", ("s3",))]
    assert state.planning is not None
    assert state.planning.validation is not None
    note = "repaired: steps 3 to 5 became one: a plan has at most 3 steps"
    assert note in state.planning.validation.warnings
    assert sorted(bench.files()) == [f"{n}.txt" for n in range(1, 6)]

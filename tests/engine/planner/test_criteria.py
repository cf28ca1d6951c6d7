"""Gate criteria: each of them can fail a phase, and its message says what is expected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.core.outcome import CheckResult
from surefoot.core.phases import AlternativeApproach, ApproachOutput, UnderstandingOutput, ValidationOutput
from surefoot.core.plan import CommandCheck, DetailedPlan, ExecutionStep, FileCheck, StepDependency
from surefoot.engine.planner.criteria import (
    Point,
    decisive,
    evaluate_criteria,
    judge,
    judge_approach,
    judge_plan,
    judge_understanding,
    judge_validation,
)

GOOD = UnderstandingOutput(
    understanding="Write adder.py with add", key_requirements=("add adds",), target_files=("adder.py",)
)


@pytest.mark.req("P3")
@given(
    st.lists(st.builds(Point, st.booleans(), st.just("m"), st.floats(0.1, 5), st.booleans()), min_size=1),
    st.floats(0, 1),
)
def test_confidence_is_computed_and_decides(points: list[Point], threshold: float) -> None:
    verdict = judge(points, threshold)
    assert 0 <= verdict.confidence <= 1
    broken_must = any(p.must and not p.holds for p in points)
    assert verdict.passed == (verdict.confidence >= threshold and not broken_must)
    assert len(verdict.messages) == sum(not p.holds for p in points)


@pytest.mark.req("P4")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"understanding": "string"}, "placeholder"),
        ({"key_requirements": ()}, "`requirements` is empty"),
        ({"target_files": ("/etc/passwd",)}, "plain relative paths"),
        ({"understanding": "cook soup", "key_requirements": ("hot",)}, "shares no word"),
    ],
)
def test_empty_or_unrelated_understanding_is_refused(change: dict[str, object], message: str) -> None:
    assert judge_understanding(GOOD, "Write adder.py with add(a, b)", ["adder.py"], 0.8).confidence == 1
    verdict = judge_understanding(GOOD.with_(**change), "Write adder.py with add(a, b)", [], 0.9)
    assert not verdict.passed
    assert message in verdict.messages[0]


@pytest.mark.req("P4")
def test_empty_approach_is_refused() -> None:
    empty = judge_approach(ApproachOutput(approach="?"), 0.8)
    assert not empty.passed
    full = ApproachOutput(
        approach="one module", expected_outcomes=("x",), alternatives=(AlternativeApproach(name="b"),)
    )
    assert judge_approach(full, 0.8).confidence == 1


def plan_of(*steps: ExecutionStep, **more: object) -> DetailedPlan:
    return DetailedPlan.model_validate({"steps": steps, **more})


@pytest.mark.req("P4")
@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (plan_of(), "no steps"),
        (plan_of(ExecutionStep(id="a", name="a", writes=("other.py",))), "no step produces adder.py"),
        (plan_of(*(ExecutionStep(id=i, name=i, writes=("adder.py",)) for i in "ab")), "two steps write the same file"),
        (plan_of(*(ExecutionStep(id=f"s{i}", name="x", writes=(f"{i}.py",)) for i in range(9))), "more than 8 steps"),
        (plan_of(ExecutionStep(id="a", name="a", writes=("adder.py", "test_adder.py"))), "may not be rewritten"),
        (
            plan_of(
                *(ExecutionStep(id=i, name=i, writes=(f"{i}.py",)) for i in ("adder", "b")),
                dependencies=[
                    StepDependency(step_id="adder", depends_on="b"),
                    StepDependency(step_id="b", depends_on="adder"),
                ],
            ),
            "in a circle",
        ),
    ],
)  # fmt: skip
def test_unworkable_plan_is_refused(plan: DetailedPlan, message: str) -> None:
    verdict = judge_plan(plan, ["adder.py"], ["test_adder.py"], 8, 0.5)
    assert not verdict.passed
    assert message in "; ".join(verdict.messages)


def result(command: str, passed: bool, origin: str = "plan") -> CheckResult:
    return CheckResult.model_validate({"check": CommandCheck(command=command), "passed": passed}).with_(
        check=CommandCheck.model_validate({"command": command, "origin": origin})
    )


@pytest.mark.req("P4")
def test_validation_gate_is_computed_from_check_results() -> None:
    assert judge_validation(ValidationOutput(checks=(result("a", True),)), 0.8).passed
    failed = judge_validation(ValidationOutput(checks=(result("a", True), result("b", False))), 0.1)
    assert not failed.passed
    assert "b" in failed.messages[0]


def test_checks_of_the_plan_do_not_outvote_checks_of_the_user() -> None:
    results = (result("given", True, "user"), result("invented", False, "plan"), result("parses", True, "engine"))
    assert [r.check.label for r in decisive(results)] == ["given", "parses"]
    assert decisive(results[1:2]) == results[1:2], "it decides when there is no other"


@pytest.mark.req("P4")
def test_criteria_are_met_by_checks_or_unknown() -> None:
    plan = plan_of(ExecutionStep(id="a", name="a"))
    exists = CheckResult(check=FileCheck(path="report.html"), passed=True)
    met, unknown = evaluate_criteria(["report.html is there", "users are happy"], plan, [exists])
    assert met.met is True
    assert unknown.met is None
    (failed,) = evaluate_criteria(["report.html is there"], plan, [exists.with_(passed=False)])
    assert failed.met is False

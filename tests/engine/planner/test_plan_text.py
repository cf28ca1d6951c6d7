"""`parse_plan_from_text`: tolerant of the form, strict about the content."""

import json

import pytest

import surefoot
from surefoot.core.plan import DetailedPlan
from surefoot.errors import PlanCycle, PlanError, UnreadableAnswer

PLAN = {
    "steps": [
        {"id": "look", "description": "Read it", "tools_expected": ["read_file"]},
        {
            "id": "fix",
            "title": "Fix it",
            "description": "Mend add",
            "dependencies": ["look"],
            "expected_output": "calc.py",
        },
    ]
}
TEXT = json.dumps(PLAN)


def parse(text: str) -> DetailedPlan:
    return surefoot.parse_plan_from_text(text)


@pytest.mark.req("O13", "O2")
@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"Here is my plan:\n```json\n{TEXT}\n```\nShall I go on?",
        f"<think>hm {{}} hm</think>{TEXT}",
        TEXT.replace('"calc.py"}', '"calc.py",},').replace("]}", "],}"),
        TEXT.replace('"', "'"),
        TEXT[:-2],
        json.dumps({"plan": PLAN}),
        json.dumps({"tasks": PLAN["steps"]}),
    ],
    ids=["plain", "fence and prose", "thinking", "trailing commas", "single quotes", "truncated", "wrapped", "tasks"],
)
def test_forms_that_models_write(text: str) -> None:
    plan = parse(text)
    assert [(s.id, s.name, s.sequence) for s in plan.steps] == [("look", "Read it", 0), ("fix", "Fix it", 1)]
    assert [(d.step_id, d.depends_on) for d in plan.dependencies] == [("fix", "look")]
    assert plan.steps[0].expected_tools == ("read_file",)
    assert plan.steps[1].expected_outputs == ("calc.py",)


@pytest.mark.req("O13", "P21")
def test_all_fields_are_read() -> None:
    step = {
        "name": "One",
        "type": "deployment",
        "estimated_minutes": 3,
        "preconditions": ["a.txt exists"],
        "validation_criteria": ["it runs"],
        "rollback_steps": ["true"],
        "requires_confirmation": True,
        "allow_failure": True,
        "critical": False,
        "priority": 2,
        "condition": "True",
        "fallback": 1,
        "checks": [{"value": "true"}],
    }
    text = json.dumps({"steps": [step, {"name": "Two", "after": [1]}], "milestones": [{"name": "m", "after": [2]}]})
    plan = parse(text)
    one = plan.steps[0]
    assert (one.id, one.step_type, one.priority, one.when, one.fallback) == ("s1", "deployment", 2, "True", 1)
    assert (one.requires_confirmation, one.allow_failure, one.critical) == (True, True, False)
    assert [check.label for check in one.checks] == ["true"]
    assert (plan.estimated_duration, plan.milestones[0].step_ids) == (3, ("s2",))
    assert [(d.step_id, d.depends_on) for d in plan.dependencies] == [("s2", "s1")]


@pytest.mark.req("O13", "O2", "A6")
@pytest.mark.parametrize(
    ("steps", "error", "message"),
    [
        ([], UnreadableAnswer, "steps"),
        ([{"id": "a", "name": "x"}, {"id": "a", "name": "y"}], PlanError, "two steps have the id 'a'"),
        ([{"id": "a", "name": "x", "depends_on": ["z"]}], PlanError, "depends on 'z'"),
        ([{"name": "x", "after": [2]}, {"name": "y", "after": [1]}], PlanCycle, "in a cycle"),
        ([{"name": "x"}] * 13, PlanError, "more than 12"),
        ([{"id": "a"}], PlanError, "has neither a name nor a description"),
        ([{"id": "no spaces", "name": "x"}], PlanError, "id"),
        ([{"name": "x", "when": "("}], PlanError, "is no Python expression"),
    ],
)
def test_plans_that_are_not_sound(steps: list[object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        parse(json.dumps({"steps": steps}))


@pytest.mark.req("O2")
def test_text_without_a_plan() -> None:
    with pytest.raises(UnreadableAnswer, match="no JSON"):
        parse("I would rather not.")

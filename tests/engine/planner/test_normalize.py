"""Normalization of drafts: which mistakes of small models are corrected, and how."""

from typing import Any

import pytest

from support.kit import Bench, fenced, understanding
from surefoot.core.outcome import Verdict
from surefoot.core.phases import TaskComplexity
from surefoot.core.plan import (
    CommandCheck,
    DetailedPlan,
    ExecutionStep,
    FileCheck,
    ParsesCheck,
    StepType,
    TextCheck,
)
from surefoot.engine.planner.criteria import NOT_NAMED
from surefoot.engine.planner.normalize import check_from_draft, plan_from, simple_plan, step_from, understanding_from
from surefoot.prompting.drafts.short import CheckDraft, PlanDraft, StepDraft, UnderstandingDraft


def draft(*steps: dict[str, Any]) -> PlanDraft:
    return PlanDraft.model_validate({"steps": [{"description": "do it", **step} for step in steps]})


def normalized(
    *steps: dict[str, Any], required: tuple[str, ...] = (), protected: tuple[str, ...] = (), max_steps: int = 12
) -> tuple[DetailedPlan, str]:
    plan, notes = plan_from(draft(*steps), required, protected, max_steps)
    return plan, "; ".join(notes)


@pytest.mark.req("P4", "O2")
def test_steps_for_the_same_file_are_merged() -> None:
    plan, notes = normalized(
        {"name": "a", "file": "x.py"},
        {"name": "b", "file": "./x.py", "after": [1]},
        {"name": "c", "file": "y.py", "after": [2]},
    )
    assert [s.writes for s in plan.steps] == [("x.py",), ("y.py",)]
    assert [(d.step_id, d.depends_on) for d in plan.dependencies] == [("s3", "s1")], (
        "the dependency on b becomes one on a"
    )
    assert "merged steps 1 and 2" in notes


@pytest.mark.req("P4")
def test_required_file_without_a_step_gets_one() -> None:
    plan, notes = normalized({"name": "a", "file": "x.py"}, required=("x.py", "y.py"))
    assert plan.steps[-1].writes == ("y.py",)
    assert "added a step for y.py" in notes


@pytest.mark.req("X1")
def test_steps_that_write_protected_tests_are_dropped() -> None:
    plan, notes = normalized(
        {"name": "a", "file": "x.py"}, {"name": "t", "file": "test_x.py"}, protected=("test_x.py",)
    )
    assert [s.writes for s in plan.steps] == [("x.py",)]
    assert "given tests" in notes


@pytest.mark.req("A6", "P4")
def test_dependencies_on_unknown_steps_are_dropped_and_on_later_ones_kept() -> None:
    plan, notes = normalized({"name": "a", "file": "x.py", "after": [2, 9, 1]}, {"name": "b", "file": "y.py"})
    assert [(d.step_id, d.depends_on) for d in plan.dependencies] == [("s1", "s2")]
    assert notes.count("dropped the dependency") == 1


@pytest.mark.req("A6")
def test_merging_steps_makes_no_cycle() -> None:
    plan, notes = normalized(
        {"name": "a", "file": "x.py"},
        {"name": "b", "file": "y.py", "after": [1]},
        {"name": "c", "file": "x.py", "after": [2]},
    )
    assert [(d.step_id, d.depends_on) for d in plan.dependencies] == [("s2", "s1")]
    assert "dropped the dependency of step 1 on 2" in notes


@pytest.mark.req("P4")
def test_a_file_that_a_step_speaks_of_gets_no_step_of_its_own() -> None:
    plan, notes = normalized(
        {"name": "Compute", "description": "run a command that writes totals.csv", "file": ""}, required=("totals.csv",)
    )
    assert [step.name for step in plan.steps] == ["Compute"]
    assert notes == ""


@pytest.mark.req("P4", "P21")
def test_a_step_that_writes_tests_stays_when_the_task_asks_for_tests() -> None:
    steps = [{"name": "a", "file": "x.py"}, {"name": "t", "type": "testing", "file": "tests/test_new.py"}]
    plan, _ = normalized(*steps)
    assert [s.writes for s in plan.steps] == [("x.py",), ("tests/test_new.py",)]
    given = draft({"name": "a", "file": "x.py"}, {"name": "t", "file": "test_x.py", "description": "extend test_x.py"})
    kept, notes = plan_from(given, (), ("test_x.py",), 12, "Add sub to x.py and write tests for it.")
    assert [s.writes for s in kept.steps] == [("x.py",), ("test_x_more.py",)]
    assert kept.steps[1].description == "extend test_x_more.py"
    assert "test_x_more.py" in notes[0]


@pytest.mark.req("O2")
def test_overlong_plan_is_cut_with_a_note() -> None:
    plan, notes = normalized(*({"name": f"n{i}", "file": f"f{i}.py"} for i in range(9)), max_steps=4)
    assert len(plan.steps) == 4
    assert "cut to the first 4 of 9 steps" in notes


def test_step_that_writes_no_file_is_a_command() -> None:
    plan, _ = normalized({"name": "sort the data", "type": "code_generation", "file": ""})
    assert plan.steps[0].step_type is StepType.COMMAND_EXECUTION


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("command", "pytest -q", CommandCheck(command="pytest -q")),
        ("command", "`python3 x.py`", CommandCheck(command="python3 x.py")),
        ("command", "check_file_exists(x.py)", None),
        ("command", "The file should exist.", None),
        ("command", "", None),
        ("file_exists", "./out/x.json", FileCheck(path="out/x.json")),
        ("file_exists", "the file x", None),
        ("text_matches", r"def \w+", TextCheck(path="x.py", pattern=r"def \w+")),
        ("text_matches", "def f(", TextCheck(path="x.py", pattern=r"def\ f\(")),
        ("none", "pytest", None),
    ],
)
def test_check_drafts_are_parsed_or_dropped(kind: str, value: str, expected: object) -> None:
    assert check_from_draft(CheckDraft.model_validate({"kind": kind, "value": value}), "x.py") == expected


def test_text_pattern_needs_a_file() -> None:
    assert check_from_draft(CheckDraft(kind="text_matches", value="x"), "") is None


def test_invented_files_are_not_targets() -> None:
    output, repairs = understanding_from(
        UnderstandingDraft(understanding="x", files=["a.py", "utils/helper.py", "old.py", "test_a.py"]),
        "Write a.py",
        existing=["old.py", "test_a.py"],
        protected=["test_a.py"],
    )
    assert output.target_files == ("a.py", "old.py")
    assert repairs == [
        "left out of the files to write: test_a.py (given tests, or only read)",
        f"{NOT_NAMED}utils/helper.py",
    ]


async def test_a_new_file_that_the_task_does_not_name_is_said_to_be_left_out(bench: Bench) -> None:
    bench.write(test_calc__py="import calc\nassert calc.sub(3, 1) == 2\n")
    answers = [understanding("calc.py", "notes.md"), fenced("def sub(a, b):\n    return a - b")]
    state = await bench.run("Write calc.py with sub, and notes about it.", answers, checks=["python3 test_calc.py"])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    (warning,) = [text for text in state.outcome.warnings if "notes.md" in text]
    assert warning.startswith(NOT_NAMED)
    assert "name them in the task" in warning


def test_task_with_many_files_is_complex() -> None:
    names = ["a.py", "b.py", "c.py", "d.py"]
    draft = UnderstandingDraft(understanding="x", files=names, complexity=TaskComplexity.SIMPLE)
    output, repairs = understanding_from(draft, " ".join(names), [], [])
    assert output.complexity is TaskComplexity.COMPLEX
    assert "complex" in repairs[0]
    own_word, _ = understanding_from(draft, " ".join(names), [], [], trusted=True)
    assert own_word.complexity is TaskComplexity.SIMPLE, "a strong model knows better"


@pytest.mark.req("P4")
def test_paths_are_made_relative_and_patterns_become_files() -> None:
    draft = UnderstandingDraft(understanding="x", files=["/home/me/app/a.py", "src/*.py"])
    existing = ["a.py", "src/b.py", "src/c.py"]
    output, repairs = understanding_from(draft, "Rename it", existing, [], root="/home/me/app")
    assert output.target_files == ("a.py", "src/b.py", "src/c.py")
    assert len(repairs) == 2


def test_plan_of_a_simple_task() -> None:
    one = simple_plan("do it", ["a.py", "test_a.py"], ["test_a.py"])
    assert [(s.writes, s.checks) for s in one.steps] == [(("a.py",), (ParsesCheck(path="a.py", origin="engine"),))]
    none = simple_plan("do it", [], [])
    assert none.steps[0].description == "do it"
    assert none.steps[0].writes == ()


def test_repaired_step_keeps_id_writes_and_user_checks() -> None:
    strong = CommandCheck(command="make test", origin="user")
    weak = CommandCheck(command="old", origin="plan")
    old = ExecutionStep(id="s7", name="old", writes=("a.py",), checks=(strong, weak), critical=False)
    new = step_from(
        StepDraft(name="new", description="other way", check=CheckDraft(kind="command", value="new")), old, []
    )
    assert (new.id, new.writes, new.critical) == ("s7", ("a.py",), False)
    assert new.checks == (strong, CommandCheck(command="new"))

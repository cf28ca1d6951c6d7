"""What small models get wrong in plans, and what is made of it."""

from typing import Any

import pytest

from surefoot.drafts import CheckDraft, PlanDraft, StepDraft, UnderstandingDraft
from surefoot.mending import check_from, plan_from, simple_plan, step_from, understanding_from
from surefoot.outcome import TaskComplexity
from surefoot.plan import CommandCheck, DetailedPlan, ExecutionStep, FileCheck, ParsesCheck, StepType, TextCheck
from surefoot.taskfiles import files_named_in


def draft(*steps: dict[str, Any]) -> PlanDraft:
    return PlanDraft.model_validate({"steps": [{"description": "do it", **step} for step in steps]})


def mended(
    *steps: dict[str, Any], required: tuple[str, ...] = (), protected: tuple[str, ...] = (), most: int = 12
) -> tuple[DetailedPlan, str]:
    plan, mends = plan_from(draft(*steps), required, protected, most)
    return plan, "; ".join(mends)


@pytest.mark.req("P4", "O2")
def test_two_steps_for_one_file_become_one() -> None:
    plan, mends = mended(
        {"name": "a", "file": "x.py"},
        {"name": "b", "file": "./x.py", "after": [1]},
        {"name": "c", "file": "y.py", "after": [2]},
    )
    assert [s.writes for s in plan.steps] == [("x.py",), ("y.py",)]
    assert [(d.step_id, d.depends_on) for d in plan.dependencies] == [("s3", "s1")], "what waited for b waits for a"
    assert "merged steps 1 and 2" in mends


@pytest.mark.req("P4")
def test_a_file_that_the_task_names_gets_its_step() -> None:
    plan, mends = mended({"name": "a", "file": "x.py"}, required=("x.py", "y.py"))
    assert plan.steps[-1].writes == ("y.py",)
    assert "added a step for y.py" in mends


@pytest.mark.req("X1")
def test_given_tests_are_not_rewritten() -> None:
    plan, mends = mended({"name": "a", "file": "x.py"}, {"name": "t", "file": "test_x.py"}, protected=("test_x.py",))
    assert [s.writes for s in plan.steps] == [("x.py",)]
    assert "given tests" in mends


@pytest.mark.req("A6", "P4")
def test_dependencies_on_nothing_or_on_later_steps_are_dropped() -> None:
    plan, mends = mended({"name": "a", "file": "x.py", "after": [2, 9, 1]}, {"name": "b", "file": "y.py", "after": [1]})
    assert [(d.step_id, d.depends_on) for d in plan.dependencies] == [("s2", "s1")]
    assert mends.count("dropped the dependency") == 2


@pytest.mark.req("O2")
def test_a_plan_that_is_too_long_is_cut_with_a_note() -> None:
    plan, mends = mended(*({"name": f"n{i}", "file": f"f{i}.py"} for i in range(9)), most=4)
    assert len(plan.steps) == 4
    assert "cut to the first 4 of 9 steps" in mends


def test_a_step_that_writes_nothing_is_a_command() -> None:
    plan, _ = mended({"name": "sort the data", "type": "code_generation", "file": ""})
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
def test_checks_that_are_none_are_left_out(kind: str, value: str, expected: object) -> None:
    assert check_from(CheckDraft.model_validate({"kind": kind, "value": value}), "x.py") == expected


def test_a_pattern_needs_a_file() -> None:
    assert check_from(CheckDraft(kind="text_matches", value="x"), "") is None


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("Create wordstats.py and tests/test_it.py.", ["wordstats.py", "tests/test_it.py"]),
        ("写 main.py,其中读取 data/in.csv。", ["main.py", "data/in.csv"]),
        ("See https://example.org/a.html, e.g. version 1.2.3 of Python 3.11", []),
        ("README.md, README.md", ["README.md"]),
        ("dial.py turns through 0..size-1, 'Ada King Lovelace' gives A.K.L.", ["dial.py"]),
        ("fix the bug in src/app/core.py:12", ["src/app/core.py"]),
        ("Make a file SHA256SUMS of release/app.txt. SHA256SUMS goes beside it.", ["SHA256SUMS", "release/app.txt"]),
        ("新建文件 VERSION，内容来自 setup.cfg", ["VERSION", "setup.cfg"]),
        ("a SHA256SUMS file; 新建文件VERSION，再写 CHECKSUMS 文件", ["SHA256SUMS", "VERSION", "CHECKSUMS"]),
        ("Write stats.py. The file MUST have a docstring.", ["stats.py"]),
        ("Write the file JSON, CSV or HTML; the file README.md is IMPORTANT", ["README.md"]),
    ],
)
def test_files_named_in_a_text(text: str, files: list[str]) -> None:
    assert files_named_in(text) == files


def test_files_that_a_model_invents_are_not_targets() -> None:
    output = understanding_from(
        UnderstandingDraft(understanding="x", files=["a.py", "utils/helper.py", "old.py", "test_a.py"]),
        "Write a.py",
        existing=["old.py", "test_a.py"],
        protected=["test_a.py"],
    )
    assert output.target_files == ("a.py", "old.py")


def test_many_files_are_not_simple() -> None:
    names = ["a.py", "b.py", "c.py", "d.py"]
    output = understanding_from(
        UnderstandingDraft(understanding="x", files=names, complexity=TaskComplexity.SIMPLE), " ".join(names), [], []
    )
    assert output.complexity is TaskComplexity.COMPLEX


def test_the_plan_of_a_simple_task() -> None:
    one = simple_plan("do it", ["a.py", "test_a.py"], ["test_a.py"])
    assert [(s.writes, s.checks) for s in one.steps] == [(("a.py",), (ParsesCheck(path="a.py", origin="engine"),))]
    none = simple_plan("do it", [], [])
    assert none.steps[0].description == "do it"
    assert none.steps[0].writes == ()


def test_a_repair_keeps_what_others_rely_on() -> None:
    strong = CommandCheck(command="make test", origin="user")
    weak = CommandCheck(command="old", origin="plan")
    old = ExecutionStep(id="s7", name="old", writes=("a.py",), checks=(strong, weak), critical=False)
    new = step_from(
        StepDraft(name="new", description="other way", check=CheckDraft(kind="command", value="new")), old, []
    )
    assert (new.id, new.writes, new.critical) == ("s7", ("a.py",), False)
    assert new.checks == (strong, CommandCheck(command="new"))

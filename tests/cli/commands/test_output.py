"""What people read: equal counts, failures once, open questions, whole diffs, the check that runs, no class names."""

import inspect
import json
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module

import pytest
from pydantic import BaseModel, ValidationError

import surefoot as package
from cli.conftest import Surefoot
from support.stories import CHECK, TASK, TEST, UNDERSTANDING, adder
from surefoot.core.values import what_is_wrong
from surefoot.errors import SurefootError

pytestmark = pytest.mark.slow

ONE_ATTEMPT = {
    "SUREFOOT_REFLECTION__MAX_STEP_RETRIES": "0",
    "SUREFOOT_REFLECTION__MAX_SINGLE_STEP_REPAIRS": "0",
    "SUREFOOT_REFLECTION__MAX_TASK_REPLANNING_ATTEMPTS": "0",
}


def listed_checks(text: str) -> list[str]:
    """The labels of the checks that a summary lists."""
    rows = text.splitlines()
    first = next(at for at, row in enumerate(rows) if row.startswith("  checks"))
    return [row[10:] for row in rows[first:] if re.match(r"  (checks|      )  [✓✗] ", row)]


def test_every_view_counts_the_same_checks(surefoot: Surefoot) -> None:
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    given = [CHECK, CHECK, f" {CHECK} ", "test -f adder.py"]
    options = [word for check in given for word in ("--check", check)]
    result = surefoot("run", TASK, "-m", surefoot.script(UNDERSTANDING, adder("+")), *options)
    assert result.code == 0, result.err
    labels = listed_checks(result.out)
    total = len(labels)
    assert sum(CHECK in label for label in labels) == 1, "equal checks are one check"
    assert total == len(set(labels))
    assert f"{total} checks pass on the final tree" in result.out
    assert f"✓ validation: {total} checks pass" in result.err
    assert f"✓ validation  {total} checks pass" in surefoot("show").out
    shown = json.loads(surefoot("show", "--json").out)
    assert shown["check_count"] == {"passed": total, "total": total}
    assert len(shown["outcome"]["checks"]) == total
    assert [check["command"] for check in shown["task"]["checks"]] == [CHECK, "test -f adder.py"]
    report = json.loads(surefoot("report", "--format", "json", "-o", "-").out)
    assert len(report["checks"]) == total
    last = surefoot("resume", "--json").objects[-1]
    assert last["check_count"] == {"passed": total, "total": total}


def test_checks_of_the_plan_are_counted_too(surefoot: Surefoot) -> None:
    """They decide nothing beside a check of the user, but they are listed, so they are part of every number."""
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    step = {"id": "s1", "name": "Write adder.py", "description": TASK, "writes": ["adder.py"]}
    own = [{"kind": "command", "command": f"grep -q {word} adder.py"} for word in ("return", "nothing")]
    given = surefoot.home / "given.json"
    given.write_text(json.dumps({"understanding": {"understanding": TASK}, "plan": {"steps": [step], "checks": own}}))
    script = surefoot.script(adder("+"))
    result = surefoot("run", TASK, "-m", script, "--check", CHECK, "--given", str(given), "--from-phase", "execution")
    labels = listed_checks(result.out)
    passed = sum(label.startswith("✓") for label in labels)
    assert {label[2:] for label in labels} >= {CHECK, "grep -q return adder.py", "grep -q nothing adder.py"}
    assert passed == len(labels) - 1
    counted = f"{passed} of {len(labels)} checks pass"
    assert counted in result.out, result.out
    assert counted in result.err
    assert counted in surefoot("show").out
    shown = json.loads(surefoot("show", "--json").out)
    assert shown["check_count"] == {"passed": passed, "total": len(labels)}


def test_a_failure_that_two_checks_share_is_printed_once(surefoot: Surefoot) -> None:
    surefoot.environ |= ONE_ATTEMPT
    (surefoot.workspace / "why.txt").write_text("the rows of June are missing\n")
    checks = ["--check", "cat why.txt; false", "--check", "cat why.txt; exit 3"]
    result = surefoot("run", TASK, "-m", surefoot.script(UNDERSTANDING, *[adder("+")] * 9), *checks)
    assert result.code == 1, result.err
    assert result.out.count("the rows of June are missing") == 1, result.out
    assert "cat why.txt; exit 3" in result.out
    blocks = re.split(r"^(?=\[)", result.err, flags=re.MULTILINE)
    looked = [block for block in blocks if "the rows of June are missing" in block]
    assert looked
    assert all(block.count("the rows of June are missing") == 1 for block in looked), result.err
    assert "for the same reason as cat why.txt; false" in result.err


def test_what_the_model_left_open_is_shown(surefoot: Surefoot) -> None:
    asking = {**UNDERSTANDING, "questions": ["Are the numbers whole?"]}
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    result = surefoot("run", TASK, "-m", surefoot.script(asking, adder("+")), "--check", CHECK, "--no-questions")
    assert result.code == 0, result.err
    question = "Are the numbers whole? (not asked; the task is read in the most common way)"
    assert f"  open    {question}" in result.out
    assert result.out.count("Are the numbers whole?") == 1
    assert "  open: Are the numbers whole?" in result.err
    shown = surefoot("show").out
    assert f"    open: {question}" in shown
    assert json.loads(surefoot("show", "--json").out)["open_points"] == [
        {"question": "Are the numbers whole?", "answer": None, "assumed": True}
    ]
    assert "Are the numbers whole?" in surefoot("report", "--format", "md", "-o", "-").out


def test_in_a_pipe_the_diff_of_an_approval_keeps_its_lines(surefoot: Surefoot) -> None:
    (surefoot.workspace / "adder.py").write_text("def add(a, b):\n    return a - b\n")
    script = surefoot.script(UNDERSTANDING, adder("+"))
    result = surefoot("run", "Correct adder.py.", "-m", script, "--approve", "ask")
    assert result.code == 4, result.err
    rows = [line.strip() for line in result.lines]
    assert "-    return a - b" in rows, result.err
    assert "+    return a + b" in rows


def test_the_check_that_runs_is_named(surefoot: Surefoot) -> None:
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    script = surefoot.script(UNDERSTANDING, adder("+"))
    slow = f"sleep 0.3; {CHECK}"
    terminal = surefoot.on_terminal("run", TASK, "-m", script, "--check", slow)
    terminal.wait_for("checking sleep 0.3")
    assert terminal.end() == 0
    plain = surefoot("run", TASK, "-m", surefoot.script(UNDERSTANDING, adder("+")), "--check", CHECK)
    named = next(at for at, line in enumerate(plain.lines) if line.strip() == f"checking {CHECK} ...")
    assert any(CHECK in line and ("✓" in line or "✗" in line) for line in plain.lines[named + 1 :])


# -- internal names --------------------------------------------------------------------------------------------------


def classes() -> Iterator[type[BaseModel]]:
    """The classes of Surefoot whose values come from outside, or hold such values."""
    for module in pkgutil.walk_packages(package.__path__, "surefoot."):
        if (
            module.name.split(".")[1] in ("core", "journal", "prompting", "config", "models")
            and "postgres" not in module.name
        ):
            for _, cls in inspect.getmembers(import_module(module.name), inspect.isclass):
                if issubclass(cls, BaseModel) and cls.__module__ == module.name:
                    yield cls


@cache
def class_names() -> frozenset[str]:
    return frozenset(cls.__name__ for cls in classes() if re.search(r"[a-z][A-Z]", cls.__name__))


def internal_names(text: str) -> set[str]:
    return set(re.findall(r"\w+", text)) & class_names() | set(re.findall(r"surefoot\.\w+\.\w+", text))


def test_no_wrong_value_is_worded_with_the_name_of_a_class() -> None:
    assert {"AlternativeDraft", "CommandCheck", "ExecutionStep"} <= class_names()
    errors = [error for cls in classes() for error in refusals(cls)]
    assert len(errors) > 500
    for error in errors:
        assert not internal_names(what_is_wrong(error, 100)), error


def refusals(cls: type[BaseModel]) -> Iterator[ValidationError]:
    """What pydantic says of wrong values, of the whole and of each field."""
    wrong = ("text", ["text"], [{"kind": "no such kind"}], {"a": 1}, None, -1)
    for value in ("text", 5, [1], {"no_such_field": 1}, *({name: w} for name in cls.model_fields for w in wrong)):
        try:
            cls.model_validate(value)
        except ValidationError as error:
            yield error
        except (SurefootError, ValueError, TypeError, AttributeError):
            continue


@pytest.mark.parametrize(
    "broken",
    [
        {**UNDERSTANDING, "requirements": {"a": 1}, "risks": 5},
        "I would write `AddDraft`.",
        [1, 2, 3],
    ],
)
def test_a_broken_answer_is_told_without_them(surefoot: Surefoot, broken: object) -> None:
    result = surefoot("run", TASK, "-m", surefoot.script(*[broken] * 12), "-v")
    assert result.code == 1, result.err
    assert not internal_names(result.out + result.err)
    assert not internal_names(surefoot("show", "--events").out)


def test_a_broken_approach_is_told_without_them(surefoot: Surefoot) -> None:
    hard = {**UNDERSTANDING, "complexity": "complex"}
    approach = {"approach": "one module", "alternatives": ["two modules"], "decisions": ["none"]}
    result = surefoot("run", TASK, "-m", surefoot.script(hard, *[approach] * 12), "-v", "--phases", "full")
    assert result.code == 1, result.err
    assert "alternatives" in result.out + result.err
    assert not internal_names(result.out + result.err)


def test_broken_files_are_told_without_them(surefoot: Surefoot) -> None:
    given = surefoot.home / "given.json"
    for values in ({"understanding": "text"}, {"plan": {"steps": ["text"]}}, {"plan": {"steps": [{"id": 5}]}}):
        given.write_text(json.dumps(values))
        result = surefoot("run", TASK, "-m", surefoot.script(), "--given", str(given))
        assert result.code == 2, result.err
        assert "cannot be used" in result.err
        assert not internal_names(result.err), result.err
    planned = surefoot("plan", TASK, "-m", surefoot.script(UNDERSTANDING))
    assert planned.code == 0, planned.err
    for steps in ('[[step]]\nid = "s9"\nname = 5\n', '[[step]]\nid = "s9"\nname = "x"\nchecks = [5]\n'):
        result = surefoot("edit", "--file", "-", stdin=steps)
        assert result.code != 0
        assert not internal_names(result.out + result.err), result.err

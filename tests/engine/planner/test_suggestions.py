"""What would raise the confidence of each phase's result, in real runs at the default settings."""

from typing import Any

import pytest
from rich.console import Console

from support.kit import Bench, act, done, understanding
from support.talk import CALC_TEST, Call, submit
from surefoot.cli.report.details import details
from surefoot.cli.report.symbols import UNICODE
from surefoot.core.phases import PhaseResult, ValidationResult
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState

TASK = "修复计算器模块里加法函数的错误。"
FIX = ("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a + b"})
FINISH = ("finish_step", {"summary": "done"})
CHECK = "python3 test_calc.py"


def survey(**fields: Any) -> list[Call]:
    """Submissions that all pass their gates; `fields` replaces what each of them could do better."""
    understood = {
        "understanding": fields.get("understanding", "The sum is wrong because of the sign"),
        "requirements": ["1 and 2 give 3"],
        "complexity": "moderate",
    }
    approach = {
        "approach": "turn the sign",
        "expected_outcomes": ["sums are right"],
        "alternatives": fields.get("alternatives", []),
    }
    step = {"name": "Fix add", "description": "in calc.py", "tools": ["telepathy"]}
    criteria = fields.get("criteria", ["the users are happy"])
    plan = {"steps": [fields.get("step", step)], "success_criteria": criteria}
    return [("submit_understanding", understood), ("submit_approach", approach), ("submit_plan", plan)]


def validations(state: RunState) -> dict[str, ValidationResult]:
    plan = state.as_plan()
    results: dict[str, PhaseResult[Any] | None] = {
        "understanding": plan.understanding,
        "approach": plan.approach,
        "planning": plan.plan,
        "validation": plan.final_validation,
    }
    found = {name: result.validation for name, result in results.items() if result is not None}
    return {name: validation for name, validation in found.items() if validation is not None}


@pytest.fixture
def calc(bench: Bench) -> Bench:
    bench.write(calc__py="def add(a, b):\n    return a - b\n")
    return bench


@pytest.mark.req("P3")
async def test_suggestions_name_what_would_raise_the_confidence_and_following_them_does(calc: Bench) -> None:
    state = await calc.talk(TASK, [survey(), [FIX, FINISH]])
    weak = validations(fold(calc.journal.read(state.run_id)))
    assert {name: verdict.suggestions for name, verdict in weak.items()} == {
        "understanding": (f"say it with the words of the task: {TASK}",),
        "approach": ("`alternatives` is empty: name one other way, in case this one fails",),
        "planning": ("there are no such tools: telepathy", "give these steps a check of their own: 1"),
        "validation": (
            "give a check that fails before the run and passes after it: --check 'COMMAND'",
            "give a check for: the users are happy",
        ),
    }
    console = Console(width=200)
    with console.capture() as capture:
        for line in details(state, UNICODE):
            console.print(line)
    assert all(text in capture.get() for verdict in weak.values() for text in verdict.suggestions)

    calc.write(calc__py="def add(a, b):\n    return a - b\n", test_calc__py=CALC_TEST)
    better = survey(
        understanding=TASK,
        alternatives=[{"name": "write the function anew"}],
        step={"name": "Fix add", "description": "in calc.py", "tools": ["edit_file"], "checks": [{"value": CHECK}]},
        criteria=[{"criterion": "the users are happy", "check": CHECK}],
    )
    strong = validations(await calc.talk(TASK, [better, [FIX, FINISH]], checks=[CHECK]))
    for name, verdict in strong.items():
        assert verdict.confidence > weak[name].confidence, name
        assert (verdict.confidence, verdict.suggestions) == (1.0, ()), name


@pytest.mark.req("P3", "P20")
async def test_suggestions_of_a_refused_phase_say_what_to_mend(calc: Bench) -> None:
    """A model without tool calls: the suggestions are those of its last draft, and of nothing else."""
    wrong = understanding("/etc/passwd", requirements=[], understanding="string")
    state = await calc.run("Fix add in calc.py.", [wrong] * 4)
    verdict = validations(state)["understanding"]
    assert not verdict.passed
    assert verdict.suggestions == (
        "`understanding` is empty or a placeholder: say what is wanted",
        "`requirements` is empty: list what must be true at the end",
        "`files` must be plain paths inside the folder; these are not: /etc/passwd",
        "say it with the words of the task: Fix add in calc.py.",
    )
    again = await calc.resume(state.run_id, [understanding("calc.py"), act("run_command", command="true"), done()])
    assert validations(again)["understanding"].suggestions == ()


@pytest.mark.req("P3")
async def test_suggestion_of_a_plan_names_the_files_that_no_step_makes(bench: Bench) -> None:
    plan = submit({"name": "Write the parser", "description": "in parser.py", "files": ["parser.py"]})
    work = [("write_file", {"path": name, "content": "X = 1\n"}) for name in ("parser.py", "printer.py")]
    state = await bench.talk("Create parser.py and printer.py.", [plan, [*work, FINISH]])
    verdict = validations(state)["planning"]
    assert verdict.passed
    assert verdict.confidence < 1
    assert "give printer.py a step" in verdict.suggestions

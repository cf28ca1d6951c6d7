"""Checks: when they run, and what each kind accepts."""

import pytest

from support.kit import NO_RETRIES, Bench, done, steps
from surefoot.core.plan import (
    ExecutionStep,
    ExpressionCheck,
    FileCheck,
    JsonSchemaCheck,
    ParsesCheck,
    StepType,
    TextCheck,
)
from surefoot.journal import events as e
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import tool


@pytest.mark.req("O7", "X1")
async def test_final_validation_reuses_no_earlier_result(bench: Bench) -> None:
    """The tree is the same, and the tool declares no effect elsewhere: only running the check again tells."""
    flag = bench.home / "flag"

    @tool(writes=("path",))
    async def put(path: str) -> str:
        """Write nothing here."""
        flag.touch()
        return path

    bench.toolbox = default_toolbox().with_(put)
    step = ExecutionStep(id="s", name="s", tool="put", parameters={"path": "x.txt"})
    state = await bench.run_plan(steps(step), checks=[f"test ! -e {flag}"], reflection=NO_RETRIES)
    assert bench.files() == {}
    assert state.outcome is not None
    assert state.outcome.exit_code == 1, "a check that passed before fails now, with no change in the workspace"


@pytest.mark.req("X1")
async def test_expression_checks_see_results_of_steps(bench: Bench) -> None:
    values = [1, 2]

    @tool
    def count() -> dict[str, int]:
        """Count."""
        return {"n": values.pop(0)}

    bench.toolbox = default_toolbox().with_(count)
    check = ExpressionCheck(expression='outputs["b"]["result"]["n"] == 2')
    plan = steps(
        ExecutionStep(id="a", name="a", tool="count"),
        ExecutionStep(id="b", name="b", tool="count"),
        ExecutionStep(id="c", name="c", tool="list_files", checks=(check,)),
        after=[("b", "a"), ("c", "b")],
    )
    state = await bench.run_plan(plan)
    assert state.steps["c"].results[0].passed


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    ("check", "good", "bad", "reason"),
    [
        (FileCheck(path="f.txt"), "x", None, "does not exist"),
        (TextCheck(path="f.txt", pattern="^b$"), "a\nb\n", "ab", "nothing in f.txt matches"),
        (ParsesCheck(path="f.py"), "x = 1\n", "def f(:\n", "SyntaxError"),
        (ParsesCheck(path="f.py"), "x = 1\n", " \n", "the file is empty"),
        (ParsesCheck(path="f.json"), "{}", "{", "JSONDecodeError"),
        (ParsesCheck(path="f.toml"), "a = 1", "a = ", "TOMLDecodeError"),
        (
            JsonSchemaCheck(path="f.json", json_schema={"type": "object", "required": ["a"]}),
            '{"a": 1}',
            "{}",
            "'a' is a required property",
        ),
    ],
)
async def test_each_kind_of_check_passes_and_fails_with_a_reason(
    bench: Bench, check: FileCheck | TextCheck | ParsesCheck | JsonSchemaCheck, good: str, bad: str | None, reason: str
) -> None:
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.PREPARATION, checks=(check,))
    if bad is not None:
        (bench.root / check.path).write_text(bad)
    await bench.run_plan(steps(step), [done()], reflection=NO_RETRIES)
    (before, *_) = bench.events(e.ChecksRan)[0].results
    assert not before.passed
    assert reason in before.detail
    (bench.root / check.path).write_text(good)
    bench.records.clear()
    await bench.run_plan(steps(step), [done()])
    assert bench.events(e.ChecksRan)[-1].results[0].passed


@pytest.mark.req("X1")
async def test_checks_cannot_read_outside_the_workspace(bench: Bench) -> None:
    (bench.root / "link").symlink_to("/etc/passwd")
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.PREPARATION,
                         checks=(TextCheck(path="link", pattern="root"), FileCheck(path="/etc/passwd")))  # fmt: skip
    await bench.run_plan(steps(step), [done()], reflection=NO_RETRIES)
    assert not any(result.passed for result in bench.events(e.ChecksRan)[0].results)

"""The kind of a step is decided once for each attempt, when it starts, and recorded."""

from typing import Any

import pytest

from support.kit import NO_RETRIES, Bench, fenced, steps, understanding
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep, StepKind
from surefoot.engine.loop import start_run
from surefoot.journal import events as e
from surefoot.models.base import ModelTraits
from surefoot.prompting.json_actions.strategy import JsonActions

TASK = 'Add up column n of sales.csv and write total.json like {"total": 7}.'
IS_RIGHT = "grep -q 42 total.json"
WRITES_42 = fenced("open('total.json', 'w').write('42')")
WRITES_41 = fenced("open('total.json', 'w').write('41')")
WRITES_40 = fenced("open('total.json', 'w').write('40')")
LARGER = ModelTraits(inline_bodies=False)


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the steps whose kind the strategy was asked for."""
    asked: list[str] = []
    original = JsonActions.step_kind

    def step_kind(self: JsonActions, step: ExecutionStep) -> StepKind:
        asked.append(step.id)
        return original(self, step)

    monkeypatch.setattr(JsonActions, "step_kind", step_kind)
    return asked


def kinds(bench: Bench) -> list[StepKind | None]:
    return [started.kind for started in bench.events(e.StepStarted)]


async def test_kind_stays_although_the_folder_changes_after_the_start(bench: Bench, decided: list[str]) -> None:
    """Without the file that it is computed from, the result would be an ordinary file, and so would be its question."""
    bench.write(sales__csv="n\n40\n2\n")

    def without_its_source(request: Any) -> str:
        (bench.root / "sales.csv").unlink()
        return WRITES_40

    services = bench.services([understanding("total.json"), without_its_source, WRITES_42], traits=LARGER)
    state = await start_run(services, bench.task(TASK, [IS_RIGHT]), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert kinds(bench) == [StepKind.PROGRAM]
    assert [action.tool for action in bench.events(e.ActionStarted)] == ["run_python", "run_python"]
    assert decided == ["s1"], "one question for all that depends on the kind"


async def test_kind_is_decided_once_for_each_attempt(bench: Bench, decided: list[str]) -> None:
    bench.write(sales__csv="n\n40\n2\n")
    diagnosis = {"category": "parameter_error", "root_cause": "it adds nothing up", "confidence": 0.9}
    answers = [understanding("total.json"), WRITES_40, WRITES_41, diagnosis, WRITES_42]
    services = bench.services(answers, traits=LARGER)
    state = await start_run(services, bench.task(TASK, [IS_RIGHT]), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    attempts = len(kinds(bench))
    assert attempts > 1
    assert kinds(bench) == [StepKind.PROGRAM] * attempts
    assert decided == ["s1"] * attempts


async def test_resumed_attempt_has_the_recorded_kind(bench: Bench, decided: list[str]) -> None:
    bench.write(sales__csv="n\n40\n2\n")

    def ends_the_process(request: Any) -> str:
        (bench.root / "sales.csv").unlink()
        raise KeyboardInterrupt

    services = bench.services([understanding("total.json"), ends_the_process], traits=LARGER)
    with pytest.raises(KeyboardInterrupt):
        await start_run(services, bench.task(TASK, [IS_RIGHT]), bench.config())
    assert decided == ["s1"]
    state = await bench.resume(bench.events(e.RunCreated)[0].run_id, [WRITES_42])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert [action.tool for action in bench.events(e.ActionStarted)] == ["run_python"]
    assert decided == ["s1"], "the journal has the kind"


async def test_call_is_recorded_as_one(bench: Bench, decided: list[str]) -> None:
    step = ExecutionStep(id="copy", name="copy", tool="run_command", parameters={"command": "echo done > a.txt"})
    state = await bench.run_plan(steps(step), approve="auto", reflection=NO_RETRIES)
    assert state.steps["copy"].kind is StepKind.CALL
    assert kinds(bench) == [StepKind.CALL]
    assert decided == [], "there is nothing to decide"

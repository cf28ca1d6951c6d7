"""Recorded runs as lists of events, for testing views without a model."""

from collections.abc import Iterable
from typing import Any

from surefoot.config.model import BudgetConfig, ExecutionConfig
from surefoot.core.outcome import (
    CheckResult,
    Diagnosis,
    ErrorCategory,
    Failure,
    FailureKind,
    Outcome,
    StepReflection,
    Verdict,
)
from surefoot.core.phases import (
    ApproachOutput,
    ExecutionPhase,
    ExecutionStatus,
    PhaseResult,
    PhaseStatus,
    StepExecutionOutput,
    UnderstandingOutput,
    ValidationOutput,
    ValidationResult,
)
from surefoot.core.plan import CommandCheck, DetailedPlan, ExecutionStep, FileCheck, StepDependency
from surefoot.core.task import Task
from surefoot.core.transitions import Rung, Stage, StepStatus
from surefoot.journal import events as e

RUN_ID = "20261115-2044-swift-otter"
PYTEST = CommandCheck(command="python -m pytest -q", origin="user")
PASSED = ValidationResult(passed=True, confidence=1.0)


def records(events: Iterable[e.Event], seconds: float = 1.5) -> list[e.Record]:
    return [e.Record(seq, 1_800_000_000 + seq * seconds, event) for seq, event in enumerate(events, 1)]


def created(text: str = "add a --json flag to report.py", **fields: Any) -> e.RunCreated:
    config = ExecutionConfig(budget=BudgetConfig(usd_per_million_prompt_tokens=2.5, usd_per_million_output_tokens=10))
    task = Task(text=text, workspace="/srv/projects/report", checks=(PYTEST,))
    return e.RunCreated(run_id=RUN_ID, task=task, config=config, model="qwen2.5-coder", surefoot="0.1.0", **fields)


def steps(count: int = 3) -> tuple[ExecutionStep, ...]:
    names = ("Read the spec", "Write report.py", "Run the tests")
    return tuple(
        ExecutionStep(
            id=f"s{i}",
            sequence=i,
            name=names[i] if i < len(names) else f"Polish part {i}",
            checks=(PYTEST, FileCheck(path="report.py")) if i == 1 else (),
        )
        for i in range(count)
    )


def phases(count: int = 3) -> list[e.Event]:
    """The events from the start until the plan is made."""
    plan = DetailedPlan(
        steps=steps(count),
        dependencies=tuple(StepDependency(step_id=f"s{i}", depends_on=f"s{i - 1}") for i in range(1, count)),
        success_criteria=("report.py --json prints valid JSON",),
        checks=(PYTEST,),
    )
    understanding = UnderstandingOutput(
        understanding="The report script needs a flag that prints its result as JSON.",
        key_requirements=("a --json flag", "the text output stays as it is"),
        task_type="code change",
    )
    return [
        created(),
        e.PhaseStarted(phase="understanding"),
        answered("understanding"),
        e.Understood(result=_ok(ExecutionPhase.Understanding(), understanding)),
        e.StageEntered(stage=Stage.APPROACH, reason="gate passed"),
        e.ApproachChosen(
            result=PhaseResult[ApproachOutput](
                phase=ExecutionPhase.Approach(), status=PhaseStatus.SKIPPED, error="the task is simple"
            )
        ),
        e.StageEntered(stage=Stage.PLANNING, reason="skipped: the task is simple"),
        e.PhaseStarted(phase="planning"),
        answered("planning"),
        e.GateRefused(phase="planning", attempt=0, confidence=0.6, messages=("no step writes report.py",)),
        e.PhaseStarted(phase="planning", attempt=1),
        answered("planning"),
        e.PlanMade(result=_ok(ExecutionPhase.Planning(), plan)),
        e.StageEntered(stage=Stage.EXECUTION, reason="gate passed"),
    ]


def first_step() -> list[e.Event]:
    return [
        e.StepStarted(step_id="s0", attempt=1),
        e.Decided(step_id="s0", decision="act", thought="The spec says what the flag prints."),
        e.ActionStarted(action_id="a1", step_id="s0", tool="read_file", arguments={"path": "SPEC.md"}),
        e.ActionFinished(action_id="a1", step_id="s0", ok=True, summary="SPEC.md, 12 lines", duration_ms=4),
        finished("s0", 1, 3_200),
    ]


def second_step_fails() -> list[e.Event]:
    red = check(False, "AssertionError: expected {'rows': 3}")
    failure = Failure(kind=FailureKind.CHECK_FAILED, message="python -m pytest -q failed", evidence=red.detail)
    reflection = StepReflection(
        category=ErrorCategory.PARAMETER_ERROR, root_cause="rows are counted before the filter", confidence=0.8
    )
    return [
        e.StepStarted(step_id="s1", attempt=1),
        e.ChecksRan(step_id="s1", when="before", results=(check(False),)),
        answered("act", "s1"),
        e.ActionStarted(
            action_id="a2", step_id="s1", tool="write_file", arguments={"path": "report.py"}, body="f" * 64
        ),
        e.ActionFinished(action_id="a2", step_id="s1", ok=True, summary="wrote report.py, 40 lines", duration_ms=3),
        e.ChecksRan(step_id="s1", when="after", results=(red, file_check())),
        finished("s1", 1, 8_100, failure=failure, checks=(red, file_check())),
        e.StageEntered(stage=Stage.RECOVERY, reason="a step failed"),
        e.Reflected(step_id="s1", reflection=reflection),
        e.RungChosen(step_id="s1", rung=Rung.ADJUST_PARAMETERS, why="rows are counted before the filter"),
        e.RolledBack(step_id="s1", snapshot="a" * 64, paths=("report.py",)),
    ]


def second_step_succeeds() -> list[e.Event]:
    green = (check(True), file_check())
    return [
        e.StepReset(step_id="s1", rung=Rung.ADJUST_PARAMETERS, note="count after the filter"),
        e.StageEntered(stage=Stage.EXECUTION, reason="retry"),
        e.StepStarted(step_id="s1", attempt=2),
        e.ModelRetried(error="429: slow down", attempt=1, of=3, wait_seconds=2.0),
        answered("act", "s1"),
        e.ActionStarted(action_id="a3", step_id="s1", tool="write_file", arguments={"path": "report.py"}),
        e.ActionFinished(action_id="a3", step_id="s1", ok=True, summary="wrote report.py, 42 lines", duration_ms=3),
        e.ChecksRan(step_id="s1", when="after", results=green),
        finished("s1", 2, 7_400, checks=green, modified=("report.py",), generated=("report_json.py",)),
    ]


def ending(verdict: Verdict = Verdict.VERIFIED) -> list[e.Event]:
    validated = ValidationOutput(checks=(check(True),))
    return [
        e.StepStarted(step_id="s2", attempt=1),
        e.ActionStarted(action_id="a4", step_id="s2", tool="run_command", arguments={"command": "python -m pytest -q"}),
        e.ActionFinished(
            action_id="a4", step_id="s2", ok=True, summary="3 passed", duration_ms=900, command="python -m pytest -q"
        ),
        finished("s2", 1, 1_200),
        e.StageEntered(stage=Stage.VALIDATION, reason="every step settled"),
        e.ChecksRan(when="final", results=(check(True),)),
        e.Validated(result=_ok(ExecutionPhase.Validation(), validated)),
        e.StageEntered(stage=Stage.COMPLETED),
        e.RunEnded(
            outcome=Outcome(
                verdict=verdict,
                summary="report.py prints JSON with --json; all checks pass.",
                checks=(check(True),),
                generated_files=("report_json.py",),
                modified_files=("report.py",),
            )
        ),
    ]


def giving_up() -> list[e.Event]:
    """The events after `second_step_fails` if nothing is left to try."""
    diagnosis = Diagnosis(
        what_failed="step 2, Write report.py",
        root_cause="rows are counted before the filter",
        evidence="AssertionError: expected {'rows': 3}",
        tried=("as planned", "adjusted parameters"),
        next_steps=("look at tests/test_report.py", f"surefoot resume {RUN_ID}"),
    )
    return [
        e.RungChosen(step_id="s1", rung=Rung.GIVE_UP, why="all tries are used"),
        e.StageEntered(stage=Stage.FAILED, reason="nothing left to try"),
        e.RunEnded(
            outcome=Outcome(
                verdict=Verdict.FAILED,
                summary="Write report.py failed.",
                checks=(check(False, "AssertionError: expected {'rows': 3}"),),
                diagnosis=diagnosis,
            )
        ),
    ]


def asking() -> list[e.Event]:
    return [
        e.QuestionAsked(question_id="q1", kind="confirmation", text="Go on with this plan?", options=("yes", "no")),
        e.StageEntered(stage=Stage.WAITING, reason="a question"),
    ]


def only_planned() -> list[e.Record]:
    """A run that was asked for a plan only."""
    summary = "the plan is made; nothing was executed"
    return records(
        [
            *phases()[:-1],
            e.StageEntered(stage=Stage.COMPLETED, reason="only a plan was asked for"),
            e.RunEnded(outcome=Outcome(verdict=Verdict.UNVERIFIED, summary=summary)),
        ]
    )


def whole_run() -> list[e.Record]:
    return records([*phases(), *first_step(), *second_step_fails(), *second_step_succeeds(), *ending()])


def failed_run() -> list[e.Record]:
    return records([*phases(), *first_step(), *second_step_fails(), *giving_up()])


# -- parts ---------------------------------------------------------------------------------------------------------


def answered(purpose: str, step_id: str = "") -> e.ModelAnswered:
    return e.ModelAnswered(
        purpose=purpose,
        step_id=step_id,
        prompt="p" * 64,
        answer="a" * 64,
        prompt_tokens=1_200,
        output_tokens=180,
        cached_tokens=800,
        duration_ms=2_000,
    )


def check(passed: bool, detail: str = "") -> CheckResult:
    return CheckResult(check=PYTEST, passed=passed, detail=detail, exit_code=0 if passed else 1)


def file_check() -> CheckResult:
    return CheckResult(check=FileCheck(path="report.py"), passed=True)


def finished(
    step_id: str,
    attempt: int,
    duration_ms: int,
    *,
    failure: Failure | None = None,
    checks: tuple[CheckResult, ...] = (),
    generated: tuple[str, ...] = (),
    modified: tuple[str, ...] = (),
) -> e.StepFinished:
    output = StepExecutionOutput(
        step_id=step_id,
        status=ExecutionStatus.FAILED if failure else ExecutionStatus.SUCCESS,
        generated_files=generated,
        modified_files=modified,
        proven=bool(checks) and not failure,
    )
    return e.StepFinished(
        step_id=step_id,
        status=StepStatus.FAILED if failure else StepStatus.SUCCEEDED,
        attempt=attempt,
        output=output,
        duration_ms=duration_ms,
        failure=failure,
        checks=checks,
    )


def _ok(phase: Any, output: Any) -> PhaseResult[Any]:
    shaped: Any = PhaseResult[type(output)]  # type: ignore[misc]
    result: PhaseResult[Any] = shaped(
        phase=phase, status=PhaseStatus.SUCCESS, output=output, duration_ms=2_000, validation=PASSED
    )
    return result

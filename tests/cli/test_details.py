"""What `show`, the summary and a printed plan say, from every corner of a run."""

from rich.text import Text

from cli import recorded
from surefoot import events as e
from surefoot.cli.details import details
from surefoot.cli.marks import UNICODE
from surefoot.cli.summary import plan_lines, summary
from surefoot.fold import fold
from surefoot.machine import Stage, StepStatus
from surefoot.outcome import (
    AlternativeApproach,
    ApproachOutput,
    CriterionResult,
    Diagnosis,
    ExecutionPhase,
    ExecutionStatus,
    Outcome,
    PhaseResult,
    PhaseStatus,
    StepExecutionOutput,
    TechnicalDecision,
    ValidationOutput,
    Verdict,
)
from surefoot.plan import DetailedPlan, ExecutionStep, FileCheck, StepDependency
from surefoot.state import RunState


def text(lines: list[Text]) -> str:
    return "\n".join(line.plain for line in lines)


def full_run() -> RunState:
    approach = ApproachOutput(
        approach="argparse, as the script already uses it",
        key_decisions=(TechnicalDecision(decision="one flag", rationale="the least change"),),
        alternatives=(AlternativeApproach(name="a second script"),),
    )
    events = recorded.phases()
    events[5] = e.ApproachChosen(
        result=PhaseResult[ApproachOutput](
            phase=ExecutionPhase.Approach(), status=PhaseStatus.SUCCESS, output=approach, retry_count=2
        )
    )
    skipped = StepExecutionOutput(step_id="s2", status=ExecutionStatus.SKIPPED)
    criteria = (
        CriterionResult(criterion="prints valid JSON", met=True, because="python -m pytest -q passes"),
        CriterionResult(criterion="reads well", met=None),
    )
    return fold(
        recorded.records(
            [
                *events,
                *recorded.first_step(),
                *recorded.second_step_fails(),
                *recorded.second_step_heals(),
                e.StepFinished(step_id="s2", status=StepStatus.SKIPPED, attempt=0, output=skipped),
                e.StageEntered(stage=Stage.VALIDATION),
                e.Validated(
                    result=PhaseResult[ValidationOutput](
                        phase=ExecutionPhase.Validation(),
                        status=PhaseStatus.SUCCESS,
                        output=ValidationOutput(checks=(recorded.check(True),), criteria=criteria),
                    )
                ),
                e.StageEntered(stage=Stage.COMPLETED),
                e.RunEnded(
                    outcome=Outcome(
                        verdict=Verdict.UNVERIFIED,
                        summary="done, but not proven",
                        checks=tuple(recorded.check(i != 3) for i in range(20)),
                        generated_files=tuple(f"new{i}.py" for i in range(20)),
                        deleted_files=("old.py",),
                        protected_changes=("tests/test_report.py",),
                        warnings=("something to know",),
                    )
                ),
            ]
        )
    )


def test_details_tell_how_each_phase_and_step_went() -> None:
    told = text(list(details(full_run(), UNICODE)))
    for part in (
        "✓ approach  argparse, as the script already uses it  after 2 refusals",
        "· one flag: the least change",
        "else: a second script",
        "✓ validation  the one check passes",
        "✓ prints valid JSON (python -m pytest -q passes)",
        "? reads well",
        "✓ 2. Write report.py  code_generation, done, 2 tries",
        "after Read the spec",
        "– 3. Run the tests  code_generation, skipped",
        "+ report_json.py, ~ report.py",
    ):
        assert part in told, told


def test_a_summary_hides_nothing_that_is_red_and_shortens_what_is_long() -> None:
    lines = text(summary(full_run(), UNICODE)).splitlines()
    checks = [line for line in lines if "pytest" in line]
    assert checks[0].strip() == "checks  ✗ python -m pytest -q"
    assert "⋮ 10 more pass" in text(summary(full_run(), UNICODE))
    assert any("and 9 more" in line for line in lines)
    assert any("was to stay as it is, and has changed: tests/test_report.py" in line for line in lines)
    assert any("something to know" in line for line in lines)
    assert lines[0].startswith("◐ Done, not verified")


def test_an_unfinished_run_says_how_to_go_on() -> None:
    begun = fold(recorded.records([*recorded.phases(), *recorded.first_step()]))
    assert "surefoot resume" in text(summary(begun, UNICODE))
    waiting = fold(recorded.records([*recorded.phases(), *recorded.asking()]))
    told = text(summary(waiting, UNICODE))
    assert "asks    Go on with this plan?" in told
    assert "surefoot answer" in told


def test_a_plan_tells_order_files_and_checks() -> None:
    plan = DetailedPlan(
        steps=(
            ExecutionStep(id="a", name="First", description="Do the first thing", writes=("a.py",)),
            ExecutionStep(id="b", name="Second", checks=(FileCheck(path="b.py"),)),
        ),
        dependencies=(StepDependency(step_id="b", depends_on="a"),),
        success_criteria=("it works",),
        checks=(recorded.PYTEST,),
    )
    assert text(list(plan_lines(plan, UNICODE))).splitlines() == [
        "  1. First  code_generation",
        "     Do the first thing",
        "     writes a.py",
        "  2. Second  code_generation",
        "     after 1",
        "     check b.py exists",
        "  · it works",
        "  at the end python -m pytest -q",
    ]


def test_no_step_of_a_run_that_was_given_up_runs_or_waits() -> None:
    diagnosis = Diagnosis(what_failed="the model could not be asked")
    ended = e.RunEnded(outcome=Outcome(verdict=Verdict.FAILED, summary=diagnosis.what_failed, diagnosis=diagnosis))
    events = [*recorded.phases(), *recorded.first_step(), e.StepStarted(step_id="s1", attempt=1)]
    going_on = text(list(details(fold(recorded.records(events)), UNICODE)))
    assert ", running" in going_on
    given_up = text(list(details(fold(recorded.records([*events, ended])), UNICODE)))
    assert ", cut off" in given_up
    assert ", not done" in given_up
    assert ", running" not in given_up
    assert ", waiting" not in given_up
    assert given_up.count("the model could not be asked") == 1, "a failure is told once"

"""The output of `show`, the summary, and a printed plan."""

import io
import re

from rich.text import Text

from support import recorded
from support.recorded import PYTEST
from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.details import details
from surefoot.cli.report.summary import plan_lines, summary
from surefoot.cli.report.symbols import UNICODE
from surefoot.cli.views.plain import PlainLines
from surefoot.core.outcome import CheckResult, CriterionResult, Diagnosis, Outcome, Verdict
from surefoot.core.phases import (
    AlternativeApproach,
    ApproachOutput,
    ExecutionPhase,
    ExecutionStatus,
    PhaseResult,
    PhaseStatus,
    StepExecutionOutput,
    TechnicalDecision,
    UnderstandingOutput,
    ValidationOutput,
)
from surefoot.core.plan import DetailedPlan, ExecutionStep, FileCheck, StepDependency
from surefoot.core.transitions import Rung, Stage, StepStatus
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.view.questions import open_points, other_warnings


def text(lines: list[Text]) -> str:
    return "\n".join(line.plain for line in lines)


def numbered_check(number: int) -> CheckResult:
    """The fourth of them fails; it is that of the user."""
    check = PYTEST if number == 3 else PYTEST.with_(command=f"python -m pytest -q part{number}")
    return CheckResult(check=check, passed=number != 3)


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
                *recorded.second_step_succeeds(),
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
                        checks=tuple(numbered_check(i) for i in range(20)),
                        generated_files=tuple(f"new{i}.py" for i in range(20)),
                        deleted_files=("old.py",),
                        protected_changes=("tests/test_report.py",),
                        warnings=("something to know",),
                    )
                ),
            ]
        )
    )


def test_details_of_phases_and_steps() -> None:
    output = text(list(details(full_run(), UNICODE)))
    for part in (
        "✓ approach  argparse, as the script already uses it  after 2 refusals",
        "· one flag: the least change",
        "else: a second script",
        "✓ validation  1 check passes",
        "✓ prints valid JSON (python -m pytest -q passes)",
        "? reads well",
        "✓ 2. Write report.py  code generation, done, 2 attempts",
        "after Read the spec",
        "– 3. Run the tests  code generation, skipped",
        "+ report_json.py, ~ report.py",
    ):
        assert part in output, output


def test_counters_causes_and_recoveries_are_in_words() -> None:
    chosen = e.RungChosen(step_id="s1", rung=Rung.REPAIR_STEP, why="the step is wrong")
    replanned = e.RungChosen(step_id="s1", rung=Rung.REPLAN_TASK, why="the plan is wrong")
    fails = recorded.second_step_fails()
    again = e.StepReset(step_id="s1", rung=Rung.ADJUST_PARAMETERS)
    repaired = e.StepReset(step_id="s1", rung=Rung.REPAIR_STEP)
    events = [*recorded.phases(), *recorded.first_step(), *fails, again, *fails, repaired, chosen]
    state = fold(recorded.records(events))
    output = text(list(details(state, UNICODE)))
    for part in (
        "ready, 2 retries, 1 repair",
        "python -m pytest -q failed  ↳ retry, adjusted",
        "why: rows are counted before the filter (parameter error, by rules)",
    ):
        assert part in output, output
    assert not re.search(r"_(count|failures|error|step|parameters)\b", output), output
    assert fmt.recovery(chosen, state).startswith("repair the step (repair 1 of 1): ")
    state.task_replan_count, state.consecutive_failures = 1, 2
    assert fmt.counters(state) == "1 new plan, 2 failures in a row"
    assert fmt.recovery(replanned, state).startswith("plan the task again (new plan 1 of ")


def test_a_summary_shows_failures_first_and_shortens_long_lists() -> None:
    lines = text(summary(full_run(), UNICODE)).splitlines()
    checks = [line for line in lines if "pytest" in line]
    assert checks[0].strip() == "checks  ✗ python -m pytest -q"
    assert "⋮ 10 more pass" in text(summary(full_run(), UNICODE))
    assert any("and 9 more" in line for line in lines)
    assert any("protected file was modified: tests/test_report.py" in line for line in lines)
    assert any("something to know" in line for line in lines)
    assert lines[0].startswith("◐ Done, not verified")


def test_files_of_git_and_of_caches_are_counted_and_not_listed() -> None:
    generated = ("report.py", ".git/objects/ab/cd", "src/__pycache__/report.cpython-312.pyc")
    modified = (".git/index", ".github/workflows/test.yml")
    outcome = Outcome(verdict=Verdict.UNVERIFIED, summary="", generated_files=generated, modified_files=modified)
    step = recorded.finished("s0", 1, 100, generated=generated, modified=modified)
    events = [*recorded.phases(), e.StepStarted(step_id="s0", attempt=1), step, e.RunEnded(outcome=outcome)]
    records = recorded.records(events)
    lines = text(summary(fold(records), UNICODE)).splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().startswith("files"))
    assert [line.strip() for line in lines[at : at + 3]] == [
        "files   + report.py",
        "~ .github/workflows/test.yml",
        "and 3 in .git and caches",
    ]
    step_line = "+ report.py, ~ .github/workflows/test.yml and 3 in .git and caches"
    assert step_line in text(list(details(fold(records), UNICODE)))
    stream = io.StringIO()
    watcher = PlainLines(stream, UNICODE)
    for record in records:
        watcher.on_record(record)
    assert step_line in stream.getvalue()
    only_caches = Outcome(verdict=Verdict.UNVERIFIED, summary="", modified_files=(".git/index",))
    state = fold(recorded.records([*events[:-1], e.RunEnded(outcome=only_caches)]))
    assert "files   1 in .git\n" in text(summary(state, UNICODE))
    caches = fmt.changed_files(Outcome(verdict=Verdict.FAILED, summary="", generated_files=("a/.pytest_cache/b",)))
    assert caches.hidden == "1 in caches"


def test_the_summary_of_an_unfinished_run_says_how_to_continue() -> None:
    unfinished = fold(recorded.records([*recorded.phases(), *recorded.first_step()]))
    assert "surefoot resume" in text(summary(unfinished, UNICODE))
    waiting = fold(recorded.records([*recorded.phases(), *recorded.asking()]))
    output = text(summary(waiting, UNICODE))
    assert "asks    Go on with this plan?" in output
    assert "surefoot answer" in output


def test_a_plan_is_printed_with_order_files_and_checks() -> None:
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
        "  1. First  code generation",
        "     Do the first thing",
        "     writes a.py",
        "  2. Second  code generation",
        "     after 1",
        "     check b.py exists",
        "  · it works",
        "  at the end python -m pytest -q",
    ]


def test_no_step_of_a_failed_run_is_shown_as_running_or_waiting() -> None:
    diagnosis = Diagnosis(what_failed="the model could not be asked")
    ended = e.RunEnded(outcome=Outcome(verdict=Verdict.FAILED, summary=diagnosis.what_failed, diagnosis=diagnosis))
    events = [*recorded.phases(), *recorded.first_step(), e.StepStarted(step_id="s1", attempt=1)]
    in_progress = text(list(details(fold(recorded.records(events)), UNICODE, status="running")))
    assert ", running" in in_progress
    without_process = text(list(details(fold(recorded.records(events)), UNICODE)))
    assert ", interrupted" in without_process
    assert ", running" not in without_process
    failed = text(list(details(fold(recorded.records([*events, ended])), UNICODE)))
    assert ", interrupted" in failed
    assert ", not done" in failed
    assert ", running" not in failed
    assert ", waiting" not in failed
    assert failed.count("the model could not be asked") == 1, "the failure is shown once"


def test_older_journals_say_in_other_words_what_was_not_asked() -> None:
    left_open = UnderstandingOutput(understanding="add a flag", clarification_needed=("Which format?", "Which file?"))
    understood = e.Understood(
        result=PhaseResult[UnderstandingOutput](
            phase=ExecutionPhase.Understanding(), status=PhaseStatus.SUCCESS, output=left_open
        )
    )
    older = "nobody was asked 'Which format?'; assumed: the task as it is written, in its most usual reading"
    newer = "the question 'Which file?' was not asked; the task is read in the most common way"
    warned = [e.Warned(message=message) for message in (older, newer, "the disk is nearly full")]
    state = fold(recorded.records([recorded.created(), understood, *warned]))
    assert [point.assumed for point in open_points(state)] == [True, True]
    assert other_warnings(state, state.warnings) == ["the disk is nearly full"]


def test_the_files_of_an_interrupted_run_are_listed() -> None:
    events = [
        *recorded.phases(),
        *recorded.first_step(),
        e.StepStarted(step_id="s1", attempt=1),
        e.ActionStarted(action_id="a2", step_id="s1", tool="write_file", arguments={"path": "report.py"}),
        e.ActionFinished(
            action_id="a2", step_id="s1", ok=True, summary="wrote it", changed=("report.py", ".git/index", ".")
        ),
        e.RunInterrupted(reason="SIGINT"),
    ]
    lines = text(summary(fold(recorded.records(events)), UNICODE)).splitlines()
    assert "  files   changed so far: report.py" in lines
    before = fold(recorded.records([*recorded.phases(), e.RunInterrupted(reason="SIGINT")]))
    assert "changed so far" not in text(summary(before, UNICODE))

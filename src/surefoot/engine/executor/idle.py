"""Guards against steps that end without any work. A model's claim that a step is done is no evidence."""

from collections.abc import Sequence

from surefoot.core.outcome import Failure, FailureKind, decisive
from surefoot.core.plan import StepType
from surefoot.core.transitions import StepStatus
from surefoot.engine.runtime.run import Run
from surefoot.journal.state import StepRun
from surefoot.project.asked_for import is_question
from surefoot.prompting.drafts.verbs import Verb


def nothing_done(run: Run, step_run: StepRun) -> Failure | None:
    """Return a failure if a step ended without an observable result; None if there is one.

    A successful action, a command that ran and printed something, or a changed file is a result. Without one, passing
    checks count if one of them failed before, if it is a testing step, or if another step did some work. A task that is
    a question needs only an answer.
    """
    if any(action.ok for action in step_run.actions) or step_run.touched or step_run.work_kept:
        return None
    if any(action.command and action.output for action in step_run.actions):
        return None
    refused = [reason for reason in step_run.refused if not reason.startswith(f"{Verb.FINISH_STEP}:")]
    if is_question(run.task.text) and not refused and not step_run.step.writes:
        return None
    results = decisive(step_run.results)
    red_before = {result.check.key for result in step_run.results_before if not result.passed}
    if results and all(result.passed for result in results):
        proven = any(result.check.key in red_before for result in results)
        if proven or step_run.step.step_type is StepType.TESTING or _others_did_something(run, step_run):
            return None
    elif step_run.step.step_type is StepType.TESTING and step_run.results_before and not red_before:
        return None
    return Failure(kind=FailureKind.NO_PROGRESS, message=f"nothing was done in this step: {_reason(step_run, refused)}")


def _others_did_something(run: Run, step_run: StepRun) -> bool:
    return any(
        other.status is StepStatus.SUCCEEDED and (other.touched or any(action.ok for action in other.actions))
        for other in run.state.steps.values()
        if other is not step_run
    )


def _reason(step_run: StepRun, refused: Sequence[str]) -> str:
    if refused:
        return f"its action was refused ({refused[-1]})"
    if step_run.actions:
        return f"no action succeeded; the last one: {step_run.actions[-1].summary[:200]}"
    return "no action was carried out, and the model says that it is done"

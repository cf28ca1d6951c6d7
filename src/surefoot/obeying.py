"""What people asked of a run while it is at work, carried out between its steps, or refused with the reason."""

from surefoot import events as e
from surefoot.editing import revision
from surefoot.errors import PlanError
from surefoot.machine import SETTLED, Rung, StepStatus
from surefoot.outcome import ExecutionStatus, StepExecutionOutput
from surefoot.run import Run, stop_for, who
from surefoot.state import StepRun


async def obey(run: Run) -> None:
    """For single steps, for the plan, or for the run to end here, to be resumed or not. What cannot be is told and
    forgotten."""
    for control in list(run.state.controls):
        mine = run.state.steps.get(control.step_id)
        match control.command:
            case "cancel" | "pause":
                raise stop_for(control)
            case "edit":
                await run.record(_edited(run, control))
            case "skip" if mine and mine.status is StepStatus.PENDING and control.step_id not in run.taken:
                await run.record(_skipped(control, mine))
            case "retry" if mine is not None and mine.status in SETTLED:
                await run.record(
                    e.StepReset(step_id=control.step_id, rung=Rung.ADJUST_PARAMETERS, by="user", note=control.why)
                )
            case "skip" if mine is None or mine.status in SETTLED:
                await run.record(_too_late(control, mine))
            case "retry" if mine is None or mine.status is StepStatus.PENDING:
                await run.record(_too_late(control, mine))


def _skipped(control: e.ControlReceived, mine: StepRun) -> e.StepFinished:
    step_id, reason = control.step_id, f"skipped {who(control)}"
    output = StepExecutionOutput(step_id=step_id, status=ExecutionStatus.SKIPPED, logs=(reason,))
    return e.StepFinished(step_id=step_id, status=StepStatus.SKIPPED, attempt=mine.attempt, output=output)


def _edited(run: Run, control: e.ControlReceived) -> e.Event:
    """The plan as a person wants it, if it still can be: it may have moved on since they looked at it."""
    why = f"{control.by}: {control.why}" if control.why else control.by
    try:
        made = revision(control.plan, run.state, why, run.taken)
    except PlanError as error:
        refused = f"{error}" + (f" ({error.remedy})" if error.remedy else "")
        return e.ControlRefused(command="edit", by=control.by, reason=refused)
    return made or e.ControlRefused(command="edit", by=control.by, reason="it is the plan as it is already")


def _too_late(control: e.ControlReceived, mine: StepRun | None) -> e.ControlRefused:
    said = f"the step is {mine.status}" if mine else "the plan has no such step"
    return e.ControlRefused(command=control.command, step_id=control.step_id, by=control.by, reason=said)

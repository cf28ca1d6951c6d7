"""Requests of people to a run: controls that are carried out between steps, and another attempt at a step."""

from collections.abc import Mapping
from typing import Any

from surefoot.core.transitions import SETTLED, Rung, Stage, StepStatus
from surefoot.engine.executor.step import end_without_running
from surefoot.engine.planner.plan_toml import revision
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.stop import sender, stop_for
from surefoot.errors import PlanError, UsageError
from surefoot.journal import events as e
from surefoot.journal.state import RunState, StepRun
from surefoot.tools.registry import Toolbox


async def apply_controls(run: Run) -> list[str]:
    """Carry out the controls that are pending. Requests that no longer apply are recorded as refused.

    `Inbox.watch` handles controls of running steps. Controls of failed steps wait until recovery has decided. Returns
    the steps that were skipped. Raises Stopped for `cancel` and `pause`.
    """
    skipped: list[str] = []
    for control in list(run.state.controls):
        step_run = run.state.steps.get(control.step_id)
        match control.command:
            case "cancel" | "pause":
                raise stop_for(control)
            case "edit":
                await run.record(_edited(run, control))
            case "skip" if (
                step_run and step_run.status is StepStatus.PENDING and control.step_id not in run.active_steps
            ):
                await run.record(end_without_running(step_run, StepStatus.SKIPPED, f"skipped {sender(control)}"))
                skipped.append(control.step_id)
            case "retry" if step_run is not None and step_run.status in SETTLED:
                await run.record(
                    e.StepReset(step_id=control.step_id, rung=Rung.ADJUST_PARAMETERS, by="user", note=control.why)
                )
            case "skip" if step_run is None or step_run.status in SETTLED:
                await run.record(refused(control, _why_refused(step_run)))
            case "retry" if step_run is None or step_run.status is StepStatus.PENDING:
                await run.record(refused(control, _why_refused(step_run)))
    return skipped


def _edited(run: Run, control: e.ControlReceived) -> e.Event:
    """Return the revision of the plan, or a refusal: the plan may have changed since the person looked at it."""
    author_and_reason = f"{control.by}: {control.why}" if control.why else control.by
    reason = "the edited plan is the same as the current one"
    try:
        if revised := revision(control.plan, run.state, author_and_reason, run.active_steps, control.removes):
            return revised
    except PlanError as error:
        reason = f"{error}" + (f" ({error.remedy})" if error.remedy else "")
    return refused(control, reason)


def _why_refused(step_run: StepRun | None) -> str:
    return f"the step is {step_run.status}" if step_run else "the plan has no such step"


def refused(control: e.ControlReceived, reason: str) -> e.ControlRefused:
    return e.ControlRefused(
        command=control.command, step_id=control.step_id, by=control.by, reason=reason, id=control.id
    )


# -- one step again ------------------------------------------------------------------------------------------------


def step_again(
    state: RunState, toolbox: Toolbox, step_id: str, parameters: Mapping[str, Any], tool: str
) -> list[e.Event]:
    """Return the events that give a step another attempt, with other parameters or another tool.

    Raises UsageError if that is not possible.
    """
    if state.stage is Stage.COMPLETED:
        again = "--plan {}" if state.validation is None else "--based-on {} --from-phase execution"
        remedy = f"carry its plan out: surefoot run {again.format(state.run_id)}"
        raise UsageError(f"run {state.run_id} has ended, so its steps cannot be changed", remedy=remedy)
    if step_id not in state.steps:
        known = ", ".join(state.steps) or "it has none yet"
        raise UsageError(f"run {state.run_id} has no step {step_id!r}", remedy=f"its steps: {known}")
    step_run = state.steps[step_id]
    if step_run.status is StepStatus.PENDING:
        raise UsageError(
            f"the step {step_id!r} has not started yet", remedy=f"continue with: surefoot resume {state.run_id}"
        )
    rung = Rung.ALTERNATIVE_TOOL if tool else Rung.ADJUST_PARAMETERS
    reset = e.StepReset(step_id=step_id, rung=rung, by="user", parameters=dict(parameters), tool=tool)
    blocked = [e.StepReset(step_id=s, rung=Rung.RETRY_LATER, by="user") for s in _blocked_by(state, step_id)]
    if not parameters and not tool:
        return [reset, *blocked]
    name = tool or step_run.tool or step_run.step.tool
    if not name:
        raise UsageError(f"the step {step_id!r} names no tool, so it has no parameters", remedy="name the tool as well")
    properties = toolbox.get(name).parameters.get("properties", {})
    if unknown := [parameter for parameter in parameters if parameter not in properties]:
        raise UsageError(f"{name} has no parameter {unknown[0]!r}", remedy=f"it has: {', '.join(properties) or 'none'}")
    if not tool:
        return [reset, *blocked]
    # The other tool takes the parameters that it knows. A step of several actions becomes this one call.
    fitting = {parameter: value for parameter, value in step_run.step.parameters.items() if parameter in properties}
    call = step_run.step.with_(tool=tool, parameters=fitting)
    return [e.PlanRevised(by="user", reason=f"a person chose {tool}", changed=(call,)), reset, *blocked]


def _blocked_by(state: RunState, step_id: str) -> list[str]:
    """Return the steps that are blocked because of this one, directly or through others."""
    assert state.plan is not None
    blocked: list[str] = []
    queue = [step_id]
    while queue:
        above = queue.pop()
        below = [d.step_id for d in state.plan.dependencies if d.depends_on == above]
        new = [s for s in below if state.steps[s].status is StepStatus.BLOCKED and s not in blocked]
        blocked += new
        queue += new
    return blocked

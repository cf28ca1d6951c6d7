"""A person wants one step of a run done again, with other parameters or another tool. The engine carries it out."""

from collections.abc import Mapping
from typing import Any

from surefoot import events as e
from surefoot.errors import UsageError
from surefoot.machine import Rung, Stage, StepStatus
from surefoot.state import RunState
from surefoot.tools.registry import Toolbox


def overridden(
    state: RunState, toolbox: Toolbox, step_id: str, parameters: Mapping[str, Any], tool: str
) -> list[e.Event]:
    """What gives the step another try as a person wants it; refuses what cannot be."""
    if state.stage is Stage.COMPLETED:
        remedy = f"carry its plan out once more: surefoot run --based-on {state.run_id} --from-phase execution"
        raise UsageError(f"run {state.run_id} is finished, so its steps stay as they are", remedy=remedy)
    if step_id not in state.steps:
        known = ", ".join(state.steps) or "it has none yet"
        raise UsageError(f"run {state.run_id} has no step {step_id!r}", remedy=f"its steps: {known}")
    mine = state.steps[step_id]
    if mine.status is StepStatus.PENDING:
        raise UsageError(
            f"the step {step_id!r} waits for its turn", remedy=f"go on with: surefoot resume {state.run_id}"
        )
    rung = Rung.ALTERNATIVE_TOOL if tool else Rung.ADJUST_PARAMETERS
    reset = e.StepReset(step_id=step_id, rung=rung, by="user", parameters=dict(parameters), tool=tool)
    blocked = [e.StepReset(step_id=s, rung=Rung.RETRY_LATER, by="user") for s in _blocked_by(state, step_id)]
    if not parameters and not tool:
        return [reset, *blocked]
    named = tool or mine.tool or mine.step.tool
    if not named:
        raise UsageError(f"the step {step_id!r} names no tool, so it has no parameters", remedy="name the tool as well")
    takes = toolbox.get(named).parameters.get("properties", {})
    if unknown := [name for name in parameters if name not in takes]:
        raise UsageError(f"{named} has no parameter {unknown[0]!r}", remedy=f"it has: {', '.join(takes) or 'none'}")
    if not tool:
        return [reset, *blocked]
    # Another tool takes what it knows of the step's parameters. A step that a model decided on becomes this one call.
    fitting = {name: value for name, value in mine.step.parameters.items() if name in takes}
    call = mine.step.with_(tool=tool, parameters=fitting)
    return [e.PlanRevised(by="user", reason=f"a person chose {tool}", changed=(call,)), reset, *blocked]


def _blocked_by(state: RunState, step_id: str) -> list[str]:
    """Steps that could not run because of this one, directly or through others."""
    assert state.plan is not None
    found: list[str] = []
    reached = [step_id]
    while reached:
        above = reached.pop()
        below = [d.step_id for d in state.plan.dependencies if d.depends_on == above]
        new = [s for s in below if state.steps[s].status is StepStatus.BLOCKED and s not in found]
        found += new
        reached += new
    return found

"""Aliases of events, for programs that use those names. docs/reference/events.md lists them."""

from surefoot.core.transitions import ORCHESTRATION, OrchestrationState, Stage
from surefoot.journal.events.record import Event
from surefoot.journal.events.run import GateRefused, PlanMade, RunCreated, StageEntered, Validated
from surefoot.journal.events.steps import StepStarted

ALIASES: dict[type[Event], str] = {
    RunCreated: "state",
    StageEntered: "state",
    PlanMade: "plan_generated",
    StepStarted: "plan_step_start",
    Validated: "final_verify",
    GateRefused: "planning_retry",
}


def alias_of(event: Event) -> str:
    """Return the alias of an event; empty if it has none. A refused gate is `planning_retry` only in planning."""
    if isinstance(event, GateRefused) and event.phase != "planning":
        return ""
    return ALIASES.get(type(event), "")


def state_of(event: Event) -> OrchestrationState | None:
    """Return the state that a run enters with an event; None if it stays in its state."""
    match event:
        case RunCreated(starts_at=stage) | StageEntered(stage=stage):
            return ORCHESTRATION[Stage(stage)]
    return None


def alias_fields(event: Event) -> dict[str, str]:
    """Return the fields that are added to an event in output for programs: `alias` and `state`."""
    state = state_of(event)
    fields = {"alias": alias_of(event), "state": state.value if state else ""}
    return {name: value for name, value in fields.items() if value}

"""Reducers for plans and their revisions."""

from collections.abc import Callable
from typing import Any

from surefoot.core.plan import DetailedPlan, ExecutionStep, StepDependency
from surefoot.core.transitions import SETTLED, StepStatus
from surefoot.journal import events as e
from surefoot.journal.reducers.people import remove_control
from surefoot.journal.reducers.run import has_failed
from surefoot.journal.state import RunState, StepRun


def _plan_made(state: RunState, event: e.PlanMade, at: float) -> None:
    if has_failed(state, "planning", event.result):
        return
    state.planning = event.result
    state.refusals.pop("planning", None)
    if event.result.output is None:
        return
    state.plan = event.result.output
    old, state.steps, state.failed = state.steps, {}, []
    state.consecutive_failures = 0
    notes = _notes_from_failure(old.get(state.recovering))
    for step in state.plan.steps:
        # Settled steps that are unchanged in the new plan keep their results. All others start again, with notes.
        before = old.get(step.id)
        unchanged = before is not None and before.status in SETTLED and before.step == step
        state.steps[step.id] = before if before and unchanged else StepRun(step, notes=notes)
    _count_steps(state)


def _notes_from_failure(failed: StepRun | None) -> tuple[str, ...]:
    if failed is None or failed.status is not StepStatus.FAILED:
        return ()
    causes = [reflection.root_cause for reflection in failed.reflections[-1:]]
    return (*failed.notes, *(f"{failed.step.name} failed before: {cause}" for cause in causes))


def _plan_revised(state: RunState, event: e.PlanRevised, at: float) -> None:
    assert state.plan is not None
    if event.by == "user":
        remove_control(state, "edit")
    state.plan = revised(state.plan, event)
    state.revisions += 1
    for step_id in event.removed:
        state.steps.pop(step_id, None)
    for step in event.added:
        state.steps[step.id] = StepRun(step)
    for step in event.changed:
        step_run = state.steps[step.id]
        # Adjustments by earlier attempts, and failures of other checks, do not apply to the changed step.
        step_run.parameters, step_run.tool = {}, ""
        if step_run.step.checks != step.checks:
            step_run.failed_fingerprints = frozenset()
    state.steps = {step.id: state.steps[step.id] for step in state.plan.steps}
    for step in state.plan.steps:
        state.steps[step.id].step = step
    _count_steps(state)


def _count_steps(state: RunState) -> None:
    """Recompute the dependencies and counters that follow from the plan."""
    assert state.plan is not None
    state.depends_on = {}
    for dependency in state.plan.dependencies:
        state.depends_on.setdefault(dependency.step_id, []).append(dependency.depends_on)
    state.started_steps = sum(step_run.attempt > 0 for step_run in state.steps.values())
    state.unsettled = sum(step_run.status not in SETTLED for step_run in state.steps.values())


def revised(plan: DetailedPlan, event: e.PlanRevised) -> DetailedPlan:
    """Return the plan after a revision. Raises ValidationError if the result is inconsistent."""
    changed = {step.id: step for step in event.changed}
    steps: list[ExecutionStep] = [changed.get(s.id, s) for s in plan.steps if s.id not in event.removed]
    place = next((i + 1 for i, s in enumerate(steps) if s.id == event.after), len(steps))
    steps[place:place] = event.added
    if event.order:
        # Steps that have started stay in front; the others follow in the given order.
        rank = {step_id: place for place, step_id in enumerate(event.order)}
        steps.sort(key=lambda step: rank.get(step.id, -1))
    rewired = {*event.depends_on, *(d.step_id for d in event.waits_for)}
    dependencies = [
        d
        for d in plan.dependencies
        if d.step_id not in event.removed and d.depends_on not in event.removed and d.step_id not in rewired
    ]
    before = {(d.step_id, d.depends_on): d for d in plan.dependencies}
    dependencies += [
        before.get((s, d)) or StepDependency(step_id=s, depends_on=d) for s, ds in event.depends_on.items() for d in ds
    ]
    dependencies += event.waits_for
    renumbered = tuple(s if s.sequence == i else s.with_(sequence=i) for i, s in enumerate(steps))
    return plan.with_(steps=renumbered, dependencies=tuple(dependencies))


HANDLERS: dict[type[Any], Callable[[RunState, Any, float], None]] = {
    e.PlanMade: _plan_made,
    e.PlanRevised: _plan_revised,
}

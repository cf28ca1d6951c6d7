"""The plan changes while it runs: steps added behind the current one, changed, removed. Validated, capped, recorded."""

from surefoot import events as e
from surefoot.drafts import StepDecision
from surefoot.errors import PlanError
from surefoot.fold import revised
from surefoot.machine import StepStatus
from surefoot.mending import fresh_id, step_from, step_of
from surefoot.plan import DetailedPlan, ExecutionStep
from surefoot.run import Run
from surefoot.schedule import check_acyclic


async def revise(run: Run, step_id: str, draft: StepDecision) -> None:
    """Carries out the model's wish for other steps, or says why not: a wrong wish is no reason to fail the step."""
    if not draft.add_steps and not draft.change_steps and not draft.remove_steps:
        return
    assert run.state.plan is not None
    if problem := _refused(run, draft):
        run.note(e.Warned(message=f"the plan was not changed: {problem}"))
        return
    revision = _revision(run, run.state.plan, step_id, draft)
    if not revision.added and not revision.changed and not revision.removed:
        return
    try:
        changed = revised(run.state.plan, revision)
        check_acyclic((step.id for step in changed.steps), changed.dependencies)
    except (PlanError, ValueError) as error:
        run.note(e.Warned(message=f"the plan was not changed: {error}"))
        return
    await run.record(revision)


def _refused(run: Run, draft: StepDecision) -> str:
    config = run.config
    if run.state.revisions >= config.max_plan_revisions:
        return f"it was changed {run.state.revisions} times already (max_plan_revisions)"
    if len(run.state.steps) + len(draft.add_steps) > config.max_plan_steps:
        return f"it would have more than {config.max_plan_steps} steps (max_plan_steps)"
    return ""


def _revision(run: Run, plan: DetailedPlan, step_id: str, draft: StepDecision) -> e.PlanRevised:
    removed = _removable(run, draft)
    known = {(step.name.lower(), step.writes) for step in plan.steps}
    taken = {step.id for step in plan.steps}
    added: list[ExecutionStep] = []
    for wish in draft.add_steps:
        step = step_of(wish, fresh_id(taken), run.state.protected)
        if (step.name.lower(), step.writes) not in known:
            added.append(step)
            taken.add(step.id)
            known.add((step.name.lower(), step.writes))
    return e.PlanRevised(
        by="model",
        reason=draft.reason or draft.thought or "the model asked for it",
        after=step_id,
        added=tuple(added),
        changed=_changed(run, draft, removed),
        removed=removed,
        depends_on=_woven_in(run, plan, step_id, [step.id for step in added], removed),
    )


def _removable(run: Run, draft: StepDecision) -> tuple[str, ...]:
    return tuple(step.id for name in dict.fromkeys(draft.remove_steps) if (step := _pending(run, name)))


def _changed(run: Run, draft: StepDecision, removed: tuple[str, ...]) -> tuple[ExecutionStep, ...]:
    """The same step in other words, with another file or check; what others asked to be checked of it stays."""
    changed: dict[str, ExecutionStep] = {}
    for wish in draft.change_steps:
        old = _pending(run, wish.step)
        if old is not None and old.id not in removed:
            new = step_from(wish, changed.get(old.id, old), run.state.protected)
            changed |= {old.id: new} if new != old else {}
    return tuple(changed.values())


def _pending(run: Run, name: str) -> ExecutionStep | None:
    """The step of that id or name, if it has not begun; what is done stays done."""
    wanted = name.strip().lower()
    for step_id, mine in run.state.steps.items():
        begun = mine.status is not StepStatus.PENDING or step_id in run.taken
        if not begun and wanted in (step_id.lower(), mine.step.name.lower()):
            return mine.step
    return None


def _woven_in(
    run: Run, plan: DetailedPlan, step_id: str, added: list[str], removed: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Added steps follow the current one, one after the other, and what waited for it now waits for them too."""
    if not added:
        return {}
    chain: dict[str, tuple[str, ...]] = {
        new: (before,) for new, before in zip(added, [step_id, *added[:-1]], strict=True)
    }
    for dependency in plan.dependencies:
        waiting = dependency.step_id
        if dependency.depends_on != step_id or waiting in removed or waiting not in run.state.steps:
            continue
        if run.state.steps[waiting].status is StepStatus.PENDING:
            old = [d.depends_on for d in plan.dependencies if d.step_id == waiting and d.depends_on not in removed]
            chain[waiting] = (*old, added[-1])
    return chain

"""Changes the plan while it runs: adds, changes and removes steps. Changes are validated, capped and recorded."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from surefoot.core.plan import Condition, DetailedPlan, ExecutionStep, StepDependency
from surefoot.core.transitions import StepStatus
from surefoot.engine.planner.normalize import fresh_id
from surefoot.engine.planner.normalize_full import changed_step, new_step
from surefoot.engine.runtime.run import Run
from surefoot.engine.scheduler.graph import check_acyclic
from surefoot.errors import PlanError
from surefoot.journal import events as e
from surefoot.journal.reducers import revised
from surefoot.prompting.context import plan_text
from surefoot.prompting.drafts.full import AnyRevision, AnyStepDraft, FullChangeDraft
from surefoot.prompting.drafts.short import ChangeDraft

UNCHANGED = "the plan was not changed"


async def revise(run: Run, step_id: str, draft: AnyRevision) -> str:
    """Carry out the changes that the model asks for, or record why not. An invalid change does not fail the step.

    Returns the result in words, for the model.
    """
    if not draft.add_steps and not draft.change_steps and not draft.remove_steps:
        return UNCHANGED
    assert run.state.plan is not None
    if problem := _refused(run, step_id, draft):
        run.note(e.Warned(message=f"{UNCHANGED}: {problem}"))
        return f"{UNCHANGED}: {problem}"
    try:
        revision = _revision(run, run.state.plan, step_id, draft)
        if not (revision.added or revision.changed or revision.removed or revision.waits_for or revision.depends_on):
            return f"{UNCHANGED}: no such step is still to be done, or it is in the plan already"
        changed = revised(run.state.plan, revision)
        check_acyclic((step.id for step in changed.steps), changed.dependencies)
    except (PlanError, ValueError) as error:
        run.note(e.Warned(message=f"{UNCHANGED}: {error}"))
        return f"{UNCHANGED}: {error}"
    await run.record(revision)
    return f"the plan is now:\n{plan_text(run.state)}"


def _refused(run: Run, step_id: str, draft: AnyRevision) -> str:
    config = run.config
    drafts: list[AnyStepDraft] = [*draft.add_steps, *draft.change_steps]
    if problems := [problem for step in drafts for problem in step.check_problems]:
        return problems[0]
    current = [change for change in draft.change_steps if _corrects_current(run, step_id, change)]
    if not all(change.has_check for change in current):
        return "this step has begun: only its checks can be replaced"
    if current and not draft.reason.strip():
        return "say in `reason` why the checks of this step are wrong"
    if not config.dynamic:
        return "it is static (dynamic = false)"
    if run.state.revisions >= config.max_plan_revisions:
        return f"it was changed {run.state.revisions} times already (max_plan_revisions)"
    if len(run.state.steps) + len(draft.add_steps) > config.max_plan_steps:
        return f"it would have more than {config.max_plan_steps} steps (max_plan_steps)"
    return ""


def _revision(run: Run, plan: DetailedPlan, step_id: str, draft: AnyRevision) -> e.PlanRevised:
    removed = _removable(run, draft)
    known = {(step.name.lower(), step.writes) for step in plan.steps}
    taken = {step.id for step in plan.steps}
    added: list[ExecutionStep] = []
    for change in draft.add_steps:
        step = new_step(change, fresh_id(taken), run.not_writable)
        if (step.name.lower(), step.writes) not in known:
            added.append(step)
            taken.add(step.id)
            known.add((step.name.lower(), step.writes))
    needs = _dependencies(run, plan, step_id, draft, [step.id for step in added], removed)
    return e.PlanRevised(
        by="model",
        reason=draft.reason or draft.thought or "the model asked for it",
        after=step_id,
        added=tuple(added),
        changed=_changed(run, step_id, draft, removed),
        removed=removed,
        depends_on={step: () for step, before in needs.items() if not before},
        waits_for=tuple(dependency for before in needs.values() for dependency in before),
    )


def _removable(run: Run, draft: AnyRevision) -> tuple[str, ...]:
    return tuple(step.id for name in dict.fromkeys(draft.remove_steps) if (step := _pending(run, name)))


def _changed(run: Run, step_id: str, draft: AnyRevision, removed: tuple[str, ...]) -> tuple[ExecutionStep, ...]:
    """Return the changed steps. Checks that do not come from the plan stay.

    Of the current step, a conversation can replace only the plan's checks, because the plan may be wrong about them.
    """
    changed: dict[str, ExecutionStep] = {}
    for change in draft.change_steps:
        if _corrects_current(run, step_id, change):
            current = run.state.steps[step_id].step
            new = changed_step(change.only_checks(), current, run.not_writable)
            changed |= {step_id: new} if new != current else {}
            continue
        old = _pending(run, change.step)
        if old is not None and old.id not in removed:
            now = changed.get(old.id, old)
            new = changed_step(change, now, run.not_writable)
            changed |= {old.id: new} if new != old else {}
    return tuple(changed.values())


def _corrects_current(run: Run, step_id: str, change: ChangeDraft | FullChangeDraft) -> bool:
    """Whether a change is meant for the checks of the step that asks for it."""
    names = (step_id.lower(), run.state.steps[step_id].step.name.lower())
    return change.corrects_checks and change.step.strip().lower() in names


def _pending(run: Run, name: str) -> ExecutionStep | None:
    """Return the step of that id or name, if it has not begun."""
    lowered = name.strip().lower()
    for step_id, step_run in run.state.steps.items():
        begun = step_run.status is not StepStatus.PENDING or step_id in run.active_steps
        if not begun and lowered in (step_id.lower(), step_run.step.name.lower()):
            return step_run.step
    return None


def _dependencies(
    run: Run,
    plan: DetailedPlan,
    step_id: str,
    draft: AnyRevision,
    added: list[str],
    removed: Collection[str],
) -> dict[str, list[StepDependency]]:
    """Return the dependencies of each step whose dependencies change.

    Added steps are chained after the current step, and its dependants wait for them too. The dependants of a removed
    step take over its dependencies.
    """
    before = _by_step(plan.dependencies)
    own = {**before, **_reordered(run, plan, draft)}
    chain = {
        new: [StepDependency(step_id=new, depends_on=earlier)]
        for new, earlier in zip(added, [step_id, *added[:-1]], strict=False)
    }
    for waiting in own:
        if waiting in removed or run.state.steps[waiting].status is not StepStatus.PENDING:
            continue
        needs = _needs(waiting, own, removed)
        if added and step_id in needs:
            needs.setdefault(added[-1], Condition.SUCCESS)
        if needs != {d.depends_on: d.condition for d in before.get(waiting, ())}:
            chain[waiting] = [StepDependency(step_id=waiting, depends_on=d, condition=c) for d, c in needs.items()]
    return chain


def _by_step(dependencies: Iterable[StepDependency]) -> dict[str, list[StepDependency]]:
    by_step: dict[str, list[StepDependency]] = {}
    for dependency in dependencies:
        by_step.setdefault(dependency.step_id, []).append(dependency)
    return by_step


def _reordered(run: Run, plan: DetailedPlan, draft: AnyRevision) -> dict[str, list[StepDependency]]:
    """Return the dependencies of the steps that a conversation puts after others. Existing conditions stay."""
    known = {(d.step_id, d.depends_on): d for d in plan.dependencies}
    dependencies: dict[str, list[StepDependency]] = {}
    for change in draft.change_steps:
        if (order := change.new_order) is not None and (step := _pending(run, change.step)) is not None:
            before = [_numbered(plan, step.id, number) for number in dict.fromkeys(order)]
            dependencies[step.id] = [
                known.get((step.id, b)) or StepDependency(step_id=step.id, depends_on=b) for b in before
            ]
    return dependencies


def _numbered(plan: DetailedPlan, step_id: str, number: int) -> str:
    """Return the id of a step by its number: the number in the id, which the model is shown, or else its position."""
    ids = [step.id for step in plan.steps]
    if f"s{number}" in ids:
        return f"s{number}"
    if not 0 < number <= len(ids):
        raise PlanError(f"{step_id!r} is to come after step {number}, and there is none")
    return ids[number - 1]


def _needs(step_id: str, own: Mapping[str, Sequence[StepDependency]], removed: Collection[str]) -> dict[str, Condition]:
    """Return the steps that a step waits for without the removed ones, each with the condition of its end."""
    needs: dict[str, Condition] = {}
    for dependency in own.get(step_id, ()):
        before, condition = dependency.depends_on, dependency.condition
        further = _needs(before, own, removed) if before in removed else {before: condition}
        needs = {**further, **needs}
    return needs

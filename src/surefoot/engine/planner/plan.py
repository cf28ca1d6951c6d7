"""Phase 3: the steps, their dependencies, and how each will be proved. Also the new plan after a failure."""

from collections.abc import Sequence
from itertools import count

from surefoot.config.model import PhasePolicy
from surefoot.core.phases import ExecutionPhase, PhaseResult, TaskComplexity, ValidationResult
from surefoot.core.plan import DetailedPlan
from surefoot.core.transitions import SETTLED, Stage
from surefoot.engine.planner.criteria import REPAIRED
from surefoot.engine.planner.fallback import fallback_plan
from surefoot.engine.planner.gate import is_rejected, pass_gate, skipped
from surefoot.engine.planner.normalize import simple_plan
from surefoot.engine.planner.normalize_full import joined, runnable_plan
from surefoot.engine.planner.plan_criteria import PlanFacts, judge_plan
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.stop import Stopped
from surefoot.errors import ModelError
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.project.file_roles import needs_step, new_files_asked_for
from surefoot.project.folder import list_files
from surefoot.prompting.context import step_to_replan, understood
from surefoot.prompting.drafts.full import AnyPlanDraft


async def make_plan(run: Run) -> None:
    repairs: list[str] = []
    required = _files_to_make(run)

    def examine(draft: AnyPlanDraft, attempt: int) -> tuple[DetailedPlan | None, ValidationResult]:
        facts = _facts(run, required, draft, attempt)
        plan, repairs[:] = runnable_plan(draft, facts, run.task.text)
        warnings = [f"{REPAIRED}{repair}" for repair in repairs]
        verdict = judge_plan(draft, facts, run.config.min_confidence_threshold, warnings)
        return plan and _continued(run.state, plan), verdict

    def failed(result: PhaseResult[DetailedPlan]) -> e.Event:
        return e.PlanMade(result=result)

    replanning = step_to_replan(run.state) is not None
    if run.state.plan is None and not replanning and (reason := _reason_to_skip(run)):
        files = required if run.profile.repairs_plans else ()
        plan = simple_plan(run.task.text, files, run.not_writable, list_files(run.root))
        await run.record(e.PlanMade(result=skipped(ExecutionPhase.Planning(), reason, plan)))
    while (
        run.state.plan is None
        or step_to_replan(run.state) is not None
        or (
            (planning := run.state.planning)
            and await is_rejected(run, "planning", _steps_text(run.state), planning.executed_at)
        )
    ):
        try:
            result = await pass_gate(run, "planning", ExecutionPhase.Planning(), run.strategy.plan, examine, failed)
        except (Stopped, ModelError) as error:
            result = await fallback_plan(run, required, error)
            repairs.clear()
        new_ids = {step.id for step in result.output.steps} if result.output else set()
        dropped = tuple(step_run.step.name for step_id, step_run in run.state.steps.items() if step_id not in new_ids)
        await run.record(e.PlanMade(result=result, mended=tuple(repairs), dropped=dropped))
    if run.config.phases is PhasePolicy.PLAN:
        await run.enter(Stage.COMPLETED, "only a plan was asked for")
    else:
        await run.enter(Stage.EXECUTION)


def _files_to_make(run: Run) -> list[str]:
    """Return the files that the plan has to make or change, as far as the wording of the task shows."""
    existing, text = list_files(run.root), run.task.text
    asked = new_files_asked_for(text, existing)
    if not run.profile.repairs_plans:
        # A model that submits whole plans knows which files exist. It can only forget new ones that the task asks for.
        return asked
    written = {path for r in run.state.steps.values() if r.status in SETTLED for path in r.step.writes}
    understood_files = understood(run.state).target_files
    # Without target files the task is one step, in which the model chooses the files.
    targets = dict.fromkeys([*understood_files, *asked]) if understood_files else {}
    return [path for path in targets if path not in written and needs_step(path, text, existing)]


def _facts(run: Run, required: Sequence[str], draft: AnyPlanDraft, attempt: int) -> PlanFacts:
    # The planner should condense the plan itself. Only if it does not, a small model's plan is cut, and the last steps
    # of another model's plan are joined into one.
    is_cut = run.profile.repairs_plans and attempt > 0
    if attempt >= run.config.max_retries_per_phase:
        is_cut = is_cut or joined(draft, run.config.max_plan_steps) is not None
    return PlanFacts(
        required=required,
        protected=run.not_writable,
        max_steps=run.config.max_plan_steps,
        is_cut=is_cut,
        tools=run.usable_tools(),
        exists=lambda path: (run.root / path).exists(),
    )


def _steps_text(state: RunState) -> str:
    return "\n".join(f"{step_run.step.id}. {step_run.step.name}" for step_run in state.steps.values())


def _reason_to_skip(run: Run) -> str:
    output = understood(run.state)
    if not run.config.enable_planning:
        return "planning is switched off"
    if run.strategy.has_submitted("planning"):
        return ""
    if run.config.phases is not PhasePolicy.FULL and output.complexity is TaskComplexity.SIMPLE:
        return f"the task is simple: {'one step a file' if output.target_files else 'one step'} is plan enough"
    return ""


def _continued(state: RunState, plan: DetailedPlan) -> DetailedPlan:
    """Append a new plan to the finished steps, which keep their ids. New steps get ids that were never used."""
    if step_to_replan(state) is None or state.plan is None:
        return plan
    rewritten = {path for step in plan.steps for path in step.writes}
    # A finished step whose file is written again is no longer finished.
    settled_steps = [r.step for r in state.steps.values() if r.status in SETTLED and not rewritten & set(r.step.writes)]
    kept_ids = {step.id for step in settled_steps}
    used = set(state.steps) | {result.output.step_id for result in state.history if result.output}
    # A replan that is repeated after an interruption must not reuse the ids of the first.
    number = next(n for n in count(state.task_replan_count) if not used & {f"{step.id}r{n}" for step in plan.steps})
    names = {step.id: f"{step.id}r{number}" for step in plan.steps}
    steps = [s.with_(id=names[s.id], sequence=len(settled_steps) + i) for i, s in enumerate(plan.steps)]
    old = [d for d in state.plan.dependencies if d.step_id in kept_ids and d.depends_on in kept_ids]
    new = [d.with_(step_id=names[d.step_id], depends_on=names[d.depends_on]) for d in plan.dependencies]
    return plan.with_(steps=(*settled_steps, *steps), dependencies=(*old, *new))

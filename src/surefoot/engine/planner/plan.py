"""Phase 3: the steps, their dependencies, and how each will be proved. Also the new plan after a failure."""

from itertools import count

from surefoot.config.model import PhasePolicy
from surefoot.core.phases import ExecutionPhase, TaskComplexity, ValidationResult
from surefoot.core.plan import DetailedPlan
from surefoot.core.transitions import SETTLED, Stage
from surefoot.engine.planner.criteria import judge_plan
from surefoot.engine.planner.fallback import fallback_plan
from surefoot.engine.planner.gate import is_rejected, pass_gate, skipped
from surefoot.engine.planner.normalize import plan_from, simple_plan
from surefoot.engine.planner.submitted import submitted_plan
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.stop import Stopped
from surefoot.errors import ModelError
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.prompting.context import step_to_replan, understood
from surefoot.prompting.conversation.submissions import FullPlanDraft
from surefoot.prompting.schemas import PlanDraft


async def make_plan(run: Run) -> None:
    repairs: list[str] = []
    # A model that submits whole plans says itself which files a step is about.
    required = _still_required(run) if run.profile.repairs_plans else ()

    def normalize(draft: PlanDraft | FullPlanDraft, attempt: int) -> DetailedPlan:
        if isinstance(draft, FullPlanDraft):
            return _continued(run.state, submitted_plan(draft))
        if len(draft.steps) > run.config.max_plan_steps and attempt == 0:
            # Condensing is the planner's work. Only if it does not manage, the plan is cut.
            return plan_from(draft, (), (), len(draft.steps))[0]
        plan, repairs[:] = plan_from(draft, required, run.protected, run.config.max_plan_steps)
        return _continued(run.state, plan)

    def judge(plan: DetailedPlan) -> ValidationResult:
        config = run.config
        return judge_plan(plan, required, run.protected, config.max_plan_steps, config.min_confidence_threshold)

    replanning = step_to_replan(run.state) is not None
    if run.state.plan is None and not replanning and (reason := _reason_to_skip(run)):
        plan = simple_plan(run.task.text, required, run.protected)
        await run.record(e.PlanMade(result=skipped(ExecutionPhase.Planning(), reason, plan)))
    while (
        run.state.plan is None
        or step_to_replan(run.state) is not None
        or (
            (made := run.state.planning)
            and await is_rejected(run, "planning", _steps_text(run.state), made.executed_at)
        )
    ):
        try:
            result = await pass_gate(run, "planning", ExecutionPhase.Planning(), run.strategy.plan, normalize, judge)
        except (Stopped, ModelError) as error:
            result = await fallback_plan(run, required, error)
            repairs.clear()
        stay = {step.id for step in result.output.steps} if result.output else set()
        dropped = tuple(step_run.step.name for step_id, step_run in run.state.steps.items() if step_id not in stay)
        await run.record(e.PlanMade(result=result, mended=tuple(repairs), dropped=dropped))
    if run.config.phases is PhasePolicy.PLAN:
        await run.enter(Stage.COMPLETED, "only a plan was asked for")
    else:
        await run.enter(Stage.EXECUTION)


def _still_required(run: Run) -> tuple[str, ...]:
    """Return the files that the task asks for, without those that finished steps have written."""
    done = {path for r in run.state.steps.values() if r.status in SETTLED for path in r.step.writes}
    return tuple(path for path in understood(run.state).target_files if path not in done)


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
    """Put a new plan behind the finished steps, which keep their ids. The new ones get ids that were never used."""
    if step_to_replan(state) is None or state.plan is None:
        return plan
    rewritten = {path for step in plan.steps for path in step.writes}
    # A finished step whose file is to be written anew is no longer finished.
    kept = [r.step for r in state.steps.values() if r.status in SETTLED and not rewritten & set(r.step.writes)]
    kept_ids = {step.id for step in kept}
    used = set(state.steps) | {result.output.step_id for result in state.history if result.output}
    # A replan that was interrupted and done again must not use the ids of the first.
    number = next(n for n in count(state.task_replan_count) if not used & {f"{step.id}r{n}" for step in plan.steps})
    names = {step.id: f"{step.id}r{number}" for step in plan.steps}
    steps = [s.with_(id=names[s.id], sequence=len(kept) + i) for i, s in enumerate(plan.steps)]
    old = [d for d in state.plan.dependencies if d.step_id in kept_ids and d.depends_on in kept_ids]
    new = [d.with_(step_id=names[d.step_id], depends_on=names[d.depends_on]) for d in plan.dependencies]
    return plan.with_(steps=(*kept, *steps), dependencies=(*old, *new))

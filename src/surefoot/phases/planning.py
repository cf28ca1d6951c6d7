"""Phase 3: the steps, what they depend on, and how each will be proved. Also phase 3 again, after a replan."""

from collections.abc import Sequence
from itertools import count

from surefoot import events as e
from surefoot.asking import ask_for
from surefoot.config import PhasePolicy
from surefoot.context import briefing
from surefoot.drafts import PlanDraft
from surefoot.gates import judge_plan
from surefoot.machine import SETTLED, Stage, StepStatus
from surefoot.mending import plan_from, simple_plan
from surefoot.outcome import ExecutionPhase, TaskComplexity, ValidationResult
from surefoot.phases.approach import approach_text
from surefoot.phases.gated import feedback, gated, skipped, wanted_differently
from surefoot.phases.understand import understanding_text, understood
from surefoot.plan import DetailedPlan
from surefoot.prompts import render
from surefoot.run import Run
from surefoot.state import StepRun


async def planning(run: Run) -> None:
    replanning = _failed(run) is not None
    if run.state.plan is None or replanning:
        if reason := "" if replanning else _not_needed(run):
            plan = simple_plan(run.task.text, understood(run).target_files, run.state.protected)
            await run.record(e.PlanMade(result=skipped(ExecutionPhase.Planning(), reason, plan)))
        else:
            await _plan(run)
    while (made := run.state.planning) and await wanted_differently(run, "planning", _steps(run), made.executed_at):
        await _plan(run)
    if run.config.phases is PhasePolicy.PLAN:
        await run.enter(Stage.COMPLETED, "only a plan was asked for")
    else:
        await run.enter(Stage.EXECUTION)


def _steps(run: Run) -> str:
    return "\n".join(f"{run.step.id}. {run.step.name}" for run in run.state.steps.values())


def _not_needed(run: Run) -> str:
    if run.config.phases is not PhasePolicy.FULL and understood(run).complexity is TaskComplexity.SIMPLE:
        count = len(understood(run).target_files)
        return f"the task is simple: {'one step a file' if count else 'one step'} is plan enough"
    return ""


async def _plan(run: Run) -> None:
    mended: list[str] = []
    required = understood(run).target_files

    async def produce(messages: Sequence[str], attempt: int) -> DetailedPlan:
        asked = render(
            "plan",
            understanding=understanding_text(run),
            approach=approach_text(run),
            done=_what_happened(run),
            max_steps=run.config.max_plan_steps,
            feedback=feedback(messages),
        )
        draft = await ask_for(
            run,
            "plan",
            briefing(run) + "\n\n" + asked,
            PlanDraft,
            temperature=min(0.3 * (attempt + run.state.replans), 0.9),
        )
        if len(draft.steps) > run.config.max_plan_steps and attempt == 0:
            # Condensing is the planner's work; only if it does not manage, the plan is cut.
            return _too_long(draft)
        mended.clear()
        plan, mends = plan_from(draft, required, run.state.protected, run.config.max_plan_steps)
        mended.extend(mends)
        return _after_what_is_done(run, plan)

    def judge(plan: DetailedPlan) -> ValidationResult:
        config = run.config
        return judge_plan(plan, required, run.state.protected, config.max_plan_steps, config.min_confidence_threshold)

    result = await gated(run, "planning", ExecutionPhase.Planning(), produce, judge)
    stay = {step.id for step in result.output.steps} if result.output else set()
    dropped = tuple(mine.step.name for step_id, mine in run.state.steps.items() if step_id not in stay)
    await run.record(e.PlanMade(result=result, mended=tuple(mended), dropped=dropped))


def _too_long(draft: PlanDraft) -> DetailedPlan:
    return plan_from(draft, (), (), len(draft.steps))[0]


def _failed(run: Run) -> StepRun | None:
    """The step because of which there is to be another plan. Once that is made, the step is no longer in it."""
    mine = run.state.steps.get(run.state.recovering)
    return mine if mine is not None and mine.status is StepStatus.FAILED else None


def _what_happened(run: Run) -> str:
    """For a replan: what is done and stays, and what failed and must be avoided."""
    failed = _failed(run)
    if failed is None:
        return ""
    done = [f"- {r.step.name}" for r in run.state.steps.values() if r.status is StepStatus.SUCCEEDED]
    lines = ["\n# Already done (do not plan it again)", *done] if done else []
    last = failed.failures[-1]
    lines += [f"\n# What failed\n{failed.step.name}: {last.message}", last.evidence[:600]]
    if failed.reflections:
        lines.append(f"Cause: {failed.reflections[-1].root_cause}")
    return "\n".join(lines) + "\n"


def _after_what_is_done(run: Run, plan: DetailedPlan) -> DetailedPlan:
    """A new plan keeps the finished steps, under their ids; the new ones get ids that were never used."""
    if _failed(run) is None or run.state.plan is None:
        return plan
    rewritten = {path for step in plan.steps for path in step.writes}
    # A finished step whose file is to be written anew is no longer finished.
    kept = [r.step for r in run.state.steps.values() if r.status in SETTLED and not rewritten & set(r.step.writes)]
    kept_ids = {step.id for step in kept}
    taken = set(run.state.steps) | {result.output.step_id for result in run.state.history if result.output}
    # A replan that was cut off and done again must not use the ids of the first.
    number = next(n for n in count(run.state.replans) if not taken & {f"{step.id}r{n}" for step in plan.steps})
    names = {step.id: f"{step.id}r{number}" for step in plan.steps}
    steps = [s.with_(id=names[s.id], sequence=len(kept) + i) for i, s in enumerate(plan.steps)]
    old = [d for d in run.state.plan.dependencies if d.step_id in kept_ids and d.depends_on in kept_ids]
    new = [d.with_(step_id=names[d.step_id], depends_on=names[d.depends_on]) for d in plan.dependencies]
    return plan.with_(steps=(*kept, *steps), dependencies=(*old, *new))

"""Phase 2: how the task will be done, and which alternatives there are if that fails."""

from surefoot.config.model import PhasePolicy
from surefoot.core.phases import ApproachOutput, ExecutionPhase, PhaseResult, TaskComplexity, ValidationResult
from surefoot.core.transitions import Stage
from surefoot.engine.planner.criteria import judge_approach
from surefoot.engine.planner.gate import is_rejected, pass_gate, skipped
from surefoot.engine.planner.normalize import approach_from
from surefoot.engine.runtime.run import Run
from surefoot.journal import events as e
from surefoot.prompting.context import understood
from surefoot.prompting.drafts.short import ApproachDraft


async def choose_approach(run: Run) -> None:
    def examine(draft: ApproachDraft, attempt: int) -> tuple[ApproachOutput, ValidationResult]:
        return approach_from(draft), judge_approach(draft, run.config.min_confidence_threshold)

    def failed(result: PhaseResult[ApproachOutput]) -> e.Event:
        return e.ApproachChosen(result=result)

    if run.state.approach is None and (reason := _reason_to_skip(run)):
        await run.record(e.ApproachChosen(result=skipped(ExecutionPhase.Approach(), reason)))
    while (result := run.state.approach) is None or (
        result.output and await is_rejected(run, "approach", result.output.approach, result.executed_at)
    ):
        result = await pass_gate(run, "approach", ExecutionPhase.Approach(), run.strategy.approach, examine, failed)
        await run.record(e.ApproachChosen(result=result))
    await run.enter(Stage.PLANNING)


def _reason_to_skip(run: Run) -> str:
    if not run.config.enable_planning:
        return "planning is switched off"
    if run.strategy.has_submitted("approach"):
        return ""
    if run.config.phases is not PhasePolicy.FULL and run.strategy.has_submitted("planning"):
        return "the model went straight to a plan, with no other approaches to choose from"
    if run.config.phases is not PhasePolicy.FULL and understood(run.state).complexity is TaskComplexity.SIMPLE:
        return "the task is simple: there is nothing to choose between"
    return ""

"""Phase 2: how will it be done, and what else could be done if that fails?"""

from collections.abc import Sequence

from surefoot import events as e
from surefoot.asking import ask_for
from surefoot.config import PhasePolicy
from surefoot.context import briefing
from surefoot.drafts import ApproachDraft
from surefoot.gates import judge_approach
from surefoot.machine import Stage
from surefoot.mending import approach_from
from surefoot.outcome import ApproachOutput, ExecutionPhase, TaskComplexity, ValidationResult
from surefoot.phases.gated import feedback, gated, skipped, wanted_differently
from surefoot.phases.understand import understanding_text, understood
from surefoot.prompts import render
from surefoot.run import Run


async def approach(run: Run) -> None:
    if run.state.approach is None:
        if reason := _not_needed(run):
            await run.record(e.ApproachChosen(result=skipped(ExecutionPhase.Approach(), reason)))
        else:
            await _choose(run)
    while (
        (made := run.state.approach)
        and made.output
        and await wanted_differently(run, "approach", made.output.approach, made.executed_at)
    ):
        await _choose(run)
    await run.enter(Stage.PLANNING)


def _not_needed(run: Run) -> str:
    if run.config.phases is not PhasePolicy.FULL and understood(run).complexity is TaskComplexity.SIMPLE:
        return "the task is simple: there is nothing to choose between"
    return ""


async def _choose(run: Run) -> None:
    async def produce(messages: Sequence[str], attempt: int) -> ApproachOutput:
        asked = render("approach", understanding=understanding_text(run), feedback=feedback(messages))
        prompt = briefing(run) + "\n\n" + asked
        return approach_from(await ask_for(run, "approach", prompt, ApproachDraft, temperature=0.3 * attempt))

    def judge(output: ApproachOutput) -> ValidationResult:
        return judge_approach(output, run.config.min_confidence_threshold)

    result = await gated(run, "approach", ExecutionPhase.Approach(), produce, judge)
    await run.record(e.ApproachChosen(result=result))


def approach_text(run: Run) -> str:
    """The approach that is being followed: the chosen one, or the alternative that recovery went on to."""
    output = run.state.approach.output if run.state.approach else None
    if output is None:
        return ""
    index = run.state.approach_index
    if index == 0:
        return f"\n# Approach\n{output.approach}\n"
    alternative = output.alternatives[min(index, len(output.alternatives)) - 1]
    return (
        f"\n# Approach\n{alternative.name}: {alternative.description}\n(Tried before and failed: {output.approach})\n"
    )


def alternatives_left(run: Run) -> int:
    output = run.state.approach.output if run.state.approach else None
    return max(len(output.alternatives) - run.state.approach_index, 0) if output else 0

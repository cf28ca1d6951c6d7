"""Phase 1: what is wanted?"""

from collections.abc import Sequence

from surefoot import events as e
from surefoot.asking import ask_for
from surefoot.config import PhasePolicy
from surefoot.context import briefing
from surefoot.drafts import UnderstandingDraft
from surefoot.gates import judge_understanding
from surefoot.machine import Stage
from surefoot.mending import plain_understanding, understanding_from
from surefoot.outcome import ExecutionPhase, PhaseResult, UnderstandingOutput, ValidationResult, Verdict
from surefoot.phases.answering import fits
from surefoot.phases.gated import feedback, gated, skipped, wanted_differently
from surefoot.project import list_files
from surefoot.prompts import render
from surefoot.questions import TIMED_OUT
from surefoot.run import Run, Stopped
from surefoot.taskfiles import files_named_in, plain_target


async def understand(run: Run) -> None:
    existing = list_files(run.root)
    named = files_named_in(run.task.text)

    async def produce(messages: Sequence[str], attempt: int) -> UnderstandingOutput:
        prompt = briefing(run) + "\n\n" + render("understand", feedback=feedback(messages))
        draft = await ask_for(run, "understand", prompt, UnderstandingDraft, temperature=0.3 * attempt)
        return understanding_from(draft, run.task.text, existing, run.state.protected)

    def judge(output: UnderstandingOutput) -> ValidationResult:
        return judge_understanding(output, run.task.text, named, run.config.min_confidence_threshold)

    if run.state.understanding is None and _is_plain(run):
        path = plain_target(run.task.text, existing, run.state.protected)
        # Without checks nobody would tell whether a task that names no file was understood.
        if path or (run.task.checks and fits(run, existing)):
            about = f"about {path}" if path else "about a folder that can be seen at once"
            reason = f"the task is {about}" + (" and how it is checked is given" if run.task.checks else "")
            plain = skipped(ExecutionPhase.Understanding(), reason, plain_understanding(run.task.text, path))
            await run.record(e.Understood(result=plain))
    while (made := run.state.understanding) is None or await _wanted_differently(run, made):
        result = await gated(run, "understanding", ExecutionPhase.Understanding(), produce, judge)
        await run.record(e.Understood(result=result))
    await run.enter(Stage.APPROACH)


def _is_plain(run: Run) -> bool:
    """A small model's account of a task adds nothing to it and costs as much as doing it."""
    asked_for = run.config.phases is not PhasePolicy.AUTO or run.config.require_confirmation
    return run.model.traits.small and not asked_for


async def _wanted_differently(run: Run, made: PhaseResult[UnderstandingOutput]) -> bool:
    """Questions come before the confirmation: their answers may change what is confirmed."""
    if run.config.require_confirmation:
        for question in understood(run).clarification_needed:
            if await run.ask_person("clarification", question) == TIMED_OUT:
                raise Stopped(Verdict.CANCELLED, f"nobody answered '{question}': {TIMED_OUT}")
    summary = made.output.understanding if made.output else ""
    return await wanted_differently(run, "understanding", summary, made.executed_at)


def understood(run: Run) -> UnderstandingOutput:
    """What was understood; a run that was started at a later phase has only the words of the task."""
    result = run.state.understanding
    if result is not None and result.output is not None:
        return result.output
    return UnderstandingOutput(understanding=run.task.text, key_requirements=(run.task.text,))


def understanding_text(run: Run) -> str:
    """For later prompts: what was understood, and what a person answered."""
    output = understood(run)
    lines = [output.understanding, *(f"- {r}" for r in output.key_requirements if r != output.understanding)]
    lines += [f"- {q.text} Answer: {q.answer}" for q in run.state.questions.values() if q.kind == "clarification"]
    return "\n".join(lines)

"""Phase 1: what the task asks for."""

import re

from surefoot.config.model import PhasePolicy
from surefoot.core.outcome import Verdict
from surefoot.core.phases import ExecutionPhase, PhaseResult, UnderstandingOutput, ValidationResult
from surefoot.core.questions import ASSUMED, TIMED_OUT
from surefoot.core.transitions import Stage
from surefoot.engine.planner.criteria import REPAIRED, judge_understanding
from surefoot.engine.planner.gate import is_rejected, pass_gate, skipped
from surefoot.engine.planner.normalize import plain_understanding, understanding_from
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.stop import Stopped
from surefoot.journal import events as e
from surefoot.project.file_roles import plain_targets
from surefoot.project.folder import list_files
from surefoot.project.task_text import files_named_in
from surefoot.prompting.context import fits_in_prompt, understood
from surefoot.prompting.drafts.short import UnderstandingDraft
from surefoot.prompting.strategy import Refusal


class _PlanAlone(Exception):
    """The model has submitted a plan, and no understanding before it."""


async def understand(run: Run) -> None:
    existing = list_files(run.root)
    root = str(run.root)

    def examine(draft: UnderstandingDraft, attempt: int) -> tuple[UnderstandingOutput, ValidationResult]:
        trusted = not run.profile.repairs_plans
        text, protected = run.task.text, run.not_writable
        output, repairs = understanding_from(draft, text, existing, protected, root=root, trusted=trusted)
        statement = " ".join((draft.understanding, *draft.requirements, *output.target_files))
        # `utils.parse` may be a function, so the last part of a name is enough.
        unnamed = [p for p in files_named_in(text) if p not in existing and re.split(r"[./]", p)[-1] not in statement]
        warnings = [f"{REPAIRED}{repair}" for repair in repairs]
        warnings += [f"the task names {path}, the understanding does not" for path in unnamed]
        threshold = run.config.min_confidence_threshold
        verdict = judge_understanding(
            draft, text, threshold, root=root, existing=existing, warnings=warnings, trusted=trusted
        )
        return output, verdict

    async def produce(refusal: Refusal) -> UnderstandingDraft:
        if (draft := await run.strategy.understand(refusal)) is None:
            raise _PlanAlone
        return draft

    def failed(result: PhaseResult[UnderstandingOutput]) -> e.Event:
        return e.Understood(result=result)

    if run.state.understanding is None and not run.config.enable_planning:
        plain = plain_understanding(run.task.text)
        reason = "planning is switched off"
        await run.record(e.Understood(result=skipped(ExecutionPhase.Understanding(), reason, plain)))
    if run.state.understanding is None and _may_skip(run):
        paths = plain_targets(run.task.text, existing, run.not_writable)
        # Without checks nobody could tell whether a task that names no file was understood.
        if paths or (run.task.checks and fits_in_prompt(run, existing)):
            about = f"about {' and '.join(paths)}" if paths else "about a folder that can be seen at once"
            reason = f"the task is {about}" + (" and how it is checked is given" if run.task.checks else "")
            plain = plain_understanding(run.task.text, paths)
            await run.record(e.Understood(result=skipped(ExecutionPhase.Understanding(), reason, plain)))
    while (result := run.state.understanding) is None or await _is_rejected(run, result):
        phase = ExecutionPhase.Understanding()
        try:
            result = await pass_gate(run, "understanding", phase, produce, examine, failed)
        except _PlanAlone:
            plain = plain_understanding(run.task.text)
            result = skipped(phase, "a plan was submitted alone: the task is taken as it is written", plain)
        except Stopped as stopped:
            result = _task_itself(run, stopped)
        await run.record(e.Understood(result=result))
    await run.enter(Stage.APPROACH)


def _task_itself(run: Run, stopped: Stopped) -> PhaseResult[UnderstandingOutput]:
    """Return the task as it is written, if the model submitted a plan only. Otherwise raise `stopped`."""
    judged = run.state.understanding is not None or any(
        "could not be read" not in message and "did not submit" not in message
        for message in run.state.refusals.get("understanding", ())
    )
    if stopped.verdict is not Verdict.FAILED or judged or not run.strategy.has_submitted("planning"):
        raise stopped
    reason = f"{stopped.reason}; going on with the task as it is written, because a plan was submitted"
    run.recorder.warn(reason)
    return skipped(ExecutionPhase.Understanding(), reason, plain_understanding(run.task.text))


def _may_skip(run: Run) -> bool:
    phase_required = run.config.phases is not PhasePolicy.AUTO or run.config.require_confirmation
    return run.profile.may_skip_understanding and not phase_required


async def _is_rejected(run: Run, result: PhaseResult[UnderstandingOutput]) -> bool:
    """Ask the open questions, then for confirmation. Returns True if the phase has to be done again.

    The questions come first, because the answers may change what is confirmed.
    """
    asked = run.config.require_confirmation or run.profile.asks_questions or run.human.is_there
    for question in understood(run.state).clarification_needed:
        if not run.config.ask_questions or not asked:
            run.recorder.warn(ASSUMED.format(question=question))
        elif await run.human.ask("clarification", question) == TIMED_OUT:
            raise Stopped(Verdict.CANCELLED, f"nobody answered '{question}' in time")
    if run.profile.answers_in_refusal and (answers := _new_answers(run, result)):
        await run.record(e.GateRefused(phase="understanding", attempt=0, confidence=0.0, messages=answers))
        return True
    summary = result.output.understanding if result.output else ""
    return await is_rejected(run, "understanding", summary, result.executed_at)


def _new_answers(run: Run, result: PhaseResult[UnderstandingOutput]) -> tuple[str, ...]:
    """Return the answers that came after the understanding was submitted."""
    return tuple(
        f"not wrong, but the user has answered {question.text!r} with: {question.answer}"
        for question in run.state.questions.values()
        if question.kind == "clarification" and not question.step_id
        if question.answered_at > result.executed_at.timestamp()
    )

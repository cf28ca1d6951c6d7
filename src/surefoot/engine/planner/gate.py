"""The gate at the end of a phase: produce, judge, and on refusal produce again with the judge's messages."""

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from surefoot.core.outcome import Verdict
from surefoot.core.phases import Phase, PhaseResult, PhaseStatus, ValidationResult
from surefoot.core.questions import TIMED_OUT, is_no, is_yes
from surefoot.core.values import now
from surefoot.engine.planner.criteria import error_of
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.stop import VERDICTS, Stopped
from surefoot.errors import NothingSubmitted, UnreadableAnswer
from surefoot.journal import events as e
from surefoot.journal.state import StepRun
from surefoot.prompting.context import step_to_replan
from surefoot.prompting.strategy import Refusal

D = TypeVar("D")
T = TypeVar("T")


async def pass_gate(
    run: Run,
    name: e.PhaseName,
    phase: Phase,
    produce: Callable[[Refusal], Awaitable[D]],
    examine: Callable[[D, int], tuple[T | None, ValidationResult]],
    failed: Callable[[PhaseResult[T]], e.Event],
) -> PhaseResult[T]:
    """Return the phase's result once it passes. `examine` gets the model's draft and the number of refusals, and
    returns the normalized output with the verdict on the draft.

    Raises Stopped if the phase never passes. Its result is then recorded as the event that `failed` makes of it.
    """
    started, executed_at = time.perf_counter(), now()
    first = run.state.phase_attempts.get(name, 0) if run.state.refusals.get(name) else 0
    messages: Sequence[str] = run.state.refusals.get(name, ())
    threshold = run.config.min_confidence_threshold
    result = PhaseResult[T](phase=phase, status=PhaseStatus.FAILED, executed_at=executed_at)
    is_silent = False
    for attempt in range(first, run.config.max_retries_per_phase + 1):
        await run.record(e.PhaseStarted(phase=name, attempt=attempt))
        output: T | None = None
        is_silent = False
        try:
            output, verdict = examine(await produce(Refusal(messages, attempt)), attempt)
        except UnreadableAnswer as error:
            is_silent = isinstance(error, NothingSubmitted)
            unreadable = error.problem if is_silent else f"the answer could not be read: {error.problem}"
            verdict = ValidationResult(passed=False, confidence=0.0, messages=(unreadable,), suggestions=(unreadable,))
        result = PhaseResult[T](
            phase=phase,
            status=PhaseStatus.SUCCESS if verdict.passed else PhaseStatus.FAILED,
            output=output,
            duration_ms=round((time.perf_counter() - started) * 1000),
            validation=verdict,
            executed_at=executed_at,
            error=None if verdict.passed else error_of(verdict, threshold),
            retry_count=attempt,
        )
        if verdict.passed:
            return result
        # If only unknown points lowered the confidence, there are no messages: the suggestions say what to improve.
        messages = verdict.messages or verdict.suggestions
        refused = e.GateRefused(phase=name, attempt=attempt, confidence=verdict.confidence, messages=tuple(messages))
        await run.record(refused)
        if is_silent and step_to_replan(run.state) is not None:
            # The model submitted no new plan although it was told what is missing. It is not asked again.
            break
    await run.record(failed(result))
    if is_silent and (step_run := step_to_replan(run.state)) is not None:
        raise _stopped_after(step_run, messages[0])
    raise Stopped(Verdict.FAILED, f"{name} did not pass its gate: {'; '.join(messages)}")


def _stopped_after(step_run: StepRun, reason: str) -> Stopped:
    """Return the stop of a run whose model submitted no new plan. Its verdict is LOOP if the failed step looped."""
    failure = step_run.failures[-1]
    verdict = VERDICTS.get(failure.kind, Verdict.FAILED)
    before = f"before that, the step '{step_run.step.name}' ({step_run.step.id}) failed: {failure.message}"
    return Stopped(verdict if verdict is Verdict.LOOP else Verdict.FAILED, f"{reason}; {before}")


def skipped(phase: Phase, reason: str, output: T | None = None) -> PhaseResult[T]:
    """Return the result of a phase that was not carried out. Nothing was judged, so its confidence is 0."""
    return PhaseResult[T](
        phase=phase,
        status=PhaseStatus.SKIPPED,
        output=output,
        validation=ValidationResult(passed=False, confidence=0.0, messages=(reason,)),
    )


async def is_rejected(run: Run, name: e.PhaseName, summary: str, produced_at: datetime) -> bool:
    """Ask the user to confirm a phase, if they want to be asked. Returns True if the phase has to be done again.

    A no raises Stopped. Any answer other than yes or no says what should be different, and goes into the next prompt
    like a message of the gate.
    """
    if not run.config.require_confirmation:
        return False
    answer = await run.human.ask(
        "confirmation",
        f"{name} is done:\n{summary}\nGo on?",
        options=("yes", "no"),
        subject=f"{name}:{produced_at.isoformat()}:{summary}",
    )
    if is_yes(answer):
        return False
    if is_no(answer):
        suffix = f": {answer}" if answer == TIMED_OUT else ""
        raise Stopped(Verdict.CANCELLED, f"not confirmed after {name}{suffix}")
    messages = (f"the user wants it differently: {answer}",)
    await run.record(e.GateRefused(phase=name, attempt=0, confidence=0.0, messages=messages))
    return True

"""Every phase ends in a gate: produce, judge, and on refusal produce again with the judge's messages in the prompt."""

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from surefoot import events as e
from surefoot.errors import UnreadableAnswer
from surefoot.outcome import Phase, PhaseResult, PhaseStatus, ValidationResult, Verdict
from surefoot.questions import TIMED_OUT, is_no, is_yes
from surefoot.run import Run, Stopped
from surefoot.values import now

T = TypeVar("T")

Produce = Callable[[Sequence[str], int], Awaitable[T]]
"""Gets what was wrong last time, and how often it was refused."""


async def gated(
    run: Run, name: e.PhaseName, phase: Phase, produce: Produce[T], judge: Callable[[T], ValidationResult]
) -> PhaseResult[T]:
    """The phase's result, passed; a phase that never passes ends the run with what was wrong."""
    started, executed_at = time.perf_counter(), now()
    first = run.state.phase_attempts.get(name, 0) if run.state.refusals.get(name) else 0
    messages: Sequence[str] = run.state.refusals.get(name, ())
    for attempt in range(first, run.config.max_retries_per_phase + 1):
        await run.record(e.PhaseStarted(phase=name, attempt=attempt))
        try:
            output = await produce(messages, attempt)
        except UnreadableAnswer as error:
            messages, confidence = [f"the answer could not be read: {error.problem}"], 0.0
        else:
            verdict = judge(output)
            if verdict.passed:
                return PhaseResult[T](
                    phase=phase,
                    status=PhaseStatus.SUCCESS,
                    output=output,
                    duration_ms=round((time.perf_counter() - started) * 1000),
                    validation=verdict,
                    executed_at=executed_at,
                    retry_count=attempt,
                )
            messages, confidence = verdict.messages, verdict.confidence
        await run.record(e.GateRefused(phase=name, attempt=attempt, confidence=confidence, messages=tuple(messages)))
    raise Stopped(Verdict.FAILED, f"{name} did not pass its gate: {'; '.join(messages)}")


def skipped(phase: Phase, reason: str, output: T | None = None) -> PhaseResult[T]:
    return PhaseResult[T](
        phase=phase,
        status=PhaseStatus.SKIPPED,
        output=output,
        validation=ValidationResult(passed=True, confidence=1.0, messages=(reason,)),
    )


def feedback(messages: Sequence[str]) -> str:
    """What the next prompt says about the last answer."""
    if not messages:
        return ""
    return "\nYour last answer was refused, because:\n" + "\n".join(f"- {m}" for m in messages) + "\nMend exactly that."


async def wanted_differently(run: Run, name: e.PhaseName, summary: str, made_at: datetime) -> bool:
    """At the end of a phase, when the user wants to be asked. Words other than yes and no are what should be different:
    they go into the next prompt like a gate's, and the phase is done again."""
    if not run.config.require_confirmation:
        return False
    answer = await run.ask_person(
        "confirmation",
        f"{name} is done:\n{summary}\nGo on?",
        options=("yes", "no"),
        subject=f"{name}:{made_at.isoformat()}:{summary}",
    )
    if is_yes(answer):
        return False
    if is_no(answer):
        why = f": {answer}" if answer == TIMED_OUT else ""
        raise Stopped(Verdict.CANCELLED, f"not confirmed after {name}{why}")
    messages = (f"the user wants it differently: {answer}",)
    await run.record(e.GateRefused(phase=name, attempt=0, confidence=0.0, messages=messages))
    return True

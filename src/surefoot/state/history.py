"""Every end of a step, in order, as the results of a phase."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import overload

from surefoot.machine import StepStatus
from surefoot.outcome import (
    Artifact,
    CheckResult,
    ExecutionPhase,
    PhaseResult,
    PhaseStatus,
    StepExecutionOutput,
    ValidationResult,
)
from surefoot.state.step import Action, whole


@dataclass(slots=True)
class Settled:
    """What is kept of a step's end until somebody asks for it as a phase result."""

    step_id: str
    status: StepStatus
    written: StepExecutionOutput | None
    filed: Artifact | None
    actions: list[Action]
    duration_ms: int
    checks: tuple[CheckResult, ...]
    at: float
    error: str | None
    retries: int
    begun: int
    of: int


class History(Sequence[PhaseResult[StepExecutionOutput]]):
    """Every end of a step, in order. The results are made when they are looked at: most never are, and making one
    costs as much as writing its event."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[Settled] = []

    def add(self, entry: Settled) -> None:
        self._entries.append(entry)

    def revise(self, output: StepExecutionOutput) -> None:
        for entry in reversed(self._entries):
            if entry.step_id == output.step_id:
                entry.written = output
                return

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and self._entries == other._entries

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> PhaseResult[StepExecutionOutput]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PhaseResult[StepExecutionOutput]]: ...
    def __getitem__(
        self, index: int | slice
    ) -> PhaseResult[StepExecutionOutput] | Sequence[PhaseResult[StepExecutionOutput]]:
        if isinstance(index, slice):
            return [_as_phase_result(entry) for entry in self._entries[index]]
        return _as_phase_result(self._entries[index])

    def __iter__(self) -> Iterator[PhaseResult[StepExecutionOutput]]:
        return map(_as_phase_result, self._entries)


def _as_phase_result(entry: Settled) -> PhaseResult[StepExecutionOutput]:
    return PhaseResult[StepExecutionOutput](
        phase=ExecutionPhase.Execution(current_step=max(entry.begun - 1, 0), total_steps=entry.of),
        status=_PHASE_STATUS[entry.status],
        output=whole(entry.step_id, entry.written, entry.filed, entry.actions),
        duration_ms=entry.duration_ms,
        validation=_judgement(entry.checks),
        executed_at=when(entry.at),
        error=entry.error,
        retry_count=entry.retries,
    )


def when(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _judgement(checks: tuple[CheckResult, ...]) -> ValidationResult | None:
    if not checks:
        return None
    good = sum(result.passed for result in checks)
    return ValidationResult(
        passed=good == len(checks),
        confidence=good / len(checks),
        messages=tuple(f"{'ok' if r.passed else 'failed'}: {r.check.label}" for r in checks),
    )


_PHASE_STATUS: dict[StepStatus, PhaseStatus] = {
    StepStatus.SUCCEEDED: PhaseStatus.SUCCESS,
    StepStatus.PARTIAL: PhaseStatus.SUCCESS,
    StepStatus.DEGRADED: PhaseStatus.SUCCESS,
    StepStatus.FAILED: PhaseStatus.FAILED,
    StepStatus.SKIPPED: PhaseStatus.SKIPPED,
    StepStatus.BLOCKED: PhaseStatus.SKIPPED,
}

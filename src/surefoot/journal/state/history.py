"""The finished attempts of steps, as phase results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import overload

from surefoot.core.outcome import CheckResult
from surefoot.core.phases import (
    PHASE_STATUS,
    Artifact,
    PhaseResult,
    StepExecutionOutput,
    ValidationResult,
    execution_phase,
)
from surefoot.core.transitions import StepStatus
from surefoot.journal.state.step import Action, complete_output


@dataclass(slots=True)
class FinishedAttempt:
    """A finished attempt. Converted to a phase result on access."""

    step_id: str
    status: StepStatus
    recorded_output: StepExecutionOutput | None
    recorded_artifact: Artifact | None
    actions: list[Action]
    duration_ms: int
    checks: tuple[CheckResult, ...]
    at: float
    error: str | None
    retries: int
    started_steps: int
    total_steps: int


class History(Sequence[PhaseResult[StepExecutionOutput]]):
    """The finished attempts of steps, in order. Results are created on access: most are never read, and creating one
    costs as much as writing its event."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[FinishedAttempt] = []

    def add(self, entry: FinishedAttempt) -> None:
        self._entries.append(entry)

    def replace_output(self, output: StepExecutionOutput) -> None:
        """Replace the output of the last attempt of a step."""
        for entry in reversed(self._entries):
            if entry.step_id == output.step_id:
                entry.recorded_output = output
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


def _as_phase_result(entry: FinishedAttempt) -> PhaseResult[StepExecutionOutput]:
    # A blocked step has no failure. Its log is the reason why it is blocked.
    blocked = entry.status is StepStatus.BLOCKED and entry.recorded_output and entry.recorded_output.logs
    return PhaseResult[StepExecutionOutput](
        phase=execution_phase(entry.started_steps, entry.total_steps),
        status=PHASE_STATUS[entry.status],
        output=complete_output(entry.step_id, entry.recorded_output, entry.recorded_artifact, entry.actions),
        duration_ms=entry.duration_ms,
        validation=_validation(entry.checks),
        executed_at=to_datetime(entry.at),
        error=blocked[0] if blocked else entry.error,
        retry_count=entry.retries,
    )


def to_datetime(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _validation(checks: tuple[CheckResult, ...]) -> ValidationResult | None:
    if not checks:
        return None
    passed = sum(result.passed for result in checks)
    return ValidationResult(
        passed=passed == len(checks),
        confidence=passed / len(checks),
        messages=tuple(f"{'ok' if r.passed else 'failed'}: {r.check.label}" for r in checks),
    )

"""The state of a step: its current attempt, its result, and its recovery."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic_core import to_json

from surefoot.core.outcome import CheckResult, Failure, StepReflection
from surefoot.core.phases import Artifact, ExecutionStatus, StepExecutionOutput
from surefoot.core.plan import ExecutionStep, StepKind
from surefoot.core.transitions import StepStatus
from surefoot.journal import events as e

LOGGED_CHARS = 200
"""How much of each action's summary goes into the log of a step."""


@dataclass(slots=True)
class Action:
    """A tool call in the current attempt of a step."""

    id: str
    step_id: str
    tool: str
    arguments: dict[str, Any]
    fingerprint: str
    body: str = ""
    snapshot: str = ""
    external: bool = False
    ok: bool | None = None
    """None while it runs, or when it was interrupted."""
    summary: str = ""
    output: str = ""
    command: str = ""
    data: Any = None
    temporary: bool = False
    """Whether it failed with an error that may go away."""
    call_id: str = ""
    """The call of the model that asked for it, in a conversation."""
    changed: bool = False
    """Whether it changed a file of the workspace."""


@dataclass(slots=True)
class Compensation:
    """Undoes an effect of an action, or of the whole step, outside the workspace."""

    id: str
    undoes: str
    tool: str
    arguments: dict[str, Any]
    ok: bool | None = None
    """None while it runs, or when it was interrupted."""


class FailedAnswer(NamedTuple):
    """A whole answer of a model that its checks refused."""

    tree: str
    """The hash of the workspace before it."""
    fingerprint: str
    red: frozenset[str]
    """The keys of the checks that failed."""


@dataclass(slots=True)
class StepRun:
    """A step and the state of its execution."""

    step: ExecutionStep
    status: StepStatus = StepStatus.PENDING
    attempt: int = 0
    kind: StepKind | None = None
    """How the current attempt is carried out, as recorded when it started."""
    started_at: float = 0.0
    snapshot: str = ""
    """The workspace that a rollback restores: before the first write of this attempt, or of an earlier one whose work
    was kept."""
    after: str = ""
    """The workspace after the last finished attempt."""
    actions: list[Action] = field(default_factory=list)
    """The actions of the current attempt."""
    begun_actions: int = 0
    """How many actions were begun, in all attempts."""
    results_before: tuple[CheckResult, ...] = ()
    """The results of the step's checks before the attempt."""
    results: tuple[CheckResult, ...] = ()
    """The results of the last run of its checks in the attempt."""
    ended: bool = False
    """Whether an attempt has finished. The next three fields describe the last one that did."""
    recorded_output: StepExecutionOutput | None = None
    """The output in the journal, without the results of actions; see `output`. None: it follows from the actions."""
    recorded_artifact: Artifact | None = None
    """The artifact in the journal; see `artifact`."""
    expires_at: float | None = None
    failures: tuple[Failure, ...] = ()
    reflections: tuple[StepReflection, ...] = ()
    rungs: list[str] = field(default_factory=list)
    """The recoveries that were tried, in order."""
    notes: tuple[str, ...] = ()
    """What the next attempt should do differently."""
    failed_fingerprints: frozenset[str] = frozenset()
    """The actions of failed attempts, which must not be repeated unchanged."""
    refused: tuple[str, ...] = ()
    """Proposed actions of this attempt that were not run, each with the reason."""
    proposed: str = ""
    """The blob of the model's last proposal, if a person was asked about it and it is neither begun nor refused."""
    step_retry_count: int = 0
    single_step_repair_count: int = 0
    temporary_retries: int = 0
    parameters: dict[str, Any] = field(default_factory=dict)
    tool: str = ""
    touched: frozenset[str] = frozenset()
    """The paths that this attempt changed. A rollback may touch only these."""
    by_others: frozenset[str] = frozenset()
    """The files that somebody else changed during this attempt, while the run had stopped."""
    failed_checks: tuple[tuple[int, tuple[CheckResult, ...]], ...] = ()
    """The failed runs of the checks in this attempt, each with the number of actions before it."""
    red_at_call: int = 0
    """How many model calls there were when the newest of `failed_checks` was recorded."""
    work_kept: bool = False
    """Whether the work of the failed attempt stays, and the next one continues from there."""
    candidates: tuple[e.CandidateTried, ...] = ()
    """The candidates of all attempts, in order."""
    compensations: tuple[Compensation, ...] = ()
    """The compensations of the current attempt."""
    restored: tuple[str, ...] = ()
    """The paths that the rollback of the last finished attempt restored."""
    shared: bool = False
    """Whether another step ran during this attempt, so that not every change is its own."""

    @property
    def newest_results(self) -> tuple[CheckResult, ...]:
        return self.results or self.results_before

    @property
    def output(self) -> StepExecutionOutput | None:
        if not self.ended:
            return None
        return complete_output(self.step.id, self.recorded_output, self.recorded_artifact, self.actions)

    @property
    def outputs(self) -> dict[str, Any]:
        """The results for dependent steps, or references to them."""
        if not self.ended:
            return {}
        recorded = self.recorded_output
        if recorded is not None and (recorded.outputs or self.recorded_artifact is None):
            return recorded.outputs
        return outputs_of(self.actions)

    @property
    def artifact(self) -> Artifact | None:
        if not self.ended or self.recorded_output is not None or not (outputs := outputs_of(self.actions)):
            return self.recorded_artifact
        size = len(to_json(outputs, fallback=str))
        return Artifact(
            id=f"{self.step.id}@{self.attempt}", producer=self.step.id, size=size, expires_at=self.expires_at
        )


def complete_output(
    step_id: str, recorded: StepExecutionOutput | None, artifact: Artifact | None, actions: Sequence[Action]
) -> StepExecutionOutput:
    """Return the recorded output with the results of the actions, which are not stored or held in memory twice."""
    if recorded is None:
        return StepExecutionOutput(
            step_id=step_id,
            status=ExecutionStatus.SUCCESS,
            outputs=outputs_of(actions),
            logs=logs_of(actions),
            executed_commands=commands_of(actions),
        )
    if artifact is None or recorded.outputs:
        return recorded
    return recorded.model_copy(update={"outputs": outputs_of(actions)})


def logs_of(actions: Sequence[Action]) -> tuple[str, ...]:
    return tuple([f"{action.tool}: {_first_line(action.summary)}" for action in actions])


def _first_line(text: str) -> str:
    return "".join(text[:LOGGED_CHARS].splitlines()[:1])


def commands_of(actions: Sequence[Action]) -> tuple[str, ...]:
    return tuple([action.command for action in actions if action.command])


def outputs_of(actions: Sequence[Action]) -> dict[str, Any]:
    """Return the data of each action, and as `result` the data or summary of the last successful one."""
    outputs: dict[str, Any] = {}
    last: Action | None = None
    for number, action in enumerate(actions, 1):
        if action.data is not None:
            outputs[f"action_{number}"] = action.data
        if action.ok:
            last = action
    if last is not None:
        outputs["result"] = last.summary if last.data is None else last.data
    return outputs

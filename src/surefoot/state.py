"""Where a run is and what has become of its steps. `fold/` makes it from the run's events, event by event; it is
never written whole."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, overload

from pydantic_core import to_json

from surefoot import events as e
from surefoot.config import ExecutionConfig
from surefoot.machine import (
    ORCHESTRATION,
    OrchestrationState,
    Stage,
    StepStatus,
)
from surefoot.outcome import (
    ApproachOutput,
    Artifact,
    CheckResult,
    ExecutionPhase,
    ExecutionStatus,
    Failure,
    Outcome,
    Phase,
    PhaseResult,
    PhaseStatus,
    SequentialExecutionPlan,
    StepExecutionOutput,
    StepReflection,
    UnderstandingOutput,
    ValidationOutput,
    ValidationResult,
)
from surefoot.plan import DetailedPlan, ExecutionStep
from surefoot.task import Task

LOGGED_CHARS = 200
"""What the log of a step shows of each action."""


@dataclass(slots=True)
class Action:
    """One tool call inside a step's current attempt."""

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
    """It failed, and the same call may work a moment later."""


@dataclass(slots=True)
class Compensation:
    """Undoing what an action, or the step as a whole, did outside the workspace."""

    id: str
    undoes: str
    tool: str
    arguments: dict[str, Any]
    ok: bool | None = None
    """None while it runs, or when it was interrupted."""


@dataclass(slots=True)
class StepRun:
    """A step and what has become of it."""

    step: ExecutionStep
    status: StepStatus = StepStatus.PENDING
    attempt: int = 0
    started_at: float = 0.0
    snapshot: str = ""
    """The workspace before the attempt's first write, or that of an earlier one whose work was kept: what a rollback
    goes back to."""
    after: str = ""
    actions: list[Action] = field(default_factory=list)
    """Of the current attempt."""
    baseline: tuple[CheckResult, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    ended: bool = False
    """It has come to an end, in this attempt or before. What follows is about that end."""
    written: StepExecutionOutput | None = None
    """As the journal has it; `output` is the same with what the actions gave. None: the actions say all of it."""
    filed: Artifact | None = None
    """As the journal has it; `artifact` is also there for what the actions say."""
    expires_at: float | None = None
    failures: tuple[Failure, ...] = ()
    reflections: tuple[StepReflection, ...] = ()
    rungs: list[str] = field(default_factory=list)
    """What recovery tried for this step, in order."""
    notes: tuple[str, ...] = ()
    """What the next attempt is told to do differently."""
    failed_fingerprints: frozenset[str] = frozenset()
    """Everything done in attempts that failed: not to be repeated unchanged."""
    refusals: int = 0
    refused: tuple[str, ...] = ()
    """What was proposed in this attempt and not run, and why."""
    retries: int = 0
    repairs: int = 0
    temporary_retries: int = 0
    parameters: dict[str, Any] = field(default_factory=dict)
    tool: str = ""
    touched: frozenset[str] = frozenset()
    """What this attempt changed in the workspace: all that a rollback may touch, because the rest is other people's."""
    red_looks: tuple[tuple[int, tuple[CheckResult, ...]], ...] = ()
    """Checks that failed during this attempt, each time with the number of actions done by then."""
    kept: bool = False
    """What the failed attempt did stays, and the next one goes on from there."""
    candidates: tuple[e.CandidateTried, ...] = ()
    """Of all attempts, in order."""
    compensations: tuple[Compensation, ...] = ()
    """Of the current attempt."""
    shared: bool = False
    """Another step ran at the same time during this attempt: not all that changed is its doing."""

    @property
    def output(self) -> StepExecutionOutput | None:
        return _whole(self.step.id, self.written, self.filed, self.actions) if self.ended else None

    @property
    def outputs(self) -> dict[str, Any]:
        """What it handed on, or where that is to be found."""
        if not self.ended:
            return {}
        own = self.written.outputs if self.written is not None else {}
        return own or (outputs_of(self.actions) if self.written is None or self.filed is not None else {})

    @property
    def artifact(self) -> Artifact | None:
        if not self.ended or self.written is not None or not (outputs := outputs_of(self.actions)):
            return self.filed
        size = len(to_json(outputs, fallback=str))
        return Artifact(
            id=f"{self.step.id}@{self.attempt}", producer=self.step.id, size=size, expires_at=self.expires_at
        )


def _whole(
    step_id: str, written: StepExecutionOutput | None, filed: Artifact | None, actions: Sequence[Action]
) -> StepExecutionOutput:
    """What actions gave is in their own events, and not kept twice in memory either."""
    if written is None:
        return StepExecutionOutput(
            step_id=step_id,
            status=ExecutionStatus.SUCCESS,
            outputs=outputs_of(actions),
            logs=logs_of(actions),
            executed_commands=commands_of(actions),
        )
    if filed is None or written.outputs:
        return written
    return written.model_copy(update={"outputs": outputs_of(actions)})


def logs_of(actions: Sequence[Action]) -> tuple[str, ...]:
    return tuple([f"{action.tool}: {_first_line(action.summary)}" for action in actions])


def _first_line(text: str) -> str:
    return "".join(text[:LOGGED_CHARS].splitlines()[:1])


def commands_of(actions: Sequence[Action]) -> tuple[str, ...]:
    return tuple([action.command for action in actions if action.command])


def outputs_of(actions: Sequence[Action]) -> dict[str, Any]:
    """What a step's actions gave: the data of each, and as the result what the last good one ended with."""
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


class ActionResults(Mapping[str, str]):
    """Where to find in full what actions gave, by their id (`step.a7`): a hash, or the id itself when the summary is
    all there is."""

    __slots__ = ("_state",)

    def __init__(self, state: "RunState") -> None:
        self._state = state

    def __getitem__(self, action_id: str) -> str:
        return self._find(action_id).output or action_id

    def inline(self, key: str) -> bytes:
        """Content that needs no hash; empty when `key` is one."""
        return self._find(key).summary.encode() if key in self else b""

    def _find(self, action_id: str) -> Action:
        for action in self._state.steps[action_id.rpartition(".")[0]].actions:
            if action.id == action_id and action.ok is not None:
                return action
        raise KeyError(action_id)

    def __iter__(self) -> Iterator[str]:
        return (action.id for run in self._state.steps.values() for action in run.actions if action.ok is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


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
        output=_whole(entry.step_id, entry.written, entry.filed, entry.actions),
        duration_ms=entry.duration_ms,
        validation=_judgement(entry.checks),
        executed_at=_when(entry.at),
        error=entry.error,
        retry_count=entry.retries,
    )


@dataclass(slots=True)
class Question:
    id: str
    kind: str
    text: str
    options: tuple[str, ...]
    step_id: str
    subject: str
    asked_at: float = 0.0
    """Seconds since the epoch."""
    answer: str | None = None
    by: str = ""
    timed_out: bool = False


@dataclass(slots=True, repr=False)
class RunState:
    run_id: str = ""
    task: Task | None = None
    config: ExecutionConfig = field(default_factory=ExecutionConfig)
    model: str = ""
    stage: Stage = Stage.UNDERSTANDING
    stage_reason: str = ""
    before_waiting: Stage = Stage.UNDERSTANDING
    failed_at: Stage | None = None
    snapshot: str = ""
    protected: tuple[str, ...] = ()
    red_at_start: set[str] = field(default_factory=set)
    """Keys of the task's checks that failed before anything was done: only these can prove it."""
    looked_first: bool = False
    """They have run before anything was done, or it is too late for that."""
    understanding: PhaseResult[UnderstandingOutput] | None = None
    approach: PhaseResult[ApproachOutput] | None = None
    planning: PhaseResult[DetailedPlan] | None = None
    validation: PhaseResult[ValidationOutput] | None = None
    plan: DetailedPlan | None = None
    """The plan as it stands, with its revisions."""
    steps: dict[str, StepRun] = field(default_factory=dict)
    needs: dict[str, list[str]] = field(default_factory=dict)
    """The steps that each step depends on."""
    begun: int = 0
    """How many of them were ever started."""
    unsettled: int = 0
    """How many of them something may still happen to. Both are counted along: a plan may have ten thousand steps."""
    history: History = field(default_factory=History)
    refusals: dict[str, list[str]] = field(default_factory=dict)
    """Per phase: the messages of the last gate that refused."""
    phase_attempts: dict[str, int] = field(default_factory=dict)
    revisions: int = 0
    resets: int = 0
    """How often a step got another try."""
    replans: int = 0
    approach_index: int = 0
    consecutive_failures: int = 0
    running: set[str] = field(default_factory=set)
    failed: list[str] = field(default_factory=list)
    """Steps that failed and for which no way back was chosen yet."""
    recovering: str = ""
    """The step that recovery is, or was last, about."""
    tried: list[str] = field(default_factory=list)
    """Every failed try and what was done about it, in order; kept when a new plan drops the step."""
    open_actions: dict[str, Action] = field(default_factory=dict)
    """Intents without a result."""
    questions: dict[str, Question] = field(default_factory=dict)
    allowed: list[str] = field(default_factory=list)
    """Rules that a person chose while it ran."""
    controls: list[e.ControlReceived] = field(default_factory=list)
    """Received and not yet acted on."""
    warnings: list[str] = field(default_factory=list)
    left_outside: dict[str, str] = field(default_factory=dict)
    """What failed steps did outside the workspace and nobody undid."""
    outcome: Outcome | None = None
    answers: dict[str, str] = field(default_factory=dict)
    """Questions that were answered: where the same one finds its answer again."""
    last_question: dict[str, str] = field(default_factory=dict)
    """By step: the newest of them."""
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    active_seconds: float = 0.0
    started_at: float = 0.0
    updated_at: float = 0.0
    seq: int = 0

    # -- what people ask of it ------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        # Short, because asyncio makes one of what a program's main task returns, and a run may have thousands of steps.
        return f"<RunState {self.run_id} {self.stage}, {len(self.steps)} steps, event {self.seq}>"

    @property
    def orchestration(self) -> OrchestrationState:
        return ORCHESTRATION[self.stage]

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.output_tokens

    @property
    def open_questions(self) -> list[Question]:
        return [q for q in self.questions.values() if q.answer is None]

    def step(self, step_id: str) -> ExecutionStep:
        return self.steps[step_id].step

    @property
    def phase(self) -> Phase:
        if self.stage is Stage.FAILED or (self.outcome and self.stage is not Stage.COMPLETED):
            reason = self.outcome.summary if self.outcome else self.stage_reason
            return ExecutionPhase.Failed(failed_at=self._phase_of(self.failed_at or self.stage), reason=reason)
        return self._phase_of(self.before_waiting if self.stage is Stage.WAITING else self.stage)

    def _phase_of(self, stage: Stage) -> Phase:
        match stage:
            case Stage.UNDERSTANDING:
                return ExecutionPhase.Understanding()
            case Stage.APPROACH:
                return ExecutionPhase.Approach()
            case Stage.PLANNING:
                return ExecutionPhase.Planning()
            case Stage.VALIDATION:
                return ExecutionPhase.Validation()
            case Stage.COMPLETED:
                return ExecutionPhase.Completed()
        return ExecutionPhase.Execution(current_step=max(self.begun - 1, 0), total_steps=len(self.steps))

    def as_plan(self) -> SequentialExecutionPlan:
        ended = self.outcome is not None
        return SequentialExecutionPlan(
            task_id=self.run_id,
            current_phase=self.phase,
            understanding=self.understanding,
            approach=self.approach,
            plan=self.planning and self.planning.with_(output=self.plan),
            execution_history=tuple(self.history),
            final_validation=self.validation,
            outcome=self.outcome,
            started_at=_when(self.started_at),
            updated_at=_when(self.updated_at),
            completed_at=_when(self.updated_at) if ended else None,
            config=self.config,
        )


def _when(at: float) -> datetime:
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

"""A run: its phases, its plan, its steps, what it waits for, what it has used."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from surefoot import events as e
from surefoot.config import ExecutionConfig
from surefoot.machine import ORCHESTRATION, OrchestrationState, Stage
from surefoot.outcome import (
    ApproachOutput,
    ExecutionPhase,
    Outcome,
    Phase,
    PhaseResult,
    SequentialExecutionPlan,
    UnderstandingOutput,
    ValidationOutput,
)
from surefoot.plan import DetailedPlan, ExecutionStep
from surefoot.state.history import History, when
from surefoot.state.step import Action, StepRun
from surefoot.task import Task


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
            started_at=when(self.started_at),
            updated_at=when(self.updated_at),
            completed_at=when(self.updated_at) if ended else None,
            config=self.config,
        )


class ActionResults(Mapping[str, str]):
    """Where to find in full what actions gave, by their id (`step.a7`): a hash, or the id itself when the summary is
    all there is."""

    __slots__ = ("_state",)

    def __init__(self, state: RunState) -> None:
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

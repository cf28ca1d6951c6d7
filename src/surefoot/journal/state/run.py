"""The state of a run: phases, plan, steps, open questions, usage."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from surefoot.config.flat_price import recorded_cost
from surefoot.config.model import ExecutionConfig
from surefoot.core.outcome import CheckResult, Outcome
from surefoot.core.phases import (
    ApproachOutput,
    ExecutionPhase,
    Phase,
    PhaseResult,
    PhaseStatus,
    UnderstandingOutput,
    ValidationOutput,
    phase_of,
)
from surefoot.core.plan import DetailedPlan, ExecutionStep
from surefoot.core.proof import SuiteCounts
from surefoot.core.questions import Question
from surefoot.core.task import Task
from surefoot.core.transitions import (
    ORCHESTRATION,
    READY,
    OrchestrationState,
    Stage,
    StepStatus,
    condition_met,
)
from surefoot.journal import events as e
from surefoot.journal.state.conversation import Conversation
from surefoot.journal.state.history import History, to_datetime
from surefoot.journal.state.step import Action, FailedAnswer, StepRun
from surefoot.journal.undone import UndoHistory, Undone
from surefoot.results import SequentialExecutionPlan, StepState


@dataclass(slots=True, repr=False)
class RunState:
    run_id: str = ""
    task: Task | None = None
    config: ExecutionConfig = field(default_factory=ExecutionConfig)
    model: str = ""
    model_address: str = ""
    """The spec of the model, if it is named by an address. Empty in older journals, and if it has credentials."""
    stage: Stage = Stage.UNDERSTANDING
    stage_reason: str = ""
    before_waiting: Stage = Stage.UNDERSTANDING
    failed_at: Stage | None = None
    snapshot: str = ""
    remote: bool = False
    """Whether workers drive the run, perhaps on several machines."""
    based_on: str = ""
    """The run whose earlier phases this one reuses."""
    interruption: e.RunInterrupted | None = None
    """How the run was interrupted; None if it was not, or was resumed since."""
    left: str = ""
    """The workspace as the run left it when it last stopped; empty while it goes on, and if that is not recorded."""
    by_others: set[str] = field(default_factory=set)
    """The paths that somebody else changed while the run had stopped."""
    context: e.ContextGiven | None = None
    """The context from the earlier run that this one continues."""
    protected: tuple[str, ...] = ()
    """As in `RunCreated`."""
    red_at_start: set[str] = field(default_factory=set)
    """Keys of the task's checks that failed before the run. Only these can prove the task."""
    counts_at_start: dict[str, SuiteCounts] = field(default_factory=dict)
    """By key of a check of the task: how many tests it ran before the run."""
    results_before: tuple[CheckResult, ...] = ()
    """The results of the task's checks before the run."""
    checked_before: bool = False
    """Whether the task's checks ran before the first action, or can no longer do so."""
    understanding: PhaseResult[UnderstandingOutput] | None = None
    approach: PhaseResult[ApproachOutput] | None = None
    planning: PhaseResult[DetailedPlan] | None = None
    validation: PhaseResult[ValidationOutput] | None = None
    plan: DetailedPlan | None = None
    """The current plan, with its revisions."""
    steps: dict[str, StepRun] = field(default_factory=dict)
    depends_on: dict[str, list[str]] = field(default_factory=dict)
    """The steps that each step depends on."""
    started_steps: int = 0
    """How many steps were ever started. A counter like `unsettled`, because a plan may have ten thousand steps."""
    unsettled: int = 0
    """How many steps are not settled."""
    history: History = field(default_factory=History)
    refusals: dict[str, list[str]] = field(default_factory=dict)
    """By phase: the messages of the last refusal of its gate."""
    phase_attempts: dict[str, int] = field(default_factory=dict)
    phase_started_at: dict[str, float] = field(default_factory=dict)
    failed_phases: dict[str, PhaseResult[Any]] = field(default_factory=dict)
    """By phase: the result of its last execution, if that did not pass the gate."""
    revisions: int = 0
    resets: int = 0
    """How often any step was reset for another attempt."""
    task_replan_count: int = 0
    approach_index: int = 0
    consecutive_failures: int = 0
    """Executions of steps of this plan that failed in a row. A retry counts with the execution that it retries."""
    had_candidates: bool = False
    """Whether a step of this or an earlier plan was tried with several candidates."""
    failed_answers: list[FailedAnswer] = field(default_factory=list)
    """The whole answers that failed in any plan so far."""
    running: set[str] = field(default_factory=set)
    failed: list[str] = field(default_factory=list)
    """Failed steps for which no recovery was chosen yet."""
    recovering: str = ""
    """The step of the current or last recovery."""
    tried: list[str] = field(default_factory=list)
    """Every failed attempt and its recovery, in order, including steps that a new plan dropped."""
    open_actions: dict[str, Action] = field(default_factory=dict)
    """Actions without a result yet."""
    questions: dict[str, Question] = field(default_factory=dict)
    allowed: list[str] = field(default_factory=list)
    """Approval rules that a person added during the run."""
    controls: list[e.ControlReceived] = field(default_factory=list)
    """Controls that were received and not handled yet."""
    warnings: list[str] = field(default_factory=list)
    alerts: dict[str, e.AlertStarted] = field(default_factory=dict)
    """Alerts that are neither delivered nor given up, by id."""
    touched: set[str] = field(default_factory=set)
    """The paths that actions and checks of the run changed, as far as they were observed; "." means anything."""
    undone_files: set[str] = field(default_factory=set)
    """The files that a person undid in a review. Checks that the plan or the engine made about them do not count."""
    left_outside: dict[str, str] = field(default_factory=dict)
    """Effects of failed steps outside the workspace that were not undone, by compensation id."""
    outcome: Outcome | None = None
    applied: list[e.Applied] = field(default_factory=list)
    """For a run in a copy: how its changes were applied to the original folder; empty if they are not there."""
    branch: str = ""
    """The git branch that was made for the run."""
    branched_from: str = ""
    newest_changes: str = ""
    """The newest commit before the run and the uncommitted changes, if the task speaks of changes."""
    commits: list[e.Committed] = field(default_factory=list)
    """The commits of its changes to the user's repository, in order."""
    cloned: e.Cloned | None = None
    """The repository that was cloned for the run, if any."""
    pushes: list[e.Pushed] = field(default_factory=list)
    undo_history: UndoHistory = field(default_factory=UndoHistory)
    answers: dict[str, str] = field(default_factory=dict)
    """The answers of the model, by the fingerprint of the request."""
    last_answer_key: dict[str, str] = field(default_factory=dict)
    """By step: the key of its newest entry in `answers`."""
    conversations: dict[str, Conversation] = field(default_factory=dict)
    """By id, in the order in which they were opened."""
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    """The cost of all calls whose price is known."""
    unpriced_calls: int = 0
    """Calls whose price is unknown."""
    model_calls: int = 0
    tool_calls: int = 0
    active_seconds: float = 0.0
    started_at: float = 0.0
    updated_at: float = 0.0
    seq: int = 0

    def __repr__(self) -> str:
        # Short, because asyncio formats the result of the main task, and a run may have thousands of steps.
        return f"<RunState {self.run_id} {self.stage}, {len(self.steps)} steps, event {self.seq}>"

    @property
    def orchestration(self) -> OrchestrationState:
        return ORCHESTRATION[self.stage]

    @property
    def in_progress(self) -> bool:
        """Whether the run has not ended and does not wait. A completed run has ended when its outcome is recorded."""
        return self.outcome is None and self.stage is not Stage.WAITING

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.output_tokens

    @property
    def failed_step(self) -> StepRun | None:
        """The step that recovery last worked on, unless it recovered. None if something else ended the run."""
        step_run = self.steps.get(self.recovering)
        return step_run if step_run is not None and step_run.status is StepStatus.FAILED else None

    def cost_of(self, call: e.ModelAnswered) -> float | None:
        """Return the cost of a model call in dollars; None if its price is unknown."""
        return recorded_cost(call.cost_usd, call.prompt_tokens, call.output_tokens, self.config.budget.flat_rates)

    @property
    def undone(self) -> Undone | None:
        """The undo of the run's changes, if they are undone."""
        return self.undo_history.current

    @property
    def is_outdated(self) -> bool:
        """Whether the outcome describes another tree: the run was undone since, and the checks did not run again."""
        return self.undone is not None and not self.undone.checked

    @property
    def open_questions(self) -> list[Question]:
        return [q for q in self.questions.values() if q.answer is None]

    def step(self, step_id: str) -> ExecutionStep:
        return self.steps[step_id].step

    def ready_steps(self) -> set[str]:
        """Return the pending steps whose dependencies are all met."""
        ready = {step_id for step_id, step_run in self.steps.items() if step_run.status is StepStatus.PENDING}
        for d in self.plan.dependencies if self.plan else ():
            # While recovery may still succeed, a failure decides nothing for the dependants.
            if d.depends_on in self.failed or not condition_met(d.condition, self.steps[d.depends_on].status):
                ready.discard(d.step_id)
        return ready

    def step_states(self) -> tuple[StepState, ...]:
        """Return every step with its counters and its status, which distinguishes `ready` from `pending`."""
        ready = self.ready_steps()
        return tuple(
            StepState(
                id=step_id,
                name=step_run.step.name,
                status=READY if step_id in ready else step_run.status.value,
                attempts=step_run.attempt,
                step_retry_count=step_run.step_retry_count,
                single_step_repair_count=step_run.single_step_repair_count,
                temporary_retries=step_run.temporary_retries,
                rungs=tuple(step_run.rungs),
                reflections=step_run.reflections,
            )
            for step_id, step_run in self.steps.items()
        )

    @property
    def phase(self) -> Phase:
        if self.stage is Stage.FAILED or (self.outcome and self.stage is not Stage.COMPLETED):
            reason = self.outcome.summary if self.outcome else self.stage_reason
            return ExecutionPhase.Failed(failed_at=self._phase_of(self.failed_at or self.stage), reason=reason)
        return self._phase_of(self.before_waiting if self.stage is Stage.WAITING else self.stage)

    def _phase_of(self, stage: Stage) -> Phase:
        return phase_of(stage, started_steps=self.started_steps, total_steps=len(self.steps))

    def as_plan(self) -> SequentialExecutionPlan:
        ended = self.outcome is not None
        return SequentialExecutionPlan(
            task_id=self.run_id,
            current_phase=self.phase,
            understanding=phase_result(self, Stage.UNDERSTANDING),
            approach=phase_result(self, Stage.APPROACH),
            plan=phase_result(self, Stage.PLANNING),
            execution_history=tuple(self.history),
            steps=self.step_states(),
            task_replan_count=self.task_replan_count,
            consecutive_failures=self.consecutive_failures,
            approach_index=self.approach_index,
            final_validation=phase_result(self, Stage.VALIDATION),
            outcome=self.outcome,
            started_at=to_datetime(self.started_at),
            updated_at=to_datetime(self.updated_at),
            completed_at=to_datetime(self.updated_at) if ended else None,
            config=self.config,
        )


_ORDER = (Stage.UNDERSTANDING, Stage.APPROACH, Stage.PLANNING, Stage.EXECUTION, Stage.VALIDATION)


def phase_result(state: RunState, stage: Stage) -> PhaseResult[Any] | None:
    """Return the current result of a phase, even if it has failed, is running, waits for a person, or is still to come.
    None: this run does not have the phase."""
    result: PhaseResult[Any] | None
    match stage:
        case Stage.UNDERSTANDING:
            result = state.understanding
        case Stage.APPROACH:
            result = state.approach
        case Stage.PLANNING:
            result = state.planning and state.planning.with_(output=state.plan)
        case _:
            result = state.validation
    if failed := state.failed_phases.get(stage.value):
        # A new plan that was refused leaves the old one in place.
        return failed.with_(output=state.plan) if stage is Stage.PLANNING and state.plan else failed
    if state.stage is Stage.WAITING and state.before_waiting is stage:
        return (result or _begun(state, stage)).with_(status=PhaseStatus.AWAITING_CONFIRMATION)
    if state.stage is stage and (result is None or stage is Stage.VALIDATION):
        return _begun(state, stage)
    return result or _pending(state, stage)


def _begun(state: RunState, stage: Stage) -> PhaseResult[Any]:
    return PhaseResult[Any](
        phase=phase_of(stage, started_steps=0, total_steps=0),
        status=PhaseStatus.RUNNING,
        executed_at=to_datetime(state.phase_started_at.get(stage.value, state.updated_at)),
        retry_count=state.phase_attempts.get(stage.value, 0),
    )


def _pending(state: RunState, stage: Stage) -> PhaseResult[Any] | None:
    """Return a pending result for a phase after the current one; None for any other, or if the run is completed."""
    halted = {Stage.WAITING: state.before_waiting, Stage.FAILED: state.failed_at or state.stage}
    current = halted.get(state.stage, state.stage)
    current = Stage.EXECUTION if current is Stage.RECOVERY else current
    if state.stage is Stage.COMPLETED or current not in _ORDER or _ORDER.index(stage) <= _ORDER.index(current):
        return None
    phase = phase_of(stage, started_steps=0, total_steps=0)
    return PhaseResult[Any](phase=phase, status=PhaseStatus.PENDING, executed_at=to_datetime(state.started_at))


class ActionResults(Mapping[str, str]):
    """The complete outputs of actions, by action id (`step.a7`): the hash of a blob, or the id itself if the summary is
    the complete output."""

    __slots__ = ("_state",)

    def __init__(self, state: RunState) -> None:
        self._state = state

    def __getitem__(self, action_id: str) -> str:
        return self._find(action_id).output or action_id

    def inline(self, key: str) -> bytes:
        """Return the content if `key` is the id of an action; empty if it is a hash."""
        return self._find(key).summary.encode() if key in self else b""

    def _find(self, action_id: str) -> Action:
        for action in self._state.steps[action_id.rpartition(".")[0]].actions:
            if action.id == action_id and action.ok is not None:
                return action
        raise KeyError(action_id)

    def __iter__(self) -> Iterator[str]:
        step_runs = self._state.steps.values()
        return (action.id for step_run in step_runs for action in step_run.actions if action.ok is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

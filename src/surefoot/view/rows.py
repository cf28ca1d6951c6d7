"""The rows of a run as the protocol sends them, and the messages of the server. Types only.

`python -m surefoot.server.typescript` writes them as TypeScript for the page. The OpenAPI description uses them too.
Times are seconds since the epoch. Texts are plain text without known secrets, never HTML.
"""

from typing import Any, Literal, TypeAlias

from typing_extensions import TypedDict

from surefoot.core.phases import PhaseStatus
from surefoot.core.proof import ProofLetter
from surefoot.core.transitions import OrchestrationState, RunStatus, StepStatus

PROTOCOL = 1
"""The version of the protocol. Fields may be added to a version; anything else needs a new one."""


class Tokens(TypedDict):
    prompt: int
    output: int
    cached: int


class Limits(TypedDict):
    tokens: int | None
    cost_usd: float | None
    seconds: float | None
    tool_calls: int | None


class Calls(TypedDict):
    model: int
    tool: int


class Counter(TypedDict):
    value: int
    max: int


class Counters(TypedDict):
    step_retry_count: Counter
    single_step_repair_count: Counter
    task_replan_count: Counter
    consecutive_failures: Counter


class StepCounts(TypedDict):
    total: int
    done: int
    failed: int
    running: int
    waiting: int
    skipped: int
    healed: int


class Now(TypedDict):
    """What is being done at the moment."""

    step: str | None
    action: str | None
    text: str
    since: float


class NextTry(TypedDict):
    """The next try of something that failed, after a wait."""

    at: float
    what: Literal["model", "step"]
    """A call of the model, or a step."""
    step: str | None
    number: int
    """The number of the next try, from 1."""
    of: int


class DiagnosisRow(TypedDict):
    what_failed: str
    cause: str
    """A stable name for a problem with the set-up, such as key_rejected; empty for any other failure."""
    root_cause: str
    evidence: str
    tried: list[str]
    left_behind: list[str]
    left_outside: list[str]
    next_steps: list[str]


Colour: TypeAlias = Literal["red", "green"]
"""A check that fails is red, one that passes is green."""


class RunRow(TypedDict):
    key: Literal["run"]
    kind: Literal["run"]
    id: str
    title: str
    task: str
    folder: str
    model: str
    strategy: str | None
    stage: str
    state: OrchestrationState
    status: RunStatus
    verdict: str | None
    exit_code: int | None
    proof: ProofLetter | None
    summary: str
    reason: str
    started_at: float
    updated_at: float
    ended_at: float | None
    active_seconds: float
    tokens: Tokens
    cost_usd: float | None
    """None if the price of a call is not known."""
    limits: Limits
    calls: Calls
    counters: Counters
    revisions: int
    open_questions: int
    steps: StepCounts
    now: Now | None
    next_try: NextTry | None
    """None if nothing waits for another try."""
    live: bool
    """Whether a process is driving the run."""
    diagnosis: DiagnosisRow | None
    forked_from: str | None
    warnings: list[str]
    seq: int


class PhaseRow(TypedDict):
    key: str
    kind: Literal["phase"]
    name: Literal["understanding", "approach", "planning", "execution", "validation"]
    status: PhaseStatus
    confidence: float | None
    messages: list[str]
    warnings: list[str]
    suggestions: list[str]
    started_at: float | None
    duration_ms: int | None
    retry_count: int
    output: dict[str, Any] | None
    reason: str


class CheckRow(TypedDict):
    label: str
    before: Colour | None
    now: Colour | None
    decisive: bool


# Written as a call, because `from` is a keyword of Python.
Bar = TypedDict("Bar", {"from": float, "to": float | None, "outcome": Literal["ok", "failed", "running", "waiting"]})
"""A time span of a step. `to` is None while it goes on."""


class StepRow(TypedDict):
    key: str
    kind: Literal["step"]
    id: str
    sequence: int
    name: str
    description: str
    type: str
    status: StepStatus
    ready: bool
    """Whether it may start now: it is pending, and every step that it needs has ended."""
    needs: list[str]
    critical: bool
    priority: int
    healed: bool
    """Whether it failed and succeeded later."""
    attempt: int
    max_attempts: int
    started_at: float | None
    ended_at: float | None
    reason: str
    files: list[str]
    tool_files: int
    """How many more files of version control and of tools were changed, which are not in `files`."""
    expected_outputs: list[str]
    milestone: str | None
    estimated_minutes: int
    revision_added: int
    revision_removed: int | None
    checks: list[CheckRow]
    bars: list[Bar]
    rungs: list[str]
    degraded: bool
    proven: bool | None


class FailureRow(TypedDict):
    category: str
    message: str


class ReflectionRow(TypedDict):
    category: str
    root_cause: str
    confidence: float
    suggested_fix: str


class TryUsage(TypedDict):
    """What an attempt has used, including the calls about its failure."""

    calls: int
    tokens: Tokens
    cost_usd: float | None
    """None if the price of a call is not known."""
    recovery_seconds: float
    """The time of the calls that were made after the attempt had ended."""


class RedLook(TypedDict):
    """Checks that were red when the model said that the step was done. The model went on in the same attempt."""

    at: float
    checks: list[str]
    detail: str


class TryRow(TypedDict):
    key: str
    kind: Literal["try"]
    step: str
    number: int
    status: StepStatus
    started_at: float
    ended_at: float | None
    failure: FailureRow | None
    reflection: ReflectionRow | None
    rung: str | None
    rolled_back: bool
    red_looks: list[RedLook]
    usage: TryUsage


class _ActionFields(TypedDict):
    key: str
    kind: Literal["action"]
    id: str
    step: str
    tool: str
    title: str
    status: Literal["running", "ok", "failed", "refused", "interrupted"]
    started_at: float
    ended_at: float | None
    summary: str
    changed: list[str]
    """Without files of version control and of tools, which the row of the step counts."""
    output_blob: str | None


# Written as a call, because `try` is a keyword of Python.
_ActionTry = TypedDict("_ActionTry", {"try": int})


class ActionRow(_ActionFields, _ActionTry):
    """A tool call. `try` is the number of the attempt that it belongs to."""


class OptionRow(TypedDict):
    value: str
    """What to send as the answer. `edit: ` is followed by the changed text."""
    label: str
    key: str
    danger: bool


class QuestionRow(TypedDict):
    key: str
    kind: Literal["question"]
    id: str
    qkind: str
    text: str
    why: str
    options: list[OptionRow]
    command: str | None
    diff: str | None
    hash: str
    """The hash of exactly what is shown. An answer with another `expectHash` is refused."""
    step: str | None
    asked_at: float
    times_out_at: float | None
    answer: str | None
    answered_by: str | None
    draft_blob: str | None
    """The text that the answer `edit: TEXT` replaces."""


class RevisionRow(TypedDict):
    key: str
    kind: Literal["revision"]
    number: int
    at: float
    reason: str
    added: list[str]
    changed: list[str]
    removed: list[str]
    by: str


Row: TypeAlias = RunRow | PhaseRow | StepRow | TryRow | ActionRow | QuestionRow | RevisionRow


# -- messages of the server -----------------------------------------------------------------------------------------


class RunSnapshot(TypedDict):
    v: int
    run: str
    seq: int
    rows: list[Row]


class RunRows(TypedDict):
    v: int
    run: str
    after: int
    upto: int
    upserts: list[Row]
    removed: list[str]


class RunsSnapshot(TypedDict):
    v: int
    rows: list[RunRow]


class RunsRows(TypedDict):
    v: int
    upserts: list[RunRow]
    removed: list[str]


class StreamText(TypedDict):
    """Text that is being written. It is not in the journal, and may be dropped. `id` names the answer or the command
    (for a tool call the key of its row). `offset` is the number of its characters before this piece. A `call` says
    which call the model is writing, and replaces the last one."""

    v: int
    run: str
    id: str
    step: str
    kind: Literal["text", "output", "call"]
    offset: int
    text: str


class RunError(TypedDict):
    """A run that is watched cannot be read at the moment. The next rows of the run mean that it can be read again."""

    v: int
    run: str
    message: str


class Beat(TypedDict):
    at: float


class Accepted(TypedDict):
    """The command was taken up. `seq` is the number of the event that records it."""

    accepted: Literal[True]
    seq: int


class Queued(TypedDict):
    """The command waits until the run reads it. The same command again returns its outcome. `seq` is the number of the
    last event when it was sent."""

    queued: Literal[True]
    seq: int
    reason: str


class Refused(TypedDict):
    refused: Literal[True]
    reason: str


class ErrorBody(TypedDict):
    code: str
    message: str
    remedy: str


class ErrorAnswer(TypedDict):
    error: ErrorBody

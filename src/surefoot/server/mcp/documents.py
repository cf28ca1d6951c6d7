"""The arguments and the structured results of the server's tools."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from surefoot.core.transitions import RunStatus
from surefoot.tools.fs.tool_files import is_listed
from surefoot.view.labels import proof_label
from surefoot.view.making import run_row, step_counts
from surefoot.view.questions import question_row
from surefoot.view.state import RunView

_RUN = "The id of the run, or its beginning."


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RunArguments(_Arguments):
    """Carry out a task in the folder of this server: plan, work in a sandbox, and prove the result with checks. Returns
    when the run has ended, or when it waits for an answer. Failed work is undone. Give a check whenever you can: only a
    command that fails now and passes afterwards makes the result verified (proof A)."""

    task: str = Field(min_length=1, description="What to do, in plain words.")
    checks: list[str] = Field(
        default=[], max_length=50, description="Commands that must succeed when the task is done, such as `pytest -q`."
    )
    continues: str = Field(
        default="",
        description="An earlier run that this task goes on from: its results and its checks are the context.",
    )
    plan_only: bool = Field(default=False, description="Make the plan and change nothing.")
    wait: bool = Field(default=True, description="False: return as soon as the run has started; see `status`.")


class StatusArguments(_Arguments):
    """Show a run: its status, steps, level of proof, changed files and open questions."""

    run: str = Field(description=_RUN)


class AnswerArguments(_Arguments):
    """Answer a question of a waiting run, and continue it. An approval lets the run do exactly what the question shows:
    answer it with the user's own decision, not with yours."""

    run: str = Field(description=_RUN)
    question: str = Field(default="", description="The id of the question; not needed if there is only one.")
    answer: str = Field(min_length=1, description="One of the question's options, or text if it has none.")
    wait: bool = Field(default=True, description="False: return as soon as the answer is taken up.")


class DiffArguments(_Arguments):
    """Show what a run, or one of its steps, changed: a unified diff."""

    run: str = Field(description=_RUN)
    step: str = Field(default="", description="The id or number of a step; empty for the whole run.")


class UndoArguments(_Arguments):
    """Put the files back as they were before a run, or before one of its steps. Later edits of other files are kept;
    files that were changed since are refused."""

    run: str = Field(description=_RUN)
    step: str = Field(default="", description="The id or number of the first step to undo; empty for the whole run.")


class CancelArguments(_Arguments):
    """Stop a run that is in progress. What its current step did is undone."""

    run: str = Field(description=_RUN)


class ListArguments(_Arguments):
    """List the runs of the folder of this server, the newest first."""

    limit: int = Field(default=20, ge=1, le=200)


class CheckRow(BaseModel):
    check: str
    passed: bool


class StepRow(BaseModel):
    id: str
    name: str
    status: str


class QuestionRow(BaseModel):
    id: str
    kind: str
    text: str
    options: list[str]
    """Empty if any text is an answer."""


class RunResult(BaseModel):
    """A run as it is now."""

    run: str
    status: RunStatus
    verdict: str | None = None
    """`verified` only if a given check failed before and passes now. None while the run has not ended, and after an
    undo."""
    proof: Literal["A", "B", "C"] | None = None
    proof_text: str = ""
    exit_code: int | None = None
    """The exit code of `surefoot run` with this result."""
    summary: str = ""
    task: str = ""
    stage: str = ""
    steps_done: int = 0
    steps: list[StepRow] = []
    checks: list[CheckRow] = []
    created: list[str] = []
    modified: list[str] = []
    deleted: list[str] = []
    tool_files: int = 0
    """How many more files of version control and of tools, such as caches, were changed."""
    warnings: list[str] = []
    left_outside: list[str] = []
    """Effects outside the folder that were not undone."""
    questions: list[QuestionRow] = []
    next: str = ""
    """What can be done now."""


class DiffResult(BaseModel):
    run: str
    diff: str
    truncated: bool = False
    tool_files: int = 0
    """How many files of version control and of tools, such as caches, are left out."""


class ListedRun(BaseModel):
    run: str
    task: str
    status: str
    verdict: str | None
    started_at: float


class RunList(BaseModel):
    folder: str
    runs: list[ListedRun]


def run_result(view: RunView) -> RunResult:
    row, state = run_row(view), view.state
    # After an undo, the result that was judged is gone: neither the verdict nor the proof counts.
    outcome = state.outcome if state.undone is None else None
    questions = [question_row(state, question.id) for question in state.open_questions]
    return RunResult(
        run=row["id"],
        status=row["status"],
        verdict=row["verdict"] if outcome else None,
        proof=row["proof"] if outcome else None,
        proof_text=proof_label(outcome.proof, (c.check.origin for c in outcome.checks))
        if outcome and row["proof"]
        else "",
        exit_code=row["exit_code"] if outcome else None,
        summary=row["summary"] or row["reason"],
        task=row["task"],
        stage=row["stage"],
        steps_done=step_counts(state)["done"],
        steps=[StepRow(id=s, name=r.step.name, status=str(r.status)) for s, r in state.steps.items()],
        checks=[CheckRow(check=c.check.label, passed=c.passed) for c in outcome.checks] if outcome else [],
        created=[path for path in outcome.generated_files if is_listed(path)] if outcome else [],
        modified=[path for path in outcome.modified_files if is_listed(path)] if outcome else [],
        deleted=[path for path in outcome.deleted_files if is_listed(path)] if outcome else [],
        tool_files=sum(not is_listed(path) for path in outcome.changed_files) if outcome else 0,
        warnings=row["warnings"],
        left_outside=list(outcome.left_outside) if outcome else [],
        questions=[
            QuestionRow(id=q["id"], kind=q["qkind"], text=q["text"], options=[o["value"] for o in q["options"]])
            for q in questions
        ],
        next=_next(row["id"], row["status"], bool(questions)),
    )


def _next(run_id: str, status: RunStatus, has_questions: bool) -> str:
    if has_questions:
        return f"ask the user, then call the tool answer with run {run_id}; or: surefoot answer {run_id}"
    return {
        "running": f"call the tool status with run {run_id}",
        "queued": f"a worker takes it up; call the tool status with run {run_id}",
        "plan": f"carry it out: surefoot run --plan {run_id}; change it first: surefoot edit {run_id}",
        "done": f"see its changes with the tool diff; the tool undo reverts them; or: surefoot show {run_id}",
        "undone": f"nothing: its changes were undone; see: surefoot show {run_id}",
        "failed": f"see why: surefoot show {run_id}; continue with: surefoot resume {run_id}",
    }.get(status, f"continue with: surefoot resume {run_id}")

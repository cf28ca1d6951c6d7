"""The state of the graph: a summary of a run for programs. The journal has the full run."""

from typing import Annotated, Any

from typing_extensions import TypedDict

from surefoot.core.questions import Question, expected
from surefoot.core.transitions import HAS_RESULT
from surefoot.journal.redact import Redactor
from surefoot.journal.redacted_values import exported
from surefoot.journal.state import RunState
from surefoot.view.messages import task_list
from surefoot.view.state import RunView

KEPT_ARTIFACTS = 10
"""How many artifacts stay in the state. Older ones are in the journal."""


class ArtifactItem(TypedDict):
    """The result of a step."""

    id: str
    """`RUN/STEP@ATTEMPT`."""
    step_id: str
    name: str
    summary: str
    outputs: dict[str, Any] | None
    """None if they are too long for the state; in that case they are in the journal, in the blob `hash`."""
    hash: str
    degraded: bool
    """Whether this is the fallback that the plan declared."""
    expires_at: float | None


class QuestionItem(TypedDict):
    """A question in the value of an interrupt."""

    id: str
    kind: str
    text: str
    options: list[str]
    expected: str
    """A description of the possible answers."""
    draft: str
    step_id: str


def merge_artifacts(known: list[ArtifactItem] | None, new: list[ArtifactItem] | None) -> list[ArtifactItem]:
    """Add new artifacts, each once, and keep the newest."""
    merged = {item["id"]: item for item in [*(known or ()), *(new or ())]}
    return list(merged.values())[-KEPT_ARTIFACTS:]


class SurefootInput(TypedDict, total=False):
    """The input of the graph: a task, or the id of a run to continue."""

    task: str
    checks: list[str]
    """Commands that must succeed at the end."""
    given_run_id: str
    """The id of an existing run to continue; or, with a task, the id for the new run."""


class SurefootOutput(TypedDict, total=False):
    """The output of the graph."""

    run_id: str
    seq: int
    """The number of the last event that this state includes."""
    stage: str
    task_list: dict[str, Any]
    """The plan with the status of each step: id, sessionId, topic, tasks, currentStage."""
    artifacts: Annotated[list[ArtifactItem], merge_artifacts]
    outcome: dict[str, Any] | None
    """Verdict, summary, proof, checks, changed files; None before the end."""


class SurefootState(SurefootInput, SurefootOutput, total=False):
    run_checks: list[str]
    """The checks of this run. `checks` itself is cleared, because the next input of the thread may have none."""
    ready: list[str]
    """The steps that the scheduler chose."""
    questions: list[QuestionItem]
    """The questions that the run waits for."""
    problem: str
    """Why the last answer was not accepted."""
    go_on_at: int
    """The number of the last event of a halted run that may continue; 0 otherwise."""
    next: str
    """The node that comes next."""


def update_of(state: RunState, redactor: Redactor) -> dict[str, Any]:
    """The values of the graph's state that come from a run."""
    listed = {**task_list(RunView(state=state)), "id": f"{state.run_id}.{state.revisions}"}
    outcome = state.outcome
    return {
        "run_id": state.run_id,
        "seq": state.seq,
        "stage": state.stage.value,
        "task_list": listed if state.plan else {},
        "artifacts": _artifacts(state),
        "outcome": {**exported(outcome, redactor), "exit_code": outcome.exit_code} if outcome else None,
        "ready": [],
        "questions": [],
        "problem": "",
    }


def _artifacts(state: RunState) -> list[ArtifactItem]:
    items: list[ArtifactItem] = []
    for step_id, step_run in state.steps.items():
        artifact = step_run.artifact if step_run.status in HAS_RESULT else None
        if artifact is None:
            continue
        items.append(
            {
                "id": f"{state.run_id}/{artifact.id}",
                "step_id": step_id,
                "name": step_run.step.name,
                "summary": artifact.summary,
                "outputs": None if artifact.hash else step_run.outputs,
                "hash": artifact.hash,
                "degraded": artifact.degraded,
                "expires_at": artifact.expires_at,
            }
        )
    return items


def question_item(question: Question, redactor: Redactor) -> QuestionItem:
    return {
        "id": question.id,
        "kind": question.kind,
        "text": redactor.redact_known(question.text),
        "options": list(question.options),
        "expected": expected(question),
        "draft": question.draft,
        "step_id": question.step_id,
    }

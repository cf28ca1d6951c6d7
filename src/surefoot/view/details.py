"""The details of a step: its proofs, its artifact, its log. Pure."""

from surefoot.core.outcome import CheckResult
from surefoot.errors import UsageError
from surefoot.journal.redact import Redactor
from surefoot.journal.redacted_values import redacted_for_display
from surefoot.journal.state import StepRun
from surefoot.view.documents import ArtifactRow, ProofRow, StepDetail
from surefoot.view.making import build
from surefoot.view.state import RunView
from surefoot.view.steps import try_row


def step_detail(view: RunView, step_id: str, redactor: Redactor) -> StepDetail:
    """A step with its attempts and actions. Raises UsageError if the run has no such step."""
    step_run = view.state.steps.get(step_id)
    if step_run is None and step_id not in view.gone:
        raise UsageError(f"run {view.state.run_id} has no step {step_id!r}")
    return {
        "step": build(view, f"step:{step_id}"),
        "attempts": [try_row(view, step_id, str(tried.number)) for tried in view.tries.get(step_id, [])],
        "actions": [row for row in view.actions.values() if row["step"] == step_id],
        "proofs": step_proofs(step_run, redactor) if step_run else [],
        "artifacts": step_artifacts(step_run, redactor) if step_run else [],
        "log": step_log(step_run) if step_run else "",
    }


def step_proofs(step_run: StepRun, redactor: Redactor) -> list[ProofRow]:
    red = {result.check.key for result in step_run.results_before if not result.passed}
    return [proof_row(result, result.check.key in red, redactor) for result in step_run.results]


def proof_row(result: CheckResult, red_before: bool, redactor: Redactor) -> ProofRow:
    return {
        "label": result.check.label,
        "passed": result.passed,
        "red_before": red_before,
        "detail": redactor.redact(result.detail),
        "exit_code": result.exit_code,
        "output_hash": result.output_hash,
        "duration_ms": result.duration_ms,
        "reused": result.reused,
    }


def step_artifacts(step_run: StepRun, redactor: Redactor) -> list[ArtifactRow]:
    if step_run.artifact is None:
        return []
    artifact = redacted_for_display(step_run.artifact, redactor)
    return [
        {
            "id": artifact.id,
            "kind": artifact.kind,
            "hash": artifact.hash,
            "size": artifact.size,
            "summary": artifact.summary,
        }
    ]


def step_log(step_run: StepRun) -> str:
    return "\n".join(step_run.output.logs) if step_run.output else ""

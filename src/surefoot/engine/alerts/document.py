"""The document that an alert sends, and its JSON schema."""

from typing import Any, Literal

from pydantic import Field

from surefoot._version import __version__
from surefoot.config.model import AlertOccasion
from surefoot.core.outcome import Diagnosis, Outcome, Verdict
from surefoot.core.values import FreeText, Value, Wording
from surefoot.journal.redact import Redactor
from surefoot.journal.redacted_values import exported
from surefoot.journal.state import RunState

SCHEMA_VERSION: Literal[1] = 1
"""Fields may be added to a version; anything else needs a new one."""
MAX_CHARS = 4_000
"""The longest text in an alert. Longer ones are cut, and end with `…`."""
MAX_LISTED = 20


class FailedStep(Value):
    id: str
    name: Wording
    attempts: int
    kind: str
    message: FreeText


class OpenQuestion(Value):
    id: str
    kind: str
    text: FreeText


class Tokens(Value):
    prompt: int
    cached: int
    output: int


class Alert(Value):
    version: Literal[1] = SCHEMA_VERSION
    id: str = Field(description="the same when the same alert is sent again")
    on: AlertOccasion
    at: float = Field(description="when the run came to this, in seconds since the epoch")
    run_id: str
    task: FreeText
    folder: str
    model: Wording
    verdict: Verdict
    level: Literal["A", "B", "C"] = Field(description="the level of proof")
    exit_code: int
    summary: FreeText
    diagnosis: Diagnosis | None = None
    failed_step: FailedStep | None = None
    questions: tuple[OpenQuestion, ...] = Field(default=(), description="what the run waits for")
    seconds: float = Field(description="time spent working")
    tokens: Tokens
    cost_usd: float | None = Field(default=None, description="null if the price of a call is unknown")
    link: str | None = Field(default=None, description="the run on the page, without a token; null: no page is set")
    surefoot: str = __version__


def alert_document(
    state: RunState,
    outcome: Outcome,
    occasion: AlertOccasion,
    redactor: Redactor,
    *,
    alert_id: str,
    at: float,
    page: str | None,
) -> dict[str, Any]:
    """Describe the end of a run, without secrets. `state` is the run right before `outcome` is recorded."""
    assert state.task is not None
    alert = Alert(
        id=alert_id,
        on=occasion,
        at=at,
        run_id=state.run_id,
        task=state.task.text,
        folder=state.task.workspace,
        model=state.model,
        verdict=outcome.verdict,
        level=outcome.proof.letter,
        exit_code=outcome.exit_code,
        summary=outcome.summary,
        diagnosis=outcome.diagnosis,
        failed_step=_failed_step(state),
        questions=tuple(OpenQuestion(id=q.id, kind=q.kind, text=q.text) for q in state.open_questions),
        seconds=round(state.active_seconds, 3),
        tokens=Tokens(prompt=state.prompt_tokens, cached=state.cached_tokens, output=state.output_tokens),
        cost_usd=None if state.unpriced_calls else round(state.cost_usd, 6),
        link=f"{page.rstrip('/')}/#/run/{state.run_id}" if page else None,
    )
    # Secrets are removed before anything is cut, so that no part of one remains.
    return {name: _bounded(value) for name, value in exported(alert, redactor).items()}


def _failed_step(state: RunState) -> FailedStep | None:
    step_run = state.failed_step
    if step_run is None or not step_run.failures:
        return None
    failure = step_run.failures[-1]
    return FailedStep(
        id=step_run.step.id,
        name=step_run.step.name,
        attempts=step_run.attempt,
        kind=failure.kind,
        message=failure.message,
    )


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= MAX_CHARS else value[: MAX_CHARS - 1] + "…"
    if isinstance(value, list):
        return [_bounded(item) for item in value[:MAX_LISTED]]
    return {key: _bounded(item) for key, item in value.items()} if isinstance(value, dict) else value


def alert_schema() -> dict[str, Any]:
    """Return the JSON schema of an alert. A newer Surefoot may add fields, so unknown ones are allowed."""
    schema = Alert.model_json_schema(mode="serialization")
    for definition in (schema, *schema.get("$defs", {}).values()):
        definition.pop("additionalProperties", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "An alert of Surefoot",
        "version": SCHEMA_VERSION,
    }

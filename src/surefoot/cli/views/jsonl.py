"""A run as JSON lines for programs: one object per event, and the outcome as the last line."""

import contextlib
import json
from typing import Any, TextIO

from surefoot.cli.report.hiding import as_json, redactor
from surefoot.cli.report.usage import usage_of_state
from surefoot.cli.views.error_line import problem_schema
from surefoot.cli.views.watcher import LineWatcher
from surefoot.core.outcome import Outcome, Verdict, count_checks
from surefoot.core.questions import times_out_at
from surefoot.journal import events as e
from surefoot.journal.events.aliases import alias_fields
from surefoot.journal.run_status import is_plan, status_of
from surefoot.journal.state import RunState
from surefoot.view.questions import open_points


class JsonLines(LineWatcher):
    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def on_record(self, record: e.Record) -> None:
        self.follower.on_record(record)
        self.write(as_object(record))

    def on_call(self, tool: str, subject: str) -> None:
        """Write a line while the model is writing a call. It is not an event of the run and has no `seq`."""
        self.write({"type": "writing", "tool": tool, "subject": redactor().redact_known(subject)})

    def write(self, item: dict[str, Any]) -> None:
        # The run continues when nobody reads the output; the journal has everything. ASCII is safe in every
        # terminal and pipe, and cannot contain control characters.
        with contextlib.suppress(OSError):
            print(json.dumps(item), file=self._stream, flush=True)


def as_object(record: e.Record) -> dict[str, Any]:
    """The fields of the event, with `seq` and `at`, and for some events `alias` and `state`.

    Without these four the object can be parsed as the event.
    """
    return {"seq": record.seq, "at": record.at, **alias_fields(record.event), **as_json(record.event)}


def outcome_object(state: RunState, verdict: Verdict, exit_code: int | None = None) -> dict[str, Any]:
    """The last line. `exit_code` is the exit code of the process, if it differs from that of the verdict."""
    outcome = state.outcome or Outcome(verdict=verdict, summary=state.stage_reason)
    limit = state.config.question_timeout_seconds
    hide = redactor().redact_known
    questions = [
        {"id": q.id, "kind": q.kind, "text": hide(q.text), "options": q.options, "times_out_at": times_out_at(q, limit)}
        for q in state.open_questions
    ]
    return {
        "type": "outcome",
        "run_id": state.run_id,
        "state": state.orchestration,
        "status": status_of(state, live=False),
        "exit_code": outcome.exit_code if exit_code is None else exit_code,
        **as_json(outcome),
        "proof_level": outcome.proof.letter,
        "diagnosis_text": hide(outcome.diagnosis.as_text()) if outcome.diagnosis else None,
        "check_count": count_checks(outcome.checks)._asdict(),
        "open_points": [point._replace(question=hide(point.question)).as_object() for point in open_points(state)],
        "questions": questions,
        **usage_of_state(state).as_object(),
        "seconds": round(state.active_seconds, 3),
        "undone": state.undone.as_object() if state.undone else None,
        **({"plan": as_json(state.plan)} if state.plan and is_plan(state) else {}),
        "branch": state.branch or None,
        "commits": [as_json(commit) for commit in state.commits],
    }


SCHEMA_VERSION = 1
"""The version of the line format. Fields and event types may be added to it; any other change needs a new version."""


def line_schema() -> dict[str, Any]:
    """The JSON schema of one line: an event with its number and time, the final outcome, or an error."""
    event = e.event_adapter.json_schema(ref_template="#/$defs/{model}")
    definitions = event.pop("$defs")
    stamp = {"seq": {"type": "integer"}, "at": {"type": "number", "description": "seconds since the epoch"}}
    for kind in (cls.__name__ for cls in e.KINDS):
        definitions[kind]["properties"] = {**stamp, **definitions[kind]["properties"]}
        definitions[kind]["required"] = ["seq", "at", "type", *definitions[kind].get("required", [])]
        # A newer version may add fields.
        definitions[kind]["additionalProperties"] = True
    definitions["OutcomeLine"] = _line("outcome", "run_id", "exit_code", "verdict", "summary", "proof_level", "seconds")
    definitions["ErrorLine"] = problem_schema()
    lines = [*event["oneOf"], {"$ref": "#/$defs/OutcomeLine"}, {"$ref": "#/$defs/ErrorLine"}]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One line of surefoot --json",
        "version": SCHEMA_VERSION,
        "oneOf": lines,
        "$defs": definitions,
    }


def _line(kind: str, *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"type": {"const": kind}}, "required": ["type", *required]}

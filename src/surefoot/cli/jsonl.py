"""A run as JSON lines, one object an event, for programs. The last line says what came of it."""

import contextlib
import json
from typing import Any, TextIO

from surefoot import events as e
from surefoot.cli.watch import LineWatcher
from surefoot.outcome import EXIT_CODES, Outcome, Verdict
from surefoot.questions import times_out_at
from surefoot.state import RunState


class JsonLines(LineWatcher):
    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def on_record(self, record: e.Record) -> None:
        self.follower.on_record(record)
        self.write(as_object(record))

    def write(self, item: dict[str, Any]) -> None:
        # When nobody reads any more, the run goes on and the journal has everything. ASCII only: every terminal and
        # every pipe takes it, and nothing in it can be a control character.
        with contextlib.suppress(OSError):
            print(json.dumps(item), file=self._stream, flush=True)


def as_object(record: e.Record) -> dict[str, Any]:
    """The event's own fields beside `seq` and `at`; without those two it reads back as the event."""
    return {"seq": record.seq, "at": record.at, **record.event.model_dump(mode="json")}


def outcome_object(state: RunState, verdict: Verdict, exit_code: int | None = None) -> dict[str, Any]:
    """The last line. `exit_code` is that of the process where it is not the verdict's own."""
    outcome = state.outcome or Outcome(verdict=verdict, summary=state.stage_reason)
    limit = state.config.question_timeout_seconds
    questions = [
        {"id": q.id, "kind": q.kind, "text": q.text, "options": q.options, "times_out_at": times_out_at(q, limit)}
        for q in state.open_questions
    ]
    return {
        "type": "outcome",
        "run_id": state.run_id,
        "exit_code": EXIT_CODES[verdict] if exit_code is None else exit_code,
        **outcome.model_dump(mode="json"),
        "diagnosis_text": outcome.diagnosis.as_text() if outcome.diagnosis else None,
        "questions": questions,
        "tokens": {"prompt": state.prompt_tokens, "cached": state.cached_tokens, "output": state.output_tokens},
        "seconds": round(state.active_seconds, 3),
    }

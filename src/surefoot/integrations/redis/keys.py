"""The keys of a run in Redis, and their values. docs/guides/redis.md describes them. Pure."""

import json
from dataclasses import dataclass
from typing import Any

from surefoot.core.phases import Artifact
from surefoot.journal import events as e
from surefoot.view.messages import task_list
from surefoot.view.state import RunView

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Keys:
    prefix: str
    run_id: str = ""

    @property
    def runs(self) -> str:
        """A sorted set: the ids of runs by the time of their last event."""
        return f"{self.prefix}:runs"

    @property
    def state(self) -> str:
        return f"{self.prefix}:run:{self.run_id}:state"

    @property
    def tasks(self) -> str:
        """The task list, as it is sent to sockets."""
        return f"{self.prefix}:run:{self.run_id}:tasks"

    @property
    def events(self) -> str:
        """A hash: every event by its number."""
        return f"{self.prefix}:run:{self.run_id}:events"

    @property
    def blobs(self) -> str:
        """A hash: long content by its SHA-256, compressed with zlib."""
        return f"{self.prefix}:run:{self.run_id}:blobs"

    def artifact(self, artifact_id: str) -> str:
        return f"{self.prefix}:run:{self.run_id}:artifact:{artifact_id}"

    @property
    def of_run(self) -> tuple[str, ...]:
        """The keys whose expiry is renewed while the run is copied."""
        return (self.state, self.tasks, self.events, self.blobs)


def state_document(view: RunView, artifact_ids: list[str], *, recoverable: bool) -> dict[str, Any]:
    state = view.state
    tasks = task_list(view)
    return {
        "v": FORMAT,
        "id": state.run_id,
        "sessionId": state.run_id,
        "topic": tasks["topic"],
        "currentStage": tasks["currentStage"],
        "stage": str(state.stage),
        "reason": state.stage_reason,
        "verdict": str(state.outcome.verdict) if state.outcome else None,
        "summary": state.outcome.summary if state.outcome else None,
        "model": state.model,
        "workspace": state.task.workspace if state.task else "",
        "artifactIds": artifact_ids,
        "seq": state.seq,
        "createdAt": state.started_at,
        "updatedAt": state.updated_at,
        "recoverable": recoverable,
    }


def artifact_document(run_id: str, artifact: Artifact, outputs: Any, created_at: float) -> dict[str, Any]:
    return {
        "v": FORMAT,
        "id": artifact.id,
        "sessionId": run_id,
        "taskId": artifact.producer,
        "type": artifact.kind,
        "title": artifact.summary[:200],
        "content": outputs,
        "degraded": artifact.degraded,
        "size": artifact.size,
        "createdAt": created_at,
        "expiresAt": artifact.expires_at,
    }


def encode_record(record: e.Record) -> bytes:
    kind = json.dumps(e.KINDS[type(record.event)])
    return b'{"at":%s,"kind":%s,"body":%s}' % (repr(record.at).encode(), kind.encode(), e.encode(record.event))


def decode_record(seq: int, text: bytes) -> e.Record:
    """Decode an event. Raises ValueError, KeyError or TypeError if the text is not an event."""
    entry = json.loads(text)
    return e.Record(seq, float(entry["at"]), e.decode(entry["kind"], json.dumps(entry["body"]).encode()))

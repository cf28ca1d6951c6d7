"""The copy of one run in Redis. New events become commands of one pipeline."""

import json
import math
import re
import time
import zlib
from collections.abc import Callable
from typing import Any

from surefoot.config.integrations import RedisSettings
from surefoot.errors import JournalError
from surefoot.integrations.redis.keys import Keys, artifact_document, encode_record, state_document
from surefoot.journal import events as e
from surefoot.journal.redact import Redactor
from surefoot.journal.redacted_values import redacted_for_display
from surefoot.journal.store.base import Journal
from surefoot.view.fold import advance
from surefoot.view.messages import task_list
from surefoot.view.state import RunView

MAX_EVENTS = 200
"""How many events are copied at once."""
MAX_BLOB_BYTES = 1_000_000
"""Longer content is only in the journal."""
_DIGEST = re.compile(rb"\b[0-9a-f]{64}\b")

Command = Callable[[Any], object]
"""Adds a command to a pipeline."""


class RunCopy:
    """Reads durable events from the journal, so that none is lost while the server is away."""

    def __init__(self, run_id: str, settings: RedisSettings, journal: Journal, redactor: Redactor) -> None:
        self.keys = Keys(settings.prefix, run_id)
        self._settings, self._journal, self._redactor = settings, journal, redactor
        self._view = RunView()
        self._sent = 0
        self._artifacts: dict[str, tuple[dict[str, Any], bool]] = {}
        """The artifacts that are not copied yet, and whether each is pinned."""
        self._artifact_ids: list[str] = []
        self._blobs: set[str] = set()

    def collect(self) -> tuple[list[Command], Callable[[], bool]]:
        """The commands that copy the next events, and a function to call after they have succeeded.

        The function returns whether there are more events. Without new events there are no commands.
        """
        records = []
        for record in self._journal.read(self.keys.run_id, self._sent):
            records.append(record)
            if len(records) > MAX_EVENTS:
                break
        chunk, more = records[:MAX_EVENTS], len(records) > MAX_EVENTS
        if not chunk:
            return [], lambda: False
        for record in chunk:
            if record.seq > self._view.state.seq:
                self._advance(record)
        artifacts, digests = dict(self._artifacts), self._digests(chunk)
        commands = [*self._documents(), *self._stored(chunk, digests), *self.touch()]

        def done() -> bool:
            self._sent = chunk[-1].seq
            self._blobs |= digests
            for artifact_id in artifacts:
                self._artifacts.pop(artifact_id, None)
            return more

        return commands, done

    def touch(self) -> list[Command]:
        """The commands that renew the expiry of a run's keys."""
        ttl, keys, now = self._settings.ttl_seconds, self.keys, time.time()
        return [
            *(lambda pipe, key=key: pipe.expire(key, ttl) for key in keys.of_run),
            lambda pipe: pipe.zadd(keys.runs, {keys.run_id: self._view.state.updated_at}),
            lambda pipe: pipe.zremrangebyscore(keys.runs, "-inf", now - 2 * ttl),
            lambda pipe: pipe.expire(keys.runs, 2 * ttl),
        ]

    def _advance(self, record: e.Record) -> None:
        """Update the view with a record. Secrets are removed first, so that nothing made from the view has any."""
        view = self._view
        advance(view, e.Record(record.seq, record.at, redacted_for_display(record.event, self._redactor)))
        event = record.event
        if not isinstance(event, e.StepFinished) or (step_run := view.state.steps.get(event.step_id)) is None:
            return
        artifact = step_run.artifact
        if artifact is None:
            return
        outputs = self._outputs(artifact.hash) if artifact.hash else step_run.outputs
        document = artifact_document(self.keys.run_id, artifact, outputs, record.at)
        self._artifacts[artifact.id] = (document, step_run.step.pinned)
        if artifact.id not in self._artifact_ids:
            self._artifact_ids.append(artifact.id)

    def _outputs(self, digest: str) -> Any:
        try:
            content = json.loads(self._journal.get_blob(digest))
        except (JournalError, ValueError):
            return None
        return content.get("outputs", content) if isinstance(content, dict) else content

    def _documents(self) -> list[Command]:
        ttl, keys, now = self._settings.ttl_seconds, self.keys, time.time()
        state = state_document(self._view, self._artifact_ids, recoverable=self._settings.events)
        commands: list[Command] = [
            self._set(keys.state, state, ttl),
            self._set(keys.tasks, task_list(self._view), ttl),
        ]
        for artifact_id, (document, pinned) in self._artifacts.items():
            # The expiry counts from the creation of the artifact, even if a resumed process copies it again.
            ends = [] if pinned else [document["createdAt"] + ttl, document["expiresAt"] or math.inf]
            left = math.ceil(min([now + ttl, *ends]) - now)
            if left > 0:
                commands.append(self._set(keys.artifact(artifact_id), document, left))
        return commands

    def _set(self, key: str, document: dict[str, Any], ttl: int) -> Command:
        text = self._redactor.redact_known(json.dumps(document, ensure_ascii=False, default=str))
        return lambda pipe: pipe.set(key, text, ex=ttl)

    def _stored(self, chunk: list[e.Record], digests: set[str]) -> list[Command]:
        if not self._settings.events:
            return []
        events = {str(record.seq): encode_record(record) for record in chunk}
        commands: list[Command] = [lambda pipe: pipe.hset(self.keys.events, mapping=events)]
        blobs = {digest: zlib.compress(data, 1) for digest in digests if (data := self._blob(digest)) is not None}
        if blobs:
            commands.append(lambda pipe: pipe.hset(self.keys.blobs, mapping=blobs))
        return commands

    def _digests(self, chunk: list[e.Record]) -> set[str]:
        """The hashes in these events that are not copied yet. Not all of them are hashes of content."""
        if not self._settings.events:
            return set()
        digests = {digest.decode() for record in chunk for digest in _DIGEST.findall(e.encode(record.event))}
        return digests - self._blobs

    def _blob(self, digest: str) -> bytes | None:
        try:
            data = self._journal.get_blob(digest) if self._journal.has_blob(digest) else b""
        except JournalError:
            return None
        return data if 0 < len(data) <= MAX_BLOB_BYTES else None

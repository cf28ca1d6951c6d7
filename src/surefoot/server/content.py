"""Content that a client fetches on demand: diffs, details of a step, the conversation, stored contents, statistics."""

import asyncio
from typing import Any

from surefoot.config import paths
from surefoot.errors import UsageError
from surefoot.history.stats.read import Known, parse_since, read_statistics
from surefoot.history.stats.values import Statistics
from surefoot.history.timeline import diff_of
from surefoot.journal.redacted_values import exported
from surefoot.report.build import Source
from surefoot.report.write import Format, render
from surefoot.server.hub import Hub
from surefoot.view.conversation import Transcript
from surefoot.view.details import step_detail
from surefoot.view.documents import Message, StepDetail
from surefoot.view.patches import file_diffs, without_tool_files
from surefoot.view.state import RunView
from surefoot.workspace.worktrees import worktree_origins

PAGE = 200


class Content:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def events(self, run_id: str, after: int, limit: int) -> dict[str, Any]:
        events: list[dict[str, Any]] = []
        for record in self._hub.reader.read(run_id, after):
            if len(events) == limit:
                return {"events": events, "next": events[-1]["seq"]}
            events.append({"seq": record.seq, "at": record.at, **exported(record.event, self._hub.redactor)})
        return {"events": events, "next": None}

    async def diff(self, run_id: str, step: str) -> dict[str, Any]:
        records = list(self._hub.reader.read(run_id, 0))
        text = await asyncio.to_thread(diff_of, records, self._hub.home, step)
        text, others = without_tool_files(text)
        return {"files": file_diffs(self._hub.redactor.redact_known(text)), "tool_files": len(others)}

    async def step(self, view: RunView, step_id: str) -> StepDetail:
        return step_detail(view, step_id, self._hub.redactor)

    async def conversation(self, run_id: str, after: int) -> dict[str, Any]:
        """One page of the conversation with the model, after an event."""
        transcript = Transcript(self._hub.reader.blob, self._hub.redactor.redact_known)
        messages: list[Message] = []
        for record in self._hub.reader.read(run_id, after):
            messages += transcript.messages(record)
            if len(messages) >= PAGE:
                return {"messages": messages, "next": record.seq}
        return {"messages": messages, "next": None}

    async def report(self, view: RunView, kind: Format) -> bytes:
        """A report of the run up to its last durable event, as a file."""
        return await asyncio.to_thread(self._report, view.state.run_id, view.live, kind)

    def _report(self, run_id: str, live: bool, kind: Format) -> bytes:
        """Render a report. Called in a thread, with a connection of its own, because it takes a while."""
        reader = self._hub.open_reader()
        try:
            records = list(reader.read(run_id, 0))
            source = Source(
                records=records, blob=reader.blob, home=self._hub.home, redactor=self._hub.redactor, live=live
            )
            return render(source, kind)
        finally:
            reader.close()

    async def blob(self, view: RunView, digest: str) -> bytes:
        """A stored content of the run. Known secrets in text are removed. Raises UsageError if it is not of the run."""
        if digest not in view.blobs:
            raise UsageError("the run has no such content")
        data = self._hub.reader.blob(digest)
        try:
            return self._hub.redactor.redact_known(data.decode("utf-8")).encode()
        except UnicodeDecodeError:
            return data


class StatisticsSource:
    """Statistics over runs. Facts of runs are cached, so that only runs with new events are read again."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._known: Known = {}
        self._reading = asyncio.Lock()

    async def read(self, since: str, folder: str) -> dict[str, Any]:
        """The statistics as JSON. Empty arguments stand for all times and all folders."""
        begin = parse_since(since) if since else None
        async with self._reading:
            statistics = await asyncio.to_thread(self._read, begin, folder)
        return exported(statistics, self._hub.redactor)

    def _read(self, since: float | None, folder: str) -> Statistics:
        """Read the statistics. Called in a thread, with a connection of its own, because many runs take a while."""
        workspaces = None
        if folder:
            copies = worktree_origins(self._hub.home) if paths.worktree_records(self._hub.home).is_dir() else {}
            workspaces = [folder, *(copy for copy, origin in copies.items() if origin == folder)]
        reader = self._hub.open_reader()
        try:
            return read_statistics(reader, since=since, workspaces=workspaces, folder=folder or None, known=self._known)
        finally:
            reader.close()

"""What is fetched when it is opened: diffs, details of a step, the conversation, stored contents, statistics."""

import asyncio
from typing import Any

from surefoot.config import paths
from surefoot.errors import JournalError, UsageError
from surefoot.history.stats.read import Known, parse_since, read_statistics
from surefoot.history.stats.values import Statistics
from surefoot.history.timeline import diff_of
from surefoot.history.worktree import worktree_origins
from surefoot.journal import events as e
from surefoot.journal.redacted_values import exported
from surefoot.journal.state import RunState, StepRun
from surefoot.journal.store.reading import JournalReader
from surefoot.models.items import AssistantTurn, ToolResultMessage, load_item
from surefoot.server.hub import Hub
from surefoot.server.view.making import build
from surefoot.server.view.state import RunView

MAX_PATCH_LINES = 2_000
MAX_TEXT = 20_000
PAGE = 200


class Content:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def _records(self, run_id: str, after: int = 0) -> list[e.Record]:
        return list(self._hub.reader.read(run_id, after))

    async def events(self, run_id: str, after: int, limit: int) -> dict[str, Any]:
        found: list[dict[str, Any]] = []
        for record in self._hub.reader.read(run_id, after):
            if len(found) == limit:
                return {"events": found, "next": found[-1]["seq"]}
            found.append({"seq": record.seq, "at": record.at, **exported(record.event, self._hub.redactor)})
        return {"events": found, "next": None}

    async def diff(self, run_id: str, step: str) -> dict[str, Any]:
        records, home = self._records(run_id), self._hub.home
        text = await asyncio.to_thread(diff_of, records, home, step)
        return {"files": [_file(part) for part in _parts(self._hub.redactor.redact_known(text))]}

    async def step(self, view: RunView, step_id: str) -> dict[str, Any]:
        step_run = view.state.steps.get(step_id)
        if step_run is None and step_id not in view.gone:
            raise UsageError(f"run {view.state.run_id} has no step {step_id!r}")
        output = step_run.output if step_run else None
        return {
            "step": build(view, f"step:{step_id}"),
            "attempts": [build(view, f"try:{step_id}:{tried.number}") for tried in view.tries.get(step_id, [])],
            "actions": [row for row in view.actions.values() if row["step"] == step_id],
            "proofs": self._proofs(view.state, step_run) if step_run else [],
            "artifacts": [exported(step_run.artifact, self._hub.redactor)] if step_run and step_run.artifact else [],
            "log": "\n".join(output.logs) if output else "",
        }

    def _proofs(self, state: RunState, step_run: StepRun) -> list[dict[str, Any]]:
        red = {result.check.key for result in step_run.baseline if not result.passed}
        return [
            {
                "label": result.check.label,
                "passed": result.passed,
                "red_before": result.check.key in red,
                **exported(result, self._hub.redactor),
            }
            for result in step_run.checks
        ]

    async def conversation(self, run_id: str, after: int) -> dict[str, Any]:
        """The exchanges with the model: prompts and answers, or the items of a conversation, once each."""
        messages: list[dict[str, Any]] = []
        for record in self._hub.reader.read(run_id, after):
            messages += self._messages(record)
            if len(messages) >= PAGE:
                return {"messages": messages, "next": record.seq}
        return {"messages": messages, "next": None}

    def _messages(self, record: e.Record) -> list[dict[str, Any]]:
        match record.event:
            case e.ModelAnswered(conversation="") as event:
                tokens = {"prompt": event.prompt_tokens, "output": event.output_tokens, "cached": event.cached_tokens}
                common = (record, str(event.purpose), event.step_id)
                return [
                    self._message(*common, 0, "user", self._text(event.prompt)),
                    {**self._message(*common, 1, "assistant", self._text(event.answer)), "tokens": tokens},
                ]
            case e.ModelAnswered() as event:
                tokens = {"prompt": event.prompt_tokens, "output": event.output_tokens, "cached": event.cached_tokens}
                purpose = str(event.purpose)
                return [{**m, "tokens": tokens} for m in self._items(record, (event.item,), event.step_id, purpose)]
            case e.ConversationOpened() as event:
                return self._items(record, event.items, event.step_id, "")
            case e.ConversationGrew() as event:
                return self._items(record, event.items, "", "")
        return []

    def _items(self, record: e.Record, hashes: tuple[str, ...], step_id: str, purpose: str) -> list[dict[str, Any]]:
        found = []
        for number, digest in enumerate(filter(None, hashes)):
            try:
                item = load_item(self._hub.reader.blob(digest))
            except (JournalError, ValueError):
                continue
            message = self._message(record, purpose, step_id, number, item.role, item.content)
            if isinstance(item, AssistantTurn):
                message["calls"] = [
                    {"id": c.id, "name": c.name, "arguments": self._hub.redactor.redact_known(str(c.arguments))}
                    for c in item.calls
                ]
            elif isinstance(item, ToolResultMessage):
                message["result_of"] = item.call_id
            found.append(message)
        return found

    def _message(
        self, record: e.Record, purpose: str, step_id: str, number: int, role: str, text: str
    ) -> dict[str, Any]:
        text = self._hub.redactor.redact_known(text)
        return {
            "id": f"{record.seq}.{number}",
            "role": role,
            "purpose": purpose,
            "step": step_id or None,
            "text": text[:MAX_TEXT],
            "calls": [],
            "result_of": None,
            "tokens": None,
            "at": record.at,
            "truncated": len(text) - MAX_TEXT if len(text) > MAX_TEXT else 0,
        }

    def _text(self, digest: str) -> str:
        try:
            return self._hub.reader.blob(digest).decode("utf-8", "replace")
        except JournalError:
            return "(no longer stored)"

    async def blob(self, view: RunView, digest: str) -> bytes:
        """A stored content that belongs to the run. Known secrets in text are removed."""
        if digest not in view.blobs:
            raise UsageError("the run has no such content")
        data = self._hub.reader.blob(digest)
        try:
            return self._hub.redactor.redact_known(data.decode("utf-8")).encode()
        except UnicodeDecodeError:
            return data


class StatisticsSource:
    """Statistics over runs. Facts of runs are kept, so that only runs with new events are read again."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._known: Known = {}
        self._reading = asyncio.Lock()

    async def read(self, since: str, folder: str) -> dict[str, Any]:
        """The statistics as JSON. An empty text stands for all times, or all folders."""
        begin = parse_since(since) if since else None
        async with self._reading:
            found = await asyncio.to_thread(self._read, begin, folder)
        return exported(found, self._hub.redactor)

    def _read(self, since: float | None, folder: str) -> Statistics:
        """In a thread, with a connection of its own: many runs take a while."""
        workspaces = None
        if folder:
            copies = worktree_origins(self._hub.home) if paths.worktree_records(self._hub.home).is_dir() else {}
            workspaces = [folder, *(copy for copy, origin in copies.items() if origin == folder)]
        reader = JournalReader(paths.journal_file(self._hub.home), busy_timeout=5.0)
        try:
            return read_statistics(reader, since=since, workspaces=workspaces, folder=folder or None, known=self._known)
        finally:
            reader.close()


def _parts(text: str) -> list[list[str]]:
    parts: list[list[str]] = []
    for line in text.split("\n")[:-1]:
        if line.startswith("diff --git ") or not parts or not parts[-1][0].startswith("diff --git "):
            parts.append([line])
        else:
            parts[-1].append(line)
    return parts


def _file(part: list[str]) -> dict[str, Any]:
    head = part[0]
    if head.startswith("diff --git "):
        path = head.rpartition(" b/")[2] if " b/" in head else head.removeprefix("diff --git ")
    else:
        # A change that git cannot express, such as a folder.
        path = head.partition(": ")[0]
    marks = [line for line in part[:6] if not line.startswith(("+", "-", "@", " "))]
    status = "added" if any(m.startswith("new file") or m.endswith(": added") for m in marks) else "modified"
    status = "deleted" if any(m.startswith("deleted") or m.endswith(": removed") for m in marks) else status
    return {
        "path": path,
        "status": status,
        "binary": any(line.startswith("Binary files ") for line in part[:8]),
        "patch": "\n".join(part[:MAX_PATCH_LINES]) + "\n",
        "lines": len(part),
        "truncated": len(part) > MAX_PATCH_LINES,
    }

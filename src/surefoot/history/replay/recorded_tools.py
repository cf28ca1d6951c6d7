"""The tools of a replay. A call returns its recorded result, and changes files as recorded."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefoot.core.outcome import FailureKind
from surefoot.errors import ToolError
from surefoot.history.replay.recorded_parts import Files, GetBlob, ReplayJournal, wait_for_control
from surefoot.journal import events as e
from surefoot.tools.context import ToolContext
from surefoot.tools.registry import Toolbox, default_toolbox
from surefoot.tools.tool import Tool, ToolResult, Writes


def recorded_toolbox(
    records: Sequence[e.Record],
    get_blob: GetBlob,
    files: Files,
    journal: ReplayJournal,
    toolbox: Toolbox | None,
    copied: int = 0,
) -> Toolbox:
    """The tools of the run, which return recorded results. A tool that is not known here is declared from the record.

    The results of the first `copied` records are skipped, because they are already part of the state.
    """
    results = _RecordedResults(records[copied:], get_blob, files, journal)
    known = list(toolbox or default_toolbox())
    names = {tool.name for tool in known}
    for record in records:
        event = record.event
        if isinstance(event, e.ActionStarted) and event.tool not in names:
            names.add(event.tool)
            writes = Writes.FREE if event.snapshot else Writes.NONE
            anything: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}
            known.append(Tool(event.tool, "", anything, results.run, writes=writes, external=event.external))
    return Toolbox(replace(tool, run=_recorded_call(results, tool), function=None) for tool in known)


def _recorded_call(results: "_RecordedResults", tool: Tool) -> Callable[..., Any]:
    async def run(context: ToolContext, **arguments: Any) -> ToolResult:
        return await results.run(context, tool, arguments)

    return run


class _RecordedResults:
    def __init__(self, records: Sequence[e.Record], get_blob: GetBlob, files: Files, journal: ReplayJournal) -> None:
        self._get_blob, self._files, self._journal = get_blob, files, journal
        self._actions = {r.event.action_id: r for r in records if isinstance(r.event, e.ActionFinished)}
        self._compensations = {
            r.event.compensation_id: r for r in records if isinstance(r.event, e.CompensationFinished)
        }
        self._looks = [r.event for r in records if isinstance(r.event, e.CallAnswered)]

    async def run(self, context: ToolContext, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        if context.root != self._files.root:
            return self._candidate(context, tool, arguments)
        if not context.action_id:
            return self._look(tool, arguments)
        recording = self._journal.recording
        recorded_id = recording.pairs.get(context.action_id, "")
        last = recording.records[-1].seq
        record = self._actions.get(recorded_id) or self._compensations.get(recorded_id)
        if record is None or record.seq > last:
            await wait_for_control(recording)
            lane = context.action_id.rpartition(".")[0]
            if recording.ends_by(lane) is FailureKind.TIMEOUT:
                raise TimeoutError
            raise recording.end(lane, f"waits for the result of {tool.name}")
        event = record.event
        assert isinstance(event, e.ActionFinished | e.CompensationFinished)
        self._files.change(event.changed, record.seq)
        if isinstance(event, e.CompensationFinished):
            return ToolResult(ok=event.ok, summary=event.summary)
        output = self._get_blob(event.output).decode("utf-8", "replace") if event.output else event.summary
        return ToolResult(
            ok=event.ok,
            summary=event.summary,
            output=output,
            data=event.data,
            command=event.command,
            temporary=event.temporary,
        )

    def _look(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        """Answer a call outside of a step, by which the model looked around before it planned."""
        same = [
            look
            for look in self._looks
            if look.tool == tool.name and all(str(arguments.get(n)) == str(v) for n, v in look.arguments.items())
        ]
        if not same:
            raise self._journal.recording.end("", f"looks with {tool.name}({dict(arguments)!r})")
        self._looks.remove(same[0])
        return ToolResult(ok=same[0].ok, summary=self._get_blob(same[0].result).decode())

    def _candidate(self, context: ToolContext, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        """Answer a call in a copy of the workspace. It needs no effects, because the results of the checks are
        recorded."""
        tried = self._journal.recording.find(step_of_copy(context.root), e.CandidateTried)
        body = str(arguments.get(tool.body_argument, "")) if tool.body_argument else ""
        is_recorded = hashlib.sha256(body.encode()).hexdigest() == tried.body or not tried.tool
        if is_recorded and tried.unusable:
            raise ToolError(tried.unusable, tool=tool.name)
        (context.root / MARK).write_text("recorded" if is_recorded else "")
        return ToolResult(ok=True, summary="")


MARK = ".surefoot-replay"
"""The file in the copy of a candidate that says whether the results of its checks are recorded."""


def step_of_copy(root: Path) -> str:
    """The purpose of a copy of the workspace: the id of a step with candidates, or `judged`, `hollow` or `suite`."""
    return root.parent.name.partition(".")[2]

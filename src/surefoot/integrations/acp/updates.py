"""Turns the events of a run into updates for an editor: plan entries, tool calls with diffs, and text."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from surefoot.core.outcome import Outcome
from surefoot.core.transitions import StepStatus
from surefoot.errors import ToolError
from surefoot.journal import events as e
from surefoot.journal.bus import Source
from surefoot.journal.redact import Redactor
from surefoot.journal.reducers import apply
from surefoot.journal.state import RunState
from surefoot.tools.fs.tool_files import is_listed, places_of
from surefoot.tools.registry import Toolbox

MAX_DIFF_CHARS = 200_000
"""Larger files are named, but their diff is not shown."""
KINDS = {
    "read_file": "read",
    "read_result": "read",
    "list_files": "search",
    "search": "search",
    "write_file": "edit",
    "edit_file": "edit",
    "apply_patch": "edit",
    "delete_file": "delete",
    "move_file": "move",
    "run_command": "execute",
    "run_python": "execute",
    "http_get": "fetch",
}
_STATUS = {
    StepStatus.PENDING: "pending",
    StepStatus.RUNNING: "in_progress",
    StepStatus.FAILED: "in_progress",
}
"""The status of a plan entry; all others are completed. A failed step is still in progress: it is recovered next."""
_TITLE_ARGUMENTS = ("command", "path", "pattern", "query", "url", "source")
_CHANGES_PLAN = (e.PlanMade, e.PlanRevised, e.StepStarted, e.StepFinished, e.StepReset)


class Updates:
    """Sends the updates of one session. `send` gets updates of the protocol, in order."""

    def __init__(
        self, root: Path, toolbox: Toolbox, redactor: Redactor, send: Callable[[Any], None], *, streams_text: bool
    ) -> None:
        self._root = root
        self._toolbox = toolbox
        self._redactor = redactor
        self._send = send
        self._streams_text = streams_text
        self._before: dict[str, dict[str, str | None]] = {}
        """By action: the files that it declares to write, with their contents before."""
        self.state = RunState()

    def on_record(self, record: e.Record) -> None:
        if isinstance(record.event, e.RunCreated):
            self.state = RunState()
        apply(self.state, record)
        event = record.event
        if isinstance(event, _CHANGES_PLAN):
            self._send_plan()
        match event:
            case e.ActionStarted():
                self._start_call(event)
            case e.ActionFinished():
                self._end_call(event)
            case e.ChecksRan() if event.when != "before":
                self._show_checks(record.seq, event)
            case e.Reflected():
                name = self.state.step(event.step_id).name
                self.say(f"'{name}' failed: {event.reflection.root_cause}\n\n")
            case e.RungChosen():
                self.say(f"Next: {event.rung.replace('_', ' ')}. {event.why}\n\n")

    def on_stream(self, source: Source, piece: str) -> None:
        """Show the text of the model as its thoughts, unless the text is structured data."""
        if source.kind == "text" and self._streams_text:
            from acp import update_agent_thought_text

            self._send(update_agent_thought_text(piece))

    def say(self, text: str) -> None:
        from acp import update_agent_message_text

        self._send(update_agent_message_text(self._redactor.redact_known(text)))

    def say_outcome(self, outcome: Outcome) -> None:
        lines = [f"**{outcome.verdict.value.capitalize()}**: {outcome.summary}", ""]
        lines += [f"- {'✓' if check.passed else '✗'} {check.check.label}" for check in outcome.checks]
        lines += [f"- {path}" for path in outcome.changed_files if is_listed(path)]
        if others := [path for path in outcome.changed_files if not is_listed(path)]:
            lines.append(f"- and {len(others):,} in {places_of(others)}")
        if outcome.diagnosis:
            lines += ["", outcome.diagnosis.as_text()]
        run_id = self.state.run_id
        lines += ["", f"`surefoot show {run_id}` has all of it; `surefoot undo {run_id}` reverts it."]
        self.say("\n".join(lines) + "\n")

    # -- parts -----------------------------------------------------------------------------------------------------

    def _send_plan(self) -> None:
        from acp import plan_entry, update_plan

        entries: list[Any] = []
        for step_run in self.state.steps.values():
            status: Any = _STATUS.get(step_run.status, "completed")
            name = self._redactor.redact_known(step_run.step.name)
            entries.append(plan_entry(name, priority="high" if step_run.step.critical else "medium", status=status))
        self._send(update_plan(entries))

    def _start_call(self, event: e.ActionStarted) -> None:
        from acp import start_tool_call
        from acp.schema import ToolCallLocation

        paths = self._written_paths(event)
        self._before[event.action_id] = {path: self._text_of(path) for path in paths}
        kind: Any = KINDS.get(event.tool, "other")
        named = [*paths, *([event.arguments["path"]] if isinstance(event.arguments.get("path"), str) else [])]
        self._send(
            start_tool_call(
                self._call_id(event.action_id),
                self._title(event),
                kind=kind,
                status="in_progress",
                locations=[ToolCallLocation(path=str(self._root / path)) for path in dict.fromkeys(named)],
            )
        )

    def _end_call(self, event: e.ActionFinished) -> None:
        from acp import text_block, tool_content, tool_diff_content, update_tool_call

        before = self._before.pop(event.action_id, {})
        content: list[Any] = []
        for path in event.changed:
            new = self._text_of(path)
            if path in before and new is not None:
                old = before[path]
                hide = self._redactor.redact_known
                diff = tool_diff_content(str(self._root / path), hide(new), hide(old) if old is not None else None)
                content.append(diff)
        if not content and event.summary:
            content.append(tool_content(text_block(self._redactor.redact_known(event.summary))))
        status: Any = "completed" if event.ok else "failed"
        self._send(update_tool_call(self._call_id(event.action_id), status=status, content=content))

    def _show_checks(self, seq: int, event: e.ChecksRan) -> None:
        from acp import start_tool_call, text_block, tool_content

        for number, result in enumerate(event.results):
            if result.check.origin != "user" or result.reused:
                continue
            detail = [tool_content(text_block(self._redactor.redact_known(result.detail)))] if result.detail else None
            self._send(
                start_tool_call(
                    self._call_id(f"check-{seq}-{number}"),
                    f"check: {self._redactor.redact_known(result.check.label)}",
                    kind="execute",
                    status="completed" if result.passed else "failed",
                    content=detail,
                )
            )

    def _call_id(self, name: str) -> str:
        return f"{self.state.run_id}:{name}"

    def _title(self, event: e.ActionStarted) -> str:
        argument = next((str(event.arguments[name]) for name in _TITLE_ARGUMENTS if name in event.arguments), "")
        return self._redactor.redact_known(f"{event.tool} {argument}".strip())[:200]

    def _written_paths(self, event: e.ActionStarted) -> tuple[str, ...]:
        if event.tool not in self._toolbox:
            return ()
        with suppress(ToolError):
            return self._toolbox.get(event.tool).written_paths(event.arguments)
        return ()

    def _text_of(self, path: str) -> str | None:
        """The text of a file in the workspace; None if it does not exist, is too large, or is not text."""
        file = (self._root / path).resolve()
        if not file.is_relative_to(self._root) or not file.is_file() or file.stat().st_size > MAX_DIFF_CHARS:
            return None
        try:
            return file.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None

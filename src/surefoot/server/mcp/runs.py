"""The runs behind the server's tools: the same processes and the same journal as those of the command line."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from surefoot.config import paths
from surefoot.core.questions import Question, expected, understood
from surefoot.errors import UnknownRun, UsageError
from surefoot.history.timeline import diff_of
from surefoot.server.commands import CommandRequest, Commands, StartRequest
from surefoot.server.hub import Hub
from surefoot.view.making import run_status, step_counts
from surefoot.view.patches import without_tool_files
from surefoot.view.state import RunView
from surefoot.workspace.worktrees import worktree_origins

LOOK_SECONDS = 0.2
MAX_DIFF = 200_000
OnProgress = Callable[[float, str], Awaitable[None]]


class Runs:
    """The operations of a client on the runs of one folder."""

    def __init__(self, hub: Hub, folder: Path, model: str = "", *, approvals: bool = True) -> None:
        self._hub, self.folder, self._model = hub, folder, model
        self._commands = Commands(hub, folder, model)
        self._approvals = approvals
        """Whether an approval may be given through the tool `answer`."""

    async def start(self, task: str, checks: list[str], *, plan_only: bool, continues: str = "") -> str:
        """Start a run, as a follow-up to `continues` if that is given. Returns its id."""
        options: dict[str, str | int | float | bool] = {}
        if continues:
            options["continue"] = (await self.view(continues)).state.run_id
        request = StartRequest(task=task, checks=checks, plan_only=plan_only, folder=str(self.folder), options=options)
        answer = await self._commands.start(request)
        if "run" not in answer:
            raise UsageError(str(answer["reason"]))
        return str(answer["run"])

    async def view(self, name: str) -> RunView:
        """A run of this folder, by the beginning of its id. Raises UnknownRun for any other."""
        known = [run.run_id for run in self._hub.summaries(10_000, self._workspaces())]
        matches = [run_id for run_id in known if run_id == name] or [r for r in known if name and r.startswith(name)]
        if len(matches) != 1:
            problem = "several runs begin" if matches else "no run of this folder begins"
            raise UnknownRun(f"{problem} with {name!r}", remedy="see the tool list")
        return await self._hub.view(matches[0])

    async def follow(self, run_id: str, on_progress: OnProgress, answered: frozenset[str] = frozenset()) -> RunView:
        """Wait until a run has ended, was stopped, or asks a question that is not in `answered`. Reports progress, and
        its end."""
        reported, number = "", 0
        while True:
            view = await self._hub.view(run_id)
            has_stopped, message = self._has_ended_or_asks(view, answered), _progress(view)
            # The progress is the number of the event, which only grows, as the protocol demands.
            if message != reported and view.state.seq > number and (not has_stopped or view.state.outcome is not None):
                reported, number = message, view.state.seq
                await on_progress(float(number), message)
            if has_stopped:
                return view
            await asyncio.sleep(LOOK_SECONDS)

    def _has_ended_or_asks(self, view: RunView, answered: frozenset[str]) -> bool:
        if view.state.outcome is not None and not self._commands.is_driven(view.state.run_id):
            return True
        if any(question.id not in answered for question in view.state.open_questions):
            return True
        return not view.live and not self._commands.is_driven(view.state.run_id)

    async def answer(self, run_id: str, question: Question, words: str, *, by_person: bool) -> None:
        if question.kind == "approval" and not by_person and not self._approvals:
            raise UsageError(
                "approvals are not accepted from this tool", remedy=f"answer in a terminal: surefoot answer {run_id}"
            )
        if understood(question, words) is None:
            raise UsageError(
                f"{words!r} is not a valid answer to this question", remedy=f"answers: {expected(question)}"
            )
        await self._execute(run_id, "answer", question=question.id, answer=words)

    async def cancel(self, run_id: str) -> None:
        await self._execute(run_id, "cancel", why="the client cancelled it")

    async def undo(self, run_id: str, step: str) -> None:
        await self._execute(run_id, "undo", step=step)

    async def diff(self, run_id: str, step: str) -> tuple[str, bool, int]:
        """The diff of a run or a step without known secrets, whether it is cut off, and how many files of version
        control and of tools it leaves out."""
        records = list(self._hub.reader.read(run_id, 0))
        text = await asyncio.to_thread(diff_of, records, self._hub.home, step)
        text, others = without_tool_files(text)
        text = self._hub.redactor.redact_known(text)
        return text[:MAX_DIFF], len(text) > MAX_DIFF, len(others)

    async def listed(self, limit: int) -> list[RunView]:
        summaries = self._hub.summaries(limit, self._workspaces())
        return [await self._hub.view(summary.run_id) for summary in summaries]

    def _workspaces(self) -> list[str]:
        """The folder, and the copies of it that runs worked in."""
        home, folder = self._hub.home, str(self.folder)
        copies = worktree_origins(home) if paths.worktree_records(home).is_dir() else {}
        return [folder, *(copy for copy, origin in copies.items() if origin == folder)]

    async def _execute(self, run_id: str, command: Literal["answer", "cancel", "undo"], **fields: str) -> None:
        request = CommandRequest(command=command, commandId=uuid.uuid4().hex, **fields)
        answer = dict(await self._commands.execute(run_id, request))
        if "refused" in answer:
            raise UsageError(str(answer["reason"]))


def _progress(view: RunView) -> str:
    state, counts = view.state, step_counts(view.state)
    steps = f", {counts['done']} of {counts['total']} steps done" if counts["total"] else ""
    now = f": {' '.join(view.now['text'].split())[:200]}" if view.now and view.now["text"] else ""
    stage = str(state.stage) if run_status(view) == "running" else run_status(view)
    return f"{stage}{steps}{now}"

"""Commands to runs over the socket or HTTP. A command is accepted with the number of the event that records it, queued
until the run reads it, or refused.

A repeated command gets the same answer, or the outcome of the first if that was queued. Replies are kept in a file, so
this holds across restarts too.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field

from surefoot.core.transitions import WORKING, Stage
from surefoot.engine.controls import step_again
from surefoot.errors import SurefootError, UnknownRun, UsageError
from surefoot.history import requests
from surefoot.history.fork import Point, fork
from surefoot.history.restoring import user_and_command
from surefoot.history.undo import undo
from surefoot.journal.messages import answered_in
from surefoot.journal.run_status import has_halted, is_plan
from surefoot.journal.store.base import Journal
from surefoot.journal.store.opening import open_journal
from surefoot.models.select import reusable_spec
from surefoot.server import replies
from surefoot.server.hub import POLL_SECONDS, Hub
from surefoot.server.launch import Driver, run_arguments, start
from surefoot.server.replies import Replies, Reply
from surefoot.tools.registry import default_toolbox
from surefoot.view.questions import question_hash
from surefoot.view.state import RunView

Verb: TypeAlias = Literal["pause", "resume", "cancel", "undo", "fork", "edit", "skip", "retry", "answer"]
HALT_SECONDS = 10.0
"""How long the process of a run that was interrupted or paused may take to end."""
TAKEN_UP_SECONDS = 3.0
"""How long to wait until the process of a run has taken up a command. It checks four times a second."""
BEGIN_SECONDS = 30.0
"""How long to wait for the start of a process that continues a run."""
FindAnswer: TypeAlias = Callable[[RunView], dict[str, Any] | None]
"""Finds the answer to a command in the view of its run; None if there is none yet."""


class StartRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    task: str = Field(min_length=1)
    folder: str | None = None
    model: str | None = None
    checks: list[str] = Field(default=[], max_length=50)
    options: dict[str, str | int | float | bool] = {}
    plan_only: bool = False
    commandId: str = Field(default="", max_length=200)  # noqa: N815 - the protocol's name


class CommandRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    command: Verb
    commandId: str = Field(min_length=1, max_length=200)  # noqa: N815 - the protocol's name
    step: str = ""
    question: str = ""
    answer: str = ""
    expectHash: str = ""  # noqa: N815 - the protocol's name
    plan: str = ""
    why: str = Field(default="", max_length=2_000)
    options: dict[str, str | int | float | bool] = {}


class Commands:
    def __init__(self, hub: Hub, cwd: Path, model: str = "") -> None:
        self._hub, self._cwd, self._model = hub, cwd, model
        self._replies = Replies(hub.home / "server" / "commands.jsonl")
        self._running: dict[str, asyncio.Task[dict[str, Any]]] = {}
        """By key of a command: its execution, so that the same command is joined and not executed twice."""
        self._drivers: list[Driver] = []
        """All processes that were started here and are not reaped yet, also those whose run is not known yet."""
        self._driving: dict[str, Driver] = {}
        """By run: the newest process that was started here for it. It may have ended."""
        self._answering: dict[str, asyncio.Lock] = {}
        """By run: held while an answer is given to it."""

    async def start(self, request: StartRequest) -> dict[str, Any]:
        """Start a run. Returns {"run": its id}, or a refusal."""

        async def starting() -> dict[str, Any]:
            folder = Path(request.folder).expanduser() if request.folder else self._cwd
            if not folder.is_absolute() or not folder.is_dir():
                raise UsageError(f"{folder} is not a folder", remedy="give the absolute path of a folder that exists")
            model = request.model or self._model
            words = run_arguments(request.task, request.checks, model, dict(request.options), request.plan_only)
            driver = self._drive(folder, words)
            run_id = await driver.run_id()
            self._driving[run_id] = driver
            self._remember_model(run_id, model)
            return {"run": run_id}

        return await self._once(f"start:{request.commandId}" if request.commandId else "", starting)

    def is_driven(self, run_id: str) -> bool:
        """Whether a process that was started here may still write events of the run."""
        driver = self._driving.get(run_id)
        return driver is not None and driver.process.poll() is None

    async def execute(self, run_id: str, request: CommandRequest) -> Reply:
        async def executing() -> dict[str, Any]:
            return await self._verb(await self._hub.view(run_id), request)

        async def looking(before: int) -> dict[str, Any]:
            return await self._wait_for(run_id, self._finder(request, before))

        return cast(Reply, await self._once(f"{run_id}:{request.commandId}", executing, looking))

    async def _once(
        self,
        key: str,
        execute: Callable[[], Awaitable[dict[str, Any]]],
        look: Callable[[int], Awaitable[dict[str, Any]]] | None = None,
    ) -> dict[str, Any]:
        """Execute a command, or return the reply that it got before. A command with the same key that is still being
        executed is joined.

        For a command that was queued, `look` finds its outcome. It gets the number of the event in the reply.
        """
        known = self._replies.get(key) if key else None
        waits = known is not None and "queued" in known
        if known is not None and not waits:
            return known

        async def replying() -> dict[str, Any]:
            try:
                reply = await look(known["seq"]) if known is not None and look is not None else await execute()
            except UnknownRun:
                raise
            except (SurefootError, OSError) as error:
                remedy = getattr(error, "remedy", "")
                reply = replies.refused(f"{error}" + (f" ({remedy})" if remedy else ""))
            if known is not None and "queued" in reply:
                return known
            if key:
                self._replies.put(key, reply)
            return reply

        if not key:
            return await replying()
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(replying())
            task.add_done_callback(lambda _: self._running.pop(key, None))
        # A client that disconnects does not stop the command.
        return await asyncio.shield(task)

    async def _verb(self, view: RunView, request: CommandRequest) -> dict[str, Any]:
        verbs = {
            "pause": self._control,
            "cancel": self._control,
            "skip": self._control,
            "retry": self._retry,
            "resume": self._resume,
            "answer": self._answer,
            "edit": self._edit,
            "undo": self._undo,
            "fork": self._fork,
        }
        return await verbs[request.command](view, request)

    def _finder(self, request: CommandRequest, before: int) -> FindAnswer:
        """The function that finds the answer to a command that was sent after this event."""
        match request.command:
            case "answer":
                return lambda view: replies.answered(view, request.question, "")
            case "resume":
                return lambda view: replies.resumed(view, before)
            case "retry":
                return lambda view: replies.taken_up(view, request.commandId) or replies.resumed(view, before)
        return lambda view: replies.taken_up(view, request.commandId)

    async def _wait_for(self, run_id: str, find: FindAnswer, seconds: float = TAKEN_UP_SECONDS) -> dict[str, Any]:
        """Wait until the run has taken up a command. After `seconds`, the answer is that it is queued."""
        await self._hub.wait_for(run_id, lambda view: find(view) is not None, seconds)
        view = await self._hub.view(run_id)
        return find(view) or replies.queued(view)

    # -- the verbs --------------------------------------------------------------------------------------------------

    async def _control(self, view: RunView, request: CommandRequest) -> dict[str, Any]:
        state = view.state
        if request.command == "skip" and not request.step:
            raise UsageError("a step is needed", remedy="name it")
        step_id = requests.step_to_control(state, request.step)
        if not view.live:
            raise UsageError("no process is driving the run now", remedy="resume it first")
        command = cast(Literal["pause", "cancel", "skip", "retry"], request.command)
        arguments = (command, step_id, request.why, request.commandId)
        await self._with_journal(lambda j: requests.send_control(j, state.run_id, *arguments))
        return await self._wait_for(state.run_id, self._finder(request, state.seq))

    async def _retry(self, view: RunView, request: CommandRequest) -> dict[str, Any]:
        view = await self._when_halted(view)
        state = view.state
        step_id = requests.resolve_step(request.step, list(state.steps))
        if state.outcome is None and state.stage in WORKING and view.live:
            return await self._control(view, request)
        step_again(state, default_toolbox(), step_id, {}, "")
        return await self._continue(view, ["retry", state.run_id, step_id], request)

    async def _resume(self, view: RunView, request: CommandRequest) -> dict[str, Any]:
        view = await self._when_halted(view)
        if view.live:
            raise UsageError("the run is already in progress")
        if is_plan(view.state):
            raise UsageError(
                "the run is a plan, there is nothing to continue",
                remedy=f"carry it out: surefoot run --plan {view.state.run_id}",
            )
        if view.state.outcome is not None and view.state.stage == "completed":
            raise UsageError("the run is finished, there is nothing to continue")
        return await self._continue(view, ["resume", view.state.run_id], request)

    async def _when_halted(self, view: RunView) -> RunView:
        """The view after the process of a run that was interrupted or paused has ended, which may take a moment."""
        if view.live and has_halted(view.state):
            await self._hub.wait_for(view.state.run_id, lambda v: not v.live, HALT_SECONDS)
        return await self._hub.view(view.state.run_id)

    async def _answer(self, view: RunView, request: CommandRequest) -> dict[str, Any]:
        run_id = view.state.run_id
        # One after the other: the first answer may start the process that reads the second.
        async with self._answering.setdefault(run_id, asyncio.Lock()):
            view = await self._hub.view(run_id)
            asked = view.state.questions.get(request.question)
            if asked is None:
                raise UsageError(f"there is no question {request.question!r}")
            if asked.answer is not None:
                raise UsageError(f"the question was answered already by {asked.by}: {asked.answer}")
            if request.expectHash and request.expectHash != question_hash(asked):
                raise UsageError("the question has changed since it was shown", remedy="look at it again")
            answer = await self._with_journal(lambda j: self._send_answer(j, run_id, request))
            return await self._ensure_taken_up(run_id, request, answer)

    async def _ensure_taken_up(self, run_id: str, request: CommandRequest, answer: str) -> dict[str, Any]:
        """Wait until the process of a run has read an answer. Starts a process if the run has none."""
        # The view is redacted, so the answer is redacted before the comparison.
        wanted = self._hub.redactor.redact_known(answer)

        def find(view: RunView) -> dict[str, Any] | None:
            return replies.answered(view, request.question, wanted)

        while True:
            view, driver = await self._hub.view(run_id), self._driving.get(run_id)
            if not view.live and (driver is None or driver.process.poll() is not None):
                await self._continue(view, ["resume", run_id], request)
                return await self._wait_for(run_id, find)
            # A process that has just asked and is about to end does not read the answer.
            result = await self._wait_for(run_id, find)
            view = await self._hub.view(run_id)
            if "queued" not in result and view.state.stage is Stage.WAITING and not view.state.open_questions:
                # Or it has read the answer while it was ending, and does not act on it.
                if await self._hub.wait_for(run_id, lambda found: not found.live, HALT_SECONDS):
                    await asyncio.sleep(POLL_SECONDS)  # the process may need a moment more after it released the run
                    continue
                return result
            if "queued" not in result or view.live:
                return result

    def _send_answer(self, journal: Journal, run_id: str, request: CommandRequest) -> str:
        questions, expired = requests.open_questions(journal, run_id)
        if request.question in expired:
            raise UsageError("the question has timed out, which counts as no")
        if request.question in answered_in(journal.receive(run_id)):
            raise UsageError("the question was answered already; the run takes the answer up when it is resumed")
        question = requests.find_question(questions, request.question)
        answer = requests.require_answer(question, request.answer)
        requests.send_answer(journal, run_id, question, answer, self._hub.redactor)
        return answer

    async def _edit(self, view: RunView, request: CommandRequest) -> dict[str, Any]:
        state, command_id = view.state, request.commandId
        requests.require_editable(state)
        seen = requests.require_revision(state, request.plan, request.why)
        if seen is None:
            raise UsageError("the edited plan is the same as the current one")
        edit = (request.plan, request.why, seen)
        if is_plan(state):
            arguments = (state.run_id, *edit, self._hub.redactor)
            seq = await self._with_journal(lambda j: asyncio.run(requests.revise_plan(j, *arguments)))
            return replies.accepted(seq)
        await self._with_journal(lambda j: requests.send_edit(j, state.run_id, *edit, command_id))
        find = self._finder(request, state.seq)
        return await self._wait_for(state.run_id, find, TAKEN_UP_SECONDS if view.live else 0)

    async def _undo(self, view: RunView, request: CommandRequest) -> dict[str, Any]:
        if view.live:
            raise UsageError("the run is in progress", remedy="pause or cancel it first")
        home, run_id = self._hub.home, view.state.run_id
        force = request.options.get("force") is True
        by = user_and_command("the page")
        await self._with_journal(lambda j: asyncio.run(undo(j, home, run_id, step=request.step, force=force, by=by)))
        return replies.accepted((await self._hub.view(run_id)).state.seq)

    async def _fork(self, view: RunView, request: CommandRequest) -> dict[str, Any]:
        target = str(request.options.get("folder", ""))
        if not target or not Path(target).is_absolute():
            raise UsageError("a new run needs a new or empty folder", remedy="give its absolute path as options.folder")
        home, run_id, decision = self._hub.home, view.state.run_id, int(request.options.get("decision", 0))
        if bool(request.step) == bool(decision):
            raise UsageError("say where the new run starts", remedy="with either a step or options.decision")
        point = Point(step=request.step, decision=decision)
        new_id = await self._with_journal(
            lambda j: asyncio.run(fork(j, home, run_id, point, Path(target))),
        )
        model = self._model_of(view, request)
        self._remember_model(new_id, model)
        if request.options.get("start") is True:
            words = ["resume", new_id, *([f"--model={model}"] if model else []), "--json"]
            await self._drive(Path(target), words).has_begun()
        return replies.accepted((await self._hub.view(run_id)).state.seq, run=str(new_id))

    # -- processes and the journal ----------------------------------------------------------------------------------

    async def _continue(self, view: RunView, words: list[str], request: CommandRequest) -> dict[str, Any]:
        """Start a process that continues a run, and wait until it has taken up the run. A remote run is handed over to
        workers instead."""
        task, before = view.state.task, view.state.seq
        assert task is not None
        if view.state.remote:
            await self._hand_over(view, words[0])
            return replies.queued(view)
        if not task.folder.is_dir():
            raise UsageError(f"the workspace of the run is gone: {task.folder}")
        model = self._model_of(view, request)
        driver = self._drive(task.folder, [*words, *([f"--model={model}"] if model else []), "--json"])
        self._driving[view.state.run_id] = driver
        await driver.has_begun(BEGIN_SECONDS)
        reply = await self._wait_for(view.state.run_id, lambda found: replies.resumed(found, before))
        if "queued" in reply and driver.process.poll() is None:
            reply["reason"] = "its process was started and has not taken the run up yet"
        return reply

    async def _hand_over(self, view: RunView, verb: str) -> None:
        """Let workers continue a remote run. This does not wait, because all workers may be busy."""
        from surefoot.integrations.temporal.client import hand_over

        if verb != "resume":
            raise UsageError(f"{verb} is not possible for a remote run that is not in progress", remedy="resume it")
        await hand_over(view.state.run_id, seen_seq=view.state.seq)

    def _remember_model(self, run_id: str, model: str) -> None:
        """Store the model as it was specified. The journal has only its display name."""
        if model:
            self._replies.put(f"model:{run_id}", {"model": model})

    def _model_of(self, view: RunView, request: CommandRequest) -> str:
        """The model to continue a run with; empty for the one that the run itself or the settings name."""
        state = view.state
        known = self._replies.get(f"model:{state.run_id}") or {}
        named = str(request.options.get("model", "") or known.get("model", ""))
        return named or ("" if reusable_spec(state.model, state.model_address) else self._model)

    def _drive(self, folder: Path, words: list[str]) -> Driver:
        self._drivers = [driver for driver in self._drivers if not driver.reap()]
        driver = start(self._hub.home, folder, words)
        self._drivers.append(driver)
        return driver

    async def _with_journal(self, use: Callable[[Journal], Any]) -> Any:
        """Use a journal in a thread: it may have to wait for the process of a run, and an undo may take a while."""

        def using() -> Any:
            journal = open_journal(self._hub.home, storage=self._hub.storage)
            try:
                return use(journal)
            finally:
                journal.close()

        return await asyncio.to_thread(using)

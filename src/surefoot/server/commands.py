"""What people ask of runs over the socket or HTTP. Each command is accepted with a number of the journal, or refused.

A repeated command gives the answer of the first. Answers are kept in a file, so that this holds over restarts too.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field

from surefoot.core.transitions import WORKING
from surefoot.engine.controls import step_again
from surefoot.errors import SurefootError, UnknownRun, UsageError
from surefoot.history import requests
from surefoot.history.fork import Point, fork
from surefoot.history.restoring import who
from surefoot.history.undo import undo
from surefoot.journal.messages import AnswerMessage
from surefoot.journal.store.base import Journal
from surefoot.journal.store.opening import open_journal
from surefoot.server.hub import Hub
from surefoot.server.launch import Driver, run_arguments, start
from surefoot.tools.registry import default_toolbox
from surefoot.view.questions import question_hash
from surefoot.view.rows import Accepted, Refused
from surefoot.view.state import RunView

Verb: TypeAlias = Literal["pause", "resume", "cancel", "undo", "fork", "edit", "skip", "retry", "answer"]
Answer: TypeAlias = Accepted | Refused
TAKEN_UP_SECONDS = 3.0
"""How long to wait until the process of a run has taken a command up. It looks four times a second."""
KEPT_ANSWERS = 2_000


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
        self._answers = _Answers(hub.home / "server" / "commands.jsonl")
        self._running: dict[str, asyncio.Task[dict[str, Any]]] = {}
        self._drivers: list[Driver] = []
        self._driving: dict[str, Driver] = {}
        self._answering: dict[str, asyncio.Lock] = {}

    async def start(self, request: StartRequest) -> dict[str, Any]:
        """Start a run. Returns {"run": its id}, or a refusal."""

        async def starting() -> dict[str, Any]:
            folder = Path(request.folder).expanduser() if request.folder else self._cwd
            if not folder.is_absolute() or not folder.is_dir():
                raise UsageError(f"{folder} is not a folder", remedy="give the absolute path of a folder that exists")
            model = request.model or self._model
            words = run_arguments(request.task, request.checks, model, dict(request.options), request.plan_only)
            run_id = await self._drive(folder, words).run_id()
            self._remember_model(run_id, model)
            return {"run": run_id}

        return await self._once(f"start:{request.commandId}" if request.commandId else "", starting)

    async def execute(self, run_id: str, request: CommandRequest) -> Answer:
        async def executing() -> dict[str, Any]:
            view = await self._hub.view(run_id)
            extra = await self._verb(view, request)
            return {"accepted": True, "seq": (await self._hub.view(run_id)).state.seq, **extra}

        return cast(Answer, await self._once(f"{run_id}:{request.commandId}", executing))

    async def _once(self, key: str, execute: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """Execute a command, or return the answer that it got before. The same command at the same time is one."""
        if key and (known := self._answers.get(key)) is not None:
            return known

        async def answering() -> dict[str, Any]:
            try:
                answer = await execute()
            except UnknownRun:
                raise
            except (SurefootError, OSError) as error:
                remedy = getattr(error, "remedy", "")
                answer = {"refused": True, "reason": f"{error}" + (f" ({remedy})" if remedy else "")}
            if key:
                self._answers.put(key, answer)
            return answer

        if not key:
            return await answering()
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(answering())
            task.add_done_callback(lambda _: self._running.pop(key, None))
        # A client that goes away does not stop the command.
        return await asyncio.shield(task)

    async def _verb(self, view: RunView, request: CommandRequest) -> dict[str, Any]:
        match request.command:
            case "pause" | "cancel" | "skip":
                await self._control(view, request)
            case "retry":
                await self._retry(view, request)
            case "resume":
                await self._resume(view, request)
            case "answer":
                await self._answer(view, request)
            case "edit":
                await self._edit(view, request)
            case "undo":
                await self._undo(view, request)
            case "fork":
                return {"run": await self._fork(view, request)}
        return {}

    # -- the verbs --------------------------------------------------------------------------------------------------

    async def _control(self, view: RunView, request: CommandRequest) -> None:
        state = view.state
        if request.command == "skip" and not request.step:
            raise UsageError("a step is needed", remedy="name it")
        step_id = requests.require_control(state, request.step)
        if not view.live:
            raise UsageError("no process is driving the run now", remedy="resume it first")
        before = state.seq
        command = cast(Literal["pause", "cancel", "skip", "retry"], request.command)
        await self._with_journal(lambda j: requests.send_control(j, state.run_id, command, step_id, request.why))
        await self._hub.wait_for(state.run_id, lambda v: v.state.seq > before, TAKEN_UP_SECONDS)

    async def _retry(self, view: RunView, request: CommandRequest) -> None:
        state = view.state
        step_id = requests.resolve_step(request.step, list(state.steps))
        if state.outcome is None and state.stage in WORKING and view.live:
            await self._control(view, request)
            return
        step_again(state, default_toolbox(), step_id, {}, "")
        await self._continue(view, ["retry", state.run_id, step_id], request)

    async def _resume(self, view: RunView, request: CommandRequest) -> None:
        if view.live:
            raise UsageError("the run is already in progress")
        if view.state.outcome is not None and view.state.stage == "completed":
            raise UsageError("the run is finished, there is nothing to continue")
        await self._continue(view, ["resume", view.state.run_id], request)

    async def _answer(self, view: RunView, request: CommandRequest) -> None:
        run_id = view.state.run_id
        # One after the other: the first answer may start the process that takes up the second.
        async with self._answering.setdefault(run_id, asyncio.Lock()):
            view = await self._hub.view(run_id)
            asked = view.state.questions.get(request.question)
            if asked is None:
                raise UsageError(f"there is no question {request.question!r}")
            if asked.answer is not None:
                raise UsageError(f"the question was answered already by {asked.by}: {asked.answer}")
            if request.expectHash and request.expectHash != question_hash(asked):
                raise UsageError("the question is about something else than what was shown", remedy="look at it again")
            await self._with_journal(lambda j: self._send_answer(j, run_id, request))
            await self._have_it_taken_up(run_id, request)

    async def _have_it_taken_up(self, run_id: str, request: CommandRequest) -> None:
        """Wait until the process of a run has read an answer, and start one if the run ended it when it had to wait."""
        while True:
            view, driver = await self._hub.view(run_id), self._driving.get(run_id)
            if not view.live and (driver is None or driver.process.poll() is not None):
                await self._continue(view, ["resume", run_id], request)
                return
            # A process that has just asked and is about to end does not read it any more.
            answered = await self._hub.wait_for(run_id, lambda v: _is_answered(v, request.question), TAKEN_UP_SECONDS)
            if answered or (await self._hub.view(run_id)).live:
                return

    def _send_answer(self, journal: Journal, run_id: str, request: CommandRequest) -> None:
        questions, expired = requests.open_questions(journal, run_id)
        if request.question in expired:
            raise UsageError("the question has timed out, which counts as no")
        waiting = [item.body for item in journal.receive(run_id) if isinstance(item.body, AnswerMessage)]
        if any(message.question_id == request.question for message in waiting):
            raise UsageError("the question was answered already; the run takes the answer up when it is resumed")
        question = requests.find_question(questions, request.question)
        answer = requests.require_answer(question, request.answer)
        requests.send_answer(journal, run_id, question, answer, self._hub.redactor)

    async def _edit(self, view: RunView, request: CommandRequest) -> None:
        state, before = view.state, view.state.seq
        requests.require_editable(state)
        if requests.require_revision(state, request.plan, request.why) is None:
            raise UsageError("it is the plan as it is already")
        await self._with_journal(lambda j: requests.send_edit(j, state.run_id, request.plan, request.why))
        if view.live:
            await self._hub.wait_for(state.run_id, lambda v: v.state.seq > before, TAKEN_UP_SECONDS)

    async def _undo(self, view: RunView, request: CommandRequest) -> None:
        if view.live:
            raise UsageError("the run is in progress", remedy="pause or cancel it first")
        home, run_id = self._hub.home, view.state.run_id
        force = request.options.get("force") is True
        by = who("the page")
        await self._with_journal(lambda j: asyncio.run(undo(j, home, run_id, step=request.step, force=force, by=by)))

    async def _fork(self, view: RunView, request: CommandRequest) -> str:
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
        model = self._model_of(run_id, request)
        self._remember_model(new_id, model)
        if request.options.get("start") is True:
            words = ["resume", new_id, *([f"--model={model}"] if model else []), "--json"]
            await self._drive(Path(target), words).has_begun()
        return str(new_id)

    # -- processes and the journal ----------------------------------------------------------------------------------

    async def _continue(self, view: RunView, words: list[str], request: CommandRequest) -> None:
        """Start a process that continues a run, and wait until it has begun."""
        task, before = view.state.task, view.state.seq
        assert task is not None
        if view.state.remote:
            await self._hand_over(view, words[0])
            return
        if not task.folder.is_dir():
            raise UsageError(f"the workspace of the run is gone: {task.folder}")
        model = self._model_of(view.state.run_id, request)
        driver = self._drive(task.folder, [*words, *([f"--model={model}"] if model else []), "--json"])
        self._driving[view.state.run_id] = driver
        await driver.has_begun()
        await self._hub.wait_for(view.state.run_id, lambda v: v.state.seq > before, TAKEN_UP_SECONDS)

    async def _hand_over(self, view: RunView, verb: str) -> None:
        """Let workers go on with a remote run. They may all be busy, so nobody waits for it here."""
        from surefoot.integrations.temporal.client import hand_over

        if verb != "resume":
            raise UsageError(f"{verb} is not possible for a remote run that is not in progress", remedy="resume it")
        await hand_over(view.state.run_id, after=view.state.seq)

    def _remember_model(self, run_id: str, model: str) -> None:
        """Keep how the model was named: the journal has only what it is called."""
        if model:
            self._answers.put(f"model:{run_id}", {"model": model})

    def _model_of(self, run_id: str, request: CommandRequest) -> str:
        """The model to continue a run with; empty: what the run itself and the settings say."""
        known = self._answers.get(f"model:{run_id}") or {}
        return str(request.options.get("model", "") or known.get("model", "")) or self._model

    def _drive(self, folder: Path, words: list[str]) -> Driver:
        self._drivers = [driver for driver in self._drivers if not driver.reap()]
        driver = start(self._hub.home, folder, words)
        self._drivers.append(driver)
        return driver

    async def _with_journal(self, use: Callable[[Journal], Any]) -> Any:
        """Use a journal in a thread: it may have to wait for the process of a run, and an undo takes a while."""

        def using() -> Any:
            journal = open_journal(self._hub.home, storage=self._hub.storage)
            try:
                return use(journal)
            finally:
                journal.close()

        return await asyncio.to_thread(using)


def _is_answered(view: RunView, question_id: str) -> bool:
    question = view.state.questions.get(question_id)
    return question is not None and question.answer is not None


class _Answers:
    """The answers of commands by their id, and the models of runs, in a file with one line for each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lines = 0
        try:
            for line in path.read_text("utf-8").splitlines():
                key, answer = json.loads(line)
                self._known[key] = answer
                self._lines += 1
        except (FileNotFoundError, ValueError):
            # A line that was cut off by a crash, or nothing yet.
            pass

    def get(self, key: str) -> dict[str, Any] | None:
        return self._known.get(key)

    def put(self, key: str, answer: dict[str, Any]) -> None:
        self._known[key] = answer
        while len(self._known) > KEPT_ANSWERS:
            self._known.popitem(last=False)
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        rewrite = self._lines > 2 * KEPT_ANSWERS
        items = list(self._known.items()) if rewrite else [(key, answer)]
        with self._path.open("w" if rewrite else "a", encoding="utf-8") as file:
            file.writelines(json.dumps(item) + "\n" for item in items)
        self._lines = len(items) if rewrite else self._lines + 1

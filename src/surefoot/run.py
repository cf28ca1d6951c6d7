"""A run in progress: its state, and the few things that phases may do to the world through it."""

import asyncio
import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from surefoot import events as e
from surefoot.bus import Bus
from surefoot.config import ExecutionConfig
from surefoot.errors import JournalError
from surefoot.fold import apply
from surefoot.fuses import FuseBox, Pausable
from surefoot.machine import Stage
from surefoot.outcome import Verdict
from surefoot.people import Person, first_answer, paused
from surefoot.questions import answered, timed_out, times_out_at
from surefoot.redact import Redactor
from surefoot.state import Question, RunState
from surefoot.task import Task

WATCH_SECONDS = 0.25
"""How often a run looks for messages from other processes."""

if TYPE_CHECKING:
    from surefoot.artifacts import Artifacts
    from surefoot.models.base import LanguageModel
    from surefoot.store.base import Journal
    from surefoot.tools.base import ToolContext
    from surefoot.tools.registry import Toolbox
    from surefoot.verify import Verifier
    from surefoot.workspace.manifest import Entry
    from surefoot.workspace.sandbox import Sandbox
    from surefoot.workspace.snapshot import Workspace


@dataclass
class Services:
    """What a run is given from outside."""

    journal: "Journal"
    model: "LanguageModel"
    home: Path
    """Where snapshots, blobs and locks live: never inside a workspace."""
    toolbox: "Toolbox | None" = None
    person: Person | None = None
    bus: Bus = field(default_factory=Bus)
    redact: Callable[[str], str] = field(default_factory=lambda: Redactor.from_environment(os.environ).redact)
    """Takes known secrets out of what a model is sent; the journal has its own for what is written down."""
    clock: Callable[[], float] = time.time
    """By which questions time out."""


class Stopped(BaseException):
    """Something ends the run here and now, with this verdict. The engine writes the outcome. Like a cancellation it is
    no failure of what it goes through: a tool that asks a person is not broken because nobody is there."""

    def __init__(self, verdict: Verdict, reason: str) -> None:
        super().__init__(reason)
        self.verdict = verdict
        self.reason = reason


def _control_sent(body: dict[str, Any]) -> e.Event:
    try:
        return e.ControlReceived.model_validate({name: value for name, value in body.items() if name != "type"})
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        return e.Warned(message=f"a message to this run was left out, {where} is wrong: {problem['msg']}")


def stop_for(control: e.ControlReceived) -> Stopped:
    if control.command == "cancel":
        return Stopped(Verdict.CANCELLED, f"cancelled {who(control)}")
    return Stopped(Verdict.WAITING, f"paused {who(control)}")


def who(control: e.ControlReceived) -> str:
    return f"by {control.by}" + (f": {control.why}" if control.why else "")


class Run:
    verifier: "Verifier"
    artifacts: "Artifacts"
    """Both are set right after the run is made: they look at the world through the run."""

    def __init__(
        self,
        services: Services,
        state: RunState,
        workspace: "Workspace",
        toolbox: "Toolbox",
        sandbox: "Sandbox | None",
    ) -> None:
        self.services = services
        self.state = state
        self.workspace = workspace
        self.toolbox = toolbox
        self.sandbox = sandbox
        self.interrupting: dict[str, e.ControlReceived] = {}
        """Running steps that a person does not want, or wants anew; their tasks are cancelled."""
        self.step_tasks: dict[str, asyncio.Task[Any]] = {}
        self.taken: set[str] = set()
        """Steps that were chosen to run and have not ended, also those whose beginning is not written down yet."""
        self.fuse_box = FuseBox()
        self.fuses: dict[str, Pausable] = {}
        """What ends a step that takes too long, by its id; under the empty one, the run."""
        self.stopping: Stopped | None = None
        """Why the run's own task is cancelled, when a person wants it to stop."""
        self.last_alive = self._last_sign_of_life()
        """When an earlier process was last at work on this run."""
        self.context: ToolContext | None = None
        """What every tool may know and use; made with the first call."""
        self.briefing = ""
        """The stable front of every prompt; made once, by `context.py`."""

    # -- shorthands -------------------------------------------------------------------------------------------------

    @property
    def config(self) -> ExecutionConfig:
        return self.state.config

    @property
    def task(self) -> Task:
        assert self.state.task is not None
        return self.state.task

    @property
    def model(self) -> "LanguageModel":
        return self.services.model

    @cached_property
    def root(self) -> Path:
        return self.task.folder

    # -- the journal ------------------------------------------------------------------------------------------------

    async def record(self, *events: e.Event) -> None:
        """Make facts durable, then act on them: nothing is believed that is not written down."""
        state, bus = self.state, self.services.bus
        for record in await self.services.journal.append(state.run_id, events):
            apply(state, record)
            bus.publish(record)

    def note(self, event: e.Event) -> None:
        """For what may share the next transaction: usage, thoughts, progress."""
        record = self.services.journal.note(self.state.run_id, event)
        apply(self.state, record)
        self.services.bus.publish(record)

    async def enter(self, stage: Stage, reason: str = "") -> None:
        await self.record(e.StageEntered(stage=stage, reason=reason))

    # -- fuses ------------------------------------------------------------------------------------------------------

    @property
    def cost_usd(self) -> float:
        budget, state = self.config.budget, self.state
        prompt = state.prompt_tokens * budget.usd_per_million_prompt_tokens
        return (prompt + state.output_tokens * budget.usd_per_million_output_tokens) / 1_000_000

    def check_budget(self) -> None:
        """Called before anything that costs: a run that has spent what it was given stops and says so."""
        budget, state = self.config.budget, self.state
        if budget.max_tokens is not None and state.tokens >= budget.max_tokens:
            raise Stopped(Verdict.BUDGET, f"{state.tokens:,} of {budget.max_tokens:,} tokens are used")
        if budget.max_cost_usd is not None and self.cost_usd >= budget.max_cost_usd:
            raise Stopped(Verdict.BUDGET, f"${self.cost_usd:.2f} of ${budget.max_cost_usd:.2f} are spent")
        if budget.max_tool_calls is not None and state.tool_calls >= budget.max_tool_calls:
            raise Stopped(Verdict.BUDGET, f"all {budget.max_tool_calls} tool calls are used")
        if budget.max_seconds is not None and state.active_seconds >= budget.max_seconds:
            raise Stopped(Verdict.TIME, f"the {budget.max_seconds:g} seconds given are over")

    def budget_left(self) -> str:
        """For the prompt: what is left, in a few words; empty where nothing is limited."""
        budget, state, parts = self.config.budget, self.state, []
        if budget.max_tokens is not None:
            parts.append(f"{max(budget.max_tokens - state.tokens, 0)} tokens")
        if budget.max_cost_usd is not None:
            parts.append(f"${max(budget.max_cost_usd - self.cost_usd, 0):.2f}")
        if budget.max_tool_calls is not None:
            parts.append(f"{max(budget.max_tool_calls - state.tool_calls, 0)} tool calls")
        if budget.max_seconds is not None:
            parts.append(f"{max(budget.max_seconds - state.active_seconds, 0):.0f} seconds")
        return ", ".join(parts)

    # -- people -----------------------------------------------------------------------------------------------------

    async def ask_person(
        self, kind: str, text: str, *, options: tuple[str, ...] = (), step_id: str = "", subject: str = ""
    ) -> str:
        """The answer, now or from an earlier process. With nobody there, the question waits and so does the run."""
        question_id = hashlib.sha256(f"{kind}\0{step_id}\0{subject or text}".encode()).hexdigest()[:10]
        question = self.state.questions.get(question_id)
        if question is None:
            await self.record(
                e.QuestionAsked.model_validate(
                    {
                        "question_id": question_id,
                        "kind": kind,
                        "text": text,
                        "options": options,
                        "step_id": step_id,
                        "subject": subject,
                    }
                )
            )
            question = self.state.questions[question_id]
        if question.answer is None and (answer := await self._answer(question)):
            await self.record(answer)
        assert question.answer is not None
        return question.answer

    async def _answer(self, question: Question) -> e.QuestionAnswered | None:
        """None when somebody has answered from elsewhere. With nobody there, the run waits."""
        until = times_out_at(question, self.config.question_timeout_seconds)
        left = None if until is None else until - self.services.clock()
        if left is not None and left <= 0:
            return timed_out(question)
        if self.services.person is None:
            raise Stopped(Verdict.WAITING, question.text)
        try:
            with paused([self.fuses.get(""), self.fuses.get(question.step_id)]):
                answer = await first_answer(self.services.person, question, left)
        except TimeoutError:
            return timed_out(question)
        if question.answer is not None:
            return None
        if answer is None:
            raise Stopped(Verdict.WAITING, question.text)
        return e.QuestionAnswered(question_id=question.id, answer=answer)

    async def watch(self, driver: "asyncio.Task[Any]") -> None:
        """Beside the run: looks for messages, and interrupts what a person does not want to go on."""
        while True:
            self.sign_of_life()
            await asyncio.sleep(WATCH_SECONDS)
            with contextlib.suppress(JournalError):
                # What was only noted is to be seen by other processes too; if it fails, it goes with what comes next.
                await self.services.journal.flush()
            await self.take_messages()
            for control in self.state.controls:
                step = self.step_tasks.get(control.step_id)
                if control.command in ("cancel", "pause") and self.stopping is None:
                    self.stopping = stop_for(control)
                    driver.cancel()
                elif step and control.command in ("skip", "retry") and self._interruptible(control.step_id):
                    self.interrupting[control.step_id] = control
                    step.cancel()

    def _interruptible(self, step_id: str) -> bool:
        return step_id in self.state.running and step_id not in self.interrupting

    async def take_messages(self) -> None:
        """What other processes left for this run: answers and controls become events here."""
        items = self.services.journal.receive(self.state.run_id)
        if not items:
            return
        events: list[e.Event] = []
        given: set[str] = set()
        for item in items:
            if item.body.get("type") == "answer":
                events += [a for a in self._answer_sent(item.body) if a.question_id not in given]
                given |= {str(item.body.get("question_id"))}
            elif item.body.get("type") == "control":
                events.append(_control_sent(item.body))
        self.services.journal.acknowledge(self.state.run_id, [item.id for item in items])
        await self.record(*events)

    def _answer_sent(self, body: dict[str, Any]) -> list[e.QuestionAnswered]:
        """An answer counts from when it was given, however much later it is read; a question has one answer."""
        question = self.state.questions.get(str(body.get("question_id")))
        if question is None or question.answer is not None:
            return []
        now = self.services.clock()
        given = float(body.get("at") or now)
        limit = self.config.question_timeout_seconds
        answer, by = str(body.get("answer", "")), str(body.get("by", "user"))
        return [answered(question, answer, by, at=min(given, now), limit=limit)]

    # -- signs of life ------------------------------------------------------------------------------------------------

    @property
    def _alive_file(self) -> Path:
        return self.services.home / "alive" / self.state.run_id

    def sign_of_life(self) -> None:
        """After a crash this tells what was changed by the run and what by somebody else later."""
        self._alive_file.parent.mkdir(parents=True, exist_ok=True)
        self._alive_file.touch()

    def _last_sign_of_life(self) -> float | None:
        try:
            return self._alive_file.stat().st_mtime
        except FileNotFoundError:
            return None

    # -- the workspace ----------------------------------------------------------------------------------------------

    async def snapshot(self) -> str:
        return await asyncio.to_thread(self.workspace.snapshot)

    def files_before(self) -> Mapping[str, "Entry"]:
        """What was in the workspace when the run began."""
        return self.workspace.manifest(self.state.snapshot).entries if self.state.snapshot else {}

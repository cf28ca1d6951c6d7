"""Shared by tests of the engine: a workspace, scripted answers of a model, and runs with them."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.talk import AS_WRITTEN, TALKING, TalkingModel
from surefoot.config.model import ExecutionConfig
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import CommandCheck, DetailedPlan, ExecutionStep, StepDependency
from surefoot.core.questions import Question
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.engine.loop import resume_run, start_run
from surefoot.engine.planner.gate import skipped
from surefoot.engine.runtime.human import Person
from surefoot.engine.runtime.services import Services
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.journal.store.memory import MemoryJournal
from surefoot.models.base import ModelTraits
from surefoot.models.testing.scripted import ScriptedModel
from surefoot.tools.registry import Toolbox

NO_RETRIES = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
"""Reflection limits under which the first failure of a step ends the run."""
SMALL = ModelTraits(small=True, inline_bodies=False)
"""Traits of a small model."""


def understanding(*files: str, complexity: str = "simple", **more: Any) -> dict[str, Any]:
    """An answer that ends the understanding phase."""
    return {
        "understanding": AS_WRITTEN,
        "requirements": ["the task is done"],
        "files": list(files),
        "task_type": "write_code",
        "complexity": complexity,
        "risks": [],
        "questions": [],
        **more,
    }


def fenced(body: str, language: str = "python") -> str:
    return f"```{language}\n{body.rstrip()}\n```"


def act(tool: str, **arguments: Any) -> dict[str, Any]:
    """An answer that calls a tool."""
    return {"thought": f"use {tool}", "decision": "act", "reason": "", "tool": tool, "arguments": arguments}


def done(reason: str = "all is there") -> dict[str, Any]:
    """An answer that ends a step."""
    return {"thought": "", "decision": "done", "reason": reason, "tool": "", "arguments": {}}


class PreparedPerson:
    """Gives prepared answers and records the questions."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.questions: list[Question] = []

    async def answer(self, question: Question) -> str | None:
        self.questions.append(question)
        return self.answers.pop(0) if self.answers else None


@dataclass
class Bench:
    """A workspace and everything else that the runs of one test need."""

    root: Path
    home: Path
    journal: Journal = field(default_factory=MemoryJournal)
    toolbox: Toolbox | None = None
    person: Person | None = None
    records: list[e.Record] = field(default_factory=list)
    streamed: list[str] = field(default_factory=list)
    model: ScriptedModel = field(default_factory=lambda: ScriptedModel([]))
    talker: TalkingModel = field(default_factory=lambda: TalkingModel([]))
    text: str = "the task"

    def write(self, **files: str) -> None:
        """Write files into the workspace; `write(spec__md="...")` writes spec.md."""
        for name, text in files.items():
            (self.root / name.replace("__", ".")).write_text(text)

    def services(self, answers: Sequence[Any], **traits: Any) -> Services:
        self.model = ScriptedModel([self._filled(answer) for answer in answers], **traits)
        services = Services(self.journal, self.model, self.home, self.toolbox, self.person)
        services.bus.subscribe(self.records.append, self.streamed.append)
        return services

    async def run(self, text: str, answers: Sequence[Any], *, checks: Sequence[str] = (), **config: Any) -> RunState:
        task = self.task(text, checks)
        return await start_run(self.services(answers), task, self.config(**config))

    async def talk(
        self,
        text: str,
        script: Sequence[Any],
        *,
        checks: Sequence[str] = (),
        traits: ModelTraits = TALKING,
        **config: Any,
    ) -> RunState:
        """Run a task with a model that calls tools."""
        self.talker = TalkingModel(script, traits)
        services = Services(self.journal, self.talker, self.home, self.toolbox, self.person)
        services.bus.subscribe(self.records.append, self.streamed.append)
        return await start_run(services, self.task(text, checks), self.config(**config))

    async def talk_on(self, run_id: str, script: Sequence[Any]) -> RunState:
        """Resume a run with a model that calls tools."""
        self.talker = TalkingModel(script)
        services = Services(self.journal, self.talker, self.home, self.toolbox, self.person)
        services.bus.subscribe(self.records.append, self.streamed.append)
        return await resume_run(services, run_id)

    async def run_plan(
        self,
        plan: DetailedPlan,
        answers: Sequence[Any] = (),
        *,
        checks: Sequence[str] = (),
        traits: ModelTraits | None = None,
        **config: Any,
    ) -> RunState:
        """Start a run at the execution of a given plan."""
        given = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan))
        task = self.task("carry out the given plan", checks)
        services = self.services(answers, **({"traits": traits} if traits else {}))
        return await start_run(services, task, self.config(**config), first=Stage.EXECUTION, given=[given])

    async def resume(self, run_id: str, answers: Sequence[Any]) -> RunState:
        return await resume_run(self.services(answers), run_id)

    def _filled(self, answer: Any) -> Any:
        """Put the words of the task into an understanding that says nothing of its own."""
        if isinstance(answer, dict) and answer.get("understanding") == AS_WRITTEN:
            return {**answer, "understanding": self.text}
        return answer

    def task(self, text: str, checks: Sequence[str]) -> Task:
        self.text = text
        return Task(
            text=text,
            workspace=str(self.root),
            checks=tuple(CommandCheck(command=c, origin="user") for c in checks),
        )

    def config(self, **values: Any) -> ExecutionConfig:
        reflection = {"backoff_seconds": 0, **values.pop("reflection", {})}
        return ExecutionConfig.model_validate({"sandbox": "off", "reflection": reflection, **values})

    async def wait_for(self, matches: Callable[[e.Event], bool]) -> None:
        """Wait until the run has recorded a matching event."""
        while not any(matches(record.event) for record in self.records):  # noqa: ASYNC110 - records come from the bus
            await asyncio.sleep(0.01)

    def events(self, kind: type[Any]) -> list[Any]:
        return [record.event for record in self.records if isinstance(record.event, kind)]

    def prompts(self) -> list[str]:
        """The last message of each request to the model."""
        return [request.messages[-1].content for request in self.model.requests]

    def files(self) -> dict[str, str]:
        """The files of the workspace with their content."""
        return {
            path.relative_to(self.root).as_posix(): path.read_text()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }


def steps(*plan_steps: ExecutionStep, after: Sequence[tuple[str, str]] = ()) -> DetailedPlan:
    """A plan of these steps; `after` holds pairs of a step and the step it depends on."""
    numbered = tuple(step.with_(sequence=i) for i, step in enumerate(plan_steps))
    dependencies = tuple(StepDependency(step_id=s, depends_on=d) for s, d in after)
    return DetailedPlan(steps=numbered, dependencies=dependencies)

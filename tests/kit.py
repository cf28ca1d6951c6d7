"""What tests of the engine share: a workspace, a scripted model, and a run that ends."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surefoot import events as e
from surefoot.config import ExecutionConfig
from surefoot.engine import resume_run, start_run
from surefoot.models.base import ModelTraits
from surefoot.models.scripted import ScriptedModel
from surefoot.people import Person
from surefoot.plan import CommandCheck, DetailedPlan, ExecutionStep, StepDependency
from surefoot.run import Services
from surefoot.state import RunState
from surefoot.store.base import Journal
from surefoot.store.memory import MemoryJournal
from surefoot.task import Task
from surefoot.tools.registry import Toolbox


def understanding(*files: str, complexity: str = "simple", **more: Any) -> dict[str, Any]:
    return {
        "understanding": "the task as it is written, done",
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
    return {"thought": f"use {tool}", "decision": "act", "reason": "", "tool": tool, "arguments": arguments}


def done(reason: str = "all is there") -> dict[str, Any]:
    return {"thought": "", "decision": "done", "reason": reason, "tool": "", "arguments": {}}


@dataclass
class Bench:
    """A folder to work in and everything a run needs, for one test."""

    root: Path
    home: Path
    journal: Journal = field(default_factory=MemoryJournal)
    toolbox: Toolbox | None = None
    person: Person | None = None
    records: list[e.Record] = field(default_factory=list)
    model: ScriptedModel = field(default_factory=lambda: ScriptedModel([]))

    def write(self, **files: str) -> None:
        """`write(spec__md="...")`: two underscores are the dot."""
        for name, text in files.items():
            (self.root / name.replace("__", ".")).write_text(text)

    def services(self, answers: Sequence[Any], **traits: Any) -> Services:
        self.model = ScriptedModel(list(answers), **traits)
        services = Services(self.journal, self.model, self.home, self.toolbox, self.person)
        services.bus.subscribe(self.records.append)
        return services

    async def run(self, text: str, answers: Sequence[Any], *, checks: Sequence[str] = (), **config: Any) -> RunState:
        task = self.task(text, checks)
        return await start_run(self.services(answers), task, self.config(**config))

    async def run_plan(
        self,
        plan: DetailedPlan,
        answers: Sequence[Any] = (),
        *,
        checks: Sequence[str] = (),
        traits: ModelTraits | None = None,
        **config: Any,
    ) -> RunState:
        """Starts at the execution of a given plan."""
        from surefoot.machine import Stage
        from surefoot.outcome import ExecutionPhase
        from surefoot.phases.gated import skipped

        given = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan))
        task = self.task("carry out the given plan", checks)
        services = self.services(answers, **({"traits": traits} if traits else {}))
        return await start_run(services, task, self.config(**config), first=Stage.EXECUTION, given=[given])

    async def resume(self, run_id: str, answers: Sequence[Any]) -> RunState:
        return await resume_run(self.services(answers), run_id)

    def task(self, text: str, checks: Sequence[str]) -> Task:
        return Task(
            text=text,
            workspace=str(self.root),
            checks=tuple(CommandCheck(command=c, origin="user") for c in checks),
        )

    def config(self, **values: Any) -> ExecutionConfig:
        reflection = {"backoff_seconds": 0, **values.pop("reflection", {})}
        return ExecutionConfig.model_validate({"sandbox": "off", "reflection": reflection, **values})

    def events(self, kind: type[Any]) -> list[Any]:
        return [record.event for record in self.records if isinstance(record.event, kind)]

    def prompts(self) -> list[str]:
        return [request.messages[-1].content for request in self.model.requests]

    def files(self) -> dict[str, str]:
        return {
            path.relative_to(self.root).as_posix(): path.read_text()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }


def steps(*given: ExecutionStep, after: Sequence[tuple[str, str]] = ()) -> DetailedPlan:
    numbered = tuple(step.with_(sequence=i) for i, step in enumerate(given))
    dependencies = tuple(StepDependency(step_id=s, depends_on=d) for s, d in after)
    return DetailedPlan(steps=numbered, dependencies=dependencies)

"""The model of a scenario as Surefoot asks it, and a run of a scenario from its beginning to its outcome."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults.scenario import CALLS_AT_MOST, Call, Done, Down, Scenario, Wish, as_plan
from surefoot.config.model import ExecutionConfig
from surefoot.core.outcome import Outcome, Verdict
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import CommandCheck
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.engine.loop import resume_run, start_run
from surefoot.engine.planner.gate import skipped
from surefoot.engine.runtime.services import Services
from surefoot.errors import ModelRejected, ModelUnavailable
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.journal.store.memory import MemoryJournal
from surefoot.models.base import ModelReply, ModelRequest, ModelTraits, OnText, Usage
from surefoot.tools.registry import Toolbox, default_toolbox
from surefoot.tools.tool import Tool, Writes, tool

POLICIES: dict[str, dict[str, Any]] = {
    "default": {},
    "no reflection": {"reflection": {"enable_step_level_reflection": False}},
    "no rollback": {"enable_auto_rollback": False},
    "static": {"dynamic": False},
}


class ScenarioModel:
    """Answers every kind of question from what the scenario's model would do."""

    name = "scenario"
    traits = ModelTraits()

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.calls = 0

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        self.calls += 1
        if self.calls > CALLS_AT_MOST:
            raise ModelRejected(f"more than {CALLS_AT_MOST} calls")
        prompt = "\n".join(message.content for message in request.messages)
        try:
            text = self.scenario.interfere(prompt)
        except Down as error:
            raise ModelUnavailable(f"503: {error}") from None
        if text is None:
            text = self._answer(prompt)
        usage = Usage(prompt_tokens=len(prompt) // 4 + 1, output_tokens=len(text) // 4 + 1)
        return ModelReply(text=text, usage=usage, model=self.name)

    def _answer(self, prompt: str) -> str:
        if "Make a plan of at most" in prompt:
            return json.dumps({"steps": [_step(wish) for wish in self.scenario.wishes(prompt)], "success_criteria": []})
        if "Plan this one step again" in prompt and "# Tools" not in prompt:
            return json.dumps(_step(self.scenario.wishes(prompt)[-1]))
        answer = self.scenario.next(prompt)
        if "Find the cause" in prompt:
            return json.dumps(_cause(answer))
        if isinstance(answer, Done):
            return json.dumps({"thought": "", "decision": "done", "reason": answer.reason, "tool": "", "arguments": {}})
        if "Write the complete new content of" in prompt:
            return f"```\n{answer.arguments['content']}```"
        content = answer.arguments.get("content")
        arguments = {name: value for name, value in answer.arguments.items() if name != "content"}
        decision = {"thought": "", "decision": "act", "reason": "", "tool": answer.tool, "arguments": arguments}
        return json.dumps(decision) + (f"\n```\n{content}```" if content is not None else "")

    async def aclose(self) -> None:
        pass


def _step(wish: Wish) -> dict[str, Any]:
    check = {"kind": "command", "value": wish.check} if wish.check else {"kind": "none", "value": ""}
    kind = "code_generation" if wish.file else "command_execution"
    return {"name": wish.name, "description": wish.name, "type": kind, "file": wish.file, "after": [], "check": check}


def _cause(answer: Call | Done) -> dict[str, Any]:
    """A model that would now do this, asked for the cause: other arguments mean that the old ones were wrong."""
    changes = answer.arguments if isinstance(answer, Call) else {}
    return {
        "category": "parameter_error" if changes else "unknown",
        "root_cause": "told by the error",
        "recoverable": True,
        "fix": "",
        "parameters": changes,
    }


@dataclass
class Result:
    state: RunState
    outcome: Outcome
    calls: int
    tokens: int
    recovered: bool
    """It came to its end, and the result is what was wanted."""
    false_success: bool
    leftovers: list[str]
    records: list[e.Record] = field(default_factory=list)

    @property
    def rungs(self) -> list[str]:
        return [str(record.event.rung) for record in self.records if isinstance(record.event, e.RungChosen)]


def config_for(policy: str) -> ExecutionConfig:
    values = dict(POLICIES[policy])
    reflection = {"backoff_seconds": 0, **values.pop("reflection", {})}
    return ExecutionConfig.model_validate({"sandbox": "off", "reflection": reflection, **values})


def toolbox_for(scenario: Scenario) -> Toolbox:
    tools: list[Tool] = []
    for function in scenario.tools():
        others: Sequence[str] = getattr(function, "alternatives", ())
        tools.append(tool(writes=Writes.FREE, alternatives=others)(function))
    return default_toolbox().with_(*tools)


def services_for(scenario: Scenario, home: Path, journal: Journal | None = None) -> tuple[Services, ScenarioModel]:
    model = ScenarioModel(scenario)
    return Services(journal or MemoryJournal(), model, home, toolbox_for(scenario)), model


async def begin(services: Services, scenario: Scenario, policy: str) -> RunState:
    checks = (CommandCheck(command=scenario.check, origin="user"),) if scenario.check else ()
    task = Task(text=scenario.task, workspace=str(scenario.root), checks=checks)
    given = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", as_plan(scenario.plan())))
    return await start_run(services, task, config_for(policy), first=Stage.EXECUTION, given=[given])


async def run_scenario(scenario: Scenario, home: Path, policy: str = "default") -> Result:
    services, model = services_for(scenario, home)
    records: list[e.Record] = []
    services.bus.subscribe(records.append)
    state = await begin(services, scenario, policy)
    return judged(scenario, state, model.calls, records)


async def go_on(scenario: Scenario, home: Path, journal: Journal) -> Result:
    """After the process was killed."""
    services, _ = services_for(scenario, home, journal)
    state = await resume_run(services, journal.find("last"))
    records = list(journal.read(state.run_id))
    return judged(scenario, state, state.model_calls, records)


def judged(scenario: Scenario, state: RunState, calls: int, records: list[e.Record]) -> Result:
    assert state.outcome is not None
    truth = scenario.truth()
    ended_well = state.stage is Stage.COMPLETED
    return Result(
        state=state,
        outcome=state.outcome,
        calls=calls,
        tokens=state.tokens,
        recovered=ended_well and truth,
        false_success=state.outcome.verdict is Verdict.VERIFIED and not truth,
        leftovers=scenario.leftovers(),
        records=records,
    )

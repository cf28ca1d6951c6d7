"""Runs that never succeed, for the table in concepts/ladder.md: what the engine does at the default settings.

Each run is real but for its model, which follows a script, and for a back-off of no seconds. Nothing is kept.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.config.model import ExecutionConfig
from surefoot.core.phases import AlternativeApproach, ApproachOutput, ExecutionPhase, PhaseResult, PhaseStatus
from surefoot.core.plan import DetailedPlan, ExecutionStep, ExpressionCheck, StepType
from surefoot.core.task import Task
from surefoot.core.transitions import Rung, Stage
from surefoot.engine.loop import start_run
from surefoot.engine.planner.gate import skipped
from surefoot.engine.runtime.services import Services
from surefoot.journal import events as e
from surefoot.journal.store.memory import MemoryJournal
from surefoot.models.base import ModelRequest, ModelTraits
from surefoot.models.testing.scripted import Rule, ScriptedModel
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import tool

NEVER = ExpressionCheck(expression="len(outputs) > 99", origin="user")
STEP = ExecutionStep(id="s1", name="Do it", description="do it", step_type=StepType.COMMAND_EXECUTION)
FILE = ExecutionStep(id="s1", name="Write x.txt", description="write x.txt", writes=("x.txt",))
CALL = ExecutionStep(id="s1", name="Fetch it", tool="fetch", parameters={"source": "a"})


@tool(alternatives=("fetch_by_hand", "fetch_from_copy"))
def fetch(source: str) -> str:
    """Fetch the data."""
    raise ConnectionError("the service does not answer")


@tool
def fetch_by_hand(source: str) -> str:
    """Fetch the data in another way."""
    raise ConnectionError("the service does not answer")


@tool
def fetch_from_copy(source: str) -> str:
    """Fetch the data from a copy."""
    raise ConnectionError("the service does not answer")


@tool
def lonely_fetch(source: str) -> str:
    """Fetch the data; there is no other way."""
    raise ConnectionError("the service does not answer")


@dataclass(frozen=True)
class Case:
    title: str
    category: str = "parameter_error"
    step: ExecutionStep = STEP
    alternatives: int = 0
    recoverable: bool = True
    confidence: float = 0.5
    small: bool = False
    replans: bool = False
    """The model asks for a new plan in every attempt."""
    uses: str = ""
    """The tool that each attempt tries first."""
    config: tuple[tuple[str, Any], ...] = ()


CASES = [
    Case("a wrong parameter or wrong content (`parameter_error`)"),
    Case("the same, in a step that writes one file", step=FILE),
    Case("the same, with a small model", step=FILE, small=True),
    Case("the same, with a small model and another approach", step=FILE, small=True, alternatives=3),
    Case("a tool fails (`tool_error`) and has two alternatives", uses="fetch"),
    Case("a lost connection in a step that is one call, without another tool", step=CALL.with_(tool="lonely_fetch")),
    Case("a result of an earlier step is missing (`dependency_error`)", "dependency_error"),
    Case("the step itself is wrong (`decomposition_error`)", "decomposition_error"),
    Case("the same, and the model is not sure (confidence 0.1)", "decomposition_error", confidence=0.1),
    Case("the model asks for a new plan (`replan`)", replans=True),
    Case("something is missing on this machine (`environment_error`)", "environment_error"),
    Case("an unknown cause (`unknown`), in a step that is not critical", "unknown", STEP.with_(critical=False)),
    Case("a wrong parameter, in a step with `max_retries = 1`", step=STEP.with_(max_retries=1)),
    Case("not recoverable", recoverable=False),
    Case("the step itself is wrong, and two other approaches are left", "decomposition_error", alternatives=2),
    Case(
        "with `enable_step_level_reflection = false`", config=(("reflection", {"enable_step_level_reflection": False}),)
    ),
]


def climbs() -> dict[str, list[Rung]]:
    """Return for each case the rungs that a run really takes, in order."""
    return asyncio.run(_all())


async def _all() -> dict[str, list[Rung]]:
    return {case.title: await _climb(case) for case in CASES}


async def _climb(case: Case) -> list[Rung]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        root, home = Path(folder, "work"), Path(folder, "home")
        root.mkdir()
        home.mkdir()
        model = ScriptedModel(_rules(case), traits=ModelTraits(small=case.small, inline_bodies=False))
        toolbox = default_toolbox().with_(fetch, fetch_by_hand, fetch_from_copy, lonely_fetch)
        services = Services(MemoryJournal(), model, home, toolbox)
        chosen: list[Rung] = []
        services.bus.subscribe(lambda r: chosen.append(r.event.rung) if isinstance(r.event, e.RungChosen) else None)
        task = Task(text="do what never works", workspace=str(root), checks=(NEVER,))
        given = [*_approach(case.alternatives), e.PlanMade(result=_given(case.step))]
        await start_run(services, task, _config(case), first=Stage.EXECUTION, given=given)
        return chosen


def _config(case: Case) -> ExecutionConfig:
    config = dict(case.config)
    reflection = {"backoff_seconds": 0, **config.pop("reflection", {})}
    return ExecutionConfig.model_validate({"sandbox": "off", "reflection": reflection, **config})


def _given(step: ExecutionStep) -> PhaseResult[DetailedPlan]:
    return skipped(ExecutionPhase.Planning(), "given", DetailedPlan(steps=(step,)))


def _approach(alternatives: int) -> list[e.Event]:
    others = tuple(AlternativeApproach(name=f"way {number}") for number in range(alternatives))
    output = ApproachOutput(approach="the first way", alternatives=others)
    result = PhaseResult[ApproachOutput](phase=ExecutionPhase.Approach(), status=PhaseStatus.SUCCESS, output=output)
    return [e.ApproachChosen(result=result)]


def _rules(case: Case) -> Sequence[Rule]:
    """A model that never does it right, and never the same."""
    asked = 0

    def fresh(_: ModelRequest) -> str:
        nonlocal asked
        asked += 1
        return f"```\nanswer {asked}\n```"

    def decide(_: ModelRequest) -> dict[str, Any]:
        nonlocal asked
        asked += 1
        decision = {"thought": "", "decision": "done", "reason": "", "tool": "", "arguments": {}}
        if case.uses and asked % 2:
            return {**decision, "decision": "act", "tool": case.uses, "arguments": {"source": f"source {asked}"}}
        return {**decision, "decision": "replan", "reason": f"wrong {asked}"} if case.replans else decision

    cause = {
        "category": case.category,
        "root_cause": "it is said",
        "recoverable": case.recoverable,
        "fix": "",
        "parameters": {},
        "confidence": case.confidence,
    }
    step = {"name": "Do it", "type": case.step.step_type, "file": "".join(case.step.writes), "after": [],
            "check": {"kind": "none", "value": ""}}  # fmt: skip
    return [
        Rule("Find the cause", cause),
        Rule("# Tools\n", {"thought": "", "tool": case.step.tool, "arguments": {"source": "repaired"}}, times=1),
        Rule("Plan this one step again", {**step, "description": "in another way"}),
        Rule("Make a plan of at most", {"steps": [{**step, "description": "anew"}], "success_criteria": []}),
        Rule("Choose the one next action", decide),
        Rule(lambda _: True, fresh),
    ]

"""Runs that send telemetry to a receiver in this process."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from support.kit import Bench, act, done, steps
from support.otlp import Receiver, receiving
from surefoot.config.integrations import Integrations, TelemetrySettings
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import CommandCheck, DetailedPlan, ExecutionStep
from surefoot.core.transitions import Stage
from surefoot.engine.loop import resume_run, start_run
from surefoot.engine.planner.gate import skipped
from surefoot.integrations.attach import attached
from surefoot.journal import events as e
from surefoot.journal.state import RunState

CHECK = CommandCheck(command="grep -q 'a + b' adder.py")


def wrote(sign: str) -> dict[str, Any]:
    return act("write_file", path="adder.py", content=f"def add(a, b):\n    return a {sign} b\n")


@dataclass
class Observed:
    """A bench whose runs are observed, and what it was told about undelivered telemetry."""

    bench: Bench
    settings: TelemetrySettings = field(default_factory=lambda: TelemetrySettings(enabled=True))
    messages: list[str] = field(default_factory=list)

    async def run(
        self, text: str, answers: Sequence[Any], *, plan: DetailedPlan | None = None, **config: Any
    ) -> RunState:
        checks = config.pop("checks", [])
        services = self.bench.services(answers, name=config.pop("name", "scripted"))
        given = [e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan))] if plan else []
        first = Stage.EXECUTION if plan else Stage.UNDERSTANDING
        async with attached(services, Integrations(self.settings), self.messages.append):
            return await start_run(
                services, self.bench.task(text, checks), self.bench.config(**config), first=first, given=given
            )

    async def resume(self, run_id: str, answers: Sequence[Any]) -> RunState:
        services = self.bench.services(answers)
        async with attached(services, Integrations(self.settings), self.messages.append):
            return await resume_run(services, run_id)

    async def healed(self, **config: Any) -> RunState:
        """A step fails its check, is rolled back and tried again."""
        self.bench.write(README__md="# adder\n")
        plan = steps(
            ExecutionStep(id="read", name="Read the README", tool="read_file", parameters={"path": "README.md"}),
            ExecutionStep(id="write", name="Write adder.py", description="add(a, b) is the sum.", checks=(CHECK,)),
            after=[("write", "read")],
        )
        answers = [wrote("-"), done(), wrote("+")]
        more = {"baseline": "off", "checks": [CHECK.command], **config}
        return await self.run("carry out the plan", answers, plan=plan, **more)


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiving() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.address)
        yield found


@pytest.fixture
def observed(bench: Bench) -> Observed:
    return Observed(bench)

"""For programs: make a model and a config, `await executor.execute_task("...")`, match on the final phase."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot import events as e
from surefoot.config import ExecutionConfig, ReflectionConfig
from surefoot.decisions import Decision, decisions
from surefoot.engine import resume_run, retry_step, start_run
from surefoot.errors import UsageError
from surefoot.fold import fold
from surefoot.machine import Stage
from surefoot.outcome import (
    ExecutionPhase,
    PhaseResult,
    PhaseStatus,
    SequentialExecutionPlan,
    StepExecutionOutput,
)
from surefoot.paths import state_home
from surefoot.people import Person
from surefoot.phases.gated import skipped
from surefoot.plan import Check, CommandCheck, DetailedPlan, ExecutionStep, ExpressionCheck
from surefoot.run import Services
from surefoot.state import Question, RunState
from surefoot.store.memory import MemoryJournal
from surefoot.task import Task
from surefoot.tools.registry import default_toolbox

if TYPE_CHECKING:
    from surefoot.bus import Bus
    from surefoot.models.base import LanguageModel
    from surefoot.store.base import Journal
    from surefoot.tools.registry import Toolbox

_log = logging.getLogger("surefoot")
_LOGGED_CHARS = 400

_ONE_TRY = ReflectionConfig(
    enable_step_level_reflection=False,
    max_step_retries=0,
    max_single_step_repairs=0,
    max_task_replanning_attempts=0,
    max_temporary_retries=0,
)
"""A single step on its own is tried once: whoever calls it decides what a failure means."""
_NOTHING_TO_PROVE: Check = ExpressionCheck(expression="True", origin="user")
"""For a single step without checks. With none at all, the project's own tests would judge a step that is no task."""


class SequentialExecutor:
    """Understanding, approach, planning, execution, validation: with a gate after each, in one workspace.

    `state_store` is where the run is written down; without one it is kept in memory and ends with the program.
    `person` is asked when something needs confirmation; without one the run waits, and `resume` goes on with it.
    With `verbose_logging` every event is a line of the logger named "surefoot".
    """

    def __init__(
        self,
        model: "LanguageModel",
        config: ExecutionConfig | None = None,
        state_store: "Journal | None" = None,
        *,
        workspace: Path | str = ".",
        toolbox: "Toolbox | None" = None,
        person: Person | None = None,
        home: Path | None = None,
        bus: "Bus | None" = None,
    ) -> None:
        self.config = config or ExecutionConfig()
        self.workspace = Path(workspace).resolve()
        self.services = Services(
            journal=state_store if state_store is not None else MemoryJournal(),
            model=model,
            home=home or state_home(),
            toolbox=toolbox,
            person=person,
        )
        if bus is not None:
            self.services.bus = bus
        if self.config.verbose_logging:
            self.services.bus.subscribe(_log_event)

    async def execute_task(
        self, task_description: str, *, checks: Sequence[Check | str] = ()
    ) -> SequentialExecutionPlan:
        """Carry out a task to its end, or to where a person is needed. `checks` given as text are shell commands."""
        given = tuple(CommandCheck(command=c, origin="user") if isinstance(c, str) else c for c in checks)
        task = Task(text=task_description, workspace=str(self.workspace), checks=given)
        return (await start_run(self.services, task, self.config)).as_plan()

    async def resume(self, task_id: str) -> SequentialExecutionPlan:
        return (await resume_run(self.services, task_id)).as_plan()

    def questions(self, task_id: str) -> list[Question]:
        """What the run waits for."""
        return fold(self.services.journal.read(task_id)).open_questions

    async def answer(self, task_id: str, question_id: str, answer: str) -> SequentialExecutionPlan:
        """Answer a question that the run waits for, and go on."""
        at = self.services.clock()
        self.services.journal.send(task_id, {"type": "answer", "question_id": question_id, "answer": answer, "at": at})
        return await self.resume(task_id)

    async def retry(
        self, task_id: str, step_id: str, *, parameters: Mapping[str, Any] | None = None, tool: str = ""
    ) -> SequentialExecutionPlan:
        """Do one step of a run again, with other parameters or another tool if given, and go on from there."""
        return (await retry_step(self.services, task_id, step_id, parameters or {}, tool)).as_plan()

    def decisions(self, task_id: str) -> list[Decision]:
        """Every decision inside the steps of a run, in order: thought, choice, result."""
        return decisions(self.services.journal.read(task_id))

    # -- one step on its own ---------------------------------------------------------------------------------------

    async def execute_single_step(
        self, step: ExecutionStep, *, recover: bool = False
    ) -> PhaseResult[StepExecutionOutput]:
        """Carry out one step, as a run of its own with that step as its plan; its checks decide.

        It is tried once, and undone if it fails. With `recover` it is retried and repaired as in any run.
        """
        checks = tuple(check.with_(origin="user") for check in step.checks) or (_NOTHING_TO_PROVE,)
        # There is no task around the step that could be planned anew.
        reflection = self.config.reflection.with_(max_task_replanning_attempts=0) if recover else _ONE_TRY
        plan = DetailedPlan(steps=(step.with_(checks=checks),))
        given = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "the plan is one given step", plan))
        task = Task(text=step.description or step.name, workspace=str(self.workspace), checks=checks)
        config = self.config.with_(reflection=reflection)
        return _of_step(await start_run(self.services, task, config, first=Stage.EXECUTION, given=[given]), step)

    async def execute_single_step_with_overrides(
        self,
        step: ExecutionStep,
        parameters: Mapping[str, Any] | None = None,
        tool: str | None = None,
        *,
        recover: bool = False,
    ) -> PhaseResult[StepExecutionOutput]:
        """The same with some of the step's parameters, or its tool, replaced."""
        chosen = tool or step.tool
        if parameters and not chosen:
            raise UsageError(
                f"the step {step.id!r} names no tool, so it has no parameters", remedy="name the tool as well"
            )
        kept = step.parameters
        if chosen and chosen != step.tool:
            takes = (self.services.toolbox or default_toolbox()).get(chosen).parameters.get("properties", {})
            kept = {name: value for name, value in kept.items() if name in takes}
        overridden = step.with_(tool=chosen, parameters={**kept, **(parameters or {})})
        return await self.execute_single_step(overridden, recover=recover)


def _of_step(state: RunState, step: ExecutionStep) -> PhaseResult[StepExecutionOutput]:
    """What came of the step; with no try of it finished, why not."""
    results = [result for result in state.history if result.output and result.output.step_id == step.id]
    if results:
        return results[-1]
    waiting = state.stage is Stage.WAITING
    return PhaseResult[StepExecutionOutput](
        phase=state.phase,
        status=PhaseStatus.AWAITING_CONFIRMATION if waiting else PhaseStatus.FAILED,
        error=state.outcome.summary if state.outcome else state.stage_reason,
    )


def _log_event(record: e.Record) -> None:
    if _log.isEnabledFor(logging.INFO):
        body = e.encode(record.event).decode()
        _log.info("%d %s %s", record.seq, record.event.type, body[:_LOGGED_CHARS])

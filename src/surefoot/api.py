"""The entry point of the library: create a model, give an `Agent` a task, match on the final phase of the result."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from surefoot.config.model import AlertSettings, ExecutionConfig, ReflectionConfig
from surefoot.config.paths import state_home
from surefoot.core.outcome import StepReflection
from surefoot.core.phases import ExecutionPhase, PhaseResult, PhaseStatus, StepExecutionOutput
from surefoot.core.plan import Check, CommandCheck, DetailedPlan, ExecutionStep, ExpressionCheck
from surefoot.core.questions import Question
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.engine.failed_steps import reflect_on_step, replan_single_step, replan_task
from surefoot.engine.loop import resume_run, retry_step, start_run
from surefoot.engine.planner.gate import skipped
from surefoot.engine.refusal import refuse_secret_answer
from surefoot.engine.runtime.human import Person
from surefoot.engine.runtime.services import Services
from surefoot.errors import UnknownRun, UsageError
from surefoot.history.decisions import Decision, decisions
from surefoot.history.earlier.continuing import start_continuing
from surefoot.history.earlier.given import EarlierPhases, Given, earlier_phases
from surefoot.history.requests import require_answer
from surefoot.journal import events as e
from surefoot.journal.bus import Bus
from surefoot.journal.messages import AnswerMessage
from surefoot.journal.redact import Redactor
from surefoot.journal.redacted_values import redacted_for_display
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.journal.store.memory import MemoryJournal
from surefoot.models.base import LanguageModel
from surefoot.results import SequentialExecutionPlan
from surefoot.tools.registry import Toolbox, default_toolbox

_log = logging.getLogger("surefoot")
_LOGGED_CHARS = 400

_ONE_TRY = ReflectionConfig(
    enable_step_level_reflection=False,
    max_step_retries=0,
    max_single_step_repairs=0,
    max_task_replanning_attempts=0,
    max_temporary_retries=0,
)
"""The limits for a single step: one attempt, and the caller decides what a failure means."""
_ALWAYS_TRUE: Check = ExpressionCheck(expression="True", origin="user")
"""The check of a single step that has none. Without it, the project's own tests would judge the step."""


class Agent:
    """Carries out tasks in one workspace.

    A task goes through understanding, approach, planning, execution and validation. Each phase has a gate.

    `state_store` is the journal. Without one, runs are kept in memory and are lost when the program ends. `person` is
    asked when something needs confirmation. Without one, the run waits, and `resume` continues it. With
    `verbose_logging`, every event is logged as one line by the logger "surefoot". `alerts` says who is notified when a
    run has failed, waits or is done. `secrets` are values that tools use, by name; like the API keys of models, they
    are redacted before text is recorded.
    """

    def __init__(
        self,
        model: LanguageModel,
        config: ExecutionConfig | None = None,
        state_store: Journal | None = None,
        *,
        workspace: Path | str = ".",
        toolbox: Toolbox | None = None,
        person: Person | None = None,
        home: Path | None = None,
        bus: Bus | None = None,
        alerts: AlertSettings | None = None,
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        self.config = config or ExecutionConfig()
        self.workspace = Path(workspace).resolve()
        self.services = Services(
            journal=state_store if state_store is not None else MemoryJournal(),
            model=model,
            home=home or state_home(),
            toolbox=toolbox,
            person=person,
            alerts=alerts or AlertSettings(),
            secrets=secrets or {},
        )
        if bus is not None:
            self.services.bus = bus
        if self.config.verbose_logging:
            self.services.bus.subscribe(partial(_log_event, self.services.redactor))

    async def execute_task(
        self,
        task_description: str,
        *,
        checks: Sequence[Check | str] = (),
        start_from: Stage | str | None = None,
        stop_after: Stage | str | None = None,
        given: Given | None = None,
        continues: SequentialExecutionPlan | str | None = None,
    ) -> SequentialExecutionPlan:
        """Carry out a task until it ends or needs a person.

        `checks` prove the task; a string is a shell command. Without any, the `checks` of the config are used.

        `given` has results of earlier phases: another run (its result or its id), values, or the path of a JSON file.
        The run starts with the phase `start_from`, by default the first without a result, and stops after `stop_after`.

        `continues` is an earlier run in the same workspace (its result or its id). Its conversation and results become
        the context of this run, and its checks are used if none are given. It cannot be combined with `given` or
        `start_from`.
        """
        if continues is not None and (given is not None or start_from is not None):
            other = "given" if given is not None else "start_from"
            raise UsageError(f"`continues` cannot be combined with `{other}`", remedy="give one of them")
        before = self._continued(continues) if continues is not None else []
        inherited = fold(before).task if before else None
        given_checks = checks or (inherited.checks if inherited else self.config.checks)
        own = tuple(CommandCheck(command=c, origin="user") if isinstance(c, str) else c for c in given_checks)
        task = Task(text=task_description, workspace=str(self.workspace), checks=own)
        earlier = earlier_phases(given, self.services.journal) if given is not None else EarlierPhases()
        first = Stage(start_from) if start_from else earlier.first_missing()
        start = partial(start_continuing, earlier=before, folder=self.workspace) if before else start_run
        state = await start(
            self.services,
            task,
            self.config,
            first=first,
            last=Stage(stop_after) if stop_after else None,
            given=earlier.before(first),
            based_on=earlier.based_on,
        )
        return state.as_plan()

    def _continued(self, continues: SequentialExecutionPlan | str) -> list[e.Record]:
        """Return the records of the run to continue. Raises UsageError if it is unknown or worked in another folder."""
        run_id = continues if isinstance(continues, str) else getattr(continues, "task_id", "")
        try:
            records = list(self.services.journal.read(run_id))
        except UnknownRun:
            raise UnknownRun(
                f"there is no run {run_id or continues!r} in the journal of this agent, so it cannot be continued",
                remedy="give the result of a run or its whole id; a run of another Agent needs the same `state_store`",
            ) from None
        task = fold(records).task
        if task is not None and task.folder != self.workspace:
            raise UsageError(
                f"run {run_id} worked in {task.workspace}; its context cannot be used in another folder",
                remedy="continue it with an Agent for that workspace, or leave out `continues`",
            )
        return records

    async def resume(self, task_id: str) -> SequentialExecutionPlan:
        """Continue a run where it stopped."""
        return (await resume_run(self.services, task_id)).as_plan()

    def questions(self, task_id: str) -> list[Question]:
        """Return the open questions of a run. Their `options` and `choices` are the possible answers."""
        questions = fold(self.services.journal.read(task_id)).open_questions
        for question in questions:
            question.draft = self.services.journal.get_blob(question.draft_key).decode() if question.draft_key else ""
        return questions

    async def answer(self, task_id: str, question_id: str, answer: str) -> SequentialExecutionPlan:
        """Answer a question of a run and continue the run. Raises UsageError if the question has no such choice."""
        self.leave_answer(task_id, question_id, answer)
        return await self.resume(task_id)

    def leave_answer(self, task_id: str, question_id: str, answer: str) -> None:
        """Store an answer, which the run takes up when it continues. Raises UsageError as `answer` does."""
        refuse_secret_answer(self.services.redactor, answer)
        question = fold(self.services.journal.read(task_id)).questions.get(question_id)
        if question is not None:
            require_answer(question, answer)
        at = self.services.clock()
        self.services.journal.send(task_id, AnswerMessage(question_id=question_id, answer=answer, at=at))

    async def retry(
        self, task_id: str, step_id: str, *, parameters: Mapping[str, Any] | None = None, tool: str = ""
    ) -> SequentialExecutionPlan:
        """Repeat one step of a run, with other parameters or another tool if given, and continue from there."""
        return (await retry_step(self.services, task_id, step_id, parameters or {}, tool)).as_plan()

    # -- manual recovery -------------------------------------------------------------------------------------------

    async def reflect_on_step(self, task_id: str, step_id: str) -> StepReflection:
        """Find the cause of the last failure of a step of a run that has ended. Nothing is changed."""
        return await reflect_on_step(self.services, task_id, step_id)

    async def replan_single_step(self, task_id: str, step_id: str) -> ExecutionStep:
        """Replan one failed step; the others stay as they are. `resume` continues with the new step."""
        return (await replan_single_step(self.services, task_id, step_id)).step(step_id)

    async def replan_task(self, task_id: str) -> SequentialExecutionPlan:
        """Make a new plan for the work that is left after a failed step. `resume` continues with it."""
        return (await replan_task(self.services, task_id)).as_plan()

    def decisions(self, task_id: str) -> list[Decision]:
        """Return the decisions made inside the steps of a run, in order, each with its thought, choice and result."""
        return decisions(self.services.journal.read(task_id))

    # -- one step on its own ---------------------------------------------------------------------------------------

    async def execute_single_step(
        self, step: ExecutionStep, *, recover: bool = False
    ) -> PhaseResult[StepExecutionOutput]:
        """Carry out one step as a run of its own. Its checks decide whether it succeeds.

        The step gets one attempt, and is undone if it fails. With `recover`, it is retried and repaired as in any run.
        """
        checks = tuple(check.with_(origin="user") for check in step.checks) or (_ALWAYS_TRUE,)
        # A single step has no task that could be replanned.
        reflection = self.config.reflection.with_(max_task_replanning_attempts=0) if recover else _ONE_TRY
        plan = DetailedPlan(steps=(step.with_(checks=checks),))
        given = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "the plan is one given step", plan))
        task = Task(text=step.description or step.name, workspace=str(self.workspace), checks=checks)
        config = self.config.with_(reflection=reflection)
        return _step_result(await start_run(self.services, task, config, first=Stage.EXECUTION, given=[given]), step)

    async def execute_single_step_with_overrides(
        self,
        step: ExecutionStep,
        parameters: Mapping[str, Any] | None = None,
        tool: str | None = None,
        *,
        recover: bool = False,
    ) -> PhaseResult[StepExecutionOutput]:
        """Carry out one step with some of its parameters, or its tool, replaced."""
        chosen = tool or step.tool
        if parameters and not chosen:
            raise UsageError(
                f"the step {step.id!r} names no tool, so it has no parameters", remedy="name the tool as well"
            )
        own = step.parameters
        if chosen and chosen != step.tool:
            properties = (self.services.toolbox or default_toolbox()).get(chosen).parameters.get("properties", {})
            own = {name: value for name, value in own.items() if name in properties}
        replaced = step.with_(tool=chosen, parameters={**own, **(parameters or {})})
        return await self.execute_single_step(replaced, recover=recover)


SequentialExecutor = Agent
"""An alias of `Agent`, for programs that use this name."""


def _step_result(state: RunState, step: ExecutionStep) -> PhaseResult[StepExecutionOutput]:
    """Return the last result of the step. If no attempt finished, the result says why."""
    results = [result for result in state.history if result.output and result.output.step_id == step.id]
    if results:
        return results[-1]
    waiting = state.stage is Stage.WAITING
    return PhaseResult[StepExecutionOutput](
        phase=state.phase,
        status=PhaseStatus.AWAITING_CONFIRMATION if waiting else PhaseStatus.FAILED,
        error=state.outcome.summary if state.outcome else state.stage_reason,
    )


def _log_event(redactor: Redactor, record: e.Record) -> None:
    if _log.isEnabledFor(logging.INFO):
        body = e.encode(redacted_for_display(record.event, redactor)).decode()
        _log.info("%d %s %s", record.seq, record.event.type, body[:_LOGGED_CHARS])

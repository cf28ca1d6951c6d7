"""The nodes of the graph. Each carries out one part of a run with the engine's own functions.

LangGraph repeats a node that was interrupted or killed. So a node reads the position of the run from the journal, and
repeats nothing that is already recorded.
"""

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from surefoot.api import Agent
from surefoot.core.plan import CommandCheck
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.engine.loop import Work, run_stage
from surefoot.engine.parts import Parts
from surefoot.engine.runtime.run import Run
from surefoot.engine.scheduler.run_ready import choose_next, execute_until_idle
from surefoot.errors import UsageError
from surefoot.integrations.langgraph.state import SurefootState, question_item, update_of
from surefoot.journal import events as e
from surefoot.journal.bus import Source
from surefoot.journal.events.aliases import alias_fields
from surefoot.journal.messages import answered_in
from surefoot.journal.redacted_values import exported
from surefoot.journal.state import RunState

END = "end"
_NODES = {
    Stage.UNDERSTANDING: "planner",
    Stage.APPROACH: "planner",
    Stage.PLANNING: "planner",
    Stage.EXECUTION: "scheduler",
    Stage.RECOVERY: "reflector",
    Stage.VALIDATION: "verifier",
}
_PLANNING = (Stage.UNDERSTANDING, Stage.APPROACH, Stage.PLANNING)

Write = Callable[[Any], None]
Update = dict[str, Any]


class Nodes:
    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._parts = Parts(agent.services)

    # -- the nodes -------------------------------------------------------------------------------------------------

    async def intake(self, state: SurefootState, identity: str) -> Update:
        """Choose the run: a given one, or a new one, whose id is derived from `identity` unless it is given."""
        run_id_of_state = state.get("given_run_id", "")
        used: Update = {"given_run_id": "", "checks": [], "run_checks": list(state.get("checks") or ())}
        if run_id_of_state and self._parts.exists(run_id_of_state):
            run_state = self._parts.state_of(run_id_of_state)
            self._require_same_task(state, run_state)
            return {**used, **self._update(run_state, go_on_at=run_state.seq)}
        if not state.get("task", "").strip():
            problem = (
                f"there is no run {run_id_of_state!r} in the journal" if run_id_of_state else "the input has no task"
            )
            raise UsageError(problem, remedy='give a task: {"task": "...", "checks": ["pytest -q"]}')
        run_id = run_id_of_state or "lg-" + hashlib.sha256(identity.encode()).hexdigest()[:12]
        fresh = {**update_of(RunState(run_id=run_id), self._agent.services.redactor), "seq": 0, "go_on_at": 0}
        return {**used, **fresh, "next": "planner"}

    async def planner(self, state: SurefootState, write: Write) -> Update:
        """Carry out one phase: understanding, approach or planning."""
        run_id = state["run_id"]
        if state.get("seq") or self._parts.exists(run_id):
            return await self._advance(state, write, run_stage, _PLANNING)
        task = self._task(state)
        with self._streaming(run_id, write):
            return self._update(await self._parts.begin(run_id, task, self._agent.config, run_stage))

    async def scheduler(self, state: SurefootState, write: Write) -> Update:
        """Choose the steps that run next."""
        chosen: list[str] = []

        async def choose(run: Run) -> None:
            chosen.extend(await choose_next(run))

        update = await self._advance(state, write, choose, (Stage.EXECUTION,))
        return {**update, "ready": chosen, "next": "executor"} if chosen else update

    async def executor(self, state: SurefootState, write: Write) -> Update:
        """Run the chosen steps, and those that become ready while they run."""
        return await self._advance(state, write, execute_until_idle, (Stage.EXECUTION,))

    async def reflector(self, state: SurefootState, write: Write) -> Update:
        """Recover from a failed step."""
        return await self._advance(state, write, run_stage, (Stage.RECOVERY,))

    async def verifier(self, state: SurefootState, write: Write) -> Update:
        """Validate the result and conclude."""
        return await self._advance(state, write, run_stage, (Stage.VALIDATION,))

    async def ask(self, state: SurefootState, interrupt: Callable[[Any], Any]) -> Update:
        """Interrupt the graph with the run's questions, and leave the answers for the run.

        This is a node of its own because LangGraph assigns answers to the interrupts of a node by their order: a node
        that asked and then went on would get the first answer for its second question.
        """
        run_id = state["run_id"]
        run_state = self._parts.state_of(run_id, state["seq"])
        if run_state.seq != state["seq"] or run_state.stage is not Stage.WAITING:
            # The run was continued elsewhere. An answer to the old question must not answer a new one.
            return self._update(run_state)
        questions = self._agent.questions(run_id)
        open_ones = [q for q in questions if q.id not in self._answered(run_id)]
        if open_ones or not questions:
            items = [question_item(q, self._agent.services.redactor) for q in open_ones]
            reason, problem = run_state.stage_reason, state.get("problem", "")
            resumed_with = interrupt({"run_id": run_id, "reason": reason, "problem": problem, "questions": items})
            try:
                for question_id, answer in _answers(resumed_with, [q.id for q in open_ones]).items():
                    self._agent.leave_answer(run_id, question_id, answer)
            except UsageError as error:
                return {**self._update(run_state), "problem": f"{error}; {error.remedy}"}
        return self._update(run_state, go_on_at=run_state.seq)

    # -- common parts ----------------------------------------------------------------------------------------------

    async def _advance(self, state: SurefootState, write: Write, part: Work, stages: Collection[Stage]) -> Update:
        run_id, seen = state["run_id"], state.get("seq", 0)
        self._catch_up(run_id, seen, write)
        with self._streaming(run_id, write):
            go_on_at = state.get("go_on_at", 0)
            return self._update(await self._parts.advance(run_id, part, stages, seen=seen, go_on_at=go_on_at))

    def _update(self, state: RunState, *, go_on_at: int = 0) -> Update:
        redactor = self._agent.services.redactor
        update = update_of(state, redactor)
        if state.stage is Stage.WAITING:
            update["questions"] = [question_item(q, redactor) for q in self._agent.questions(state.run_id)]
        return {**update, "go_on_at": go_on_at, "next": _next(state, go_on_at)}

    def _task(self, state: SurefootState) -> Task:
        commands = state.get("run_checks") or self._agent.config.checks
        checks = tuple(CommandCheck(command=command, origin="user") for command in commands)
        return Task(text=state["task"], workspace=str(self._agent.workspace), checks=checks)

    def _require_same_task(self, state: SurefootState, run_state: RunState) -> None:
        """Raise UsageError if the input has the id of a run and another task.

        The task of the thread's last run is allowed, because the state still has it.
        """
        text, known = state.get("task", ""), run_state.task.text if run_state.task else ""
        last = state.get("run_id", "")
        if text in ("", known) or (last and self._parts.exists(last) and self._task_of(last) == text):
            return
        raise UsageError(
            f"run {run_state.run_id} has another task: {known.strip().splitlines()[0]!r}",
            remedy="give its id without a task to continue it, or the task without an id to begin a new run",
        )

    def _task_of(self, run_id: str) -> str:
        task = self._parts.state_of(run_id).task
        return task.text if task else ""

    def _answered(self, run_id: str) -> set[str]:
        """The ids of the questions whose answers the run has not read yet."""
        return answered_in(self._agent.services.journal.receive(run_id))

    # -- streaming -------------------------------------------------------------------------------------------------

    def _catch_up(self, run_id: str, seen: int, write: Write) -> None:
        """Stream the events of the journal that are newer than the checkpoint."""
        if self._parts.state_of(run_id, seen).seq > seen:
            for record in self._agent.services.journal.read(run_id, seen):
                write({**self._event(run_id, record), "caught_up": True})

    @contextmanager
    def _streaming(self, run_id: str, write: Write) -> Iterator[None]:
        """Stream the run's events as `custom` chunks, and the text that is being written."""

        def on_stream(source: Source, piece: str) -> None:
            write({"type": f"live_{source.kind}", "run_id": run_id, "step_id": source.step, "text": piece})

        end = self._agent.services.bus.subscribe(lambda r: write(self._event(run_id, r)), on_stream=on_stream)
        try:
            yield
        finally:
            end()

    def _event(self, run_id: str, record: e.Record) -> dict[str, Any]:
        fields = exported(record.event, self._agent.services.redactor)
        return {"run_id": run_id, "seq": record.seq, "at": record.at, **alias_fields(record.event), **fields}


def _next(state: RunState, go_on_at: int) -> str:
    """The next node for a run. A halted run goes on only if `go_on_at` is its last event."""
    goes_on = go_on_at == state.seq
    match state.stage:
        case Stage.COMPLETED:
            return END if state.outcome else "verifier"
        case Stage.FAILED:
            return _NODES[state.failed_at or Stage.UNDERSTANDING] if goes_on else END
        case Stage.WAITING:
            return _NODES[state.before_waiting] if goes_on else "ask"
    return _NODES[state.stage]


def _answers(resumed_with: Any, question_ids: list[str]) -> dict[str, str]:
    """Read the value of `Command(resume=...)`: the answer to the only question, or answers by question id."""
    if not question_ids:
        return {}
    if isinstance(resumed_with, Mapping):
        missing = [question_id for question_id in question_ids if question_id not in resumed_with]
        if missing:
            raise UsageError(f"there is no answer to {', '.join(missing)}", remedy="answer every question by its id")
        return {question_id: str(resumed_with[question_id]) for question_id in question_ids}
    if len(question_ids) > 1:
        raise UsageError(
            f"{len(question_ids)} questions are open", remedy=f"give {{id: answer}} for {', '.join(question_ids)}"
        )
    return {question_ids[0]: str(resumed_with)}

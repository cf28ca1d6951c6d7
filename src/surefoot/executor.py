"""For programs: make a model and a config, `await executor.execute_task("...")`, match on the final phase."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.config import ExecutionConfig
from surefoot.engine import resume_run, start_run
from surefoot.outcome import SequentialExecutionPlan
from surefoot.paths import state_home
from surefoot.plan import Check, CommandCheck
from surefoot.run import Person, Services
from surefoot.store.memory import MemoryJournal
from surefoot.task import Task

if TYPE_CHECKING:
    from surefoot.bus import Bus
    from surefoot.models.base import LanguageModel
    from surefoot.store.base import Journal
    from surefoot.tools.registry import Toolbox


class SequentialExecutor:
    """Understanding, approach, planning, execution, validation: with a gate after each, in one workspace.

    `state_store` is where the run is written down; without one it is kept in memory and ends with the program.
    `person` is asked when something needs confirmation; without one the run waits, and `resume` goes on with it.
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

    async def execute_task(
        self, task_description: str, *, checks: Sequence[Check | str] = ()
    ) -> SequentialExecutionPlan:
        """Carry out a task to its end, or to where a person is needed. `checks` given as text are shell commands."""
        given = tuple(CommandCheck(command=c, origin="user") if isinstance(c, str) else c for c in checks)
        task = Task(text=task_description, workspace=str(self.workspace), checks=given)
        return (await start_run(self.services, task, self.config)).as_plan()

    async def resume(self, task_id: str) -> SequentialExecutionPlan:
        return (await resume_run(self.services, task_id)).as_plan()

    async def answer(self, task_id: str, question_id: str, answer: str) -> SequentialExecutionPlan:
        """Answer a question that the run waits for, and go on."""
        self.services.journal.send(task_id, {"type": "answer", "question_id": question_id, "answer": answer})
        return await self.resume(task_id)

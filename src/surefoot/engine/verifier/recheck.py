"""Checks the result of a run again, after a person has changed it. No model is asked."""

from functools import partial

from surefoot.core.transitions import SETTLED, Stage
from surefoot.engine.loop import drive, record_resumed, require_usable
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.services import Services
from surefoot.engine.verifier.validate import validate_reviewed
from surefoot.errors import NoModel, UsageError
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.models.base import ModelReply, ModelRequest, ModelTraits, OnText
from surefoot.workspace.lock import WorkspaceLock


class AbsentModel:
    """Stands in for the model of a run where no model is asked."""

    def __init__(self, name: str, traits: ModelTraits) -> None:
        self.name, self.traits = name, traits

    @staticmethod
    def of(records: list[e.Record]) -> "AbsentModel":
        """Return a stand-in with the name and the traits of the model that the run used last."""
        last = next(r.event for r in reversed(records) if isinstance(r.event, e.RunCreated | e.RunResumed))
        return AbsentModel(last.model, ModelTraits.model_validate(last.model_traits))

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        raise NoModel("checking a result again asks no model", remedy="continue the run: surefoot resume")

    async def aclose(self) -> None:
        pass


def can_recheck(state: RunState) -> bool:
    """Whether every step of an ended run is done, so that only the final checks decide.

    The final checks may have failed, for example after an earlier review.
    """
    if state.outcome is None or state.plan is None:
        return False
    if state.stage is Stage.COMPLETED:
        return state.validation is not None
    settled = all(step_run.status in SETTLED for step_run in state.steps.values())
    return state.stage is Stage.FAILED and state.failed_at is Stage.VALIDATION and settled


async def recheck(services: Services, run_id: str) -> RunState:
    """Run the final checks of a run on the tree as it is now. The new verdict is about this tree."""
    state = fold(list(services.journal.read(run_id)))
    if not can_recheck(state):
        raise UsageError(
            f"run {run_id} has no result that could be checked again", remedy=f"continue it: surefoot resume {run_id}"
        )
    task = require_usable(state.task)
    before = state.undone.redo if state.undone else ""
    with WorkspaceLock(task.folder, services.home, run_id):
        run = Run(services, state)
        await record_resumed(run, None, e.StageEntered(stage=Stage.VALIDATION, reason="a person changed the result"))
        return await drive(run, None, _nothing, partial(validate_reviewed, before=before))


async def _nothing(run: Run) -> None:
    pass

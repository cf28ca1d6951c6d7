"""Operations on a failed step of an ended run: find its cause, plan it differently, or make a new plan of the task."""

from surefoot.core.outcome import ErrorCategory, StepReflection
from surefoot.core.transitions import Rung, Stage, StepStatus
from surefoot.engine.loop import drive, record_resumed, require_usable
from surefoot.engine.reflector.diagnose import lesson
from surefoot.engine.reflector.recover import diagnose, repair_step, what_failed
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.services import Services
from surefoot.errors import UsageError
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState, StepRun
from surefoot.workspace.lock import WorkspaceLock


async def reflect_on_step(services: Services, run_id: str, step_id: str) -> StepReflection:
    """Find the cause of a step's last failure, even if the run did not look for it. Only the reflection is recorded."""
    state = fold(services.journal.read(run_id))
    step_run = _failed_step(state, step_id)
    known = step_run.reflections[-1:] if len(step_run.reflections) == len(step_run.failures) else ()
    if known and known[0].category is not ErrorCategory.UNKNOWN:
        return known[0]
    with WorkspaceLock(require_usable(state.task).folder, services.home, run_id):
        run = Run(services, state)
        reflection = await diagnose(run, step_run, step_run.failures[-1], on_request=True)
        await run.record(e.Reflected(step_id=step_id, reflection=reflection))
    return reflection


async def replan_single_step(services: Services, run_id: str, step_id: str) -> RunState:
    """Plan one failed step differently and leave the others alone. The run goes on with it when it is resumed."""
    reflection = await reflect_on_step(services, run_id, step_id)
    state = fold(services.journal.read(run_id))
    step_run = _failed_step(state, step_id)
    with WorkspaceLock(require_usable(state.task).folder, services.home, run_id):
        run = Run(services, state)
        repaired = await repair_step(run, step_run, what_failed(step_run))
        reason = f"repair: {reflection.root_cause}"
        revised = e.PlanRevised(by="user", reason=reason, changed=(repaired,))
        note = lesson(step_run.failures[-1], reflection)
        reset = e.StepReset(step_id=step_id, rung=Rung.REPAIR_STEP, by="user", note=note)
        changed = [revised] if repaired != step_run.step else []
        entered = e.StageEntered(stage=Stage.EXECUTION, reason=reason)
        await record_resumed(run, None, *changed, reset, entered)
    return state


async def replan_task(services: Services, run_id: str) -> RunState:
    """Make a new plan of what is left after a failed step. The run goes on with it when it is resumed."""
    state = fold(services.journal.read(run_id))
    _failed_step(state, state.recovering)
    with WorkspaceLock(require_usable(state.task).folder, services.home, run_id):
        run = Run(services, state)
        run.budget.require_enforceable(state.config)

        async def begin(run: Run) -> None:
            await run.enter(Stage.PLANNING, "a person asks for a new plan")

        await record_resumed(run)
        return await drive(run, Stage.PLANNING, begin)


def _failed_step(state: RunState, step_id: str) -> StepRun:
    """Return a failed step of an ended run. Raises UsageError if the step has not failed, or the run has not ended."""
    step_run = state.steps.get(step_id)
    if step_run is None or step_run.status is not StepStatus.FAILED or not step_run.failures:
        failed = ", ".join(s for s, r in state.steps.items() if r.status is StepStatus.FAILED) or "none"
        raise UsageError(f"run {state.run_id} has no failed step {step_id!r}", remedy=f"its failed steps: {failed}")
    if state.stage is not Stage.FAILED:
        raise UsageError(f"run {state.run_id} has not ended", remedy="wait for its end, or cancel it")
    return step_run

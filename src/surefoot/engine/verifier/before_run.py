"""The task's checks before anything is done. Those that fail now are recorded as `RunState.red_at_start`; the verdict
counts only them as proof.
"""

from surefoot.config.model import PhasePolicy
from surefoot.engine.refusal import refuse_missing_commands, refuse_unstarted, warn_of_missing_module
from surefoot.engine.runtime.run import Run
from surefoot.engine.verifier.suite.project_commands import task_checks
from surefoot.journal import events as e


async def check_before(run: Run) -> None:
    """Run the task's checks before anything is done: only a check that fails now can prove the task later."""
    # Repeated for a resumed run: an older version may not have looked, or the command may have been removed since.
    refuse_missing_commands(run.task)
    if run.state.checked_before or run.config.phases is PhasePolicy.PLAN:
        return
    for result in await run.verifier.check(task_checks(run.task, run.state.protected), "before"):
        refuse_unstarted(run.task, result)
        if warning := warn_of_missing_module(run.task, result):
            run.note(e.Warned(message=warning))

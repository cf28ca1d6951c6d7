"""The plan that is used when planning fails: the user's template, or the whole task as one step."""

import asyncio
from collections.abc import Sequence

from surefoot.core.outcome import Verdict
from surefoot.core.phases import ExecutionPhase, PhaseResult
from surefoot.core.plan import DetailedPlan
from surefoot.engine.planner.gate import skipped
from surefoot.engine.planner.normalize import simple_plan
from surefoot.engine.planner.plan_toml import plan_of
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.stop import Stopped
from surefoot.errors import ModelError, PlanError
from surefoot.journal import events as e
from surefoot.project.folder import list_files
from surefoot.prompting.context import step_to_replan

NAME = "fallback plan"
"""The name of this plan in messages and results."""


async def fallback_plan(run: Run, required: Sequence[str], error: Stopped | ModelError) -> PhaseResult[DetailedPlan]:
    """Return a plan in place of one that could not be made, and warn about it. Raises `error` if no plan can help.

    A plan of one step needs the model as much as planning did, so only a template helps if the model cannot be asked. A
    new plan after a failure is not replaced: its one step would repeat what has failed.
    """
    if isinstance(error, Stopped) and error.verdict is not Verdict.FAILED:
        raise error
    if step_to_replan(run.state) is not None:
        raise error
    template = run.config.fallback_plan
    if template:
        plan = await asyncio.to_thread(_read, run, template)
        description = f"{NAME}: {template}"
    elif isinstance(error, ModelError):
        raise error
    else:
        plan = simple_plan(run.task.text, required, run.not_writable, list_files(run.root))
        description = f"{NAME}: the whole task as {'one step' if len(plan.steps) == 1 else 'one step a file'}"
    reason = error.reason if isinstance(error, Stopped) else f"the model could not be asked: {error}"
    run.note(e.Warned(message=f"{reason}; going on with the {description}"))
    return skipped(ExecutionPhase.Planning(), f"{reason}; {description}", plan)


def _read(run: Run, template: str) -> DetailedPlan:
    try:
        text = (run.root / template).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise PlanError(f"the fallback plan {template} cannot be read: {error}", remedy="see fallback_plan") from None
    return plan_of(text)

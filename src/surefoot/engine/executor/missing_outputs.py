"""Finds which of several files an attempt has made and which are missing, so that the next prompt can name them."""

import asyncio

from surefoot.engine.runtime.run import Run
from surefoot.journal.state import StepRun
from surefoot.project.file_roles import new_files_asked_for
from surefoot.workspace.errors import as_text


async def outputs_of_attempt(run: Run, step_run: StepRun) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files that the attempt made, and the files that it should have made and that are missing.

    If none is missing, the first are not looked for and are empty.
    """
    missing = tuple(path for path in _files_to_make(run, step_run) if not (run.root / path).exists())
    if not missing or not step_run.snapshot:
        return (), missing
    changes = await asyncio.to_thread(run.workspace.changes, step_run.snapshot)
    return tuple(as_text(change.path) for change in changes if change.kind != "removed"), missing


def _files_to_make(run: Run, step_run: StepRun) -> list[str]:
    """Return the new files that a step has to make. If it names none and is the only step, the task names them."""
    before = run.files_before()
    if step_run.step.writes:
        return [path for path in step_run.step.writes if path not in before]
    if len(run.state.steps) > 1 or not run.step_kind(step_run).is_one_answer:
        return []
    return new_files_asked_for(run.task.text, before)

"""Decides whether the file of a step is computed from other files, by the words of the task."""

from surefoot.core.plan import ExecutionStep
from surefoot.prompting.project.folder import list_files
from surefoot.prompting.project.task_text import files_named_in, is_computed
from surefoot.prompting.view import RunView


def is_computed_file(run: RunView, step: ExecutionStep) -> bool:
    """Whether the one new file of a step is computed from others that the task or the step mentions."""
    if len(step.writes) != 1 or step.tool:
        return False
    path = step.writes[0]
    if path in run.files_before():
        return False  # it is changed, not made
    others = [name for name in list_files(run.root) if name != path]
    return is_computed(path, f"{run.task.text}\n{step.description}", [*others, *missing_sources(run)])


def missing_sources(run: RunView) -> set[str]:
    """Return files that the task names, that did not exist before the run, and that no step is to write."""
    existing = run.files_before()
    written = {path for other in run.state.steps.values() for path in other.step.writes}
    return {name for name in files_named_in(run.task.text) if name not in existing and name not in written}

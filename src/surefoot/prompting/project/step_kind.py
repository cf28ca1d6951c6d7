"""Decides whether the files of a step are computed from other files, by the words of the task."""

from surefoot.core.plan import ExecutionStep
from surefoot.prompting.project.folder import list_files
from surefoot.prompting.project.task_text import files_named_in, is_computed
from surefoot.prompting.view import RunView


def is_computed_step(run: RunView, step: ExecutionStep) -> bool:
    """Whether all files of a step are new, and computed from others that the task or the step mentions."""
    if not step.writes or step.tool or set(step.writes) & set(run.files_before()):
        return False
    others = [*(name for name in list_files(run.root) if name not in step.writes), *missing_sources(run)]
    text = f"{run.task.text}\n{step.description}"
    return all(is_computed(path, text, others) for path in step.writes)


def missing_sources(run: RunView) -> set[str]:
    """Return files that the task names, that did not exist before the run, and that no step is to write."""
    existing = run.files_before()
    written = {path for other in run.state.steps.values() for path in other.step.writes}
    return {name for name in files_named_in(run.task.text) if name not in existing and name not in written}

"""Decide from the wording of the task whether the files of a step are computed from other files."""

from surefoot.core.plan import ExecutionStep
from surefoot.project.folder import list_files
from surefoot.project.task_text import is_computed
from surefoot.prompting.context import missing_sources
from surefoot.prompting.run_context import RunContext


def is_computed_step(run: RunContext, step: ExecutionStep) -> bool:
    """Whether all files of a step are new, and computed from others that the task or the step mentions."""
    if not step.writes or step.tool or set(step.writes) & set(run.files_before()):
        return False
    others = [*(name for name in list_files(run.root) if name not in step.writes), *missing_sources(run)]
    text = f"{run.task.text}\n{step.description}"
    return all(is_computed(path, text, others) for path in step.writes)

"""The plain question for a small model, and helpers for its answers that all kinds of steps share."""

from surefoot.journal.state import StepRun
from surefoot.prompting.context import (
    budget_chars,
    earlier_facts,
    files_to_show,
    project_instructions,
    quoted_files,
    stand_ins_for,
    step_text,
    visible_files,
)
from surefoot.prompting.proposal import Proposal
from surefoot.prompting.run_context import RunContext
from surefoot.prompting.small.missing_imports import with_missing_imports
from surefoot.prompting.templates import render

_CANNOT = "CANNOT"


def plain_question(
    run: RunContext, step_run: StepRun, failed: str, form: str, replacement: tuple[str, str] = ("", "")
) -> str:
    """Put the files, the task and the form of the answer the way a person would: small models answer that best.

    `replacement` is a piece of the quoted files and what to show instead of it.
    """
    files = visible_files(run)
    to_show = set(files_to_show(run, files))
    step = step_run.step
    stand_ins = stand_ins_for(run, step.id)
    text = quoted_files(run.root, [path for path in files if path in to_show], budget_chars(run) // 2)
    question = render(
        "question",
        instructions=project_instructions(run, files),
        earlier=earlier_facts(run, brief=True),
        files=text.replace(*replacement) if replacement[0] else text,
        task=run.task.text,
        step="" if step.description == run.task.text else f"\n# Now this step of it\n{step_text(step)}\n",
        failed=(f"\n{stand_ins}\n" if stand_ins else "") + failed,
    )
    return f"{question}\n\n{form}\n"


def missing_outputs(step_run: StepRun) -> str:
    """Name the files that the last attempt made and did not make; empty unless it made only some of them."""
    last = step_run.failures[-1] if step_run.failures else None
    if last is None or not last.missing:
        return ""
    made, missing = (" and ".join(f"`{path}`" for path in paths) for paths in (last.made, last.missing))
    return f"\n# Missing so far\nThe last answer made {made}, but not {missing}. All of them are wanted.\n"


def refusal_in(answer: str) -> Proposal | None:
    """Return a request to replan if the answer says, in the requested form, that the task cannot be done."""
    if not answer.lstrip("#*` ").upper().startswith(_CANNOT):
        return None
    return Proposal("replan", thought=answer.strip()[:400])


def add_imports(path: str, text: str) -> str:
    """Add the imports that the model forgot."""
    return with_missing_imports(text) if path.endswith(".py") else text

"""A file that is a result of others is made by a program that the model writes, not typed in by the model."""

from collections.abc import Sequence
from pathlib import Path

from surefoot.artifacts import handed_on
from surefoot.asking import ask_text
from surefoot.context import briefing, step_text
from surefoot.errors import UnreadableAnswer
from surefoot.imports import with_missing_imports
from surefoot.models.reading import read_fenced
from surefoot.outcome import CheckResult
from surefoot.phases.answering import plain_question
from surefoot.phases.proposal import Proposal
from surefoot.plan import ExecutionStep
from surefoot.project import list_files
from surefoot.prompts import render
from surefoot.run import Run
from surefoot.state import StepRun
from surefoot.taskfiles import fetched_from, files_named_in, is_computed, is_source

PROGRAM = "program.py"
"""What the program is called in the answer; it never becomes a file."""


def is_result(run: Run, step: ExecutionStep) -> bool:
    """Whether the one file of a step is computed from others that the task or the step speaks of."""
    if len(step.writes) != 1 or step.tool:
        return False
    path = step.writes[0]
    if path in run.files_before():
        return False  # it is changed, not made
    others = [name for name in list_files(run.root) if name != path]
    return is_computed(path, f"{run.task.text}\n{step.description}", [*others, *_missing_sources(run)])


def out_of_reach(run: Run, step: ExecutionStep) -> str:
    """What a result has to come from and nothing can get at, in words: what is written then was made up."""
    if not is_result(run, step):
        return ""
    files = list_files(run.root)
    names = {name.rsplit("/", 1)[-1] for name in files}
    missing = [name for name in _missing_sources(run) if name.rsplit("/", 1)[-1] not in names]
    # Others than small models look for it, and say so themselves.
    if run.model.traits.small and (read := [name for name in sorted(missing) if is_source(name, run.task.text)]):
        return f"{read[0]}, which the task reads, is not there"
    if run.config.network or run.sandbox is None or any(tool.external for tool in run.toolbox):
        return ""
    address = fetched_from(run.task.text, files)
    return f"{address} cannot be reached: commands have no network" if address else ""


def found_nothing(run: Run, mine: StepRun, results: Sequence[CheckResult]) -> bool:
    """A program that ends well and writes nothing has found nothing to write. Asked again and again, a small model at
    last writes something; where only the user's checks could tell that it is wrong, and there are none, it is not."""
    last = mine.actions[-1]
    if not (run.model.traits.small and last.tool == "run_python" and last.ok and is_result(run, mine.step)):
        return False
    judged = any(result.check.origin in ("user", "project") for result in results)
    return not judged and not (run.root / mine.step.writes[0]).exists()


def made_up(run: Run, root: Path) -> str:
    """A file that the task speaks of and that was not there, made by the program that should have read it."""
    return next((name for name in sorted(_missing_sources(run)) if (root / name).exists()), "")


def _missing_sources(run: Run) -> set[str]:
    """Files that the task names, that were not there when the run began, and that no step is to write."""
    there = run.files_before()
    written = {path for other in run.state.steps.values() for path in other.step.writes}
    return {name for name in files_named_in(run.task.text) if name not in there and name not in written}


async def program_for(
    run: Run, mine: StepRun, path: str, failed: str, temperature: float, *, anew: bool = False
) -> Proposal:
    """`anew`: a small model is asked plainly. It makes other mistakes then, which is what candidates are for. Where
    earlier steps have handed something on, it needs to know."""
    plainly = anew and run.model.traits.small and not handed_on(run, mine.step.id)
    if plainly:
        question = plain_question(run, mine, "", render("program", path=path))
    else:
        question = f"{briefing(run)}\n\n{_in_full(run, mine, path, failed)}"
    reply = await ask_text(run, "write", question, step_id=mine.step.id, temperature=temperature, bare=plainly)
    code = read_fenced(reply.text, PROGRAM)
    if code is None or reply.finish_reason == "length":
        what = "has no fenced code block" if code is None else "was cut off"
        raise UnreadableAnswer(f"the answer {what}: the program that makes {path} is wanted", answer=reply.text)
    return Proposal("act", "run_python", {}, with_missing_imports(code))


def _in_full(run: Run, mine: StepRun, path: str, failed: str) -> str:
    return render(
        "compute",
        step=step_text(mine.step),
        context=handed_on(run, mine.step.id),
        last=_last(run, mine),
        failed=failed,
        path=path,
    )


def _last(run: Run, mine: StepRun) -> str:
    """The program that was run last, and what it said where it failed."""
    programs = [action for action in mine.actions if action.tool == "run_python" and action.body]
    if not programs:
        return ""
    code = run.services.journal.get_blob(programs[-1].body).decode().rstrip()
    said = "" if programs[-1].ok else f"\n# It ended with\n{programs[-1].summary}\n"
    return f"\n# The last program\n```python\n{code}\n```\n{said}"

"""Guards against results that are computed from invented data: the inputs that a task names must exist."""

from collections.abc import Sequence
from pathlib import Path

from surefoot.core.outcome import CheckResult, given
from surefoot.core.plan import StepKind
from surefoot.engine.runtime.run import Run
from surefoot.journal.state import StepRun
from surefoot.project.folder import list_files
from surefoot.project.task_text import fetched_from, is_source
from surefoot.prompting.context import missing_sources


def unreachable_source(run: Run, step_run: StepRun) -> str:
    """Return which input of a computed result is missing or out of reach, in words; empty if none is."""
    if run.step_kind(step_run) is not StepKind.PROGRAM:
        return ""
    files = list_files(run.root)
    names = {name.rsplit("/", 1)[-1] for name in files}
    missing = [name for name in missing_sources(run) if name.rsplit("/", 1)[-1] not in names]
    if run.profile.stop_without_inputs and (
        read := [name for name in sorted(missing) if is_source(name, run.task.text)]
    ):
        return f"{read[0]}, which the task reads, is not there"
    if run.commands_have_network or any(tool.external for tool in run.toolbox):
        return ""
    address = fetched_from(run.task.text, files)
    return f"{address} cannot be reached: commands have no network" if address else ""


def found_nothing(run: Run, step_run: StepRun, results: Sequence[CheckResult], made_files: Sequence[str]) -> bool:
    """Whether a program succeeded and made no file, because it found no data.

    A model that is asked again may invent data in the end. It is not asked again if no check of the user or the project
    could show that the result is wrong.
    """
    last = step_run.actions[-1]
    if not (run.profile.stop_without_inputs and last.tool == "run_python" and last.ok):
        return False
    if run.step_kind(step_run) is not StepKind.PROGRAM:
        return False
    judged = bool(given(results))
    return not judged and not made_files


def invented_source(run: Run, root: Path) -> str:
    """Return an input of the task that did not exist and that the program itself has made; empty if there is none."""
    return next((name for name in sorted(missing_sources(run)) if (root / name).exists()), "")

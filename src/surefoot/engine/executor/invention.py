"""Guards against results that are computed from invented data: the inputs that a task names must exist."""

from collections.abc import Sequence
from pathlib import Path

from surefoot.core.outcome import CheckResult
from surefoot.core.plan import StepKind
from surefoot.engine.runtime.run import Run
from surefoot.journal.state import StepRun
from surefoot.prompting.project.folder import list_files
from surefoot.prompting.project.step_kind import missing_sources
from surefoot.prompting.project.task_text import fetched_from, is_source


def unreachable_source(run: Run, step_run: StepRun) -> str:
    """Say which input of a computed result is missing or out of reach; empty if none is."""
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


def found_nothing(run: Run, step_run: StepRun, results: Sequence[CheckResult], made: Sequence[str]) -> bool:
    """Whether a program ended well and made nothing, because it found nothing to write.

    Asked again, a model that invents data writes something at last. It is not asked again if no check of the user
    could tell that the result is wrong.
    """
    last = step_run.actions[-1]
    if not (run.profile.stop_without_inputs and last.tool == "run_python" and last.ok):
        return False
    if run.step_kind(step_run) is not StepKind.PROGRAM:
        return False
    judged = any(result.check.origin in ("user", "project") for result in results)
    return not judged and not made


def invented_source(run: Run, root: Path) -> str:
    """Return a file that the task only mentions as an input, did not exist, and was made by the program itself."""
    return next((name for name in sorted(missing_sources(run)) if (root / name).exists()), "")

"""`run --plan`: finds the plan, checks that it can be carried out, and notes what has changed since it was made."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from surefoot.cli.report import formatting as fmt
from surefoot.cli.session.resources import resolve_workspace
from surefoot.cli.session.runs import confirm_where, current_folder, load_found_run, open_run_list
from surefoot.cli.session.status import CurrentStatus, current_status
from surefoot.config import paths
from surefoot.config.model import PhasePolicy
from surefoot.core.transitions import Stage
from surefoot.errors import SurefootError, UnknownRun, UsageError
from surefoot.history.status import listed_statuses
from surefoot.history.timeline import workspace_of
from surefoot.journal.state import RunState
from surefoot.journal.store.base import LAST
from surefoot.models.select import reusable_spec
from surefoot.tools.fs.tool_files import is_listed
from surefoot.workspace.errors import as_text

_EXCLUSIVE = {"based_on": "--based-on", "given": "--given", "from_phase": "--from-phase", "phases": "--phases"}
_NEXT = {
    "running": "see how far it is: surefoot watch {}",
    "queued": "see how far it is: surefoot watch {}",
    "waiting": "answer it first: surefoot answer {}",
}


def carrying_out(words: Sequence[str], options: Mapping[str, Any], *, in_current_folder: bool) -> dict[str, Any]:
    """The options of a new run that carries out the plan named by --plan.

    The run works in the folder of the plan, unless another one was given (`in_current_folder` is False).
    """
    if words:
        raise UsageError("a plan has its task already", remedy="leave out the task, or make a plan for it first")
    for name, option in _EXCLUSIVE.items():
        if options.get(name) is not None:
            raise UsageError(f"--plan cannot be combined with {option}", remedy="give one of them")
    named = None if in_current_folder else resolve_workspace(options["workspace"])
    found_run, stored = load_found_run(_plan_id(options["plan"], named), start=named)
    state = stored.state
    current = current_status(state)
    _require_plan(state, current)
    folder = named or resolve_workspace(found_run.folder)
    if named is None:
        confirm_where(found_run, "carrying out the plan of", yes=options["yes"])
    notes = [
        *_folder_notes(state, folder, found_run.folder, is_clone=bool(options.get("git"))),
        *_earlier_notes(current),
    ]
    if sys.stderr.isatty() and sys.stdout.isatty() and options["live"] is not False and not options["as_json"]:
        # The live view shows warnings only in the summary. The other views show the event.
        for note in notes:
            click.echo(f"warning: {fmt.line(note, 400)}", err=True)
    return {
        **options,
        "workspace": str(folder),
        "based_on": state.run_id,
        "from_phase": str(Stage.EXECUTION),
        "model": options["model"] or reusable_spec(state.model, state.model_address),
        "notes": tuple(notes),
    }


def _plan_id(name: str, folder: Path | None) -> str:
    """The given name of a run; for `last`, the id of the newest plan of the folder."""
    if name != LAST:
        return name
    reader = open_run_list()
    try:
        current = current_folder(reader, folder)
        # Plans have ended, so no process drives them.
        for run in reader.summaries(max(current.runs, 1), current.workspaces):
            if listed_statuses([run], reader, ()) == ["plan"]:
                return run.run_id
    finally:
        reader.close()
    raise UnknownRun(
        f"there is no plan in {fmt.folder(current.path) or 'this folder'}",
        remedy='make one: surefoot plan "what to do"',
    )


def _require_plan(state: RunState, current: CurrentStatus) -> None:
    run_id, status = state.run_id, current.status
    if status == "plan":
        return
    if state.config.phases is PhasePolicy.PLAN and state.outcome is None:
        remedy = _NEXT.get(status, "complete it first: surefoot resume {}").format(run_id)
        raise UsageError(f"the plan of run {run_id} is not made yet: the run is {status}", remedy=remedy)
    again = f"carry out its plan in a new run: surefoot run --based-on {run_id} --from-phase execution"
    go_on = "" if status in ("done", "undone") else f"continue it: surefoot resume {run_id}; or "
    raise UsageError(f"run {run_id} is not a plan: it is {status}", remedy=go_on + again)


def _folder_notes(state: RunState, folder: Path, made_for: str, *, is_clone: bool) -> list[str]:
    """How the folder differs from its state when the plan was made."""
    if is_clone:
        return []
    other = "" if str(folder) == made_for else f"the plan was made for {fmt.folder(made_for)}"
    try:
        changes = workspace_of(state, paths.state_home(), folder).changes(state.snapshot)
    except SurefootError as error:
        return [f"{other or 'it is not known what has changed since the plan was made'}: {error}"]
    signs = {"added": "+", "removed": "-"}
    changed = [
        f"{signs.get(change.kind, '~')} {fmt.path(name)}"
        for change in changes
        if is_listed(name := as_text(change.path))
    ]
    if not changed:
        return [other] if other else []
    note = f"{other}, and the folder differs from it" if other else "the folder has changed since the plan was made"
    return [f"{note}: {fmt.join_limited(changed)}"]


def _earlier_notes(current: CurrentStatus) -> list[str]:
    return [f"the plan was carried out before: {words}" for words in current.words]

"""Finds the run that a command means, and the folder of that run.

Without an id, or with `last`, it is the newest run of the current folder. Runs of other folders need --all or an id.
"""

import shlex
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import click

from surefoot.cli.import_path import drop_from_path
from surefoot.cli.report import text as fmt
from surefoot.config import paths
from surefoot.errors import SurefootError, UnknownRun, UsageError
from surefoot.journal.store.base import LAST, Journal, Reader

if TYPE_CHECKING:
    # Listing runs needs none of these, and importing them takes longer than the listing.
    from surefoot.journal.events import Record
    from surefoot.journal.state import RunState


class HasWorkspaces(Protocol):
    """A journal, or the reader of one."""

    def workspaces(self) -> dict[str, int]: ...


class CurrentFolder(NamedTuple):
    """The folder whose runs a command sees by default."""

    path: str
    workspaces: tuple[str, ...]
    """The folders in which its runs worked: the folder itself and copies of it."""
    runs: int
    other_runs: int
    """The number of runs in other folders."""


class FoundRun(NamedTuple):
    run_id: str
    folder: str
    """The folder of the run. For a run in a copy, it is the folder that was copied."""
    is_current: bool
    by_id: bool
    """Whether the user gave an id, and not `last`."""


class StoredRun(NamedTuple):
    run_id: str
    records: "list[Record]"
    state: "RunState"


def open_run_list() -> Reader:
    """Open the journal to list runs. Imports less than `open_journal`."""
    from surefoot.journal.store.opening import open_reader

    return open_reader(paths.state_home())


def continued_by(journal: Reader, run_ids: Collection[str]) -> dict[str, str]:
    """Map each of these runs to the run that it continues, with one query. Runs that continue none are left out."""
    import json

    return {run_id: str(json.loads(body)["run"]) for run_id, _, body in journal.bodies(run_ids, ["context_given"])}


def current_folder(journal: HasWorkspaces, start: Path | None = None) -> CurrentFolder:
    """The innermost folder with runs among `start`, by default the working directory, and its parents.

    The search ends at the root of a git repository: the runs of a folder around it belong to another project.
    """
    origins = _origins()
    runs_in = journal.workspaces()
    folder_of = {workspace: origins.get(workspace, workspace) for workspace in runs_in}
    folder_of |= {origin: origin for origin in folder_of.values()}
    begin = start or _working_directory()
    path = str(begin or "")
    for folder in (begin, *begin.parents) if begin else ():
        if run_folder := folder_of.get(str(folder)):
            path = run_folder
            break
        if (folder / ".git").exists():
            break
    workspaces = tuple(workspace for workspace in runs_in if folder_of[workspace] == path)
    runs = sum(runs_in[workspace] for workspace in workspaces)
    return CurrentFolder(path, workspaces, runs, sum(runs_in.values()) - runs)


def find_run(journal: Journal, name: str, *, all_folders: bool = False, start: Path | None = None) -> FoundRun:
    """Find a run by the beginning of its id, or the newest one for `last`.

    Nothing is imported from its folder afterwards. Raises UnknownRun if there is no such run.
    """
    current = current_folder(journal, start)
    if name == LAST and not all_folders:
        newest = journal.summaries(1, current.workspaces)
        if not newest:
            raise _no_runs(current)
        drop_from_path(newest[0].workspace)
        return FoundRun(newest[0].run_id, current.path, is_current=True, by_id=False)
    from surefoot.journal.events import RunCreated

    run_id = journal.find(name)
    created = next(iter(journal.read(run_id))).event
    assert isinstance(created, RunCreated)
    workspace = created.task.workspace
    drop_from_path(workspace)
    folder = _origins().get(workspace, workspace)
    return FoundRun(run_id, folder, is_current=folder == current.path, by_id=name != LAST)


def load_run(name: str, *, all_folders: bool = False, start: Path | None = None) -> StoredRun:
    """Read a run from the journal. `name` is the beginning of its id, or `last`."""
    return load_found_run(name, all_folders=all_folders, start=start)[1]


def load_found_run(name: str, *, all_folders: bool = False, start: Path | None = None) -> tuple[FoundRun, StoredRun]:
    from surefoot.cli.session.resources import open_journal
    from surefoot.journal.reducers import fold

    journal = open_journal(read_only=True)
    try:
        found_run = find_run(journal, name, all_folders=all_folders, start=start)
        records = list(journal.read(found_run.run_id))
    finally:
        journal.close()
    return found_run, StoredRun(found_run.run_id, records, fold(records))


def say_where(found_run: FoundRun, action: str) -> None:
    """Print the folder that a command is about to change, on standard error."""
    where = "" if found_run.is_current else ", which is not the current folder"
    click.echo(f"{action} run {found_run.run_id} in {fmt.folder(found_run.folder)}{where}", err=True)


def confirm_where(found_run: FoundRun, action: str, *, yes: bool) -> None:
    """Print the folder, and ask for confirmation if it is not the current one.

    With `yes`, nothing is asked about a run that the user named by its id. Raises SurefootError if the answer is no.
    """
    say_where(found_run, action)
    if found_run.is_current or (yes and found_run.by_id):
        return
    if not sys.stdin.isatty():
        raise UsageError(
            f"run {found_run.run_id} belongs to another folder, and there is no terminal to ask for confirmation",
            remedy=f"go there first: cd {shlex.quote(found_run.folder)}; or give the id of the run and --yes",
        )
    if not click.confirm("Continue?", err=True):
        raise SurefootError("nothing was changed")


def _origins() -> dict[str, str]:
    """Map each copy in which a run works to the folder that was copied."""
    home = paths.state_home()
    if not paths.worktree_records(home).is_dir():
        return {}
    from surefoot.workspace.worktrees import worktree_origins

    return worktree_origins(home)


def _no_runs(current: CurrentFolder) -> UnknownRun:
    if not current.other_runs:
        return UnknownRun("there are no runs yet", remedy='start one: surefoot run "what to do"')
    return UnknownRun(
        f"there are no runs in {fmt.folder(current.path) or 'this folder'}, "
        f"only {fmt.count(current.other_runs, 'run')} in other folders",
        remedy="see `surefoot list --all`, and give the id of the run",
    )


def _working_directory() -> Path | None:
    """The working directory; None if it was removed."""
    try:
        return Path.cwd().resolve()
    except FileNotFoundError:
        return None

"""Restores a folder for a person: plans the changes, keeps or refuses changes by others, and carries out the plan."""

import getpass
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from surefoot.errors import JournalError, JournalFull, RestoreConflict, RestoreIncomplete
from surefoot.journal import events as e
from surefoot.journal.store.base import Journal
from surefoot.workspace.errors import as_text, printable
from surefoot.workspace.restore.restore import RestoreReport
from surefoot.workspace.snapshots.diff import Change
from surefoot.workspace.workspace import Workspace


@dataclass(slots=True)
class RestorePlan:
    folder: str
    """The folder that is restored."""
    current: str
    """The snapshot of the folder as it is."""
    target: str
    """The snapshot to restore: the requested one, with the changes by others merged into it."""
    changes: Sequence[Change]
    """The changes from `current` to `target`."""
    conflicts: tuple[str, ...] = ()
    """Files that others changed and that the requested snapshot would overwrite."""
    redoes: bool = False
    """Whether this undoes an undo."""
    report: RestoreReport | None = field(default=None, compare=False)
    """What was restored; None before the plan is carried out."""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(as_text(change.path) for change in self.changes)


def plan_restore(
    workspace: Workspace,
    target: str,
    *,
    possible_ends: Sequence[str],
    is_own: Callable[[str], bool] = lambda _: True,
    check_leftovers_until: float | None = None,
    by_others: Collection[str] = (),
    force: bool = False,
) -> RestorePlan:
    """Plan how to restore `target` and keep the changes by others.

    `possible_ends` are snapshots of the states in which Surefoot may have left the workspace. Differences from all of
    them were made by others, except for leftovers of checks. A path that others changed and that would be restored is a
    conflict. So is a path `by_others`: they changed it while the run had stopped, so that the states in which Surefoot
    left it contain that change. `is_own` says of a path that differs from the target whether Surefoot changed it.
    """
    from_target = [workspace.changes(target, snapshot) for snapshot in possible_ends]
    coming_back = {change.path: change.before.size for changes in from_target for change in changes if change.before}
    current = workspace.capture([target, *possible_ends], reserve=sum(coming_back.values()))
    since = set.intersection(*(_paths(workspace.changes(snapshot, current)) for snapshot in possible_ends))
    leftovers = {
        path
        for path in since
        if check_leftovers_until is not None and not workspace.changed_after(path, check_leftovers_until)
    }
    differing = set.union(*map(_paths, from_target))
    own = {path for path in differing if is_own(path)} | leftovers
    foreign = (since - leftovers) | (differing - own)
    foreign |= own.intersection(by_others)
    folder = str(workspace.root)
    if not foreign:
        return RestorePlan(folder, current, target, workspace.changes(current, target))
    own &= _paths(workspace.changes(current, target))
    conflicts = sorted(own & foreign)
    restored = own if force else own - set(conflicts)
    # Restoring a folder restores everything in it. A folder with changes by others is restored file by file instead.
    not_restored = foreign - restored
    paths = [
        path for path in restored if path != "." and not any(other.startswith(f"{path}/") for other in not_restored)
    ]
    merged = workspace.with_paths_from(current, target, sorted(paths))
    return RestorePlan(folder, current, merged, workspace.changes(current, merged), () if force else tuple(conflicts))


def _paths(changes: Sequence[Change]) -> set[str]:
    return {change.path for change in changes}


def refuse_conflicts(plan: RestorePlan, runs: Callable[[Sequence[str]], Sequence[str]] = lambda _: ()) -> None:
    """Raise RestoreConflict if changes by others would be overwritten. `runs` finds the later runs that made them."""
    if plan.conflicts:
        raise RestoreConflict([printable(path) for path in plan.conflicts], runs(plan.conflicts))


async def carry_out(
    journal: Journal, run_id: str, workspace: Workspace, plan: RestorePlan, events: Sequence[e.Event]
) -> None:
    """Record a restore and carry it out.

    The events are written first, so that the journal never claims changes that may already be undone. On a full disk
    they are written last, because the restore may make room for them. Raises RestoreConflict if a file of the plan was
    changed since it was made.
    """
    _refresh(workspace, plan)
    recorded = False
    if workspace.is_saved(plan.current, plan.target):
        with suppress(JournalFull):
            await journal.append(run_id, events)
            recorded = True
    try:
        plan.report = workspace.restore(plan.target, known=plan.current, unrecorded=True)
    except RestoreConflict:
        # A file was changed in the last moment. Nothing was restored.
        if recorded:
            with suppress(JournalError):
                await journal.append(run_id, [e.UndoIncomplete(paths=plan.paths)])
        raise
    except RestoreIncomplete as incomplete:
        # Recording this may fail too. The error names the missing files in any case.
        with suppress(JournalError):
            missing = e.UndoIncomplete(paths=incomplete.paths)
            await journal.append(run_id, [missing] if recorded else [*events, missing])
        raise
    if not recorded:
        await journal.append(run_id, events)


def _refresh(workspace: Workspace, plan: RestorePlan) -> None:
    """Take over what others changed since the plan was made: the output of this command may go to a file here."""
    changed = _paths(workspace.changes(plan.current))
    if not changed:
        return
    paths = _paths(plan.changes)
    if conflicts := sorted(changed & paths):
        raise RestoreConflict([printable(path) for path in conflicts])
    reserve = sum(change.after.size for change in plan.changes if change.after)
    current = workspace.capture([plan.current, plan.target], reserve=reserve)
    restored = [path for path in paths if path != "." and not any(other.startswith(f"{path}/") for other in changed)]
    plan.current, plan.target = current, workspace.with_paths_from(current, plan.target, sorted(restored))


def user_and_command(command: str = "") -> str:
    """The name of the user, followed by the command in parentheses if there is one."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "unknown user"
    return f"{name} ({command})" if command else name

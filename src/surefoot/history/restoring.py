"""Restoring a folder for a person: what would change, which changes by others stay, and carrying it out."""

import getpass
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from surefoot.errors import JournalError, JournalFull, RestoreConflict, RestoreIncomplete
from surefoot.journal import events as e
from surefoot.journal.store.base import Journal
from surefoot.workspace.errors import as_text, printable
from surefoot.workspace.restore.restore import RestoreReport
from surefoot.workspace.snapshots.diff import Change
from surefoot.workspace.snapshots.snapshot import Workspace


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
    report: RestoreReport | None = field(default=None, compare=False)
    """What was done, after it was carried out."""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(as_text(change.path) for change in self.changes)


def plan_restore(
    workspace: Workspace,
    target: str,
    *,
    possible: Sequence[str],
    is_own: Callable[[str], bool] = lambda _: True,
    check_leftovers_until: float | None = None,
    force: bool = False,
) -> RestorePlan:
    """Plan how to restore `target` and keep the changes by others.

    `possible` are the snapshots in which Surefoot may have left the workspace. Differences from all of them were made
    by others, except for leftovers of checks. `is_own` tells which differences to the target Surefoot made itself.
    """
    to_targets = [workspace.changes(target, snapshot) for snapshot in possible]
    coming_back = {change.path: change.before.size for changes in to_targets for change in changes if change.before}
    current = workspace.capture([target, *possible], reserve=sum(coming_back.values()))
    since = set.intersection(*(_paths(workspace.changes(snapshot, current)) for snapshot in possible))
    leftovers = {
        path
        for path in since
        if check_leftovers_until is not None and not workspace.changed_after(path, check_leftovers_until)
    }
    to_target = set.union(*map(_paths, to_targets))
    own = {path for path in to_target if is_own(path)} | leftovers
    foreign = (since - leftovers) | (to_target - own)
    folder = str(workspace.root)
    if not foreign:
        return RestorePlan(folder, current, target, workspace.changes(current, target))
    own &= _paths(workspace.changes(current, target))
    conflicts = sorted(own & foreign)
    restored = own if force else own - set(conflicts)
    # Restoring a folder restores everything in it. A folder with changes by others is restored file by file instead.
    kept = foreign - restored
    paths = [path for path in restored if path != "." and not any(other.startswith(f"{path}/") for other in kept)]
    merged = workspace.with_paths_from(current, target, sorted(paths))
    return RestorePlan(folder, current, merged, workspace.changes(current, merged), () if force else tuple(conflicts))


def _paths(changes: Sequence[Change]) -> set[str]:
    return {change.path for change in changes}


def refuse_conflicts(plan: RestorePlan, runs: Callable[[Sequence[str]], Sequence[str]] = lambda _: ()) -> None:
    """Raise if files of others would be overwritten. `runs` finds the later runs that changed them."""
    if plan.conflicts:
        raise RestoreConflict([printable(path) for path in plan.conflicts], runs(plan.conflicts))


async def carry_out(
    journal: Journal, run_id: str, workspace: Workspace, plan: RestorePlan, events: Sequence[e.Event]
) -> None:
    """Record what is about to be done, and do it.

    The record comes first, so that the journal never claims work that may be undone already. Only on a full disk it
    comes last, because the restore may make room for it.
    """
    recorded = False
    if workspace.is_saved(plan.current, plan.target):
        with suppress(JournalFull):
            await journal.append(run_id, events)
            recorded = True
    try:
        plan.report = workspace.restore(plan.target, known=plan.current, unrecorded=True)
    except RestoreIncomplete as incomplete:
        # It may be impossible to record this too. The error says what is missing in any case.
        with suppress(JournalError):
            missing = e.UndoIncomplete(paths=incomplete.paths)
            await journal.append(run_id, [missing] if recorded else [*events, missing])
        raise
    if not recorded:
        await journal.append(run_id, events)


def who(command: str = "") -> str:
    """The name of the user, and the command that was given."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "unknown user"
    return f"{name} ({command})" if command else name

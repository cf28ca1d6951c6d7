"""Going back, for people: the way from the workspace as it is to a snapshot that a run left.

What others did there meanwhile stays. Where they changed the very files that would be put back, they are asked first.
Nothing that an undo takes away is lost: the workspace as it was before is a snapshot too.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from surefoot import events as e
from surefoot.conclusion import Observed, stopped
from surefoot.errors import RestoreConflict, UsageError
from surefoot.fold import fold
from surefoot.machine import Rung, Stage, StepStatus
from surefoot.outcome import Verdict
from surefoot.state import RunState
from surefoot.store.base import Journal
from surefoot.trail import Moment, Trail, step_of, trail
from surefoot.workspace.diff import Change
from surefoot.workspace.faults import as_text, shown
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.snapshot import Workspace

# -- the way from now to a snapshot ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Way:
    now: str
    goal: str
    """What the workspace will be: the snapshot that was asked for, and what others did since."""
    changes: Sequence[Change]
    """From now to there."""
    conflicts: tuple[str, ...] = ()
    """Files that others changed and that would be put back."""


def way_to(
    workspace: Workspace,
    goal: str,
    *,
    known: Sequence[str],
    mine: Callable[[str], bool] = lambda _: True,
    left_behind_until: float | None = None,
    force: bool = False,
) -> Way:
    """How to get there. `known` is the workspace as Surefoot left it, or may have left it: what differs from that is
    someone else's, unless checks left something behind afterwards. `mine` tells which differences between there and the
    goal are Surefoot's doing."""
    now = workspace.snapshot()
    since = set.intersection(*(_paths(workspace, one, now) for one in known))
    left = {p for p in since if left_behind_until is not None and not _changed_after(workspace, p, left_behind_until)}
    between = set.union(*(_paths(workspace, goal, one) for one in known))
    ours = {path for path in between if mine(path)} | left
    theirs = (since - left) | (between - ours)
    if not theirs:
        return Way(now, goal, workspace.changes(now, goal))
    ours &= _paths(workspace, now, goal)
    conflicts = sorted(ours & theirs)
    put_back = ours if force else ours - set(conflicts)
    # A folder stands for all that is in it, so one that holds something of theirs is left to its single files.
    kept = theirs - put_back
    paths = [p for p in put_back if p != "." and not any(other.startswith(f"{p}/") for other in kept)]
    merged = workspace.with_paths_from(now, goal, sorted(paths))
    return Way(now, merged, workspace.changes(now, merged), () if force else tuple(conflicts))


def _paths(workspace: Workspace, one: str, other: str) -> set[str]:
    return {change.path for change in workspace.changes(one, other)}


def _changed_after(workspace: Workspace, path: str, at: float) -> bool:
    """By the time that the kernel keeps and nobody can set; what is gone was changed when its folder was."""
    place = workspace.root / path
    while not os.path.lexists(place):
        place = place.parent
    return place.lstat().st_ctime > at


def refuse_conflicts(way: Way) -> None:
    if way.conflicts:
        raise RestoreConflict([shown(path) for path in way.conflicts])


# -- undoing a run ---------------------------------------------------------------------------------------------------


async def undo(
    journal: Journal,
    home: Path,
    run_id: str,
    *,
    step: str = "",
    to: str = "",
    force: bool = False,
    agreed: Callable[[Way], bool] = lambda _: True,
) -> Way | None:
    """Brings a run's workspace back to before the run, or before a step, or to a snapshot of it; None when nobody
    agreed. Killed half-way, the next command in that workspace completes it, and so does the same undo again."""
    records = list(journal.read(run_id))
    state, found = fold(records), trail(records)
    assert state.task is not None
    if not state.task.folder.is_dir():
        raise UsageError(
            f"the workspace of run {run_id} is gone: {state.task.folder}",
            remedy=f"its files can still be had in a new folder: surefoot fork {run_id} --at STEP -C NEWDIR",
        )
    goal, first = _goal(state, found, step, to)
    with WorkspaceLock(state.task.folder, home, run_id):
        workspace = Workspace(state.task.folder, home, excludes=state.config.snapshot_excludes)
        workspace.finish_restore(force=force)
        pure = goal.found_in(workspace)
        way = way_to(
            workspace,
            pure,
            known=[moment.found_in(workspace) for moment in found.left],
            mine=found.touched_since(first),
            left_behind_until=found.left_behind_until,
            force=force,
        )
        refuse_conflicts(way)
        if way.changes and not agreed(way):
            return None
        # Written down before it is done: whatever happens from here on, the journal does not claim that the work is
        # still there.
        await journal.append(
            run_id, [*_events(state, records, way, first if not to else None, "" if pure in found.of_undos else pure)]
        )
        workspace.restore(way.goal, known=way.now)
        return way


def _goal(state: RunState, found: Trail, step: str, to: str) -> tuple[Moment, int]:
    """The snapshot to go back to, and the number of the first event that is undone by it."""
    if to:
        matching = [snapshot for snapshot in found.snapshots if snapshot.startswith(to)]
        if len(matching) != 1:
            known = ", ".join(snapshot[:12] for snapshot in list(found.snapshots)[-5:])
            why = "several snapshots begin with" if matching else f"run {state.run_id} has no snapshot"
            raise UsageError(f"{why} {to!r}", remedy=f"its last ones are {known}")
        return Moment(matching[0]), 0
    if step:
        trace = found.steps[step_of(state, found, step)]
        return trace.first, trace.begun_at
    return found.start, 0


def _events(
    state: RunState, records: Sequence[e.Record], way: Way, first: int | None, towards: str
) -> Iterable[e.Event]:
    """What the journal has to say so that a run that is not completed can be resumed and does again what was undone:
    its steps wait for their turn, and it has ended if it had not. `first` is None where no step is undone."""
    paths = tuple(as_text(change.path) for change in way.changes)
    yield e.RolledBack(step_id="", snapshot=way.now)
    if first is not None and state.stage is not Stage.COMPLETED:
        for action in state.open_actions.values():
            yield e.ActionInterrupted(action_id=action.id, step_id=action.step_id)
        before = {r.event.step_id for r in records if r.seq < first and isinstance(r.event, e.StepFinished)}
        for step_id, mine in state.steps.items():
            if mine.status is not StepStatus.PENDING and step_id not in before:
                yield e.StepReset(step_id=step_id, rung=Rung.ADJUST_PARAMETERS, by="user")
        if state.outcome is None:
            reason = "undone before it had ended"
            yield e.StageEntered(stage=Stage.FAILED, reason=reason)
            yield e.RunEnded(outcome=stopped(state, Observed(), Verdict.CANCELLED, reason))
    yield e.RolledBack(step_id="", snapshot=way.goal, paths=paths, towards=towards)

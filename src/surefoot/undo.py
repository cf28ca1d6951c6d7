"""Going back, for people: the snapshots that a run left, and the way from the workspace as it is to one of them.

What others did there meanwhile stays. Where they changed the very files that would be put back, they are asked first.
Nothing that an undo takes away is lost: the workspace as it was before is a snapshot too.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from surefoot import events as e
from surefoot.conclusion import Observed, stopped
from surefoot.errors import RestoreConflict, UsageError
from surefoot.fold import fold
from surefoot.machine import Rung, Stage, StepStatus
from surefoot.outcome import FailureKind, Verdict
from surefoot.state import RunState
from surefoot.store.base import Journal
from surefoot.workspace.diff import Change
from surefoot.workspace.faults import shown, typed
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.snapshot import Workspace

# -- what a run left -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class StepTrace:
    """The workspace around a step."""

    first: str = ""
    """Before it was begun for the first time."""
    begun_at: int = 0
    """The number of the event that began it then."""
    before: str = ""
    """Before its last attempt."""
    after: str = ""
    """After its last attempt; empty where that wrote nothing or did not end."""
    attempts: int = 0
    wrote: bool = False
    """Something may have been written in the attempt that is going on."""


@dataclass(slots=True)
class Trail:
    start: str = ""
    end: str = ""
    """As the run itself left the workspace."""
    known: str = ""
    """As Surefoot last knew the workspace: the same, unless it was undone since."""
    last_at: float = 0.0
    steps: dict[str, StepTrace] = field(default_factory=dict)
    snapshots: dict[str, None] = field(default_factory=dict)
    """All of them, in order."""


def trail(records: Iterable[e.Record]) -> Trail:
    found = Trail()
    for seq, at, event in records:
        found.last_at = at
        match event:
            case e.RunCreated():
                found.start = event.snapshot
                _reached(found, event.snapshot)
            case e.StepStarted():
                trace = found.steps.setdefault(event.step_id, StepTrace(first=found.known, begun_at=seq))
                trace.before, trace.after, trace.wrote = found.known, "", False
                trace.attempts += 1
            case e.ActionStarted() if event.snapshot:
                trace = found.steps[event.step_id]
                if not trace.wrote:
                    trace.before, trace.wrote = event.snapshot, True
                    trace.first = event.snapshot if trace.attempts == 1 else trace.first
                _reached(found, event.snapshot)
            # A step that the final tree refuted names the snapshot that was taken after it, long before.
            case e.StepFinished() if event.snapshot and not _is_refuted(event):
                found.steps[event.step_id].after = event.snapshot
                _reached(found, event.snapshot)
            case e.RolledBack():
                end = found.end
                _reached(found, event.snapshot)
                found.end = found.end if event.step_id else end
    return found


def _reached(found: Trail, snapshot: str) -> None:
    if snapshot:
        found.known = found.end = snapshot
        found.snapshots[snapshot] = None


def _is_refuted(event: e.StepFinished) -> bool:
    return event.failure is not None and event.failure.kind is FailureKind.REFUTED


def step_of(state: RunState, found: Trail, name: str) -> str:
    """The id of the step that a person means: an id, or the number under which `surefoot show` lists it."""
    listed = list(state.steps)
    if name not in found.steps and name.isdecimal() and 0 < int(name) <= len(listed):
        name = listed[int(name) - 1]
    if name not in found.steps:
        begun = ", ".join(found.steps) or "none"
        raise UsageError(
            f"run {state.run_id} has no step {name!r} that was begun", remedy=f"these were: {begun}; numbers count too"
        )
    return name


def storage(home: Path) -> Workspace:
    """All snapshots of a home, for those who need no workspace, or whose workspace is gone."""
    folder = home / "workspaces"
    with typed("prepare the folder for snapshots"):
        folder.mkdir(parents=True, exist_ok=True)
    return Workspace(folder, home)


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


def way_to(workspace: Workspace, goal: str, *, known: str, since: float | None = None, force: bool = False) -> Way:
    """How to get there. `known` is the workspace as Surefoot left it, at the time `since`: what differs from it and was
    changed after that is someone else's, what was changed before is what checks left behind. Without a time, all that
    differs is someone else's."""
    now = workspace.snapshot()
    changed = [change.path for change in workspace.changes(known, now)]
    theirs = [path for path in changed if since is None or _changed_after(workspace.root, path, since)]
    if not theirs:
        return Way(now, goal, workspace.changes(now, goal))
    ours = {change.path for change in workspace.changes(goal, known)} | (set(changed) - set(theirs))
    different = {change.path for change in workspace.changes(now, goal)}
    conflicts = sorted(ours & different & set(theirs))
    put_back = ours & different if force else (ours & different) - set(conflicts)
    # A folder stands for all that is in it, so one that holds something of theirs is left to its single files.
    kept = [path for path in theirs if path not in put_back]
    paths = [p for p in put_back if p != "." and not any(other.startswith(f"{p}/") for other in kept)]
    merged = workspace.with_paths_from(now, goal, sorted(paths))
    return Way(now, merged, workspace.changes(now, merged), () if force else tuple(conflicts))


def _changed_after(root: Path, path: str, at: float) -> bool:
    """By the time that the kernel keeps and nobody can set; what is gone was changed when its folder was."""
    place = root / path
    while True:
        try:
            return os.lstat(place).st_ctime > at
        except (FileNotFoundError, NotADirectoryError):
            if place == root:
                return True
            place = place.parent


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
        way = way_to(workspace, goal, known=found.known, since=found.last_at, force=force)
        refuse_conflicts(way)
        if way.changes and not agreed(way):
            return None
        # Written down before it is done: whatever happens from here on, the journal does not claim that the work is
        # still there.
        await journal.append(run_id, [*_events(state, records, way, first if not to else None)])
        workspace.restore(way.goal, known=way.now)
        return way


def _goal(state: RunState, found: Trail, step: str, to: str) -> tuple[str, int]:
    """The snapshot to go back to, and the number of the first event that is undone by it."""
    if to:
        matching = [snapshot for snapshot in found.snapshots if snapshot.startswith(to)]
        if len(matching) != 1:
            known = ", ".join(snapshot[:12] for snapshot in list(found.snapshots)[-5:])
            why = "several snapshots begin with" if matching else f"run {state.run_id} has no snapshot"
            raise UsageError(f"{why} {to!r}", remedy=f"its last ones are {known}")
        return matching[0], 0
    if step:
        trace = found.steps[step_of(state, found, step)]
        return trace.first, trace.begun_at
    return found.start, 0


def _events(state: RunState, records: Sequence[e.Record], way: Way, first: int | None) -> Iterable[e.Event]:
    """What the journal has to say so that a run that is not completed can be resumed and does again what was undone:
    its steps wait for their turn, and it has ended if it had not. `first` is None where no step is undone."""
    paths = tuple(shown(change.path) for change in way.changes)
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
    yield e.RolledBack(step_id="", snapshot=way.goal, paths=paths)

"""What a run left: the snapshots it took on its way, which step they belong to, and which changes are its own."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from surefoot import events as e
from surefoot.errors import UsageError
from surefoot.fold import fold
from surefoot.machine import StepStatus
from surefoot.outcome import FailureKind
from surefoot.state import RunState
from surefoot.workspace.faults import as_path, typed
from surefoot.workspace.snapshot import Workspace
from surefoot.workspace.tree import above


@dataclass(frozen=True, slots=True)
class Moment:
    """The workspace at a moment of the run: a snapshot, and what failed steps had put back since it was taken."""

    snapshot: str = ""
    put_back: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Each time to which snapshot, and which paths."""

    def found_in(self, stored: Workspace) -> str:
        """The snapshot of that very moment."""
        found = self.snapshot
        for earlier, paths in self.put_back:
            found = stored.with_paths_from(found, earlier, paths)
        return found


@dataclass(slots=True)
class StepTrace:
    """The workspace around a step."""

    first: Moment = field(default_factory=Moment)
    """Before it was begun for the first time."""
    begun_at: int = 0
    """The number of the event that began it then."""
    before: Moment = field(default_factory=Moment)
    """Before its last attempt."""
    after: Moment | None = None
    """After its last attempt; None where that wrote nothing or did not end."""
    attempts: int = 0
    wrote: bool = False
    """Something may have been written in the attempt that is going on."""


@dataclass(slots=True)
class Trail:
    start: Moment = field(default_factory=Moment)
    end: Moment = field(default_factory=Moment)
    """As the run itself left the workspace."""
    known: Moment = field(default_factory=Moment)
    """As Surefoot last knew the workspace: the same, unless it was undone since."""
    left: list[Moment] = field(default_factory=list)
    """All that Surefoot may have left there: the run's end, and what each undo since went back to, without what others
    had changed by then and it left alone. An undo is written down before it is done, so that one that was killed may
    have left any of them."""
    of_undos: set[str] = field(default_factory=set)
    """Snapshots that were taken for an undo: what others had changed by then is in them too."""
    steps: dict[str, StepTrace] = field(default_factory=dict)
    snapshots: dict[str, None] = field(default_factory=dict)
    """All of them, in order."""
    touched: dict[str, int] = field(default_factory=dict)
    """The paths that the run changed, each with the number of the last event that tells so. What else differs between
    two snapshots was done by someone else while the run was at work."""
    unlisted: int = 0
    """The last event that tells of changes without naming them."""
    left_behind_until: float | None = None
    """Checks that ran after the last snapshot left something in the workspace, at this time at the latest."""

    def touched_since(self, event: int) -> Callable[[str], bool]:
        """Whether a path was changed by the run after an event: it, something above it or something below it."""
        if self.unlisted > event:
            return lambda path: True
        paths = {path for path, last in self.touched.items() if last > event}
        around = paths | {folder for path in paths for folder in above(path)}
        return lambda path: path in around or any(folder in paths for folder in above(path))


def trail(records: Iterable[e.Record]) -> Trail:
    found = Trail()
    for seq, at, event in records:
        match event:
            case e.RunCreated():
                _reached(found, event.snapshot)
                found.start = found.known
            case e.StepStarted():
                trace = found.steps.setdefault(event.step_id, StepTrace(first=found.known, begun_at=seq))
                trace.before, trace.after, trace.wrote = found.known, None, False
                trace.attempts += 1
            case e.ActionStarted() if event.snapshot:
                trace = found.steps[event.step_id]
                _reached(found, event.snapshot)
                if not trace.wrote:
                    trace.before, trace.wrote = found.known, True
                    trace.first = found.known if trace.attempts == 1 else trace.first
            case e.ActionFinished() | e.CompensationFinished():
                _changed(found, seq, event.changed)
            case e.ChecksRan() if event.changed:
                _changed(found, seq, event.changed)
                found.left_behind_until = at
            # A step that the final tree refuted names the snapshot that was taken after it, long before.
            case e.StepFinished() if event.snapshot and not _is_refuted(event):
                _reached(found, event.snapshot)
                found.steps[event.step_id].after = found.known
            case e.RolledBack(snapshot="") | e.WorkKept():
                pass  # it was outside, or it stays
            case e.RolledBack() if event.step_id:
                found.snapshots[event.snapshot] = None
                done = (event.snapshot, tuple(map(as_path, event.paths)))
                found.known = found.end = Moment(found.known.snapshot, (*found.known.put_back, done))
                found.left = [found.known]
            case e.RolledBack():
                # By a person, after the run: then it is the workspace as a whole.
                end, left = found.end, found.left
                _changed(found, seq, event.paths)
                _reached(found, event.snapshot)
                found.of_undos.add(event.snapshot)
                found.snapshots |= dict.fromkeys([event.towards] if event.towards else [])
                found.end, found.left = end, [*left, *([Moment(event.towards)] if event.towards else [])]
    return found


def _reached(found: Trail, snapshot: str) -> None:
    if snapshot:
        found.known = found.end = Moment(snapshot)
        found.left = [found.known]
        found.snapshots[snapshot] = None
        found.left_behind_until = None


def _changed(found: Trail, event: int, paths: Sequence[str]) -> None:
    found.touched |= dict.fromkeys(map(as_path, paths), event)
    if "." in paths:
        found.unlisted = event


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


def diff_of(records: Sequence[e.Record], home: Path, step: str = "") -> str:
    """What a run, or one step of it, changed; for a run that has not ended, up to now."""
    state, found = fold(records), trail(records)
    assert state.task is not None
    if step:
        trace = found.steps[step_of(state, found, step)]
        over = state.steps.get(step_of(state, found, step))
        running = over is not None and over.status is StepStatus.RUNNING
        before, after = trace.before, None if running else trace.after or trace.before
    else:
        before, after = found.start, found.end if state.outcome is not None else None
    stored = storage(home)
    if after is not None:
        return stored.unified_diff(before.found_in(stored), after.found_in(stored))
    if not state.task.folder.is_dir():
        raise UsageError(
            f"the workspace of run {state.run_id} is gone: {state.task.folder}",
            remedy="name a step that has ended: what it changed is kept",
        )
    workspace = Workspace(state.task.folder, home, excludes=state.config.snapshot_excludes)
    return workspace.unified_diff(before.found_in(stored))


def storage(home: Path) -> Workspace:
    """All snapshots of a home, for those who need no workspace, or whose workspace is gone."""
    folder = home / "workspaces"
    with typed("prepare the folder for snapshots"):
        folder.mkdir(parents=True, exist_ok=True)
    return Workspace(folder, home)

"""The snapshots of a run in order, the steps they belong to, and the paths that the run changed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from surefoot.core.outcome import FailureKind
from surefoot.core.transitions import StepStatus
from surefoot.errors import UsageError
from surefoot.journal import events as e
from surefoot.journal.redact import PLACEHOLDER
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.workspace.errors import as_path, translate_os_errors
from surefoot.workspace.snapshots.tree import around
from surefoot.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """The workspace at a point of the run: a snapshot, and the rollbacks of failed steps since it was taken."""

    snapshot: str = ""
    rollbacks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """For each rollback: the restored snapshot, and the restored paths."""

    def resolve(self, storage: Workspace) -> str:
        """The snapshot of exactly this state. It is created if there were rollbacks."""
        snapshot = self.snapshot
        for earlier, paths in self.rollbacks:
            snapshot = storage.with_paths_from(snapshot, earlier, paths)
        return snapshot


@dataclass(slots=True)
class StepTimeline:
    """The workspace before and after a step."""

    first: WorkspaceState = field(default_factory=WorkspaceState)
    """Before its first attempt."""
    first_event: int = 0
    """The number of the event that started its first attempt."""
    before: WorkspaceState = field(default_factory=WorkspaceState)
    """Before its last attempt."""
    after: WorkspaceState | None = None
    """After its last attempt; None if that wrote nothing or did not finish."""
    attempts: int = 0
    may_have_written: bool = False
    """Whether the current attempt may have written something."""


@dataclass(slots=True)
class Timeline:
    start: WorkspaceState = field(default_factory=WorkspaceState)
    end: WorkspaceState = field(default_factory=WorkspaceState)
    """The workspace as the run left it."""
    left: WorkspaceState = field(default_factory=WorkspaceState)
    """The end of the run as undos and reviews have left it, without changes by others."""
    last_known: WorkspaceState = field(default_factory=WorkspaceState)
    """The workspace as Surefoot last recorded it. Differs from `end` after an undo."""
    possible_ends: list[WorkspaceState] = field(default_factory=list)
    """All states in which Surefoot may have left the workspace: the end of the run, and the target of every undo
    since, without changes by others. An undo is recorded before it is carried out, so a killed one may have left
    either."""
    applied_snapshots: dict[str, str] = field(default_factory=dict)
    """For a run in a copy: snapshots of the folder to which its changes were applied, and that folder."""
    undo_snapshots: set[str] = field(default_factory=set)
    """Snapshots that were taken for an undo. They also contain changes by others."""
    steps: dict[str, StepTimeline] = field(default_factory=dict)
    snapshots: dict[str, None] = field(default_factory=dict)
    """All snapshots, in order."""
    touched: dict[str, int] = field(default_factory=dict)
    """The paths that the run changed, each with the number of the last event that recorded it. Other differences
    between two snapshots were made by someone else during the run."""
    last_unlisted_change: int = 0
    """The number of the last event that recorded changes without listing the paths."""
    by_others: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The paths that somebody else changed while the run had stopped, each with the number of the event that recorded
    it, and of the snapshots before it."""
    reviewed: bool = False
    """Whether a person undid or edited parts of the result. In that case, `end` is what they left."""
    committed: bool = False
    """Whether changes of the run were committed to git. From then on no undo touches the repository."""
    check_leftovers_until: float | None = None
    """If checks changed the workspace after the last snapshot: the time of the last such change."""

    def find_snapshot(self, prefix: str, run_id: str) -> str:
        """The snapshot of the run whose id begins with `prefix`. Raises UsageError unless there is exactly one."""
        matching = [snapshot for snapshot in self.snapshots if snapshot.startswith(prefix)]
        if len(matching) != 1:
            known = ", ".join(snapshot[:12] for snapshot in list(self.snapshots)[-5:])
            problem = "several snapshots begin with" if matching else f"run {run_id} has no snapshot"
            raise UsageError(f"{problem} {prefix!r}", remedy=f"its last snapshots are {known}")
        return matching[0]

    def changed_by_others_since(self, event: int, target: str = "") -> set[str]:
        """The files that somebody else changed after an event while the run had stopped; with `target`, only those that
        were changed after that snapshot was taken."""
        taken = list(self.snapshots).index(target) if target in self.snapshots else -1
        return {path for path, (last, known) in self.by_others.items() if last > event and taken < known}

    def touched_since(self, event: int) -> Callable[[str], bool]:
        """A predicate that says whether the run changed a path, or one above or below it, after an event."""
        if self.last_unlisted_change > event:
            return lambda path: not (self.committed and _is_repository(path))
        paths = {path for path, last in self.touched.items() if last > event}
        return around({path for path in paths if not (self.committed and _is_repository(path))})


def _is_repository(path: str) -> bool:
    return path == ".git" or path.startswith(".git/")


def build_timeline(records: Iterable[e.Record]) -> Timeline:
    timeline = Timeline()
    for seq, at, event in records:
        match event:
            case e.RunCreated():
                _reach(timeline, event.snapshot)
                timeline.start = timeline.last_known
                if event.forked_at:
                    timeline.snapshots.setdefault(event.forked_at)
            case e.StepStarted():
                step = timeline.steps.setdefault(
                    event.step_id, StepTimeline(first=timeline.last_known, first_event=seq)
                )
                step.before, step.after, step.may_have_written = timeline.last_known, None, False
                step.attempts += 1
            case e.ActionStarted() if event.snapshot:
                step = timeline.steps[event.step_id]
                _reach(timeline, event.snapshot)
                if not step.may_have_written:
                    step.before, step.may_have_written = timeline.last_known, True
                    step.first = timeline.last_known if step.attempts == 1 else step.first
            case e.ActionFinished() | e.CompensationFinished():
                _touch(timeline, seq, event.changed)
            case e.ChecksRan() if event.changed:
                _touch(timeline, seq, event.changed)
                timeline.check_leftovers_until = at
            # A step that is refuted on the final tree repeats the older snapshot that was taken when it ended.
            case e.StepFinished() if event.snapshot and not _is_refuted(event):
                _reach(timeline, event.snapshot)
                timeline.steps[event.step_id].after = timeline.last_known
            case e.RolledBack() if event.snapshot:  # otherwise it undid only effects outside the workspace
                _roll_back(timeline, seq, event)
            case e.Applied() | e.WorkspaceStored() | e.Committed():
                _record_result(timeline, event)
            case _:
                _stop_or_go_on(timeline, seq, event)
    return timeline


def _reach(timeline: Timeline, snapshot: str) -> None:
    if snapshot:
        timeline.last_known = timeline.end = timeline.left = WorkspaceState(snapshot)
        timeline.possible_ends = [timeline.last_known]
        timeline.snapshots[snapshot] = None
        timeline.check_leftovers_until = None


def _stop_or_go_on(timeline: Timeline, seq: int, event: e.Event) -> None:
    """Record how the run left the workspace when it stopped, and what others had changed when it went on."""
    if isinstance(event, e.RunInterrupted | e.RunEnded | e.StageEntered):
        _reach(timeline, event.snapshot)
    elif isinstance(event, e.RunResumed):
        recorded = (seq, len(timeline.snapshots))
        timeline.by_others |= dict.fromkeys(map(as_path, event.changed), recorded)


def _touch(timeline: Timeline, event: int, paths: Sequence[str]) -> None:
    timeline.touched |= dict.fromkeys(map(as_path, paths), event)
    # Earlier versions stored placeholders for parts of paths that looked like tokens. Those paths are not known.
    if "." in paths or any(PLACEHOLDER.search(path) for path in paths):
        timeline.last_unlisted_change = event


def _record_result(timeline: Timeline, event: e.Applied | e.WorkspaceStored | e.Committed) -> None:
    if isinstance(event, e.Committed):
        timeline.committed = True
        return
    if isinstance(event, e.WorkspaceStored):
        _reach(timeline, event.snapshot)
        return
    # The state stays as it is: the folder to which changes are applied is not the workspace of the run.
    timeline.applied_snapshots |= dict.fromkeys((event.before, event.after), event.folder)
    timeline.snapshots |= dict.fromkeys(filter(None, (event.before, event.after, event.towards)))


def _roll_back(timeline: Timeline, seq: int, event: e.RolledBack) -> None:
    if not event.step_id:
        _undo(timeline, seq, event)
        return
    timeline.snapshots[event.snapshot] = None
    rollback = (event.snapshot, tuple(map(as_path, event.paths)))
    state = WorkspaceState(timeline.last_known.snapshot, (*timeline.last_known.rollbacks, rollback))
    timeline.last_known = timeline.end = timeline.left = state
    timeline.possible_ends = [state]


def _undo(timeline: Timeline, seq: int, event: e.RolledBack) -> None:
    """Record an undo by a person after the run. It concerns the whole workspace, and does not change the end of the
    run. A review does: what it leaves is the new end."""
    end, left, possible_ends = timeline.end, timeline.left, timeline.possible_ends
    _touch(timeline, seq, event.paths)
    _reach(timeline, event.snapshot)
    timeline.undo_snapshots.add(event.snapshot)
    timeline.end, timeline.left, timeline.possible_ends = end, left, possible_ends
    if event.paths:
        restored = (event.snapshot, tuple(map(as_path, event.paths)))
        timeline.left = WorkspaceState(left.snapshot, (*left.rollbacks, restored))
    if event.towards:
        timeline.snapshots[event.towards] = None
        timeline.possible_ends = [*possible_ends, WorkspaceState(event.towards)]
    if event.scope == "review":
        timeline.end = timeline.left = WorkspaceState(event.towards)
        timeline.reviewed = True


def _is_refuted(event: e.StepFinished) -> bool:
    return event.failure is not None and event.failure.kind is FailureKind.REFUTED


def find_step(state: RunState, timeline: Timeline, name: str) -> str:
    """The id of a started step, given by its id or by its number in `surefoot show`. Raises UsageError if there is
    none."""
    step_ids = list(state.steps)
    if name not in timeline.steps and name.isdecimal() and 0 < int(name) <= len(step_ids):
        name = step_ids[int(name) - 1]
    if name not in timeline.steps:
        started = ", ".join(timeline.steps) or "none"
        raise UsageError(
            f"run {state.run_id} has no step {name!r} that was started",
            remedy=f"started steps: {started}; a number from `surefoot show` works too",
        )
    return name


def diff_of(records: Sequence[e.Record], home: Path, step: str = "") -> str:
    """The diff of a run, or of one step. For a run that has not ended, it is the diff up to now."""
    state, timeline = fold(records), build_timeline(records)
    return diff_between(state, timeline, home, find_step(state, timeline, step) if step else "")


def diff_between(state: RunState, timeline: Timeline, home: Path, step_id: str = "") -> str:
    """The diff of a folded run, or of one of its started steps.

    The diff of a run that has ended has only what the run touched, not what others changed meanwhile.
    """
    assert state.task is not None
    if step_id:
        step_run, step_timeline = state.steps.get(step_id), timeline.steps[step_id]
        running = step_run is not None and step_run.status is StepStatus.RUNNING
        before, after = step_timeline.before, None if running else step_timeline.after or step_timeline.before
    else:
        before, after = timeline.start, timeline.end if state.outcome is not None or state.remote else None
    if before == after:
        return ""
    storage = snapshot_storage(home)
    if after is not None:
        counts = None if step_id or state.open_actions else timeline.touched_since(0)
        return storage.unified_diff(before.resolve(storage), after.resolve(storage), counts=counts)
    if not state.task.folder.is_dir():
        raise UsageError(
            f"the workspace of run {state.run_id} is gone: {state.task.folder}",
            remedy="name a step that has ended: its changes are stored",
        )
    return workspace_of(state, home).unified_diff(before.resolve(storage))


def workspace_of(state: RunState, home: Path, folder: Path | None = None) -> Workspace:
    """The workspace of a run, or another folder, with the run's settings for snapshots."""
    assert state.task is not None
    return Workspace(
        folder or state.task.folder,
        home,
        excludes=state.config.snapshot_excludes,
        quota_bytes=state.config.snapshot_quota_bytes,
    )


def snapshot_storage(home: Path) -> Workspace:
    """The stored snapshots of all workspaces, for use without a workspace."""
    folder = home / "workspaces"
    with translate_os_errors("prepare the folder for snapshots"):
        folder.mkdir(parents=True, exist_ok=True)
    return Workspace(folder, home)

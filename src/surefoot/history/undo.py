"""Undo by a person: restores a workspace to a snapshot of a run.

Changes that others made since are kept. If they changed a file that would be restored, the undo is refused unless it
is forced. Nothing is lost: a snapshot is taken before the undo, and a file that is too large for a snapshot is moved
aside. If the run worked in a copy and its changes were applied to a folder, they are removed from that folder.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from surefoot.core.outcome import Verdict
from surefoot.core.transitions import Rung, Stage, StepStatus
from surefoot.engine.verdict import Observed, stopped
from surefoot.errors import UsageError
from surefoot.history.restoring import RestorePlan, carry_out, plan_restore, refuse_conflicts, user_and_command
from surefoot.history.timeline import Timeline, WorkspaceState, build_timeline, find_step, workspace_of
from surefoot.history.worktree import applied_folder, undo_apply
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.workspace.lock import WorkspaceLock

_MAX_LATER_RUNS = 50
"""How many of the newest runs of a folder are searched for those that changed a file again."""


async def undo(
    journal: Journal,
    home: Path,
    run_id: str,
    *,
    step: str = "",
    to: str = "",
    force: bool = False,
    by: str = "",
    confirm: Callable[[RestorePlan], bool] = lambda _: True,
) -> RestorePlan | None:
    """Restore the workspace to its state before the run or before a step, or to a snapshot. Returns None if not
    confirmed.

    An undo that was killed is completed by the next command in that workspace, or by the same undo again. `by` says who
    undoes the run, and how; the default is the user's name.
    """
    records, by = list(journal.read(run_id)), by or user_and_command()
    state, timeline = fold(records), build_timeline(records)
    assert state.task is not None
    if applied_folder(state, timeline, step, to):
        return await undo_apply(journal, home, records, to=to, force=force, by=by, confirm=confirm)
    _require_folder(run_id, state.task.folder)
    requested, first_event = _requested_state(state, timeline, step, to)
    with WorkspaceLock(state.task.folder, home, run_id):
        workspace = workspace_of(state, home)
        finished = workspace.finish_restore(force=force)
        target = requested.resolve(workspace)
        plan = plan_restore(
            workspace,
            target,
            possible_ends=[end.resolve(workspace) for end in timeline.possible_ends],
            is_own=timeline.touched_since(first_event),
            check_leftovers_until=timeline.check_leftovers_until,
            by_others=timeline.changed_by_others_since(first_event, target if to else ""),
            force=force,
        )
        refuse_conflicts(plan, lambda paths: _later_runs(journal, state, paths))
        if plan.changes and not confirm(plan):
            return None
        redoes = target if target in timeline.undo_snapshots else ""
        plan.redoes = bool(redoes)
        undone = e.RolledBack(
            step_id="",
            snapshot=plan.target,
            paths=plan.paths,
            towards="" if redoes else target,
            by=by,
            scope="snapshot" if to else "step" if step else "run",
            from_step=find_step(state, timeline, step) if step else "",
            redoes=redoes,
        )
        if plan.changes or not _is_recorded(state, undone):
            events = [*_events(state, records, plan.current, None if to else first_event), undone]
            await carry_out(journal, run_id, workspace, plan, events)
        plan.report = plan.report if plan.changes else finished
        return plan


def _require_folder(run_id: str, folder: Path) -> None:
    if not folder.is_dir():
        raise UsageError(
            f"the workspace of run {run_id} is gone: {folder}",
            remedy=f"restore its files in a new folder: surefoot fork {run_id} --at STEP -C NEWDIR",
        )


def _later_runs(journal: Journal, state: RunState, paths: Sequence[str]) -> list[str]:
    """The runs that changed one of these files after this run began and were not undone, the newest first."""
    assert state.task is not None
    run_ids = []
    for run in journal.summaries(_MAX_LATER_RUNS, [state.task.workspace]):
        if run.run_id == state.run_id or run.created_at < state.started_at or run.undone == "undone":
            continue
        changed = build_timeline(journal.read(run.run_id)).touched_since(0)
        if any(map(changed, paths)):
            run_ids.append(run.run_id)
    return run_ids


def _is_recorded(state: RunState, event: e.RolledBack) -> bool:
    """Whether the same undo was already carried out completely."""
    undone = state.undone
    return undone is not None and not undone.missing and (undone.step, event.redoes) == (event.from_step, "")


def _requested_state(state: RunState, timeline: Timeline, step: str, to: str) -> tuple[WorkspaceState, int]:
    """The state to restore, and the number of the first event that this undoes."""
    if to:
        return WorkspaceState(timeline.find_snapshot(to, state.run_id)), 0
    if step:
        step_timeline = timeline.steps[find_step(state, timeline, step)]
        return step_timeline.first, step_timeline.first_event
    return timeline.start, 0


def _events(state: RunState, records: Sequence[e.Record], current: str, first_event: int | None) -> Iterable[e.Event]:
    """The events of an undo, except the last. They reset the undone steps of a run that is not completed, so that it
    can be resumed, and end it if it has not ended. `first_event` is None if no step is undone."""
    yield e.RolledBack(step_id="", snapshot=current)
    if first_event is not None and state.stage is not Stage.COMPLETED:
        for action in state.open_actions.values():
            yield e.ActionInterrupted(action_id=action.id, step_id=action.step_id)
        finished = {r.event.step_id for r in records if r.seq < first_event and isinstance(r.event, e.StepFinished)}
        for step_id, step_run in state.steps.items():
            if step_run.status is not StepStatus.PENDING and step_id not in finished:
                yield e.StepReset(step_id=step_id, rung=Rung.ADJUST_PARAMETERS, by="user")
        if state.outcome is None:
            reason = "undone before it had ended"
            yield e.StageEntered(stage=Stage.FAILED, reason=reason)
            yield e.RunEnded(outcome=stopped(state, Observed(), Verdict.CANCELLED, reason))

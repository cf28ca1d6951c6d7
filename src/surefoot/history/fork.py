"""Forks a run: a new run in a new folder, with the files and the journal as before a step or a decision."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from surefoot._version import __version__
from surefoot.core.transitions import StepStatus
from surefoot.engine.loop import new_run_id
from surefoot.errors import UsageError
from surefoot.history.decisions import decisions
from surefoot.history.timeline import WorkspaceState, build_timeline, find_step, snapshot_storage
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.store.base import Journal

_NOT_COPIED = (
    e.RunCreated,
    e.RunResumed,
    e.RunInterrupted,
    e.RunEnded,
    # Controls concern the old run only, and the costs of the old run are not those of the new one.
    e.ControlReceived,
    e.ModelAnswered,
    e.ModelRetried,
    e.Applied,
    e.UndoIncomplete,
)


async def fork(
    journal: Journal, home: Path, run_id: str, step: str, target: Path, *, decision: int = 0, model: str = ""
) -> str:
    """Fork a run before a step, or before the decision with this number. Returns the id of the new run.

    Resuming the new run starts with that step or decision. Its changes are compared with the start of the old run, so
    a test that was modified before the fork still counts as modified.
    """
    records = list(journal.read(run_id))
    state = fold(records)
    workspace_state, first_event = _before_decision(records, decision) if decision else _before_step(records, step)
    created = records[0].event
    assert isinstance(created, e.RunCreated)
    target = target.expanduser().absolute()
    storage = snapshot_storage(home)
    storage.copy_to(workspace_state.resolve(storage), target)
    new = created.model_copy(
        update={
            "run_id": new_run_id(),
            "task": created.task.with_(workspace=str(target.resolve())),
            "model": model or state.model,
            "surefoot": __version__,
            "based_on": run_id,
        }
    )
    events = [new, *_copied([record for record in records if record.seq < first_event])]
    # Fold them before they are written, to make sure that they are a valid run.
    fold(e.Record(seq, 0.0, event) for seq, event in enumerate(events, 1))
    await journal.append(new.run_id, events)
    return new.run_id


def _before_step(records: Sequence[e.Record], step: str) -> tuple[WorkspaceState, int]:
    timeline = build_timeline(records)
    step_timeline = timeline.steps[find_step(fold(records), timeline, step)]
    return step_timeline.first, step_timeline.first_event


def _before_decision(records: Sequence[e.Record], number: int) -> tuple[WorkspaceState, int]:
    """The workspace when a decision was made, and the first event that belongs to it."""
    found = decisions(records)
    if not 0 < number <= len(found):
        raise UsageError(f"there is no decision {number}", remedy=f"there are {len(found)}: surefoot show --decisions")
    decision = found[number - 1]
    before = [record for record in records if record.seq < decision.begins]
    step_run = fold(before).steps[decision.step_id]
    if step_run.shared:
        raise UsageError(
            "other steps were running at the time of this decision, so its files are not known",
            remedy=f"fork before the step instead: --at {decision.step_id}",
        )
    for record in records[len(before) :]:
        event = record.event
        # The next snapshot was taken right before the next write, so it is also the workspace of the decision.
        if isinstance(event, e.ActionStarted | e.StepFinished) and event.snapshot:
            return WorkspaceState(event.snapshot), decision.begins
        if isinstance(event, e.RolledBack):
            break
    timeline = build_timeline(before)
    if timeline.steps[decision.step_id].may_have_written and step_run.status is StepStatus.RUNNING:
        raise UsageError(
            "the run was interrupted after this decision, before its files were captured",
            remedy=f"fork before the step instead: --at {decision.step_id}",
        )
    return timeline.last_known, decision.begins


def _copied(records: Iterable[e.Record]) -> Iterable[e.Event]:
    """The events that the new run takes over. Undos by a person and open questions are left out."""
    events = [record.event for record in records]
    answered = {event.question_id for event in events if isinstance(event, e.QuestionAnswered)}
    for event in events:
        is_undo = isinstance(event, e.RolledBack) and not event.step_id
        is_open_question = isinstance(event, e.QuestionAsked) and event.question_id not in answered
        if not (isinstance(event, _NOT_COPIED) or is_undo or is_open_question):
            yield event

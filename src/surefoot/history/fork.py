"""Forks a run: creates a new run in a new folder, from the state before a phase, step, decision or question."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from surefoot._version import __version__
from surefoot.config.model import ExecutionConfig
from surefoot.core.transitions import Stage, StepStatus
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
    e.AlertStarted,
    e.AlertFinished,
    e.RunEnded,
    # Controls concern only the old run, and its costs do not count for the new one.
    e.ControlReceived,
    e.ModelAnswered,
    e.ModelRetried,
    e.Applied,
    e.Committed,
    e.Pushed,
    e.UndoIncomplete,
)


_SURVEYED = (Stage.UNDERSTANDING, Stage.APPROACH, Stage.PLANNING)
_CONVERSATION = (
    e.ConversationOpened,
    e.ConversationGrew,
    e.ConversationMasked,
    e.CallAnswered,
    e.ModelAnswered,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Where a fork begins: before a step, a decision, a phase or a question. Exactly one of them is given."""

    step: str = ""
    """The id of a step, or its number in `surefoot show`."""
    decision: int = 0
    """The number of a decision in `surefoot show --decisions`."""
    phase: Stage | None = None
    question: str = ""
    """The beginning of a question's id."""


class _Place(NamedTuple):
    workspace: WorkspaceState
    first_event: int
    """The number of the first event that is not copied."""
    added: tuple[e.Event, ...] = ()
    """Events to add after the copied ones."""


async def fork(
    journal: Journal,
    home: Path,
    run_id: str,
    point: Point,
    target: Path,
    *,
    model: str = "",
    answer: str = "",
    config: Callable[[ExecutionConfig], ExecutionConfig] | None = None,
) -> str:
    """Fork a run at a point, with another model, another answer to the question there, or changed settings.

    Returns the id of the new run, which continues from that point when it is resumed. Its changes are compared with the
    start of the old run, so a test that was modified before the fork still counts as modified.
    """
    records = list(journal.read(run_id))
    place = _place(records, point, answer)
    before = [record for record in records if record.seq < place.first_event]
    state = fold(records)
    settings = fold(before).config if before else state.config
    created = records[0].event
    assert isinstance(created, e.RunCreated)
    target = target.expanduser().absolute()
    storage = snapshot_storage(home)
    snapshot = place.workspace.resolve(storage)
    storage.copy_to(snapshot, target)
    copied = list(_copied(before))
    if point.phase in _SURVEYED:
        # One turn of the model may have submitted several phases, so the model is asked again for the later ones.
        copied = [event for event in copied if not isinstance(event, _CONVERSATION)]
    new = created.model_copy(
        update={
            "run_id": new_run_id(),
            "task": created.task.with_(workspace=str(target.resolve())),
            "config": config(settings) if config else settings,
            "model": model or state.model,
            "surefoot": __version__,
            "based_on": run_id,
            "copied": len(copied) + len(place.added),
            "forked_at": snapshot,
        }
    )
    events = [new, *copied, *place.added]
    # Folded before they are written, to make sure that they form a valid run.
    fold(e.Record(seq, 0.0, event) for seq, event in enumerate(events, 1))
    await journal.append(new.run_id, events)
    return new.run_id


def _place(records: Sequence[e.Record], point: Point, answer: str) -> _Place:
    if point.question:
        return _before_question(records, point.question, answer)
    if answer:
        raise UsageError("an answer needs its question", remedy="name the question: --question ID")
    if point.phase is not None:
        return _before_phase(records, point.phase)
    return _before_decision(records, point.decision) if point.decision else _before_step(records, point.step)


def _before_phase(records: Sequence[e.Record], phase: Stage) -> _Place:
    """The place where the run first entered a phase."""
    created = records[0].event
    assert isinstance(created, e.RunCreated)
    if phase is created.starts_at:
        starts = [r.seq for r in records[1:] if isinstance(r.event, e.PhaseStarted | e.StageEntered | e.StepStarted)]
        return _Place(WorkspaceState(created.snapshot), starts[0] if starts else records[-1].seq + 1)
    for record in records:
        if isinstance(record.event, e.StageEntered) and record.event.stage is phase:
            before = [r for r in records if r.seq <= record.seq]
            return _Place(build_timeline(before).last_known, record.seq + 1)
    raise UsageError(f"the run did not reach {phase}", remedy="see its phases: surefoot show")


def _before_question(records: Sequence[e.Record], prefix: str, answer: str) -> _Place:
    asked = [r for r in records if isinstance(r.event, e.QuestionAsked) and r.event.question_id.startswith(prefix)]
    ids = {record.event.question_id for record in asked if isinstance(record.event, e.QuestionAsked)}
    if len(ids) != 1:
        known = sorted({r.event.question_id for r in records if isinstance(r.event, e.QuestionAsked)})
        raise UsageError(
            f"{'several questions begin' if ids else 'no question begins'} with {prefix!r}",
            remedy=f"the questions of the run: {', '.join(known) or 'it asked none'}",
        )
    record = asked[0]
    question = record.event
    assert isinstance(question, e.QuestionAsked)
    # A question that a tool asks names no step: it belongs to the one that is running.
    running = fold(r for r in records if r.seq < record.seq).running
    workspace = _workspace_at(records, record.seq, question.step_id or next(iter(running), ""))
    added = (question, e.QuestionAnswered(question_id=question.question_id, answer=answer, by="fork")) if answer else ()
    return _Place(workspace, record.seq, added)


def _before_step(records: Sequence[e.Record], step: str) -> _Place:
    timeline = build_timeline(records)
    step_timeline = timeline.steps[find_step(fold(records), timeline, step)]
    return _Place(step_timeline.first, step_timeline.first_event)


def _before_decision(records: Sequence[e.Record], number: int) -> _Place:
    """The workspace when a decision was made, and the first event that belongs to it."""
    listed = decisions(records)
    if not 0 < number <= len(listed):
        raise UsageError(f"there is no decision {number}", remedy=f"there are {len(listed)}: surefoot show --decisions")
    decision = listed[number - 1]
    return _Place(_workspace_at(records, decision.begins, decision.step_id), decision.begins)


def _workspace_at(records: Sequence[e.Record], seq: int, step_id: str) -> WorkspaceState:
    """The workspace before an event of a step, or before an event of the run if `step_id` is empty."""
    before = [record for record in records if record.seq < seq]
    timeline = build_timeline(before)
    step_run = fold(before).steps.get(step_id)
    if step_run is None or step_id not in timeline.steps:
        return timeline.last_known
    if step_run.shared:
        raise UsageError(
            "other steps were running at that time, so its files are not known",
            remedy=f"fork before the step instead: --at {step_id}",
        )
    for record in records[len(before) :]:
        event = record.event
        # The next snapshot was taken right before the next write, so it also shows the workspace before the event.
        if isinstance(event, e.ActionStarted | e.StepFinished) and event.snapshot:
            return WorkspaceState(event.snapshot)
        if isinstance(event, e.RolledBack):
            break
    if timeline.steps[step_id].may_have_written and step_run.status is StepStatus.RUNNING:
        raise UsageError(
            "the run was interrupted after that, before its files were captured",
            remedy=f"fork before the step instead: --at {step_id}",
        )
    return timeline.last_known


def _copied(records: Iterable[e.Record]) -> Iterable[e.Event]:
    """The events to copy to the new run. Undos by a person and open questions are left out."""
    events = [record.event for record in records]
    answered = {event.question_id for event in events if isinstance(event, e.QuestionAnswered)}
    for event in events:
        is_undo = isinstance(event, e.RolledBack) and not event.step_id
        is_open_question = isinstance(event, e.QuestionAsked) and event.question_id not in answered
        if isinstance(event, e.ModelAnswered) and event.conversation:
            # The turn is part of the conversation, but its cost does not count for the new run.
            free = {"prompt_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "cost_usd": 0.0, "duration_ms": 0}
            yield event.model_copy(update=free)
        elif not (isinstance(event, _NOT_COPIED) or is_undo or is_open_question):
            yield event

"""A point of a run as a new run in a new folder: the files as they were before a step or a decision, and the journal up
to there."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from surefoot import events as e
from surefoot._version import __version__
from surefoot.decisions import decisions
from surefoot.engine import new_run_id
from surefoot.errors import UsageError
from surefoot.fold import fold
from surefoot.machine import StepStatus
from surefoot.store.base import Journal
from surefoot.trail import Moment, step_of, storage, trail

_NOT_TAKEN = (
    e.RunCreated,
    e.RunResumed,
    e.RunInterrupted,
    e.RunEnded,
    # What people asked of the old run is not asked of the new one, and what was spent on it was not spent here.
    e.ControlReceived,
    e.ModelAnswered,
    e.ModelRetried,
)


async def fork(
    journal: Journal, home: Path, run_id: str, step: str, target: Path, *, decision: int = 0, model: str = ""
) -> str:
    """The id of the new run; resuming it begins with the step, or with deciding anew where the decision of that number
    was made. Its changes are told against the same beginning as those of the old one, so that a test which was changed
    before this point stays changed."""
    records = list(journal.read(run_id))
    state = fold(records)
    moment, begins = _decision(records, decision) if decision else _step(records, step)
    created = records[0].event
    assert isinstance(created, e.RunCreated)
    target = target.expanduser().absolute()
    stored = storage(home)
    stored.copy_to(moment.found_in(stored), target)
    new = created.model_copy(
        update={
            "run_id": new_run_id(),
            "task": created.task.with_(workspace=str(target.resolve())),
            "model": model or state.model,
            "surefoot": __version__,
            "based_on": run_id,
        }
    )
    taken = [new, *_taken([record for record in records if record.seq < begins])]
    fold(e.Record(seq, 0.0, event) for seq, event in enumerate(taken, 1))
    await journal.append(new.run_id, taken)
    return new.run_id


def _step(records: Sequence[e.Record], step: str) -> tuple[Moment, int]:
    found = trail(records)
    trace = found.steps[step_of(fold(records), found, step)]
    return trace.first, trace.begun_at


def _decision(records: Sequence[e.Record], number: int) -> tuple[Moment, int]:
    """The workspace when a decision was made, and the first event that belongs to it."""
    found = decisions(records)
    if not 0 < number <= len(found):
        raise UsageError(f"there is no decision {number}", remedy=f"there are {len(found)}: surefoot show --decisions")
    chosen = found[number - 1]
    before = [record for record in records if record.seq < chosen.begins]
    state = fold(before)
    mine = state.steps[chosen.step_id]
    if mine.shared:
        raise UsageError(
            "other steps were at work beside this decision, so nobody knows the files of that moment",
            remedy=f"begin with the step instead: --at {chosen.step_id}",
        )
    for record in records[len(before) :]:
        event = record.event
        # Snapshots are taken right before something is written: nothing was since the decision.
        if isinstance(event, e.ActionStarted | e.StepFinished) and event.snapshot:
            return Moment(event.snapshot), chosen.begins
        if isinstance(event, e.RolledBack):
            break
    trace = trail(before)
    if trace.steps[chosen.step_id].wrote and mine.status is StepStatus.RUNNING:
        raise UsageError(
            "the run was cut off after this decision, before the files were kept",
            remedy=f"begin with the step instead: --at {chosen.step_id}",
        )
    return trace.known, chosen.begins


def _taken(records: Iterable[e.Record]) -> Iterable[e.Event]:
    events = [record.event for record in records]
    answered = {event.question_id for event in events if isinstance(event, e.QuestionAnswered)}
    for event in events:
        undone = isinstance(event, e.RolledBack) and not event.step_id
        unanswered = isinstance(event, e.QuestionAsked) and event.question_id not in answered
        if not (isinstance(event, _NOT_TAKEN) or undone or unanswered):
            yield event

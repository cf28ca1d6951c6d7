"""A point of a run as a new run in a new folder: the files as they were before a step, and the journal up to there."""

from collections.abc import Iterable
from pathlib import Path

from surefoot import events as e
from surefoot._version import __version__
from surefoot.engine import new_run_id
from surefoot.fold import fold
from surefoot.store.base import Journal
from surefoot.trail import step_of, storage, trail

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


async def fork(journal: Journal, home: Path, run_id: str, step: str, target: Path, *, model: str = "") -> str:
    """The id of the new run; resuming it begins with the step. Its changes are told against the same beginning as
    those of the old one, so that a test which was changed before this point stays changed."""
    records = list(journal.read(run_id))
    state, found = fold(records), trail(records)
    trace = found.steps[step_of(state, found, step)]
    created = records[0].event
    assert isinstance(created, e.RunCreated)
    target = target.expanduser().absolute()
    stored = storage(home)
    stored.copy_to(trace.first.found_in(stored), target)
    new = created.model_copy(
        update={
            "run_id": new_run_id(),
            "task": created.task.with_(workspace=str(target.resolve())),
            "model": model or state.model,
            "surefoot": __version__,
            "based_on": run_id,
        }
    )
    taken = [new, *_taken([record for record in records if record.seq < trace.begun_at])]
    fold(e.Record(seq, 0.0, event) for seq, event in enumerate(taken, 1))
    await journal.append(new.run_id, taken)
    return new.run_id


def _taken(records: Iterable[e.Record]) -> Iterable[e.Event]:
    events = [record.event for record in records]
    answered = {event.question_id for event in events if isinstance(event, e.QuestionAnswered)}
    for event in events:
        undone = isinstance(event, e.RolledBack) and not event.step_id
        unanswered = isinstance(event, e.QuestionAsked) and event.question_id not in answered
        if not (isinstance(event, _NOT_TAKEN) or undone or unanswered):
            yield event

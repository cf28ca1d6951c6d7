"""Folds the events of a run into the view that its rows are made from, and says which rows each event changes. Pure.

Rows are whole and have a key. To get from event 10 to event 50, a reader needs only the newest version of each row that
changed in between, however many events there were. `changed_since` returns these rows.
"""

from collections.abc import Callable, Iterable
from typing import Any

from surefoot.core.transitions import PHASE_NAMES, Stage
from surefoot.journal import events as e
from surefoot.journal.reducers import apply
from surefoot.view import attempts
from surefoot.view.attempts import end_wait, one_step
from surefoot.view.labels import PHASE_ACTIVITIES
from surefoot.view.making import build, reason_for_plan
from surefoot.view.messages import add_messages
from surefoot.view.rows import Row
from surefoot.view.state import GivenAnswer, ReceivedCommand, RunView, Span
from surefoot.view.steps import step_row

SNAPSHOT_ACTIONS = 200
"""How many of the newest actions a snapshot has. Older ones are fetched with their step."""
_PHASE_OF = {Stage.RECOVERY: "execution"}


def advance(view: RunView, record: e.Record) -> set[str]:
    """Update the view with one record. Returns the keys of the rows that it changed."""
    before = _question_ids(view)
    removing = _before_removal(view, record.event)
    apply(view.state, record)
    view.gone |= removing
    changed = {"run"}
    if isinstance(record.event, _END_WAITS):
        view.next_try = None
    if handler := _HANDLERS.get(type(record.event)):
        changed |= handler(view, record.event, record.at)
    for key in changed:
        view.changed_at[key] = record.seq
        view.removed_at.pop(key, None)
    add_messages(view, record)
    for question_id in before - _question_ids(view):
        key = f"question:{question_id}"
        view.changed_at.pop(key, None)
        view.removed_at[key] = record.seq
    return changed


def view_of(records: Iterable[e.Record]) -> RunView:
    view = RunView()
    for record in records:
        advance(view, record)
    return view


def snapshot(view: RunView, actions: int = SNAPSHOT_ACTIONS) -> list[Row]:
    """All rows, but of the actions only the newest, at most `actions` of them."""
    dropped = set(list(view.actions)[:-actions])
    keys = [key for key in view.changed_at if key not in dropped]
    return [build(view, key) for key in _sorted(view, keys)]


def changed_since(view: RunView, after: int) -> tuple[list[Row], list[str]]:
    """The rows that changed after an event, as they are now, and the keys of those that were removed since."""
    changed = _sorted(view, [key for key, seq in view.changed_at.items() if seq > after])
    return [build(view, key) for key in changed], [key for key, seq in view.removed_at.items() if seq > after]


_KINDS = ("run", "phase", "revision", "question", "step", "try", "action")


def _sorted(view: RunView, keys: list[str]) -> list[str]:
    """Sort keys into the order in which a page shows the rows: by kind, phases and steps by their sequence."""
    if len(keys) == 1:
        return keys
    ranks = {f"phase:{name}": number for number, name in enumerate(PHASE_NAMES)}
    ranks |= {f"step:{step_id}": number for number, step_id in enumerate((*view.state.steps, *view.gone))}
    return sorted(keys, key=lambda key: (_KINDS.index(key.partition(":")[0]), ranks.get(key, 0)))


def _question_ids(view: RunView) -> set[str]:
    return set(view.state.questions)


def _before_removal(view: RunView, event: e.Event) -> dict[str, Any]:
    """The rows of the steps that this event removes from the plan, as they are before it."""
    number = len(view.revisions) + 1
    match event:
        case e.PlanRevised():
            removed = set(event.removed)
        case e.PlanMade() if event.result.output is not None:
            removed = set(view.state.steps) - {step.id for step in event.result.output.steps}
        case _:
            return {}
    known = [step_id for step_id in view.state.steps if step_id in removed]
    return {step_id: {**step_row(view, step_id), "ready": False, "revision_removed": number} for step_id in known}


# -- the run and its phases -----------------------------------------------------------------------------------------


def _all_phases() -> set[str]:
    return {f"phase:{name}" for name in PHASE_NAMES}


def _created(view: RunView, event: e.RunCreated, at: float) -> set[str]:
    view.based_on = event.based_on
    view.now = {"step": None, "action": None, "text": "starting", "since": at}
    return _all_phases()


def _resumed(view: RunView, event: e.RunResumed, at: float) -> set[str]:
    view.ended_at, view.resumed_at = None, view.state.seq
    return _all_phases() | {f"step:{step_id}" for step_id in view.state.steps}


def _interrupted(view: RunView, event: e.RunInterrupted, at: float) -> set[str]:
    view.now = None
    return set()


def _entered(view: RunView, event: e.StageEntered, at: float) -> set[str]:
    name = _PHASE_OF.get(event.stage, str(event.stage))
    for other, span in view.phases.items():
        if other != name and span.ended is None:
            span.ended = at
    if name in PHASE_NAMES:
        view.phases.setdefault(name, Span(at)).ended = None
    if event.stage is Stage.WAITING:
        view.now = {"step": None, "action": None, "text": event.reason, "since": at}
    elif event.stage in (Stage.COMPLETED, Stage.FAILED):
        view.now = None
    return _all_phases()


def _phase_started(view: RunView, event: e.PhaseStarted, at: float) -> set[str]:
    view.phases.setdefault(event.phase, Span(at)).ended = None
    text = PHASE_ACTIVITIES.get(event.phase, event.phase)
    view.now = {"step": None, "action": None, "text": text, "since": at}
    return {f"phase:{event.phase}"}


def _phase_changed(view: RunView, event: Any, at: float) -> set[str]:
    return _all_phases()


def _ended(view: RunView, event: e.RunEnded, at: float) -> set[str]:
    view.ended_at, view.now = at, None
    for span in view.phases.values():
        span.ended = span.ended or at
    return _all_phases()


# -- the plan -------------------------------------------------------------------------------------------------------


def _planned(view: RunView, event: e.PlanMade, at: float) -> set[str]:
    if event.result.output is None:
        return _all_phases()
    old = set(view.added_in) - set(view.gone)
    steps = [step.id for step in event.result.output.steps]
    changed = {*(step_id for step_id in steps if step_id in old)} if view.revisions else set()
    added = [step_id for step_id in steps if step_id not in changed]
    removed = [step_id for step_id in view.gone if view.gone[step_id]["revision_removed"] == len(view.revisions) + 1]
    _revise(view, at, "model", reason_for_plan(view), (added, sorted(changed), removed))
    return _all_phases() | _plan_keys(view)


def _revised(view: RunView, event: e.PlanRevised, at: float) -> set[str]:
    added, changed = [step.id for step in event.added], [step.id for step in event.changed]
    rewired = [step_id for step_id in event.depends_on if step_id not in (*added, *changed)]
    _revise(view, at, event.by, event.reason, (added, [*changed, *rewired], list(event.removed)))
    return _plan_keys(view)


def _revise(view: RunView, at: float, by: str, reason: str, steps: tuple[list[str], list[str], list[str]]) -> None:
    added, changed, removed = steps
    number = len(view.revisions) + 1
    view.revisions.append(
        {
            "key": f"revision:{number}",
            "kind": "revision",
            "number": number,
            "at": at,
            "reason": reason,
            "added": added,
            "changed": changed,
            "removed": removed,
            "by": by,
        }
    )
    for step_id in added:
        view.added_in[step_id] = number
        view.gone.pop(step_id, None)
    view.dependents = {}
    for step_id, needs in view.state.depends_on.items():
        for needed in needs:
            view.dependents.setdefault(needed, []).append(step_id)


def _plan_keys(view: RunView) -> set[str]:
    steps = {f"step:{step_id}" for step_id in (*view.state.steps, *view.gone)}
    return steps | {f"revision:{len(view.revisions)}"}


# -- people ---------------------------------------------------------------------------------------------------------


def _asked(view: RunView, event: e.QuestionAsked, at: float) -> set[str]:
    if event.draft:
        view.blobs.add(event.draft)
    if event.step_id:
        view.waits.setdefault(event.step_id, []).append(Span(at))
    first_line = event.text.partition("\n")[0]
    view.now = {"step": event.step_id or None, "action": None, "text": f"waiting: {first_line}", "since": at}
    return {f"question:{event.question_id}", *one_step(view, event.step_id), *_all_phases()}


def _answered(view: RunView, event: e.QuestionAnswered, at: float) -> set[str]:
    step_id = view.state.questions[event.question_id].step_id
    end_wait(view, step_id, at)
    view.answers[event.question_id] = GivenAnswer(view.state.seq, event.answer, event.by, event.timed_out)
    return {f"question:{event.question_id}", *one_step(view, step_id), *_all_phases()}


def _controlled(view: RunView, event: e.ControlReceived, at: float) -> set[str]:
    if event.id:
        view.commands[event.id] = ReceivedCommand(view.state.seq)
    return set()


def _refused(view: RunView, event: e.ControlRefused, at: float) -> set[str]:
    if event.id in view.commands:
        view.commands[event.id].refused = event.reason
    what = f"{event.command} {event.step_id}".strip()
    view.refusals.append(f"{what} was not carried out: {event.reason}")
    return set()


_END_WAITS = (
    e.StepStarted,
    e.StepFinished,
    e.StepReset,
    e.ActionStarted,
    e.StageEntered,
    e.PhaseStarted,
    e.RunInterrupted,
    e.RunResumed,
    e.RunEnded,
)
"""Events after which nothing waits for another try: the try has begun, or the work has ended."""

_HANDLERS: dict[type[Any], Callable[[RunView, Any, float], set[str]]] = {
    e.RunCreated: _created,
    e.RunResumed: _resumed,
    e.RunInterrupted: _interrupted,
    e.StageEntered: _entered,
    e.PhaseStarted: _phase_started,
    e.GateRefused: _phase_changed,
    e.Understood: _phase_changed,
    e.ApproachChosen: _phase_changed,
    e.Validated: _phase_changed,
    e.RunEnded: _ended,
    **attempts.HANDLERS,
    e.PlanMade: _planned,
    e.PlanRevised: _revised,
    e.QuestionAsked: _asked,
    e.QuestionAnswered: _answered,
    e.ControlReceived: _controlled,
    e.ControlRefused: _refused,
}

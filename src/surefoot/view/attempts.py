"""Updates the view of a run for events of steps and actions. Each handler returns the keys of changed rows. Pure."""

from collections.abc import Callable, Iterable
from typing import Any

from surefoot.core.transitions import Rung, StepStatus
from surefoot.journal import events as e
from surefoot.tools.fs.tool_files import is_listed
from surefoot.view.rows import ActionRow, RedLook
from surefoot.view.state import RunView, Try
from surefoot.view.steps import action_title

DETAIL_CHARS = 600
MAX_RED_LOOKS = 20


def _step_started(view: RunView, event: e.StepStarted, at: float) -> set[str]:
    tries = view.tries.setdefault(event.step_id, [])
    if tries and tries[-1].ended_at is None:
        tries[-1].ended_at, tries[-1].status = at, StepStatus.PENDING
    number = tries[-1].number + 1 if tries else max(event.attempt, 1)
    tries.append(Try(number, at))
    view.now = {"step": event.step_id, "action": None, "text": "looking at the workspace", "since": at}
    return {f"step:{event.step_id}", "phase:execution", *_try_keys(view, event.step_id)}


def _step_finished(view: RunView, event: e.StepFinished, at: float) -> set[str]:
    tries = view.tries.setdefault(event.step_id, [])
    if tries:
        tries[-1].ended_at = tries[-1].ended_at or at
        tries[-1].status, tries[-1].failure = event.status, event.failure or tries[-1].failure
    end_wait(view, event.step_id, at)
    if event.artifact is not None and event.artifact.hash:
        view.blobs.add(event.artifact.hash)
    _keep_outputs(view, event.checks)
    if view.now and view.now["step"] == event.step_id:
        view.now = None
    dependents = {f"step:{step_id}" for step_id in view.dependents.get(event.step_id, ())}
    return {f"step:{event.step_id}", "phase:execution", *dependents, *_try_keys(view, event.step_id)}


def _step_reset(view: RunView, event: e.StepReset, at: float) -> set[str]:
    tries = view.tries.get(event.step_id, [])
    if tries and tries[-1].ended_at is None:
        tries[-1].ended_at, tries[-1].status = at, StepStatus.PENDING
    dependents = {f"step:{step_id}" for step_id in view.dependents.get(event.step_id, ())}
    return {f"step:{event.step_id}", *dependents, *_try_keys(view, event.step_id)}


def _try_keys(view: RunView, step_id: str) -> set[str]:
    return {f"try:{step_id}:{tried.number}" for tried in view.tries.get(step_id, [])[-2:]}


def _checks_ran(view: RunView, event: e.ChecksRan, at: float) -> set[str]:
    _keep_outputs(view, event.results)
    if event.step_id not in view.state.steps:
        return {"phase:validation"}
    tries, red = view.tries.get(event.step_id), [result for result in event.results if not result.passed]
    if event.when != "after" or not red or not tries:
        return {f"step:{event.step_id}"}
    labels = [result.check.label for result in red]
    detail = next((result.detail for result in red if result.detail), "")[:DETAIL_CHARS]
    look: RedLook = {"at": at, "checks": labels, "detail": detail}
    tries[-1].red_looks = [*tries[-1].red_looks, look][-MAX_RED_LOOKS:]
    return {f"step:{event.step_id}", f"try:{event.step_id}:{tries[-1].number}"}


def _keep_outputs(view: RunView, results: Iterable[Any]) -> None:
    view.blobs.update(result.output_hash for result in results if result.output_hash)


def _reflected(view: RunView, event: e.Reflected, at: float) -> set[str]:
    if tries := view.tries.get(event.step_id):
        tries[-1].reflection = event.reflection
    return _try_keys(view, event.step_id)


def _rung_chosen(view: RunView, event: e.RungChosen, at: float) -> set[str]:
    if tries := view.tries.get(event.step_id):
        tries[-1].rung = str(event.rung)
    step_run = view.state.steps.get(event.step_id)
    view.next_try = None
    if step_run is not None and event.rung is Rung.RETRY_LATER:
        limits, retries = view.state.config.reflection, step_run.temporary_retries
        view.next_try = {
            "at": at + limits.wait_seconds(retries),
            "what": "step",
            "step": event.step_id,
            "number": retries + 1,
            "of": limits.max_temporary_retries + 1,
        }
    text = f"recovering: {event.rung.replace('_', ' ')}"
    view.now = {"step": event.step_id or None, "action": None, "text": text, "since": at}
    return one_step(view, event.step_id) | _try_keys(view, event.step_id)


def _work_kept(view: RunView, event: e.WorkKept, at: float) -> set[str]:
    return one_step(view, event.step_id)


def one_step(view: RunView, step_id: str) -> set[str]:
    return {f"step:{step_id}"} if step_id in view.state.steps else set()


# -- actions --------------------------------------------------------------------------------------------------------


def _action_started(view: RunView, event: e.ActionStarted, at: float) -> set[str]:
    title = action_title(event.tool, event.arguments)
    row = _action(view, event.action_id, event.step_id, event.tool, title, at)
    if event.body:
        view.blobs.add(event.body)
    view.now = {"step": event.step_id, "action": event.action_id, "text": title, "since": at}
    return {row["key"]}


def _action(view: RunView, action_id: str, step_id: str, tool: str, title: str, at: float) -> ActionRow:
    tries = view.tries.get(step_id)
    key = f"action:{action_id}"
    row: ActionRow = {
        "key": key,
        "kind": "action",
        "id": action_id,
        "step": step_id,
        "try": tries[-1].number if tries else 0,
        "tool": tool,
        "title": title,
        "status": "running",
        "started_at": at,
        "ended_at": None,
        "summary": "",
        "changed": [],
        "output_blob": None,
    }
    # An interrupted action may be carried out again under the same id. It is then the newest.
    view.actions.pop(key, None)
    view.actions[key] = row
    return row


def _action_finished(view: RunView, event: e.ActionFinished, at: float) -> set[str]:
    row = view.actions.get(f"action:{event.action_id}")
    if row is None:
        return set()
    ended: ActionRow = {**row, "status": "ok" if event.ok else "failed", "ended_at": at}
    ended["summary"], ended["output_blob"] = event.summary, event.output or None
    ended["changed"] = [path for path in event.changed if is_listed(path)]
    view.actions[row["key"]] = ended
    if event.output:
        view.blobs.add(event.output)
    text = "deciding what to do next" if event.ok else "looking at what went wrong"
    view.now = {"step": event.step_id, "action": None, "text": text, "since": at}
    return {row["key"]}


def _action_refused(view: RunView, event: e.ActionRefused, at: float) -> set[str]:
    title = action_title(event.tool, event.arguments)
    row = _action(view, f"{event.step_id}.refused{view.state.seq}", event.step_id, event.tool, title, at)
    row["status"], row["ended_at"], row["summary"] = "refused", at, event.reason
    return {row["key"]}


def _action_interrupted(view: RunView, event: e.ActionInterrupted, at: float) -> set[str]:
    row = view.actions.get(f"action:{event.action_id}")
    if row is None:
        return set()
    view.actions[row["key"]] = {**row, "status": "interrupted", "ended_at": at}
    return {row["key"]}


def _model_answered(view: RunView, event: e.ModelAnswered, at: float) -> set[str]:
    if view.next_try is not None and view.next_try["what"] == "model":
        view.next_try = None
        text = "reading the answer of the model"
        view.now = {"step": event.step_id or None, "action": None, "text": text, "since": at}
    tries = view.tries.get(event.step_id)
    if not tries:
        return set()
    tries[-1].used.add(event, view.state.cost_of(event))
    if tries[-1].ended_at is not None:
        tries[-1].recovery_seconds += event.duration_ms / 1000
    return {f"try:{event.step_id}:{tries[-1].number}"}


def _model_retried(view: RunView, event: e.ModelRetried, at: float) -> set[str]:
    step_id = view.now["step"] if view.now else None
    view.now = {"step": step_id, "action": None, "text": f"the model failed: {event.error[:160]}", "since": at}
    view.next_try = {
        "at": at + event.wait_seconds,
        "what": "model",
        "step": step_id,
        "number": event.attempt + 1,
        "of": event.of,
    }
    return set()


def _undone(view: RunView, event: e.RolledBack, at: float) -> set[str]:
    tries = view.tries.get(event.step_id)
    if not tries:
        return set()
    tries[-1].rolled_back = True
    return {f"step:{event.step_id}", f"try:{event.step_id}:{tries[-1].number}"}


def end_wait(view: RunView, step_id: str, at: float) -> None:
    for wait in view.waits.get(step_id, ()):
        wait.ended = wait.ended or at


HANDLERS: dict[type[Any], Callable[[RunView, Any, float], set[str]]] = {
    e.RolledBack: _undone,
    e.StepStarted: _step_started,
    e.StepFinished: _step_finished,
    e.StepReset: _step_reset,
    e.ChecksRan: _checks_ran,
    e.Reflected: _reflected,
    e.RungChosen: _rung_chosen,
    e.WorkKept: _work_kept,
    e.ActionStarted: _action_started,
    e.ActionFinished: _action_finished,
    e.ActionRefused: _action_refused,
    e.ActionInterrupted: _action_interrupted,
    e.ModelAnswered: _model_answered,
    e.ModelRetried: _model_retried,
}

"""The messages of the tool protocol. A step is one message, which is started, updated and completed. Pure.

The names and fields are those of the protocol that existing clients speak; `v`, `run`, `seq` and `at` are added.
"""

from typing import Any

from surefoot.core.outcome import count_checks
from surefoot.core.phases import Artifact
from surefoot.core.transitions import Rung, Stage, StepStatus
from surefoot.journal import events as e
from surefoot.journal.state import StepRun
from surefoot.tools.fs.tool_files import is_listed
from surefoot.view.rows import PROTOCOL
from surefoot.view.state import RunView

KEPT = 5_000
"""How many of the newest messages a view keeps. A client that is further behind gets the task list instead."""
_FINAL_RUNGS = (Rung.GIVE_UP, Rung.REPLAN_TASK, Rung.NEXT_APPROACH)
_TASK_STATUS = {
    StepStatus.PENDING: "pending",
    StepStatus.RUNNING: "in_progress",
    StepStatus.SUCCEEDED: "completed",
    StepStatus.PARTIAL: "completed",
    StepStatus.DEGRADED: "completed",
    StepStatus.FAILED: "failed",
    StepStatus.SKIPPED: "skipped",
    StepStatus.BLOCKED: "skipped",
}
_STAGES = {
    Stage.UNDERSTANDING: "planning",
    Stage.APPROACH: "planning",
    Stage.PLANNING: "planning",
    Stage.EXECUTION: "executing",
    Stage.RECOVERY: "reflecting",
    Stage.VALIDATION: "validating",
    Stage.WAITING: "waiting",
    Stage.COMPLETED: "completed",
    Stage.FAILED: "failed",
}


def add_messages(view: RunView, record: e.Record) -> None:
    """Append the messages that this record causes. Call this after the view was updated with the record."""
    for name, fields in _messages(view, record.event):
        stamp = {"v": PROTOCOL, "run": view.state.run_id, "seq": record.seq, "at": record.at}
        view.messages.append((record.seq, name, {**fields, **stamp}))
    if len(view.messages) > 2 * KEPT:
        view.messages_dropped = view.messages[-KEPT - 1][0]
        del view.messages[:-KEPT]


def task_list(view: RunView) -> dict[str, Any]:
    """The plan as a task list."""
    state = view.state
    conditions = {(d.step_id, d.depends_on): str(d.condition) for d in (state.plan.dependencies if state.plan else ())}
    limits = state.config.reflection
    tasks = [
        {
            "id": step_id,
            "type": str(step_run.step.step_type),
            "description": step_run.step.name,
            "status": _task_status(view, step_id, step_run),
            "dependencies": [
                {"taskId": needed, "condition": conditions[step_id, needed]}
                for needed in state.depends_on.get(step_id, ())
            ],
            "metadata": {
                "critical": step_run.step.critical,
                "priority": step_run.step.priority,
                "retryCount": step_run.step_retry_count,
                "maxRetries": limits.max_step_retries,
            },
        }
        for step_id, step_run in state.steps.items()
    ]
    return {
        "id": f"{state.run_id}.{len(view.revisions)}",
        "sessionId": state.run_id,
        "topic": state.task.text if state.task else "",
        "tasks": tasks,
        "currentStage": _STAGES[state.stage],
        "v": PROTOCOL,
        "run": state.run_id,
        "seq": state.seq,
        "at": state.updated_at,
    }


def _task_status(view: RunView, step_id: str, step_run: StepRun) -> str:
    needs = view.state.depends_on.get(step_id, ())
    if step_run.status is StepStatus.PENDING and all(
        _TASK_STATUS[view.state.steps[needed].status] in ("completed", "skipped") for needed in needs
    ):
        return "ready"
    return _TASK_STATUS[step_run.status]


def _messages(view: RunView, event: e.Event) -> list[tuple[str, dict[str, Any]]]:
    match event:
        case e.PlanMade() | e.PlanRevised():
            return [("task:list", task_list(view))]
        case e.StepStarted():
            return _started(view, event)
        case e.ActionFinished() if event.ok and (event.output or event.changed):
            return [
                _artifact(event.step_id, f"{event.action_id}", "action", event.summary, event.output, event.changed)
            ]
        case e.StepFinished():
            return _finished(view, event)
        case e.RungChosen() if event.rung in _FINAL_RUNGS:
            return _completed(view, event.step_id, "failed", error=event.why)
        case e.RungChosen():
            wait = _wait_of(view, event)
            return _update(view, event.step_id, rung=str(event.rung), reason=event.why, **wait)
        case e.Reflected():
            reflection = event.reflection
            return _update(view, event.step_id, reason=reflection.root_cause, category=str(reflection.category))
        case e.ChecksRan() if event.step_id and event.when not in ("before", "criteria"):
            return _update(view, event.step_id, checks=count_checks(event.results)._asdict())
        case e.ModelRetried():
            left = {"retriesLeft": max(event.of - event.attempt, 0), "retryInSeconds": event.wait_seconds}
            open_steps = [step_id for step_id in view.state.running if step_id in view.open_messages]
            return [m for step_id in open_steps for m in _update(view, step_id, reason=event.error, **left)]
        case e.RunEnded():
            ends = [
                m
                for s in sorted(view.open_messages)
                for m in _completed(view, s, "failed", error=view.state.stage_reason)
            ]
            return [*ends, ("task:list", task_list(view))]
    return []


def _wait_of(view: RunView, event: e.RungChosen) -> dict[str, Any]:
    step_run = view.state.steps.get(event.step_id)
    if step_run is None or event.rung is not Rung.RETRY_LATER:
        return {}
    return {"retryInSeconds": view.state.config.reflection.wait_seconds(step_run.temporary_retries)}


def message_id(step_id: str) -> str:
    return f"task_{step_id}"


def _started(view: RunView, event: e.StepStarted) -> list[tuple[str, dict[str, Any]]]:
    if event.step_id in view.open_messages:
        return _update(view, event.step_id, attempt=len(view.tries[event.step_id]))
    view.open_messages.add(event.step_id)
    step = view.state.step(event.step_id)
    fields = {
        "id": message_id(event.step_id),
        "role": "assistant",
        "kind": "tool",
        "status": "in_progress",
        "toolName": step.tool or str(step.step_type),
        "title": step.name,
    }
    return [("tool:message:start", fields)]


def _update(view: RunView, step_id: str, **fields: Any) -> list[tuple[str, dict[str, Any]]]:
    step_run = view.state.steps.get(step_id)
    if step_run is None or step_id not in view.open_messages:
        return []
    left = max(view.state.config.reflection.max_step_retries - step_run.step_retry_count, 0)
    return [
        ("tool:message:update", {"id": message_id(step_id), "status": "in_progress", "retriesLeft": left, **fields})
    ]


def _finished(view: RunView, event: e.StepFinished) -> list[tuple[str, dict[str, Any]]]:
    error = event.failure.message if event.failure else ""
    if event.status is StepStatus.FAILED:
        return _update(view, event.step_id, error=error)
    if event.status is StepStatus.BLOCKED:
        return _completed(view, event.step_id, "failed", error=error or "what it needs can no longer happen")
    artifact = view.state.steps[event.step_id].artifact
    results = [_result(event.step_id, artifact)] if artifact is not None else []
    extra = {"skipped": True} if event.status is StepStatus.SKIPPED else {}
    return [*results, *_completed(view, event.step_id, "completed", **extra)]


def _completed(view: RunView, step_id: str, status: str, **fields: Any) -> list[tuple[str, dict[str, Any]]]:
    if step_id not in view.open_messages and fields.get("skipped") is None:
        return []
    view.open_messages.discard(step_id)
    own = message_id(step_id)
    if status == "completed":
        sent = [
            m["artifact"]["id"] for _, name, m in view.messages if name == "tool:artifact" and m["messageId"] == own
        ]
        step_run = view.state.steps.get(step_id)
        result = step_run.artifact if step_run else None
        fields["artifactIds"] = [*dict.fromkeys([*sent, *([result.id] if result else [])])]
    return [("tool:message:complete", {"id": own, "status": status, **fields})]


def _result(step_id: str, artifact: Artifact) -> tuple[str, dict[str, Any]]:
    return _artifact(step_id, artifact.id, artifact.kind, artifact.summary, artifact.hash, ())


def _artifact(
    step_id: str, artifact_id: str, kind: str, summary: str, blob: str, files: tuple[str, ...]
) -> tuple[str, dict[str, Any]]:
    artifact = {
        "id": artifact_id,
        "type": kind,
        "title": summary[:200],
        "hash": blob or None,
        "files": [f for f in files if is_listed(f)],
    }
    return ("tool:artifact", {"messageId": message_id(step_id), "showInCanvas": True, "artifact": artifact})

"""Events of a run that have no duration, as span events. Pure."""

from typing import Any

from surefoot.integrations.otel import names as n
from surefoot.integrations.otel.attributes import error_attributes
from surefoot.integrations.otel.content import Content
from surefoot.journal import events as e

Moment = tuple[str, str, dict[str, Any]]
"""The name of a span event, the id of its step or an empty string, and attributes."""


def moment_of(event: e.Event, content: Content) -> Moment | None:
    return _of_recovery(event, content) or _of_work(event, content) or _of_people(event, content)


def _of_recovery(event: e.Event, content: Content) -> Moment | None:
    attributes: dict[str, Any]
    match event:
        case e.RungChosen():
            attributes = {n.STEP: event.step_id, n.RUNG: str(event.rung), **content.text(n.MESSAGE, event.why)}
            return n.RUNG_CHOSEN, "", attributes
        case e.Reflected():
            attributes = {n.STEP: event.step_id, n.CATEGORY: str(event.reflection.category)}
            return n.REFLECTED, event.step_id, {**attributes, **content.text(n.MESSAGE, event.reflection.root_cause)}
        case e.RolledBack():
            return n.ROLLED_BACK, event.step_id, {n.STEP: event.step_id}
        case e.CandidateTried():
            return n.CANDIDATE, event.step_id, {n.STEP: event.step_id, n.ATTEMPT: event.number, n.OF: event.of}
        case e.ModelRetried():
            attributes = {n.ATTEMPT: event.attempt, n.OF: event.of, n.WAIT: event.wait_seconds}
            return n.MODEL_RETRIED, "", {**attributes, **content.text(n.MESSAGE, event.error)}
    return None


def _of_work(event: e.Event, content: Content) -> Moment | None:
    attributes: dict[str, Any]
    match event:
        case e.GateRefused():
            attributes = {n.PHASE: event.phase, n.ATTEMPT: event.attempt, n.CONFIDENCE: event.confidence}
            return n.GATE_REFUSED, "", {**attributes, **content.text(n.MESSAGE, "\n".join(event.messages))}
        case e.ChecksRan():
            passed = sum(result.passed for result in event.results)
            attributes = {n.WHEN: event.when, n.PASSED: passed, n.FAILED: len(event.results) - passed}
            return n.CHECKS, event.step_id, attributes
        case e.ActionRefused():
            return n.REFUSED, event.step_id, {n.STEP: event.step_id, **content.text(n.MESSAGE, event.reason)}
        case e.CallAnswered():
            return n.LOOKED, "", {n.TOOL_NAME: event.tool, **error_attributes("" if event.ok else "tool_error")}
        case e.PlanRevised():
            return n.PLAN_REVISED, "", content.text(n.MESSAGE, event.reason)
    return None


def _of_people(event: e.Event, content: Content) -> Moment | None:
    match event:
        case e.QuestionAsked():
            return n.ASKED, event.step_id, {n.QUESTION: event.kind, **content.text(n.MESSAGE, event.text)}
        case e.QuestionAnswered():
            return n.ANSWERED, "", content.text(n.MESSAGE, event.answer)
        case e.ControlReceived():
            return n.CONTROLLED, event.step_id, {n.COMMAND: event.command, n.STEP: event.step_id}
        case e.Warned():
            return n.WARNED, "", content.text(n.MESSAGE, event.message)
    return None

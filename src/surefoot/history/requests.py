"""Requests to a run from outside its process: controls, answers and changed plans.

The command line and the server both use these functions. Invalid requests are refused before they are sent.
"""

import getpass
import time

from surefoot.core.questions import Question, expected, times_out_at, understood
from surefoot.core.transitions import WORKING, Stage
from surefoot.engine.planner.plan_toml import revision
from surefoot.engine.refusal import refuse_secret_answer
from surefoot.errors import PlanError, UsageError
from surefoot.journal.events import ControlCommand, PlanRevised
from surefoot.journal.messages import AnswerMessage, ControlMessage, answered_in
from surefoot.journal.redact import Redactor
from surefoot.journal.redacted_values import redacted_for_storage
from surefoot.journal.reducers import fold
from surefoot.journal.run_status import is_plan
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal


def user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "user"


def resolve_step(name: str, ids: list[str]) -> str:
    """The id of a step; a plain number counts the steps of the plan from 1. An unknown name is returned unchanged."""
    return ids[int(name) - 1] if name not in ids and name.isdecimal() and 0 < int(name) <= len(ids) else name


def step_to_control(state: RunState, step_id: str = "") -> str:
    """The id of the step that a control is about. Raises UsageError if the run takes no controls or lacks the step."""
    run_id = state.run_id
    if state.outcome is None and state.stage is Stage.WAITING:
        asks = bool(state.open_questions)
        go_on = f"answer it: surefoot answer {run_id}" if asks else f"continue it: surefoot resume {run_id}"
        raise UsageError(
            f"run {run_id} {'waits for an answer' if asks else 'is paused'}, and no process works on it",
            remedy=f"{go_on}; or leave it, and undo what it did: surefoot undo {run_id}",
        )
    if state.outcome is not None or state.stage not in WORKING:
        raise UsageError(f"run {run_id} is not running", remedy=f"see how it ended: surefoot show {run_id}")
    if not step_id:
        return ""
    step_id = resolve_step(step_id, list(state.steps))
    if step_id not in state.steps:
        steps = ", ".join(state.steps) or "it has none yet"
        raise UsageError(f"run {run_id} has no step {step_id!r}", remedy=f"its steps: {steps}")
    return step_id


def send_control(
    journal: Journal, run_id: str, command: ControlCommand, step_id: str = "", reason: str = "", command_id: str = ""
) -> None:
    message = ControlMessage(command=command, step_id=step_id, by=user_name(), why=reason, id=command_id)
    journal.send(run_id, message)


def open_questions(journal: Journal, run_id: str) -> tuple[list[Question], list[str]]:
    """The open questions of a run, and the ids of those that have timed out.

    A question whose answer is in the inbox of the run is no longer open.
    """
    state = fold(journal.read(run_id))
    sent = answered_in(journal.receive(run_id))
    unanswered = [question for question in state.open_questions if question.id not in sent]
    timeout, now = state.config.question_timeout_seconds, time.time()
    expired = [q.id for q in unanswered if (until := times_out_at(q, timeout)) is not None and until <= now]
    return [question for question in unanswered if question.id not in expired], expired


def find_question(questions: list[Question], question_id: str) -> Question:
    for question in questions:
        if question.id == question_id:
            return question
    ids = ", ".join(question.id for question in questions)
    raise UsageError(f"there is no open question {question_id!r}", remedy=f"open questions: {ids}")


def require_answer(question: Question, text: str) -> str:
    """The answer that a text stands for. Raises UsageError if the text does not answer the question."""
    answer = understood(question, text)
    if answer is None:
        raise UsageError(
            f"{text!r} is not a valid answer to this question", remedy=f"answer with one of: {expected(question)}"
        )
    return answer


def send_answer(journal: Journal, run_id: str, question: Question, answer: str, redactor: Redactor) -> None:
    refuse_secret_answer(redactor, answer)
    journal.send(run_id, AnswerMessage(question_id=question.id, answer=answer, by=user_name(), at=time.time()))


def require_editable(state: RunState) -> None:
    if (state.stage is Stage.COMPLETED and not is_plan(state)) or state.plan is None:
        problem = "is finished" if state.plan else "has no plan yet"
        raise UsageError(f"run {state.run_id} {problem}", remedy=f"see its state: surefoot show {state.run_id}")


def require_revision(state: RunState, text: str, reason: str) -> PlanRevised | None:
    """The revision that a changed plan stands for; None if nothing changed. Raises UsageError if it is not possible."""
    try:
        return revision(text, state, reason)
    except PlanError as error:
        raise UsageError(str(error), remedy=error.remedy) from None


async def revise_plan(journal: Journal, run_id: str, plan: str, why: str, seen: PlanRevised, redactor: Redactor) -> int:
    """Change the plan of a run that only made a plan. Returns the number of the event that records the change.

    `seen` is the revision that the sender saw. It is computed again, because the plan may have been changed since.
    """
    refuse_secret_answer(redactor, plan, "the plan")
    state = fold(journal.read(run_id))
    reason = f"{user_name()}: {why}" if why else user_name()
    try:
        revised = revision(plan, state, reason, (), seen.removed)
    except PlanError as error:
        raise UsageError(f"the plan was changed meanwhile: {error}", remedy=error.remedy) from None
    if revised is None:
        return state.seq
    (record,) = await journal.append(run_id, [redacted_for_storage(revised, redactor)])
    return record.seq


def send_edit(journal: Journal, run_id: str, plan: str, reason: str, seen: PlanRevised, command_id: str = "") -> None:
    """Send a changed plan to a run. `seen` is the revision that the sender saw, from `require_revision`."""
    by, removes = user_name(), seen.removed
    journal.send(run_id, ControlMessage(command="edit", by=by, why=reason, plan=plan, removes=removes, id=command_id))

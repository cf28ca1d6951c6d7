"""What people are asked: what counts as yes and no, until when an answer counts, and what holds without one."""

from surefoot import events as e
from surefoot.state import Question

YES = frozenset({"y", "yes", "ok", "是", "好"})
NO = frozenset({"n", "no", "", "否", "不"})
TIMED_OUT = "timed out"
"""The answer of nobody. It never is a yes, nor the wish for something else."""


def is_yes(answer: str) -> bool:
    return answer.strip().lower() in YES


def is_no(answer: str) -> bool:
    return answer.strip().lower() in NO or answer == TIMED_OUT


def times_out_at(question: Question, limit: float | None) -> float | None:
    """Counted from when it was asked, whether or not a process was there to wait."""
    return None if limit is None else question.asked_at + limit


def answered(question: Question, answer: str, by: str, *, at: float, limit: float | None) -> e.QuestionAnswered:
    """What is recorded of an answer that was given at this time: too late is not at all."""
    until = times_out_at(question, limit)
    if until is not None and at >= until:
        return timed_out(question)
    return e.QuestionAnswered(question_id=question.id, answer=answer, by=by)


def timed_out(question: Question) -> e.QuestionAnswered:
    return e.QuestionAnswered(question_id=question.id, answer=TIMED_OUT, by="nobody", timed_out=True)


def asked_again_on_resume(question: Question) -> bool:
    """After a run has ended, a person who resumes it is asked again what ended it: silence, or a no."""
    if question.answer is None:
        return False
    if question.kind == "conflict":
        return question.answer not in ("done", "again", "overwrite", "keep")
    return question.timed_out or (question.kind == "confirmation" and not is_yes(question.answer))

"""The row of a question: its choices, and the command or the diff that it is about. Pure."""

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

from surefoot.core.questions import ALWAYS, ASSUMED, ASSUMED_EARLIER, EDIT, Question, times_out_at
from surefoot.journal.state import RunState
from surefoot.view.rows import OptionRow, QuestionRow

_ARGUMENT = re.compile(r"  \w+: ")
_WHY = "why: "
_DANGEROUS = ("always", "overwrite")


def question_row(state: RunState, question_id: str) -> QuestionRow:
    question = state.questions[question_id]
    command, diff, reason = _subject(question)
    return {
        "key": f"question:{question_id}",
        "kind": "question",
        "id": question_id,
        "qkind": question.kind,
        "text": question.text,
        "why": reason,
        "options": question_options(question),
        "command": command,
        "diff": diff,
        "hash": question_hash(question),
        "step": question.step_id or None,
        "asked_at": question.asked_at,
        "times_out_at": times_out_at(question, state.config.question_timeout_seconds),
        "answer": question.answer,
        "answered_by": question.by or None,
        "draft_blob": question.draft_key or None,
    }


def question_hash(question: Question) -> str:
    """A hash of exactly what is asked. An approval's subject covers the action as it is shown and will be done."""
    parts = "\0".join((question.id, question.kind, question.subject, question.text, *question.options))
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:32]


def question_options(question: Question) -> list[OptionRow]:
    options: list[OptionRow] = []
    for choice in question.choices:
        if choice.word == "explain":
            continue
        value = {"always": ALWAYS + question.rule, "edit": EDIT}.get(choice.word, choice.word)
        label = f"always: {question.rule}" if choice.word == "always" else choice.word
        options.append({"value": value, "label": label, "key": choice.key, "danger": choice.word in _DANGEROUS})
    if options:
        return options
    return [
        {"value": option, "label": option, "key": str(number), "danger": option in _DANGEROUS}
        for number, option in enumerate(question.options, 1)
    ]


def _subject(question: Question) -> tuple[str | None, str | None, str]:
    """The command, the diff and the reason in the text of an approval (`engine/executor/approval.py`)."""
    if question.kind != "approval":
        return None, None, ""
    lines = question.text.split("\n")
    reason = ""
    last = next((i for i in range(len(lines) - 1, 0, -1) if lines[i].startswith(_WHY)), None)
    if last is not None:
        reason = "\n".join(lines[last:]).removeprefix(_WHY)
        lines = lines[:last]
    command = _command(lines)
    start = next((i for i, line in enumerate(lines) if line.startswith("--- ")), None)
    diff = "\n".join(lines[start:]) if start is not None else None
    return command, diff, reason


def _command(lines: list[str]) -> str | None:
    for number, line in enumerate(lines):
        if line.startswith("  command: "):
            rest = lines[number + 1 :]
            end = next((i for i, other in enumerate(rest) if _ARGUMENT.match(other)), len(rest))
            return "\n".join([line.removeprefix("  command: "), *rest[:end]])
    return None


class OpenPoint(NamedTuple):
    """A question that the model had about the task, and its answer."""

    question: str
    answer: str | None
    """None if nobody has answered it."""
    assumed: bool
    """Whether the run went on without asking anybody."""

    def __str__(self) -> str:
        if self.answer is not None:
            return f"{self.question} (answered: {self.answer})"
        assumed = " (not asked; the task is read in the most common way)" if self.assumed else ""
        return f"{self.question}{assumed}"

    def as_object(self) -> dict[str, object]:
        return self._asdict()


def open_points(state: RunState) -> list[OpenPoint]:
    """The questions that the understanding of the task left open."""
    output = state.understanding.output if state.understanding else None
    asked = {question.text: question for question in state.questions.values() if question.kind == "clarification"}
    return [
        OpenPoint(text, asked[text].answer if text in asked else None, is_assumed(state, text))
        for text in (output.clarification_needed if output else ())
    ]


def is_assumed(state: RunState, question: str) -> bool:
    return not _assumed(question).isdisjoint(state.warnings)


def _assumed(question: str) -> set[str]:
    """The warnings that say that the question was not asked, also those of older journals."""
    return {warning.format(question=question) for warning in (ASSUMED, ASSUMED_EARLIER)}


def other_warnings(state: RunState, warnings: Iterable[str]) -> list[str]:
    """The warnings that do not repeat one of the `open_points`."""
    repeated = {warning for point in open_points(state) for warning in _assumed(point.question)}
    return [warning for warning in warnings if warning not in repeated]

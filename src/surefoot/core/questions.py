"""Questions to people: their choices, the parsing of answers, and timeouts.

The terminal, `surefoot answer` and the library share one table of the choices of an approval.
"""

from dataclasses import dataclass
from typing import NamedTuple


class Choice(NamedTuple):
    key: str
    word: str
    also: tuple[str, ...]
    meaning: str


CHOICES = (
    Choice("y", "yes", ("ok", "是", "好"), "do exactly this, once"),
    Choice("n", "no", ("否", "不"), "do not do it; `no, REASON` tells the model why"),
    Choice("a", "always", ("总是",), "do it, and until the run ends do not ask again about what the rule allows"),
    Choice("e", "edit", ("编辑",), "change it and do it as changed; `edit: TEXT` gives the new text"),
    Choice("?", "explain", ("help",), "explain the choices; nothing is answered"),
)
"""The possible answers when an action needs approval."""
_WORDS = {word: choice.word for choice in CHOICES for word in (choice.key, choice.word, *choice.also)}

ASSUMED = "the question '{question}' was not asked; the task is read in the most common way"
"""The warning for a question that the run did not ask."""
ASSUMED_EARLIER = "nobody was asked '{question}'; assumed: the task as it is written, in its most usual reading"
"""The same warning in older journals."""
TIMED_OUT = "timed out"
"""The recorded answer of a question that nobody answered in time. It counts as a no, never as other instructions."""
ALWAYS, EDIT = "always ", "edit: "
"""The prefixes of answers that also carry a rule or a text."""


@dataclass(slots=True)
class Question:
    id: str
    kind: str
    text: str
    options: tuple[str, ...]
    """For an approval: `yes`, `no` and, where possible, `always RULE` and `edit`."""
    step_id: str
    subject: str
    asked_at: float = 0.0
    """Seconds since the epoch."""
    answer: str | None = None
    answered_at: float = 0.0
    by: str = ""
    timed_out: bool = False
    draft_key: str = ""
    """The hash of the blob that holds `draft`."""
    draft: str = ""
    """The text that the answer `edit: TEXT` replaces: a command, or the new content of a file."""

    @property
    def is_strict(self) -> bool:
        """Whether only the offered options are accepted. Otherwise, any text is an instruction or an answer."""
        return self.kind in ("approval", "conflict") or (self.kind == "confirmation" and bool(self.step_id))

    @property
    def rule(self) -> str:
        """The rule that `always` stands for; empty if it is not offered."""
        return next((option.removeprefix(ALWAYS) for option in self.options if option.startswith(ALWAYS)), "")

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The choices of this question; empty if it takes free text."""
        if self.kind == "approval":
            offered = {"yes", "no", "explain", *(option.split(" ")[0] for option in self.options)}
        else:
            offered = {"yes", "no"} if self.kind == "confirmation" and self.is_strict else set()
        return tuple(choice for choice in CHOICES if choice.word in offered)


def understood(question: Question, words: str) -> str | None:
    """Return the answer that these words stand for; None if they are not a valid answer to this question."""
    words = words.strip() if not words.lstrip().startswith(EDIT) else words.lstrip()
    if question.kind == "clarification":
        return _numbered(question, words) or words or None
    if question.kind == "conflict":
        chosen = _numbered(question, words) or words.lower()
        return chosen if chosen in question.options else None
    word = choice_of(words)
    if word in ("yes", "no"):
        return word
    if not question.is_strict:
        return words or None
    if reason := _reason(words):
        return f"no, {reason}"
    if question.kind != "approval":
        return None
    if question.rule and (word == "always" or words == ALWAYS + question.rule):
        return ALWAYS + question.rule
    return words if "edit" in question.options and words.startswith(EDIT) and words.removeprefix(EDIT).strip() else None


def choice_of(words: str) -> str:
    """Return the `Choice.word` that these words stand for; empty if there is none."""
    return _WORDS.get(words.strip().lower(), "")


def _reason(words: str) -> str:
    """Return the reason in `no, REASON`; empty if there is none."""
    word, comma, reason = words.replace("，", ",").partition(",")
    return reason.strip() if comma and _WORDS.get(word.strip().lower()) == "no" else ""


def _numbered(question: Question, words: str) -> str:
    is_number = words.isdecimal() and 1 <= int(words) <= len(question.options)
    return question.options[int(words) - 1] if is_number else ""


def expected(question: Question) -> str:
    """Return a short description of the accepted answers."""
    if question.kind == "conflict":
        return ", ".join(question.options)
    words = [f"{choice.key} ({choice.word})" for choice in question.choices if choice.word != "explain"]
    return ", ".join(words) or "any text"


def explanation(question: Question) -> str:
    """Explain each choice of an approval."""
    rows = [f"{choice.key}  {choice.word}: {choice.meaning}" for choice in question.choices]
    if question.rule:
        rows.append(f"the rule: {question.rule}")
    return "\n".join(rows)


def is_yes(answer: str) -> bool:
    return choice_of(answer) == "yes"


def is_no(answer: str) -> bool:
    return choice_of(answer) == "no" or not answer.strip() or answer == TIMED_OUT


def times_out_at(question: Question, limit: float | None) -> float | None:
    """Return when the question times out. The time counts from when it was asked, even while no process is running."""
    return None if limit is None else question.asked_at + limit


def asked_again_on_resume(question: Question) -> bool:
    """Whether resuming an ended run asks this question again, because its answer (a timeout or a no) ended the run."""
    if question.answer is None:
        return False
    if question.kind == "conflict":
        return question.answer not in ("done", "again", "overwrite", "keep")
    return question.timed_out or (question.kind == "confirmation" and not is_yes(question.answer))

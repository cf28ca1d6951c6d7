"""The commit message of a run, from its task, its plan and its proof. Pure."""

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from surefoot.core.transitions import StepStatus
from surefoot.core.values import join_limited
from surefoot.engine.planner.normalize import WHOLE_TASK
from surefoot.journal import events as e
from surefoot.journal.redact import neutralise
from surefoot.journal.state import RunState

SUBJECT = 72
_WIDTH = 72
_MAX_LISTED = 20
SAID_CHARS = 400
"""The maximum length of one statement of the model."""
_EMPTY = re.compile(r"\W*(?:done|finished|complete|completed|ok)?\W*", re.IGNORECASE)
"""Statements that say no more than that a step is done."""


class Account(NamedTuple):
    """The model's recorded statements about its work, without secrets, each in one line."""

    understanding: str = ""
    steps: Mapping[str, str] = {}
    """By id of a finished step: the model's statement at its end."""


_NO_ACCOUNT = Account()


def account_of(state: RunState, records: Iterable[e.Record], hide: Callable[[str], str]) -> Account:
    """Collect the model's statements about a run. Secrets are removed before a text is shortened."""
    understood = state.understanding.output if state.understanding else None
    statements = {
        step_id: shorten(_flat(hide(text)), SAID_CHARS)
        for step_id, text in said_at_end(records).items()
        if step_id in state.steps and state.steps[step_id].status is StepStatus.SUCCEEDED and not _EMPTY.fullmatch(text)
    }
    return Account(shorten(_flat(hide(understood.understanding)), SAID_CHARS) if understood else "", statements)


def said_at_end(records: Iterable[e.Record]) -> dict[str, str]:
    """By step id: the model's statement when it finished the step."""
    decisions = (r.event for r in records if isinstance(r.event, e.Decided) and r.event.decision == "done")
    return {event.step_id: event.thought for event in decisions}


def title_of(state: RunState) -> str:
    """The title of the change, in at most 72 characters.

    It is the first sentence of the task. If that is too long, it is the first sentence of the understanding, or the
    name of the plan's only step.
    """
    sentence = first_sentence(state.task.text if state.task else "")
    understood = state.understanding.output if state.understanding else None
    in_short = [first_sentence(understood.understanding)] if understood else []
    if len(state.steps) == 1 and (done_names := _done_step_names(state)) and done_names[0] != WHOLE_TASK:
        in_short += done_names
    if len(sentence) > SUBJECT and (fitting := [text for text in in_short if 0 < len(text) <= SUBJECT]):
        return fitting[0]
    return shorten(sentence) or f"Surefoot run {state.run_id}"


def message_of(
    state: RunState, account: Account = _NO_ACCOUNT, *, step: str = "", also_changed: Sequence[str] = ()
) -> str:
    """The message for the commit of a run, or of one step.

    `also_changed` are the user's own uncommitted files, which were present when the checks ran.
    """
    text = _flat(state.task.text if state.task else "")
    title = shorten(_flat(state.step(step).name)) if step else title_of(state)
    parts = [title]
    if step or text.rstrip(".") != title:
        parts.append(_wrapped(text[:1_000]))
    if not step and account.understanding.rstrip(".") not in (title, text.rstrip(".")):
        parts.append(_wrapped(account.understanding))
    if rows := done_rows(state, account, step):
        parts.append("\n".join(["Done:", *map(_hanging, rows[:_MAX_LISTED])]) if len(rows) > 1 else _wrapped(rows[0]))
    if checks := list(_checks(state)):
        parts.append("\n".join(["Checks:", *map(_hanging, checks)]))
    if also_changed:
        named = join_limited([neutralise(path) for path in also_changed], 5)
        parts.append(_wrapped(f"The checks ran with uncommitted changes in {named}."))
    proof = state.outcome.proof.letter if state.outcome else "C"
    parts.append(f"Surefoot-Run: {state.run_id}\nSurefoot-Proof: {proof}")
    return "\n\n".join(filter(None, parts)) + "\n"


def done_rows(state: RunState, account: Account, step: str = "") -> list[str]:
    """One row for each finished step. For a single step, only the model's statement about it."""
    done_names = {step_id: r.step.name for step_id, r in state.steps.items() if r.status is StepStatus.SUCCEEDED}
    if step or len(done_names) == 1:
        statement = account.steps.get(step or next(iter(done_names)), "")
        return [statement] if statement else []
    rows = [(_flat(name), account.steps.get(step_id, "")) for step_id, name in done_names.items()]
    return [f"- {name}: {statement}" if statement else f"- {name}" for name, statement in rows]


def first_sentence(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    flat = _flat(lines[0] if lines else "")
    return re.split(r"(?<=[^.\s]{2})[.!?;](?:\s|$)", flat, maxsplit=1)[0]


def shorten(text: str, limit: int = SUBJECT) -> str:
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    head = cut.rpartition(" ")[0] if " " in cut[limit // 2 :] else cut
    return head.rstrip(" ,;:") + "…"


def _checks(state: RunState) -> Iterator[str]:
    for result in (state.outcome.checks if state.outcome else ())[:_MAX_LISTED]:
        before = "failed before, " if result.check.key in state.red_at_start else ""
        now = f"{'passes' if result.passed else 'fails'}{' now' if before else ''}"
        yield f"- {_flat(result.check.label)}: {before}{now}"


def _done_step_names(state: RunState) -> list[str]:
    names = [r.step.name for r in state.steps.values() if r.status is StepStatus.SUCCEEDED]
    return [_flat(name) for name in names]


def _flat(text: str) -> str:
    return " ".join(neutralise(text).split())


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _hanging(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)

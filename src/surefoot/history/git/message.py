"""The message of a commit, from the task, the plan and the proof of a run. Pure."""

import re
import textwrap
from collections.abc import Iterator, Sequence

from surefoot.core.transitions import StepStatus
from surefoot.core.values import join_limited
from surefoot.engine.planner.normalize import WHOLE_TASK
from surefoot.journal.redact import neutralise
from surefoot.journal.state import RunState

SUBJECT = 72
_WIDTH = 72
_MAX_LISTED = 20


def title_of(state: RunState) -> str:
    """The change in at most 72 characters: the task's first sentence; if that is too long, how it was understood, or
    the name of the plan's one step."""
    sentence = first_sentence(state.task.text if state.task else "")
    understood = state.understanding.output if state.understanding else None
    in_short = [first_sentence(understood.understanding)] if understood else []
    if len(state.steps) == 1 and (done := _done(state)) and done[0] != WHOLE_TASK:
        in_short += done
    if len(sentence) > SUBJECT and (fitting := [text for text in in_short if 0 < len(text) <= SUBJECT]):
        return fitting[0]
    return shorten(sentence) or f"Surefoot run {state.run_id}"


def message_of(state: RunState, *, step: str = "", also_changed: Sequence[str] = ()) -> str:
    """The message of the commit of a run, or of one step. `also_changed`: the user's own files that checks saw too."""
    text = _flat(state.task.text if state.task else "")
    title = shorten(_flat(state.step(step).name)) if step else title_of(state)
    parts = [title]
    if step or text.rstrip(".") != title:
        parts.append(_wrapped(text[:1_000]))
    steps = [] if step else [f"- {name}" for name in _done(state)[:_MAX_LISTED]]
    if len(steps) > 1:
        parts.append("\n".join(["Done:", *map(_hanging, steps)]))
    if checks := list(_checks(state)):
        parts.append("\n".join(["Checks:", *map(_hanging, checks)]))
    if also_changed:
        named = join_limited([neutralise(path) for path in also_changed], 5)
        parts.append(_wrapped(f"The checks ran with uncommitted changes in {named}."))
    proof = state.outcome.proof.letter if state.outcome else "C"
    parts.append(f"Surefoot-Run: {state.run_id}\nSurefoot-Proof: {proof}")
    return "\n\n".join(filter(None, parts)) + "\n"


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


def _done(state: RunState) -> list[str]:
    done = [r.step.name for r in state.steps.values() if r.status is StepStatus.SUCCEEDED]
    return [_flat(name) for name in done]


def _flat(text: str) -> str:
    return " ".join(neutralise(text).split())


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _hanging(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)

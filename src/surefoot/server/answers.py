"""The answers of commands, and what a run has made of a command that waited for it."""

import json
from collections import OrderedDict
from pathlib import Path
from typing import Any, TypeAlias

from surefoot.view.rows import Accepted, Queued, Refused
from surefoot.view.state import RunView

Answer: TypeAlias = Accepted | Queued | Refused
KEPT_ANSWERS = 2_000


def accepted(seq: int, **more: Any) -> dict[str, Any]:
    return {"accepted": True, "seq": seq, **more}


def refused(reason: str) -> dict[str, Any]:
    return {"refused": True, "reason": reason}


def queued(view: RunView) -> dict[str, Any]:
    """The answer for a command that the run has not taken up."""
    reason = (
        "the run has not looked at it yet"
        if view.live
        else "no process is driving the run now; it is taken up when the run is resumed"
    )
    return {"queued": True, "seq": view.state.seq, "reason": reason}


def taken_up(view: RunView, command_id: str) -> dict[str, Any] | None:
    """What the run has made of a control; None: nothing yet."""
    taken = view.commands.get(command_id)
    if taken is None:
        return None
    return refused(taken.refused) if taken.refused else accepted(taken.seq)


def answered(view: RunView, question_id: str, answer: str) -> dict[str, Any] | None:
    """Whether the run has taken up this answer to a question; None: it has none yet."""
    given = view.answers.get(question_id)
    if given is None:
        return None
    if given.timed_out:
        return refused("the question has timed out, which counts as no")
    if answer and given.answer != answer:
        return refused(f"the question was answered already by {given.by}: {given.answer}")
    return accepted(given.seq)


def resumed(view: RunView, before: int) -> dict[str, Any] | None:
    """Whether a process has taken up the run after this event; None: not yet."""
    return accepted(view.resumed_at) if view.resumed_at > before else None


class Answers:
    """By the id of a command, and the models of runs, in a file with one line for each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lines = 0
        try:
            for line in path.read_text("utf-8").splitlines():
                key, answer = json.loads(line)
                self._known[key] = answer
                self._lines += 1
        except (FileNotFoundError, ValueError):
            # A line that was cut off by a crash, or nothing yet.
            pass

    def get(self, key: str) -> dict[str, Any] | None:
        return self._known.get(key)

    def put(self, key: str, answer: dict[str, Any]) -> None:
        self._known[key] = answer
        while len(self._known) > KEPT_ANSWERS:
            self._known.popitem(last=False)
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        rewrite = self._lines > 2 * KEPT_ANSWERS
        items = list(self._known.items()) if rewrite else [(key, answer)]
        with self._path.open("w" if rewrite else "a", encoding="utf-8") as file:
            file.writelines(json.dumps(item) + "\n" for item in items)
        self._lines = len(items) if rewrite else self._lines + 1

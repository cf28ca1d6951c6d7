"""The replies to commands, and the outcome of commands that waited for a run."""

import json
from collections import OrderedDict
from pathlib import Path
from typing import Any, TypeAlias

from surefoot.view.rows import Accepted, Queued, Refused
from surefoot.view.state import RunView

Reply: TypeAlias = Accepted | Queued | Refused
KEPT_REPLIES = 2_000


def accepted(seq: int, **fields: Any) -> dict[str, Any]:
    return {"accepted": True, "seq": seq, **fields}


def refused(reason: str) -> dict[str, Any]:
    return {"refused": True, "reason": reason}


def queued(view: RunView) -> dict[str, Any]:
    """The reply to a command that the run has not taken up."""
    reason = (
        "the run has not looked at it yet"
        if view.live
        else "no process is driving the run now; it is taken up when the run is resumed"
    )
    return {"queued": True, "seq": view.state.seq, "reason": reason}


def taken_up(view: RunView, command_id: str) -> dict[str, Any] | None:
    """The reply to a control; None if the run has not taken it up yet."""
    taken = view.commands.get(command_id)
    if taken is None:
        return None
    return refused(taken.refused) if taken.refused else accepted(taken.seq)


def answered(view: RunView, question_id: str, answer: str) -> dict[str, Any] | None:
    """The reply to a command that answers a question; None if the run has no answer to the question yet.

    The command is refused if the question has another answer. An empty `answer` stands for any.
    """
    recorded = view.answers.get(question_id)
    if recorded is None:
        return None
    if recorded.timed_out:
        return refused("the question has timed out, which counts as no")
    if answer and recorded.answer != answer:
        return refused(f"the question was answered already by {recorded.by}: {recorded.answer}")
    return accepted(recorded.seq)


def resumed(view: RunView, before: int) -> dict[str, Any] | None:
    """The reply to a command that resumes a run; None if no process has taken up the run after this event."""
    return accepted(view.resumed_at) if view.resumed_at > before else None


class Replies:
    """Stores the replies by the id of the command, and the models of runs, in a file with one line for each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lines = 0
        self._is_damaged = False
        try:
            lines = path.read_text("utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                key, answer = json.loads(line)
                self._known[key] = answer
                self._lines += 1
            except (ValueError, TypeError):
                # A crash cut off this line. The next write replaces the file, so that nothing is appended to it.
                self._is_damaged = True

    def get(self, key: str) -> dict[str, Any] | None:
        return self._known.get(key)

    def put(self, key: str, answer: dict[str, Any]) -> None:
        self._known[key] = answer
        while len(self._known) > KEPT_REPLIES:
            self._known.popitem(last=False)
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        rewrite = self._is_damaged or self._lines > 2 * KEPT_REPLIES
        items = list(self._known.items()) if rewrite else [(key, answer)]
        with self._path.open("w" if rewrite else "a", encoding="utf-8") as file:
            file.writelines(json.dumps(item) + "\n" for item in items)
        self._lines, self._is_damaged = (len(items) if rewrite else self._lines + 1), False

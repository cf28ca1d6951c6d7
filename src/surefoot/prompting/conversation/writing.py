"""Report which call the model is writing, while its arguments are streamed."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

MAX_CHARS = 4_000
"""How much of the arguments is searched for the subject."""
SUBJECTS = ("path", "command", "pattern", "query", "url")
_SUBJECT = re.compile(rf'"({"|".join(SUBJECTS)})"\s*:\s*("(?:[^"\\]|\\.)*")', re.DOTALL)


@dataclass
class _Call:
    name: str = ""
    arguments: str = ""
    reported: tuple[str, str] = ("", "")


class CallsInProgress:
    """Calls `report` with the tool of each call, and again once its subject, such as a path, is complete."""

    def __init__(self, report: Callable[[str, str], None]) -> None:
        self._report = report
        self._calls: dict[int, _Call] = {}

    def feed(self, index: int, name: str, piece: str) -> None:
        call = self._calls.setdefault(index, _Call())
        call.name = name or call.name
        if len(call.arguments) < MAX_CHARS:
            call.arguments += piece
        reported = (call.name, call.reported[1] or _subject(call.arguments))
        if call.name and reported != call.reported:
            call.reported = reported
            self._report(*reported)


def _subject(arguments: str) -> str:
    match = _SUBJECT.search(arguments)
    if match is None:
        return ""
    try:
        return str(json.loads(match.group(2), strict=False))
    except ValueError:
        return ""

"""Tells which call the model is writing, from the pieces of its arguments as they are streamed."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

MAX_CHARS = 4_000
"""The telling argument is looked for in this much of the arguments."""
SUBJECTS = ("path", "command", "pattern", "query", "url")
_SUBJECT = re.compile(rf'"({"|".join(SUBJECTS)})"\s*:\s*("(?:[^"\\]|\\.)*")', re.DOTALL)


@dataclass
class _Call:
    name: str = ""
    arguments: str = ""
    told: tuple[str, str] = ("", "")


class CallsInProgress:
    """Calls `tell` with the tool, and again when its most telling argument is complete, for each call of an answer."""

    def __init__(self, tell: Callable[[str, str], None]) -> None:
        self._tell = tell
        self._calls: dict[int, _Call] = {}

    def feed(self, index: int, name: str, piece: str) -> None:
        call = self._calls.setdefault(index, _Call())
        call.name = name or call.name
        if len(call.arguments) < MAX_CHARS:
            call.arguments += piece
        told = (call.name, call.told[1] or _subject(call.arguments))
        if call.name and told != call.told:
            call.told = told
            self._tell(*told)


def _subject(arguments: str) -> str:
    match = _SUBJECT.search(arguments)
    if match is None:
        return ""
    try:
        return str(json.loads(match.group(2), strict=False))
    except ValueError:
        return ""

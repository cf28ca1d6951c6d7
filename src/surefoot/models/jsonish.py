"""Find the JSON in what a model wrote, also where it is not quite JSON.

`candidates` looks at every outermost bracket of the text. What is exact JSON is taken as it is; the rest goes
through json-repair. Inner objects of a broken outer one are never candidates: half a plan must not pass for one step.
"""

import json
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

LONGEST_REPAIR = 200_000
"""Characters. What is exact JSON may be longer; only broken JSON is cut off here."""
REPAIR_SECONDS = 2.0
"""CPU seconds for all repairs of one answer: json-repair needs minutes for 10 KB of certain garbage."""
_RESCANS = 5
_MOST_SPANS = 500
_DEEPEST = 900
"""Brackets inside each other: the standard library decodes no more."""
_DECODER = json.JSONDecoder()

# Each alternative reads on from where it began at most once, so that no text takes longer than it is long.
_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
# Single quotes count only where JSON could have a string: an apostrophe in prose does not hide a bracket.
_SINGLE_QUOTED = r"(?<=[{\[,:\s])'(?:[^'\\\n]|\\.)*+'(?=\s*[,:}\]])"
_BRACKET = re.compile(r"[{}\[\]]")
_TOKEN = re.compile(rf"{_STRING}|{_SINGLE_QUOTED}|{_BRACKET.pattern}", re.DOTALL)
_FULL_WIDTH = re.compile(rf"{_STRING}|“[^“”]*+”|[：，]", re.DOTALL)
_BEGINS_LIKE_JSON = re.compile(r"""\{\s*["'“}]|\[\s*["'“{\[\]\d-]""")
_OPENING = re.compile(r"[{\[]")
_CLOSER_OF = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    start: int
    closed: bool
    """False when the brackets never close: the answer was cut, or someone forgot one."""


@dataclass(frozen=True, slots=True)
class Candidate:
    value: Any
    exact: bool
    """True when it is JSON as written, False when it was repaired."""
    closed: bool = True
    """False when its brackets never close, so that its end may be missing."""


def spans(text: str, start: int = 0) -> list[Span]:
    """The outermost `{...}` and `[...]` from `start` on."""
    found: list[Span] = []
    while len(found) < _MOST_SPANS and (opening := _OPENING.search(text, start)):
        end = _end_of(text, opening.start())
        found.append(Span(text[opening.start() : end], opening.start(), closed=end is not None))
        if end is None:
            break
        start = end
    return found


def _end_of(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed.

    A closer closes its own opener and whatever was forgotten inside it; a stray one closes nothing."""
    still_open: list[str] = []
    how_many = {"}": 0, "]": 0}
    for end, bracket in _brackets(text, start):
        if bracket in _CLOSER_OF:
            still_open.append(_CLOSER_OF[bracket])
            how_many[_CLOSER_OF[bracket]] += 1
            if len(still_open) > _DEEPEST:
                return None
        elif how_many[bracket]:
            closed = ""
            while closed != bracket:
                closed = still_open.pop()
                how_many[closed] -= 1
            if not still_open:
                return end
    return None


def _brackets(text: str, start: int) -> Iterator[tuple[int, str]]:
    """The brackets outside strings, each with the position behind it. A quote that is never closed is no string.

    Quotes before `start` do not count: prose has lone ones."""
    for token in _TOKEN.finditer(text, start):
        found = token.group()
        if len(found) == 1 and found != '"':
            yield token.end(), found
        elif token.end() == len(text) and (len(found) == 1 or not found.endswith(found[0])):
            yield from ((rest.end(), rest.group()) for rest in _BRACKET.finditer(text, token.start()))
            return


def candidates(text: str) -> list[Candidate]:
    """Everything in `text` that can be read as a JSON object or array, in the order of the text."""
    stripped = text.strip()
    whole = _exact(stripped)
    if whole is not None:
        return [whole]
    repairs = _Repairs()
    found = spans(stripped)
    values = [*_read_each(found, repairs)]
    for _ in range(_RESCANS):
        if not found or found[-1].closed or _BEGINS_LIKE_JSON.match(found[-1].text):
            break
        # A lone bracket in the prose swallowed all that follows: look again behind it.
        found = spans(stripped, found[-1].start + 1)
        values += _read_each(found, repairs)
    return values


def _read_each(found: list[Span], repairs: "_Repairs") -> Iterator[Candidate]:
    for span in found:
        candidate = _exact(span.text) or _exact(_plain_punctuation(span.text)) or repairs.repair(span)
        if candidate is not None:
            yield candidate


def _exact(text: str) -> Candidate | None:
    try:
        return Candidate(_DECODER.decode(text), exact=True)
    except (ValueError, RecursionError):
        return None


def _plain_punctuation(text: str) -> str:
    """Full-width colons, commas and quotes, as Chinese keyboards and models write them."""

    def plain(token: re.Match[str]) -> str:
        found = token.group()
        if found.startswith("“"):
            return json.dumps(found[1:-1], ensure_ascii=False)
        return {"：": ":", "，": ","}.get(found, found)

    return _FULL_WIDTH.sub(plain, text)


class _OutOfTime(BaseException):
    """Not an Exception, so that nothing on the way up mistakes it for a broken answer and tries on."""


class _Repairs:
    """json-repair within a budget. It has no limit of its own and threads cannot be stopped, so a profile function
    looks at the clock; CPU time, because a busy machine must not make a good answer unreadable."""

    def __init__(self) -> None:
        self._end = time.thread_time() + REPAIR_SECONDS
        self._calls = 0

    def repair(self, span: Span) -> Candidate | None:
        text = span.text
        if len(text) > LONGEST_REPAIR or time.thread_time() > self._end:
            return None
        from json_repair import repair_json

        before = sys.getprofile()
        sys.setprofile(self._watch)
        try:
            value = repair_json(_plain_punctuation(text), return_objects=True, skip_json_loads=True)
        except (ValueError, RecursionError, IndexError, _OutOfTime):
            return None
        finally:
            sys.setprofile(before)
        # It turns `{so}` into a list: a guess of another kind than the bracket promised is no reading.
        expected = dict if text.startswith("{") else list
        return Candidate(value, exact=False, closed=span.closed) if isinstance(value, expected) else None

    def _watch(self, frame: FrameType, event: str, argument: Any) -> None:
        self._calls += 1
        if self._calls % 256 == 0 and time.thread_time() > self._end:
            # Only where it is caught: the call that takes this watch off again is watched, too.
            if frame.f_globals.get("__name__", "").startswith("json_repair"):
                raise _OutOfTime
            self._calls -= 1

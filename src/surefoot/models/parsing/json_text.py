"""Find JSON in the text of a model, even if it is malformed.

`candidates` parses the text from every outermost bracket. Exact JSON is used as it is; anything else goes through
json-repair. Objects inside a broken outer object are never candidates: part of a plan must not pass as a step.
"""

import json
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from surefoot.models.items import without_surrogates

MAX_REPAIR_CHARS = 200_000
"""Longer text is not repaired. Exact JSON may be longer."""
REPAIR_SECONDS = 2.0
"""CPU seconds for all repairs of one answer. json-repair needs minutes for 10 KB of some garbage."""
_MAX_RESCANS = 5
_MAX_SPANS = 500
_MAX_DEPTH = 900
"""Nested brackets; the standard library decodes no more."""
_DECODER = json.JSONDecoder()

# Possessive, so that matching takes linear time.
_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
# Single quotes count only where JSON may have a string, so that an apostrophe in prose does not hide a bracket.
_SINGLE_QUOTED = r"(?<=[{\[,:\s])'(?:[^'\\\n]|\\.)*+'(?=\s*[,:}\]])"
_BRACKET = re.compile(r"[{}\[\]]")
_TOKEN = re.compile(rf"{_STRING}|{_SINGLE_QUOTED}|{_BRACKET.pattern}", re.DOTALL)
_FULL_WIDTH = re.compile(rf"{_STRING}|“[^“”]*+”|[：，]", re.DOTALL)
_STARTS_LIKE_JSON = re.compile(r"""\{\s*["'“}]|\[\s*["'“{\[\]\d-]""")
_OPENING = re.compile(r"[{\[]")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_CLOSER_OF = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    start: int
    closed: bool
    """False if the brackets are never closed, because the answer was truncated or one is missing."""


@dataclass(frozen=True, slots=True)
class Candidate:
    value: Any
    exact: bool
    """False if it was repaired."""
    closed: bool = True
    """False if its brackets are never closed, so that its end may be missing."""


def spans(text: str, start: int = 0) -> list[Span]:
    """The outermost `{...}` and `[...]` from `start` on."""
    result: list[Span] = []
    while len(result) < _MAX_SPANS and (opening := _OPENING.search(text, start)):
        end = _end_of(text, opening.start())
        result.append(Span(text[opening.start() : end], opening.start(), closed=end is not None))
        if end is None:
            break
        start = end
    return result


def _end_of(text: str, start: int) -> int | None:
    """The end of the bracket at `start`, or None if it is never closed.

    A closing bracket also closes unclosed brackets inside its pair; a stray one is ignored.
    """
    open_closers: list[str] = []
    counts = {"}": 0, "]": 0}
    for end, bracket in _brackets(text, start):
        if bracket in _CLOSER_OF:
            open_closers.append(_CLOSER_OF[bracket])
            counts[_CLOSER_OF[bracket]] += 1
            if len(open_closers) > _MAX_DEPTH:
                return None
        elif counts[bracket]:
            closed = ""
            while closed != bracket:
                closed = open_closers.pop()
                counts[closed] -= 1
            if not open_closers:
                return end
    return None


def _brackets(text: str, start: int) -> Iterator[tuple[int, str]]:
    """The brackets outside strings, each with the position after it.

    An unclosed quote does not start a string. Quotes before `start` are ignored, because prose has lone ones.
    """
    for token in _TOKEN.finditer(text, start):
        match = token.group()
        if len(match) == 1 and match != '"':
            yield token.end(), match
        elif token.end() == len(text) and (len(match) == 1 or not match.endswith(match[0])):
            yield from ((rest.end(), rest.group()) for rest in _BRACKET.finditer(text, token.start()))
            return


def candidates(text: str) -> list[Candidate]:
    """All values in `text` that can be read as a JSON object or array, in order."""
    stripped = text.strip()
    whole = _exact(stripped)
    if whole is not None:
        return [whole]
    repairs = _Repairs()
    json_spans = spans(stripped)
    values = [*_parse_spans(json_spans, repairs)]
    for _ in range(_MAX_RESCANS):
        if not json_spans or json_spans[-1].closed or _STARTS_LIKE_JSON.match(json_spans[-1].text):
            break
        # A lone bracket in prose has hidden the rest of the text: search again after it.
        json_spans = spans(stripped, json_spans[-1].start + 1)
        values += _parse_spans(json_spans, repairs)
    return values


def _parse_spans(json_spans: list[Span], repairs: "_Repairs") -> Iterator[Candidate]:
    for span in json_spans:
        candidate = _exact(span.text) or _exact(_ascii_punctuation(span.text)) or repairs.repair(span)
        if candidate is not None:
            yield candidate


def _exact(text: str) -> Candidate | None:
    try:
        return Candidate(_sanitised(text, _DECODER.decode(text)), exact=True)
    except (ValueError, RecursionError):
        return None


def _sanitised(text: str, value: Any) -> Any:
    return without_surrogates(value) if _SURROGATE.search(text) else value


def _ascii_punctuation(text: str) -> str:
    """Replace full-width colons, commas and quotes, which Chinese models use."""

    def replace(token: re.Match[str]) -> str:
        match = token.group()
        if match.startswith("“"):
            return json.dumps(match[1:-1], ensure_ascii=False)
        return {"：": ":", "，": ","}.get(match, match)

    return _FULL_WIDTH.sub(replace, text)


class _OutOfTime(BaseException):
    """Not an Exception, so that json-repair does not catch it and continue."""


class _Repairs:
    """json-repair with a time budget.

    json-repair has no limit and threads cannot be stopped, so a profile function checks the time. It is CPU time, so
    that the result does not depend on how busy the machine is.
    """

    def __init__(self) -> None:
        self._deadline = time.thread_time() + REPAIR_SECONDS
        self._calls = 0

    def repair(self, span: Span) -> Candidate | None:
        text = span.text
        if len(text) > MAX_REPAIR_CHARS or time.thread_time() > self._deadline:
            return None
        from json_repair import repair_json

        previous = sys.getprofile()
        sys.setprofile(self._check_time)
        try:
            value = repair_json(_ascii_punctuation(text), return_objects=True, skip_json_loads=True)
            value = _sanitised(text, value)
        except (ValueError, RecursionError, IndexError, _OutOfTime):
            return None
        finally:
            sys.setprofile(previous)
        # json-repair turns `{so}` into a list; a value of another type than its bracket is discarded.
        expected = dict if text.startswith("{") else list
        return Candidate(value, exact=False, closed=span.closed) if isinstance(value, expected) else None

    def _check_time(self, frame: FrameType, event: str, argument: Any) -> None:
        self._calls += 1
        if self._calls % 256 == 0 and time.thread_time() > self._deadline:
            # Raise only inside json-repair: the call that removes this profile function is profiled, too.
            if frame.f_globals.get("__name__", "").startswith("json_repair"):
                raise _OutOfTime
            self._calls -= 1

"""Read what a model answered: tolerant about how it is written, strict about what it says.

    read_json(text, into)             a value, from JSON that may be wrapped, broken or followed by prose
    read_fenced(text, path)           a file's body, from a fenced block
    read_control(text)                "step_done" or "replan", from the envelopes models write

What cannot be read raises `UnreadableAnswer`, whose `problem` is worded for the model that is asked again.
"""

import json
from collections.abc import Hashable
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from surefoot.errors import UnreadableAnswer
from surefoot.models.control import Control, read_control
from surefoot.models.fences import FileBody, find_body, read_fenced
from surefoot.models.jsonish import Candidate, candidates, spans
from surefoot.models.thinking import without_thinking

__all__ = [
    "Control",
    "FileBody",
    "find_body",
    "read_control",
    "read_fenced",
    "read_json",
    "without_thinking",
]

T = TypeVar("T")
_MOST_CANDIDATES = 200
_SHOWN_PROBLEMS = 2
_SHOWN_CHARACTERS = 160
_NOT_WORTH_SHOWING = {"missing", "extra_forbidden"}
"""Problems that are about a field being there or not: what came is no news."""


def read_json(
    text: str, into: type[T] | TypeAdapter[T], *, truncated: bool = False, allow_truncated: bool = False
) -> T:
    """The value in `text`, validated as `into`.

    Of several JSON values that validate, the one with the most fields of `into` wins: a `{}` in the code below the
    answer is not the answer. Among equals exact JSON comes before repaired, and the last before the first, because
    models draft first and correct themselves after.

    `truncated` says that the server stopped at its token limit (`finish_reason` "length"); then JSON that never
    closes is refused, because a repaired list would silently miss its end, unless `allow_truncated` says that a part
    is welcome.
    """
    answer = without_thinking(text)
    adapter = into if isinstance(into, TypeAdapter) else _adapter(cast(Hashable, into))
    found = candidates(answer)[-_MOST_CANDIDATES:]
    whole_only = truncated and not allow_truncated
    readings: list[tuple[int, bool, int, T]] = []
    failures: list[ValidationError] = []
    stranger: BaseModel | None = None
    for place, candidate in enumerate(found):
        for value in _unwrapped(candidate) if candidate.closed or not whole_only else []:
            try:
                reading = adapter.validate_python(value)
            except ValidationError as failure:
                failures.append(failure)
                continue
            if value and isinstance(reading, BaseModel) and not reading.model_fields_set:
                stranger = reading  # it only passes because `into` asks for nothing and minds nothing
                continue
            readings.append((_fields_told(reading), candidate.exact, place, reading))
    if readings:
        return max(readings, key=lambda reading: reading[:3])[3]
    if whole_only:
        _refuse_cut_json(answer, text)
    raise UnreadableAnswer(_problem(answer, failures, stranger), answer=text)


def _fields_told(reading: object) -> int:
    return len(reading.model_fields_set) if isinstance(reading, BaseModel) else 0


@lru_cache(maxsize=256)
def _adapter(into: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(cast(Any, into))


def _refuse_cut_json(answer: str, text: str) -> None:
    found = spans(answer)
    if not found or not found[-1].closed:
        raise UnreadableAnswer(
            "the answer was cut off at the token limit before its JSON was complete; answer in fewer words",
            answer=text,
        )


def _unwrapped(candidate: Candidate) -> list[Any]:
    """The value, and what it wraps: small models like to answer `{"answer": {...}}` or `[{...}]`."""
    value = candidate.value
    if isinstance(value, dict) and len(value) == 1:
        (inner,) = value.values()
        return [value, inner] if isinstance(inner, dict | list) else [value]
    if isinstance(value, list) and len(value) == 1:
        return [value, value[0]]
    return [value]


def _problem(answer: str, failures: list[ValidationError], stranger: BaseModel | None) -> str:
    nearest = min(failures, key=_distance, default=None)
    if stranger is not None and (nearest is None or _distance(nearest)[0]):
        return f"the JSON has none of the fields that were asked for: {', '.join(type(stranger).model_fields)}"
    if nearest is not None:
        return _worded(nearest)
    if not answer.strip():
        return "the answer is empty; answer with one JSON object"
    if not spans(answer):
        return f"there is no JSON in the answer, which begins {_shown(answer.strip())}; answer with one JSON object"
    return f"the JSON cannot be read{_where_it_breaks(answer)}; answer with one complete JSON object"


def _distance(failure: ValidationError) -> tuple[int, int]:
    """How far a value is from what was asked: what lacks fields, or is of another kind altogether, is farthest."""
    problems = failure.errors(include_url=False, include_context=False, include_input=False)
    absent = sum(problem["type"] == "missing" or not problem["loc"] for problem in problems)
    return absent, len(problems)


def _where_it_breaks(answer: str) -> str:
    try:
        json.loads(spans(answer)[-1].text)
    except json.JSONDecodeError as error:
        return f": {error.msg} at line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        return ": it is nested too deeply or holds an impossible number"
    return ""


def _worded(failure: ValidationError) -> str:
    problems = failure.errors(include_url=False, include_context=False)
    worded = [_worded_problem(problem) for problem in problems[:_SHOWN_PROBLEMS]]
    more = len(problems) - len(worded)
    return "; ".join(worded) + (f" (and {more} more of this kind)" if more else "")


def _worded_problem(problem: Any) -> str:
    kind = problem["type"]
    if kind == "missing":
        expectation = "is missing"
    elif kind == "extra_forbidden":
        expectation = "is not a known field, leave it out"
    else:
        message = problem["msg"].removeprefix("Value error, ")
        expectation = message[:1].lower() + message[1:]
    came = "" if kind in _NOT_WORTH_SHOWING else f", but it is {_shown(problem['input'])}"
    return f"{_path(problem['loc']) or 'the answer'}: {expectation}{came}"


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.removeprefix(".")


def _shown(value: object) -> str:
    try:
        shown = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        shown = type(value).__name__
    if len(shown) > _SHOWN_CHARACTERS:
        shown = shown[:_SHOWN_CHARACTERS] + "..."
    # A lone surrogate from the answer must not break the terminal or the journal that shows the problem.
    return shown.encode("utf-8", "replace").decode()

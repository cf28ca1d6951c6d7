"""Parse the answers of models: tolerant of their form, strict about their content.

    read_json(text, into)             a value, from JSON that may be wrapped, broken or followed by prose
    read_fenced(text, path)           the body of a file, from a fenced block
    read_control(text)                "step_done" or "replan", from a control envelope

An answer that cannot be parsed raises `UnreadableAnswer`, whose `problem` is sent back to the model.
"""

import json
from collections.abc import Hashable
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from surefoot.core.values import shown_path, worded
from surefoot.errors import UnreadableAnswer
from surefoot.models.parsing.control import Control, read_control
from surefoot.models.parsing.fences import FileBody, find_body, read_fenced
from surefoot.models.parsing.json_text import Candidate, candidates, spans
from surefoot.models.parsing.thinking import without_thinking

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
_MAX_CANDIDATES = 200
_MAX_PROBLEMS = 2
_MAX_VALUE_CHARS = 160
_WITHOUT_VALUE = {"missing", "extra_forbidden"}
"""Types of problems that are described without the value."""


def read_json(
    text: str, into: type[T] | TypeAdapter[T], *, truncated: bool = False, allow_truncated: bool = False
) -> T:
    """Return the JSON value in `text`, validated as `into`.

    Of several values that validate, the one with the most fields of `into` is returned, because code below the answer
    may contain a `{}`. Then exact JSON is preferred to repaired JSON, and the last value to earlier ones, because
    models correct their drafts.

    `truncated` means that the server stopped at its token limit (`finish_reason` "length"). Then JSON that is never
    closed is refused, because a repaired list would silently lose its end; `allow_truncated` accepts it.
    """
    answer = without_thinking(text)
    adapter = into if isinstance(into, TypeAdapter) else _adapter(cast(Hashable, into))
    closed_only = truncated and not allow_truncated
    readings: list[tuple[int, bool, int, T]] = []
    failures: list[ValidationError] = []
    empty_reading: BaseModel | None = None
    for position, candidate in enumerate(candidates(answer)[-_MAX_CANDIDATES:]):
        for value in _unwrap(candidate) if candidate.closed or not closed_only else []:
            try:
                reading = adapter.validate_python(value)
            except ValidationError as failure:
                failures.append(failure)
                continue
            if value and isinstance(reading, BaseModel) and not reading.model_fields_set:
                empty_reading = reading  # valid only because every field of `into` has a default
                continue
            readings.append((_count_fields(reading), candidate.exact, position, reading))
    if readings:
        return max(readings, key=lambda reading: reading[:3])[3]
    if closed_only:
        _refuse_truncated(answer, text)
    raise UnreadableAnswer(_problem(answer, failures, empty_reading), answer=text)


def _count_fields(reading: object) -> int:
    return len(reading.model_fields_set) if isinstance(reading, BaseModel) else 0


@lru_cache(maxsize=256)
def _adapter(into: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(cast(Any, into))


def _refuse_truncated(answer: str, text: str) -> None:
    json_spans = spans(answer)
    if not json_spans or not json_spans[-1].closed:
        raise UnreadableAnswer(
            "the answer was cut off at the token limit before its JSON was complete; answer in fewer words",
            answer=text,
        )


def _unwrap(candidate: Candidate) -> list[Any]:
    """The value and the value that it wraps: small models often answer `{"answer": {...}}` or `[{...}]`."""
    value = candidate.value
    if isinstance(value, dict) and len(value) == 1:
        (inner,) = value.values()
        return [value, inner] if isinstance(inner, dict | list) else [value]
    if isinstance(value, list) and len(value) == 1:
        return [value, value[0]]
    return [value]


def _problem(answer: str, failures: list[ValidationError], empty_reading: BaseModel | None) -> str:
    nearest = min(failures, key=_distance, default=None)
    if empty_reading is not None and (nearest is None or _distance(nearest)[0]):
        return f"the JSON has none of the fields that were asked for: {', '.join(type(empty_reading).model_fields)}"
    if nearest is not None:
        return _describe(nearest)
    if not answer.strip():
        return "the answer is empty; answer with one JSON object"
    if not spans(answer):
        return f"there is no JSON in the answer, which begins {_show(answer.strip())}; answer with one JSON object"
    return f"the JSON cannot be read{_error_position(answer)}; answer with one complete JSON object"


def _distance(failure: ValidationError) -> tuple[int, int]:
    """How far a value is from the requested type: first by missing fields or a wrong type, then by all problems."""
    problems = failure.errors(include_url=False, include_context=False, include_input=False)
    missing = sum(problem["type"] == "missing" or not problem["loc"] for problem in problems)
    return missing, len(problems)


def _error_position(answer: str) -> str:
    try:
        json.loads(spans(answer)[-1].text)
    except json.JSONDecodeError as error:
        return f": {error.msg} at line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        return ": it is nested too deeply or holds an impossible number"
    return ""


def _describe(failure: ValidationError) -> str:
    problems = failure.errors(include_url=False, include_context=False)
    described = [_describe_problem(problem) for problem in problems[:_MAX_PROBLEMS]]
    more = len(problems) - len(described)
    return "; ".join(described) + (f" (and {more} more of this kind)" if more else "")


def _describe_problem(problem: Any) -> str:
    kind = problem["type"]
    if kind == "missing":
        expectation = "is missing"
    elif kind == "extra_forbidden":
        expectation = "is not a known field, leave it out"
    else:
        message = worded(kind, problem["msg"])
        expectation = message[:1].lower() + message[1:]
    actual = "" if kind in _WITHOUT_VALUE else f", but it is {_show(problem['input'])}"
    return f"{_path(problem['loc']) or 'the answer'}: {expectation}{actual}"


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in shown_path(location):
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.removeprefix(".")


def _show(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = type(value).__name__
    if len(text) > _MAX_VALUE_CHARS:
        text = text[:_MAX_VALUE_CHARS] + "..."
    # A lone surrogate could not be written to the terminal or the journal.
    return text.encode("utf-8", "replace").decode()

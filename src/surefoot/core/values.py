"""The base class of all values, which are immutable and reject unknown fields, and readable validation errors."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, NamedTuple, ParamSpec, Self, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, ValidationError, model_serializer

from surefoot.errors import SurefootError

P = ParamSpec("P")
V = TypeVar("V", bound="Value")


class Secrecy(Enum):
    """When secrets are removed from a field; see `journal/redacted_values.py`.

    A field without a mark is never altered: paths, ids, checks, hashes, the workspace.
    """

    FREE_TEXT = "before it is stored: known values and what looks like a token"
    RESULT = "before it is stored: known values only, because later steps use it"
    WORDING = "where it is shown: known values only, because the engine acts on it"


FreeText: TypeAlias = Annotated[str, Secrecy.FREE_TEXT]
Wording: TypeAlias = Annotated[str, Secrecy.WORDING]


class Value(BaseModel):
    # Validators are built when a class is first used: a short command uses few of them, and building all takes longer
    # than the command.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def with_(self, **changes: Any) -> Self:
        """Return a validated copy with some fields replaced."""
        return type(self).model_validate({**vars(self), **changes})


def unchecked(cls: Callable[P, V]) -> Callable[P, V]:
    """Return a constructor for `cls` that skips validation, for values that the engine builds at every step from
    validated parts. mypy still checks the calls."""
    kind = cast("type[V]", cls)
    fields = kind.model_fields
    factories = [(name, field.default_factory) for name, field in fields.items() if field.default_factory]
    template = {name: None if field.is_required() else field.default for name, field in fields.items()}
    names = set(fields)

    def make(*_: P.args, **arguments: P.kwargs) -> V:
        values = {**template, **arguments}
        for name, factory in factories:
            if name not in arguments:
                values[name] = cast("Callable[[], Any]", factory)()
        value = _new(kind)
        _set_fields(value, values)
        _set_names(value, names)
        _set_extra(value, None)
        _set_private(value, None)
        return value

    return make


_new: Callable[[type[V]], V] = object.__new__
# Pydantic keeps a model in these four slots. Setting them directly bypasses `frozen`.
_set_fields = BaseModel.__dict__["__dict__"].__set__
_set_names = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__


class Tagged(Value):
    """A member of a union discriminated by `kind`, which is serialized even when defaults are excluded."""

    kind: str

    @model_serializer(mode="wrap")
    def _with_kind(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind, **handler(self)}


def now() -> datetime:
    return datetime.now(UTC)


# -- readable validation errors ------------------------------------------------------------------------------------

_NAME_A_CLASS = {"model_type", "model_attributes_type", "dataclass_type", "dataclass_exact_type", "is_instance_of"}
"""Error types whose message names a class, which means nothing to a person or a model."""
_SCHEMA_PART = re.compile(r".*[\[(]|(?:function|tagged-union|lax-or-strict|json-or-python|constrained)\b")


class WrongField(NamedTuple):
    where: str
    """The field, such as `steps.0.name`; empty for the value as a whole."""
    problem: str

    def __str__(self) -> str:
        return f"{self.where or 'it'}: {self.problem}"


def wrong_fields(error: ValidationError) -> list[WrongField]:
    """Return the problem of each invalid field, without names of classes."""
    return [
        WrongField(".".join(map(str, shown_path(problem["loc"]))), worded(problem["type"], problem["msg"]))
        for problem in error.errors(include_url=False, include_input=False, include_context=False)
    ]


def what_is_wrong(error: ValidationError, most: int = 5) -> str:
    return "; ".join(map(str, wrong_fields(error)[:most]))


def worded(kind: str, message: str) -> str:
    """Return pydantic's message for a problem, without names of classes."""
    if kind in _NAME_A_CLASS:
        return "Input should be an object with named fields"
    return message.removeprefix("Value error, ").removeprefix("Assertion failed, ")


def shown_path(location: tuple[int | str, ...]) -> list[int | str]:
    """Return the location of a problem without the parts that name a class or a part of its schema."""
    capitalised = {part for part in location if isinstance(part, str) and part.lstrip("_")[:1].isupper()}
    # Walking all classes takes milliseconds, and few locations need it.
    classes = capitalised & {cls.__name__ for cls in _subclasses(BaseModel)} if capitalised else capitalised
    return [
        part for part in location if isinstance(part, int) or (part not in classes and not _SCHEMA_PART.match(part))
    ]


def _subclasses(cls: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for own in cls.__subclasses__():
        yield own
        yield from _subclasses(own)


def error_in_words(error: BaseException) -> str:
    """Return the message of an error for people. Only an unexpected error is named with its class."""
    if isinstance(error, ValidationError):
        return what_is_wrong(error)
    if isinstance(error, SurefootError | OSError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def common_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """The length of the common prefix of two sequences."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def join_limited(items: Sequence[str], limit: int = 6) -> str:
    """Join the items in one line: `a, b, c and 4 more`."""
    joined = ", ".join(items[:limit])
    return joined if len(items) <= limit else f"{joined} and {len(items) - limit} more"

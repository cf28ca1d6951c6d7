"""The base of every value: immutable, strict about unknown fields, small when written down."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ParamSpec, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

P = ParamSpec("P")
V = TypeVar("V", bound="Value")


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def with_(self, **changes: Any) -> Self:
        """A copy with some fields changed, validated like a new one."""
        return type(self).model_validate({**dict(self), **changes})


def unchecked(cls: Callable[P, V]) -> Callable[P, V]:
    """Makes values of a class without looking at what they are made of: for what the engine itself puts together at
    every step, from parts that were validated when they came in. mypy still checks the calls."""
    kind = cast("type[V]", cls)
    fields = kind.model_fields
    factories = [(name, field.default_factory) for name, field in fields.items() if field.default_factory]
    template = {name: None if field.is_required() else field.default for name, field in fields.items()}
    names = set(fields)

    def make(*_: P.args, **given: P.kwargs) -> V:
        values = {**template, **given}
        for name, factory in factories:
            if name not in given:
                values[name] = cast("Callable[[], Any]", factory)()
        new = _new(kind)
        _put_fields(new, values)
        _put_names(new, names)
        _put_extra(new, None)
        _put_private(new, None)
        return new

    return make


_new: Callable[[type[V]], V] = object.__new__
# Pydantic keeps a value in these four slots; values are frozen for everybody else.
_put_fields = BaseModel.__dict__["__dict__"].__set__
_put_names = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_put_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_put_private = BaseModel.__dict__["__pydantic_private__"].__set__


class Tagged(Value):
    """A member of a union told apart by `kind`, which is written down even where defaults are left out."""

    kind: str

    @model_serializer(mode="wrap")
    def _with_kind(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind, **handler(self)}


def now() -> datetime:
    return datetime.now(UTC)

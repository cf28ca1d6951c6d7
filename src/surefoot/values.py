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

    def altered(self, **changes: Any) -> Self:
        """The same unvalidated, for changes that are known to fit, where it is done for every step."""
        return _assembled(type(self), {**self.__dict__, **changes}, self.__pydantic_fields_set__ | changes.keys())


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
        return _assembled(kind, values, names)

    return make


def _assembled(cls: type[V], values: dict[str, Any], fields_set: set[str]) -> V:
    new = _new(cls)
    _put(new, "__dict__", values)
    _put(new, "__pydantic_fields_set__", fields_set)
    _put(new, "__pydantic_extra__", None)
    _put(new, "__pydantic_private__", None)
    return new


_new, _put = object.__new__, object.__setattr__


class Tagged(Value):
    """A member of a union told apart by `kind`, which is written down even where defaults are left out."""

    kind: str

    @model_serializer(mode="wrap")
    def _with_kind(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind, **handler(self)}


def now() -> datetime:
    return datetime.now(UTC)

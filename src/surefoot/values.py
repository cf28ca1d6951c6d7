"""The base of every value: immutable, strict about unknown fields, small when written down."""

from datetime import UTC, datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def with_(self, **changes: Any) -> Self:
        """A copy with some fields changed, validated like a new one."""
        return type(self).model_validate({**dict(self), **changes})

    def altered(self, **changes: Any) -> Self:
        """The same unvalidated, for changes that are known to fit, where it is done for every step."""
        new = object.__new__(type(self))
        for slot, value in (
            ("__dict__", {**self.__dict__, **changes}),
            ("__pydantic_fields_set__", self.__pydantic_fields_set__ | changes.keys()),
            ("__pydantic_extra__", None),
            ("__pydantic_private__", None),
        ):
            object.__setattr__(new, slot, value)
        return new


class Tagged(Value):
    """A member of a union told apart by `kind`, which is written down even where defaults are left out."""

    kind: str

    @model_serializer(mode="wrap")
    def _with_kind(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind, **handler(self)}


def now() -> datetime:
    return datetime.now(UTC)

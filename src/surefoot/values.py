"""The base of every value: immutable, strict about unknown fields, small when written down."""

from datetime import UTC, datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def with_(self, **changes: Any) -> Self:
        """A copy with some fields changed, validated like a new one."""
        return type(self).model_validate({**dict(self), **changes})


def now() -> datetime:
    return datetime.now(UTC)

"""Conversions to the SDK's contexts and times."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import SpanContext


def as_parent(parent: "SpanContext | None") -> "Context":
    """A context with this parent. Without one it is empty, so that no surrounding span becomes the parent."""
    from opentelemetry.context import Context
    from opentelemetry.trace import NonRecordingSpan, set_span_in_context

    return set_span_in_context(NonRecordingSpan(parent), Context()) if parent is not None else Context()


def nanoseconds(at: float) -> int:
    return int(at * 1_000_000_000)

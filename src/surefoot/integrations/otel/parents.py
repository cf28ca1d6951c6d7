"""Small conversions between the SDK's values and ours."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import SpanContext


def as_parent(parent: "SpanContext | None") -> "Context":
    """A context with this parent; without one, an empty context, so that nothing around is taken for the parent."""
    from opentelemetry.context import Context
    from opentelemetry.trace import NonRecordingSpan, set_span_in_context

    return set_span_in_context(NonRecordingSpan(parent), Context()) if parent is not None else Context()


def nanoseconds(at: float) -> int:
    return int(at * 1_000_000_000)

"""How a long list is shown in one line."""

from collections.abc import Sequence


def join_limited(items: Sequence[str], limit: int = 6) -> str:
    """`a, b, c and 4 more`."""
    joined = ", ".join(items[:limit])
    return joined if len(items) <= limit else f"{joined} and {len(items) - limit} more"

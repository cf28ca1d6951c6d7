"""What the end of a test run says beside the results: the servers that were used, figures, and attacks that were held.

Tests may run in other processes than the one that prints. What they note travels with their reports, as properties.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

_started: set[str] = set()


def used_server(name: str) -> None:
    """Note that this process has started a server, by its name and version."""
    _started.add(name)


def add_servers(item: pytest.Item) -> None:
    """Let the next report of a test name the servers that were started since the last one."""
    item.user_properties += [("server", name) for name in sorted(_started)]
    _started.clear()


def summary(stats: dict[str, list[Any]]) -> Iterator[str]:
    """The lines for the end of a test run, from its reports by their outcome."""
    servers = {value for reports in stats.values() for value in _noted("server", reports)}
    if servers:
        yield f"servers: {', '.join(sorted(servers))}"
    yield from _noted("figure", stats.get("passed", ()))
    held = Counter(_noted("attack", stats.get("passed", ())))
    tried = held + Counter(_noted("attack", stats.get("failed", ())))
    if tried:
        families = ", ".join(f"{family} {held[family]} of {tried[family]}" for family in sorted(tried))
        yield f"attacks held: {held.total()} of {tried.total()} ({families})"


def _noted(kind: str, reports: Any) -> list[str]:
    return [str(value) for report in reports for name, value in getattr(report, "user_properties", ()) if name == kind]

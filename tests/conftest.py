"""Fixtures for all tests, and the count of attacks at the end of a test run."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.kit import Bench


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if marker := item.get_closest_marker("attack"):
            item.user_properties.append(("attack", marker.args[0]))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how many attacks were tried, and how many of them failed as they should."""
    tried: Counter[str] = Counter()
    held: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, family in report.user_properties:
                if name == "attack":
                    tried[family] += 1
                    held[family] += outcome == "passed"
    if tried:
        families = ", ".join(f"{family} {held[family]} of {tried[family]}" for family in sorted(tried))
        terminalreporter.write_line(f"attacks held: {held.total()} of {tried.total()} ({families})")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root, home = tmp_path / "work", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    return Bench(root, home)

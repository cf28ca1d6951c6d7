"""What the engine cannot do yet is listed in pending.txt. A test that passes after all must be taken off the list."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
PENDING = frozenset((HERE / "pending.txt").read_text().splitlines())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE and f"{item.path.name}::{item.name}" in PENDING:
            item.add_marker(pytest.mark.xfail(strict=True, reason="the engine cannot do this yet"))

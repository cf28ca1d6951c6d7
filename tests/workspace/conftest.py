"""Fixtures: a workspace whose root and home are in a temporary folder, in memory if possible."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.trees import scratch
from surefoot.workspace.workspace import Workspace


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as folder:
        (folder / "root").mkdir()
        yield folder


@pytest.fixture
def root(folder: Path) -> Path:
    return folder / "root"


@pytest.fixture
def workspace(folder: Path, root: Path) -> Workspace:
    return Workspace(root, folder / "home")

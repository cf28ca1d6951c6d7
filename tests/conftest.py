from pathlib import Path

import pytest

from kit import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root, home = tmp_path / "work", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    return Bench(root, home)

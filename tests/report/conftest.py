"""The stories, each carried out once for all tests of reports."""

from collections.abc import Callable
from pathlib import Path

import pytest

from report.stories import Story, tell


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Story]:
    stories_by_name: dict[str, Story] = {}

    def find(name: str) -> Story:
        if name not in stories_by_name:
            stories_by_name[name] = tell(name, Path(tmp_path_factory.mktemp(name)) / "project")
        return stories_by_name[name]

    return find

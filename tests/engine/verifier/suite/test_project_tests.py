"""Which command runs the project's own tests."""

from pathlib import Path

import pytest

from surefoot.engine.verifier.suite.project_commands import project_checks


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"tests/__init__.py": "", "tests/test_a.py": "import unittest"}, "python3 -m unittest discover -s tests -t ."),
        ({"tests/test_a.py": "import unittest"}, "python3 -m unittest discover -s tests"),
        ({"test_a.py": "import unittest"}, "python3 -m unittest discover"),
        ({"tests/__init__.py": "", "tests/conftest.py": "import pytest"}, ""),
    ],
)
def test_a_package_of_unittests_is_run_by_unittest(tmp_path: Path, files: dict[str, str], command: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [check.command for check in project_checks(tmp_path, list(files))] == ([command] if command else [])

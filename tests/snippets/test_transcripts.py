"""What the pages show of a terminal is what is printed there."""

from pathlib import Path

import pytest

from cli.conftest import Surefoot
from cli.conftest import surefoot as surefoot
from support.pages import blocks, page_at, snippets
from support.reader import Reader

pytestmark = pytest.mark.slow

PROGRAMS = {
    "python3": '#!/bin/sh\n[ "$2" = pytest ] && exit 0\nexec /usr/bin/python3 "$@"\n',
    "ruff": "#!/bin/sh\nexit 0\n",
    "mypy": "#!/bin/sh\necho 'mypy: command not found' >&2\nexit 127\n",
}
"""A Python that has pytest, and a linter. mypy is not installed: the one beside Surefoot's
own Python is hidden by one that says what a shell says then."""


@pytest.fixture
def report(surefoot: Surefoot) -> Surefoot:
    """The project of the page: tests for pytest, two linters in its settings, and a Makefile that wraps the tests."""
    root = surefoot.home / "report"
    for folder in (root, surefoot.home / "bin"):
        folder.mkdir()
    for name, text in PROGRAMS.items():
        (surefoot.home / "bin" / name).write_text(text)
        (surefoot.home / "bin" / name).chmod(0o755)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\nfiles = ['report.py']\n")
    (root / "test_report.py").write_text("def test_nothing():\n    pass\n")
    (root / "Makefile").write_text("test:\n\tpython3 -m pytest -q\n")
    surefoot.workspace = surefoot.home
    surefoot.environ["PATH"] = f"{surefoot.home}/bin:/usr/bin:/bin"
    return surefoot


def test_init_prints_what_the_page_shows(report: Surefoot) -> None:
    (block, *_) = blocks(page_at("guides/project-setup.md"), "sh")
    (shown,) = snippets("guides/project-setup.md", "console")
    reader = Reader(report)
    for line in block.lines:
        reader.type(line, {"Trust it": "y\r"})
    reader.output = reader.output.replace(str(report.home), "/home/you")
    reader.saw(shown.replace("[Y/n]:", "[Y/n]: y"))
    assert reader.code == 0
    assert Path(report.home / "report/surefoot.toml").exists()

"""The tutorial works: every command is run in order by somebody with an empty home, and prints what the page shows."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cli.conftest import Surefoot
from support.pages import DOCS, ROOT, blocks
from support.reader import Reader

pytestmark = pytest.mark.slow

PAGE = DOCS / "tutorial.md"
EXAMPLE = ROOT / "examples/inventory/project"


@pytest.fixture
def reader(surefoot: Surefoot, tmp_path: Path) -> Reader:
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "examples/inventory", clone / "examples/inventory")
    surefoot.workspace = clone
    # A Python without pytest: the example's tests need nothing, and start faster.
    surefoot.environ["PATH"] = f"/usr/bin:/bin:{surefoot.variables()['PATH']}"
    return Reader(surefoot)


def test_every_command_of_the_tutorial_does_what_the_page_shows(reader: Reader) -> None:
    shown = 0
    for block in blocks(PAGE, "sh", "text"):
        if block.language == "sh":
            for line in block.lines:
                reader.type(line)
        else:
            reader.saw(block.text)
            shown += 1
    assert shown == 8
    project = reader.surefoot.home / "inventory/project"
    # The third run is undone exactly; the second one and the reader's own file are not.
    assert "def low" in (project / "inventory/store.py").read_text()
    assert "deliver" not in (project / "inventory/cli.py").read_text()
    assert (project / "stock.csv").read_bytes() == (EXAMPLE / "stock.csv").read_bytes()
    assert "The command deliver" in (project.parent / "report.md").read_text()
    _can_undo_the_step_that_the_page_names(reader, project)
    (again,) = re.findall(r"^done; to undo this: (.*)$", reader.transcript, re.MULTILINE)
    reader.type(f"{again} --yes")
    assert "deliver" in (project / "inventory/cli.py").read_text(), "the last line of the undo brings it back"


def _can_undo_the_step_that_the_page_names(reader: Reader, project: Path) -> None:
    (command,) = re.findall(r"`(surefoot undo RUN --step 2)`", PAGE.read_text("utf-8"))
    run = reader.surefoot("list").out.splitlines()[1].split()[0]
    reader.type(f"{command.replace('RUN', run)} --yes")
    assert "def low" in (project / "inventory/store.py").read_text()
    assert "low" not in (project / "inventory/cli.py").read_text()
    (redo,) = re.findall(r"^done; to undo this: (.*)$", reader.output, re.MULTILINE)
    reader.type(f"{redo} --yes")
    assert "low" in (project / "inventory/cli.py").read_text()


def test_the_example_is_a_project_with_one_failing_test() -> None:
    """The recorded answers and the page rely on it."""
    command = ["python3", "-B", "-m", "unittest", "-q"]
    done = subprocess.run(command, cwd=EXAMPLE, text=True, capture_output=True, check=False)
    assert "FAILED (failures=1)" in done.stderr

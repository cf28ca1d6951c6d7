"""The tutorial works: every command is run in order by somebody with an empty home, and prints what the page shows."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Surefoot

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/tutorial.md"
EXAMPLE = ROOT / "examples/inventory/project"

DIFFERENT = (
    (r"^\[ *\d+:\d\d\]", ""),
    (r"\b\d{4}-\d{6}-[0-9a-f]{4}\b", "RUN"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b", "DATE"),
    (r"\b\d+\.\d+s\b", "SECONDS"),
    (r"--to [0-9a-f]{12}\b", "--to SNAPSHOT"),
)


def blocks(page: Path) -> list[tuple[str, str]]:
    """The language and text of every code block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def commands(text: str) -> Iterator[str]:
    yield from text.replace("\\\n", " ").splitlines()


class Reader:
    """Types the commands of a page. `surefoot` is forked; everything else is run by a shell."""

    def __init__(self, surefoot: Surefoot) -> None:
        self.surefoot = surefoot
        self.code = 0
        self.output = self.transcript = ""

    def type(self, line: str) -> None:
        if line.startswith("surefoot "):
            result = self.surefoot(*shlex.split(line)[1:])
            self.code, self.output = result.code, self.output + result.err + result.out
        elif line.startswith("cd "):
            self.surefoot.workspace = Path(line[3:].replace("~", str(self.surefoot.home)))
        elif line == "echo $?":
            self.output += f"{self.code}\n"
        else:
            env, folder = self.surefoot.variables(), self.surefoot.workspace
            done = subprocess.run(
                ["bash", "-c", line], env=env, cwd=folder, text=True, stdout=-1, stderr=subprocess.STDOUT, check=False
            )
            self.code, self.output = done.returncode, self.output + done.stdout

    def saw(self, shown: str) -> None:
        """Whether the lines of the page were printed since the last time, in this order and whole, but for `…`."""
        printed = [self._same(line) for line in self.output.splitlines()]
        rest = iter(printed)
        for line in shown.splitlines():
            parts = [re.escape(part.strip()) for part in self._same(line).split("…")]
            wanted = re.compile(".*".join(parts))
            assert any(wanted.fullmatch(real) for real in rest), f"{line!r} is not in order in:\n{printed}"
        self.transcript, self.output = self.transcript + self.output, ""

    def _same(self, line: str) -> str:
        """Without what differs from run to run: times, ids, space."""
        for pattern, same in DIFFERENT:
            line = re.sub(pattern, same, line)
        return " ".join(line.split())


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
    for language, text in blocks(PAGE):
        if language == "sh":
            for line in commands(text):
                reader.type(line)
        elif language == "text":
            reader.saw(text)
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

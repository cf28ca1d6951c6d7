"""A command that is forked from a process with everything imported is the same as the installed program."""

import os
import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cli.conftest import Surefoot
from support.forked import Forked, can_fork
from support.stories import good_script, slow_script

pytestmark = pytest.mark.slow


def plain(text: str, surefoot: Surefoot) -> str:
    """A text without what differs from run to run: the id, times and the folder."""
    text = text.replace(str(surefoot.workspace.parent), "")
    return re.sub(r"\d{4}-\d{6}-\w{4}|\d+(\.\d+)?s\b|\[ *\d+:\d+\]", "_", text)


def test_run_prints_and_returns_the_same(surefoot: Surefoot, tmp_path: Path) -> None:
    other = Surefoot(tmp_path / "home2", tmp_path / "work2", forked=False)
    results = []
    for command in (surefoot, other):
        for folder in (command.home, command.workspace):
            folder.mkdir(exist_ok=True)
        result = command(*good_script(command))
        results.append((result.code, plain(result.out, command), plain(result.err, command).replace("work2", "work")))
    assert results[0] == results[1]
    assert results[0][0] == 0


@pytest.mark.parametrize("arguments", [("--version",), ("frobnicate",), ("show", "-"), ("--help",)])
def test_answers_and_errors_are_the_same(surefoot: Surefoot, arguments: tuple[str, ...]) -> None:
    assert surefoot(*arguments) == replace(surefoot, forked=False)(*arguments)


def test_process_is_a_child_that_signals_end(surefoot: Surefoot) -> None:
    process = surefoot.start(*slow_script(surefoot), "--sandbox", "off")
    assert isinstance(process, Forked)
    assert f"PPid:\t{os.getpid()}\n" in Path(f"/proc/{process.pid}/status").read_text()
    process.kill()
    assert process.wait() == -signal.SIGKILL


def test_program_is_started_if_its_variables_are_read_at_the_start(surefoot: Surefoot) -> None:
    assert can_fork(surefoot.variables())
    for name in ("PYTHONIOENCODING", "LC_ALL", "TZ"):
        assert not can_fork(surefoot.variables(**{name: "x"}))
    surefoot.environ["PYTHONDEVMODE"] = "1"
    process = surefoot.start("--version")
    assert type(process) is subprocess.Popen
    assert process.wait() == 0
    process.communicate()

"""The real `surefoot` command as a user has it: a home of their own, nothing configured, pipes or a terminal."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import sysconfig
import termios
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cli.terminal import Terminal
from surefoot.events import Record
from surefoot.store.sqlite import SqliteJournal

PATIENCE = 120.0
"""Seconds until a command that hangs is given up; no test depends on being faster."""


@dataclass
class Ended:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Standard output read as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass
class Surefoot:
    home: Path
    workspace: Path
    environ: dict[str, str] = field(default_factory=dict)
    program: Path = field(default_factory=lambda: Path(sysconfig.get_path("scripts")) / "surefoot")

    @property
    def state(self) -> Path:
        return self.home / ".local/share/surefoot"

    @property
    def journal_file(self) -> Path:
        return self.state / "journal.sqlite"

    def variables(self, **more: str) -> dict[str, str]:
        keep = {
            name: os.environ[name] for name in ("PATH", "PYTHONPATH", "COVERAGE_PROCESS_START") if name in os.environ
        }
        return {**keep, "HOME": str(self.home), "LANG": "C.UTF-8", **self.environ, **more}

    def start(self, *arguments: str, **more: Any) -> "subprocess.Popen[str]":
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        return subprocess.Popen(
            [str(self.program), *arguments], text=True, env=self.variables(), cwd=self.workspace, **pipes
        )

    def __call__(self, *arguments: str, stdin: str | None = None, **more: Any) -> Ended:
        process = self.start(*arguments, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL, **more)
        try:
            out, err = process.communicate(stdin, timeout=PATIENCE)
        finally:
            process.kill()
        return Ended(process.returncode, out, err)

    def on_terminal(self, *arguments: str, **more: Any) -> "OnTerminal":
        return OnTerminal([str(self.program), *arguments], self.variables(), self.workspace, **more)

    def script(self, *answers: Any) -> str:
        """A model that answers like this, as the text for -m."""
        path = self.home / f"script-{len(list(self.home.glob('script-*')))}.json"
        path.write_text(json.dumps(answers))
        return f"scripted:{path}"

    async def keep(self, records: Sequence[Record]) -> str:
        """Write a run down as if it had happened."""
        from surefoot.events import RunCreated

        created = records[0].event
        assert isinstance(created, RunCreated)
        journal = SqliteJournal(self.journal_file)
        await journal.append(created.run_id, [record.event for record in records])
        await journal.aclose()
        return created.run_id


class OnTerminal:
    """A command whose three streams are one real terminal (a pty)."""

    def __init__(
        self, command: list[str], environ: dict[str, str], folder: Path, columns: int = 100, rows: int = 30
    ) -> None:
        self.output = ""
        self.columns, self.rows = columns, rows
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(command[0], command, {"TERM": "xterm-256color", **environ})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_for(self, text: str) -> None:
        self._read_until(lambda: text in self.output, f"{text!r} never came")

    def wait_for_matching(self, met: Callable[[str], bool]) -> None:
        self._read_until(lambda: met(self.output), "what was waited for never came")

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self.fd)[3] & termios.ECHO)

    def end(self) -> int:
        """Read to the end; the exit code, negative for a signal."""
        self._read_until(lambda: False, "it did not end", until_end=True)
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)

    @property
    def seen(self) -> list[str]:
        """What a person would see now, with what has scrolled away."""
        terminal = Terminal(self.columns, self.rows)
        terminal.feed(self.output)
        return terminal.text

    def _read_until(self, met: Callable[[], bool], why: str, *, until_end: bool = False) -> None:
        deadline = time.monotonic() + PATIENCE
        while not met():
            ready, _, _ = select.select([self.fd], [], [], 0.2)
            if ready:
                try:
                    data = os.read(self.fd, 65_536)
                except OSError:
                    data = b""
                if not data:
                    assert until_end, f"{why}:\n{self.output[-3000:]}"
                    return
                self.output += data.decode(errors="replace")
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"{why}:\n{self.output[-3000:]}")


@pytest.fixture
def surefoot(tmp_path: Path) -> Surefoot:
    home, workspace = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    workspace.mkdir()
    assert sys.executable
    return Surefoot(home, workspace)

"""The installed `surefoot` command with an empty home directory, run with pipes or on a terminal."""

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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from support.forked import Forked, can_fork, fork
from support.terminal import Terminal
from surefoot.journal.events import Record
from surefoot.journal.store.sqlite import SqliteJournal

STREAMS = {"stdin", "stdout", "stderr"}
TIMEOUT = 120.0
"""Timeout in seconds for a command that hangs; no test depends on being faster."""


@dataclass
class Result:
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


PROGRAM = Path(sysconfig.get_path("scripts")) / "surefoot"


@dataclass
class Surefoot:
    home: Path
    workspace: Path
    environ: dict[str, str] = field(default_factory=dict)
    program: Path = PROGRAM
    forked: bool = True
    """Whether a process may be forked from one that has imported everything (`support.forked`)."""

    @property
    def state(self) -> Path:
        return self.home / ".local/share/surefoot"

    @property
    def journal_file(self) -> Path:
        return self.state / "journal.sqlite"

    def variables(self, **extra: str) -> dict[str, str]:
        inherited = {
            name: os.environ[name] for name in ("PATH", "PYTHONPATH", "COVERAGE_PROCESS_START") if name in os.environ
        }
        return {**inherited, "HOME": str(self.home), "LANG": "C.UTF-8", **self.environ, **extra}

    def start(self, *arguments: str, **more: Any) -> "subprocess.Popen[str]":
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        env, argv = self.variables(), [str(self.program), *arguments]
        kind = Forked if self._may_fork(env) and pipes.keys() <= STREAMS else subprocess.Popen
        return kind(argv, text=True, env=env, cwd=self.workspace, **pipes)

    def _may_fork(self, env: dict[str, str]) -> bool:
        return self.forked and self.program == PROGRAM and can_fork(env)

    def __call__(self, *arguments: str, stdin: str | None = None, **more: Any) -> Result:
        process = self.start(*arguments, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL, **more)
        try:
            out, err = process.communicate(stdin, timeout=TIMEOUT)
        finally:
            process.kill()
        return Result(process.returncode, out, err)

    def on_terminal(self, *arguments: str, **more: Any) -> "OnTerminal":
        env = {"TERM": "xterm-256color", **self.variables()}
        argv = [str(self.program), *arguments]
        return OnTerminal(argv, env, self.workspace, forked=self._may_fork(env), **more)

    def script(self, *answers: Any) -> str:
        """Write a script of model answers. Returns the value for -m."""
        path = self.home / f"script-{len(list(self.home.glob('script-*')))}.json"
        path.write_text(json.dumps(answers))
        return f"scripted:{path}"

    def elsewhere(self, name: str) -> "Surefoot":
        """The same user in another folder, which is made if it does not exist."""
        folder = self.workspace.parent / name
        folder.mkdir(parents=True, exist_ok=True)
        return replace(self, workspace=folder)

    async def store(self, records: Sequence[Record]) -> str:
        """Write a run to the journal as if it had happened here. Returns its id."""
        from surefoot.journal.events import RunCreated

        created = records[0].event
        assert isinstance(created, RunCreated)
        journal = SqliteJournal(self.journal_file)
        created_in_workspace = created.with_(task=created.task.with_(workspace=str(self.workspace)))
        await journal.append(created.run_id, [created_in_workspace, *(record.event for record in records[1:])])
        await journal.aclose()
        return created.run_id


class OnTerminal:
    """A command whose three streams are one real terminal (a pty)."""

    def __init__(
        self,
        command: list[str],
        environ: dict[str, str],
        folder: Path,
        columns: int = 100,
        rows: int = 30,
        *,
        forked: bool = True,
    ) -> None:
        self.output = ""
        self.columns, self.rows = columns, rows
        if forked:
            self.fd, terminal = pty.openpty()
            self.pid = fork(command, folder, environ, [terminal] * 3, terminal=True)
            os.close(terminal)
        else:
            self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(command[0], command, environ)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_for(self, text: str) -> None:
        self._read_until(lambda: text in self.output, f"no {text!r} in the output")

    def wait_for_matching(self, met: Callable[[str], bool]) -> None:
        self._read_until(lambda: met(self.output), "the expected output did not appear")

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self.fd)[3] & termios.ECHO)

    def end(self) -> int:
        """Read to the end of the output. Returns the exit code, negative for a signal."""
        self._read_until(lambda: False, "the command did not end", until_end=True)
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)

    @property
    def screen(self) -> list[str]:
        """The lines that a terminal shows now, including those that have scrolled away."""
        terminal = Terminal(self.columns, self.rows)
        terminal.feed(self.output)
        return terminal.text

    def _read_until(self, met: Callable[[], bool], message: str, *, until_end: bool = False) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not met():
            ready, _, _ = select.select([self.fd], [], [], 0.2)
            if ready:
                try:
                    data = os.read(self.fd, 65_536)
                except OSError:
                    data = b""
                if not data:
                    assert until_end, f"{message}:\n{self.output[-3000:]}"
                    return
                self.output += data.decode(errors="replace")
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"{message}:\n{self.output[-3000:]}")


@pytest.fixture
def surefoot(tmp_path: Path) -> Surefoot:
    home, workspace = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    workspace.mkdir()
    assert sys.executable
    return Surefoot(home, workspace)

"""Runs one command: with limits, in a sandbox where there is one, and with nothing of it left afterwards.

Between Surefoot and the command stands a small program (see `inside`) that starts it, sets its limits and ends
every process that came from it. Surefoot holds one end of a pipe to that program, the lifeline: letting it go ends the
command, also when Surefoot itself is killed.
"""

import asyncio
import errno
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from surefoot.errors import SandboxUnavailable, ToolError
from surefoot.workspace.bounded import BoundedOutput
from surefoot.workspace.bubblewrap import inside_argv
from surefoot.workspace.environment import command_env, shell_argv
from surefoot.workspace.lock import held
from surefoot.workspace.sandbox import Sandbox

__all__ = ["Limits", "ProcessResult", "command_env", "run_process", "shell_argv"]

LINGER = 0.5
"""Seconds that children of a command that has ended get to finish by themselves."""
MERCY = 0.5
"""Seconds between SIGTERM and SIGKILL."""
PATIENCE = 10.0
"""Seconds for the program inside to clear up before it is killed itself; it needs them only when it is stopped."""
MARK = "SUREFOOT_COMMAND"
"""The environment variable by which processes are found whose supervisor was killed."""


@dataclass(frozen=True, slots=True)
class Limits:
    timeout: float = 120.0
    output_bytes: int = 1_000_000
    """Kept of the output: its beginning and its end around a line that says how much was left out."""
    memory_bytes: int | None = None
    """For each process: its private writable memory (RLIMIT_DATA). Address space is not limited, since many programs
    reserve far more of it than they use."""
    processes: int | None = None
    """For the command and all below it. Counted twenty times a second, and more than that ends the command; in a
    sandbox of an ordinary user the kernel also refuses to make more."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    argv: tuple[str, ...]
    exit_code: int | None
    """None when it was ended by us; 128 + n when signal n ended it."""
    signal: int | None
    timed_out: bool
    output: str
    """stdout and stderr as they came, as UTF-8 with replacement, bounded."""
    output_bytes: int
    truncated: bool
    duration_ms: int
    notes: tuple[str, ...] = ()
    """What happened besides: processes ended that it left behind, guarded files put back, limits passed."""

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


async def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    limits: Limits = Limits(),  # noqa: B008 - frozen
    sandbox: Sandbox | None = None,
    network: bool = False,
    on_output: Callable[[str], None] | None = None,
    stdin: bytes | None = None,
) -> ProcessResult:
    """Runs `argv` to its end and returns what came of it; a failing command is a result, not an error.

    When this returns or raises, also by cancellation, no process of the command is left. Without a sandbox `network`
    has no effect.
    """
    if not argv:
        raise ToolError("there is no command to run", tool="run_command", argument="argv", remedy="name a program")
    if not cwd.is_dir():
        raise ToolError(
            f"the folder to run in is not there: {cwd}", tool="run_command", argument="cwd", remedy="name one that is"
        )
    begun = time.monotonic()
    with sandbox.guard() if sandbox else nullcontext([]) as put_back:
        command = _Command(argv, cwd, env, limits, sandbox, network, on_output, stdin)
        try:
            timed_out = not await command.ended_within(limits.timeout)
        finally:
            await _whatever_happens(command.end())
    command.raise_if_not_started(timed_out)
    return command.result(timed_out, int((time.monotonic() - begun) * 1000), put_back)


async def _whatever_happens(ending: Awaitable[None]) -> None:
    """Sees `ending` through, however often this task is cancelled meanwhile, and is cancelled then."""
    task = asyncio.ensure_future(ending)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled:
        raise cancelled
    task.result()


class _Command:
    """One command while it runs: its process, its three pipes, and what they have said so far."""

    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        limits: Limits,
        sandbox: Sandbox | None,
        network: bool,
        on_output: Callable[[str], None] | None,
        stdin: bytes | None,
    ) -> None:
        self.argv = tuple(argv)
        self.sandbox = sandbox
        self.output = BoundedOutput(limits.output_bytes, on_output)
        self.said: dict[str, str] = {}
        self.trouble: Exception | None = None
        self.mark = secrets.token_hex(16)
        self._unread_status = b""
        self._ended, self._silent, self._gone = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._loop = asyncio.get_running_loop()

        lifeline_read, self._lifeline = os.pipe()
        self._status, status_write = os.pipe()
        self._out, out_write = os.pipe()
        source = _as_file(stdin)
        try:
            orders = [f"lifeline={lifeline_read}", f"status={status_write}", f"linger={LINGER}", f"mercy={MERCY}"]
            locks = held()
            orders += [f"hold={fd}" for fd in locks]
            orders += [f"memory={limits.memory_bytes}"] if limits.memory_bytes else []
            orders += [f"processes={limits.processes}"] if limits.processes else []
            whole = (
                sandbox.wrap(self.argv, cwd=cwd, network=network, orders=orders)
                if sandbox
                else inside_argv(orders, self.argv)
            )
            self._process = subprocess.Popen(
                whole,
                stdin=source,
                stdout=out_write,
                stderr=out_write,
                cwd=cwd,
                env={**env, MARK: self.mark},
                pass_fds=(lifeline_read, status_write, *locks),
                start_new_session=True,
            )
        except BaseException as error:
            for fd in (self._lifeline, self._status, self._out):
                os.close(fd)
            if isinstance(error, OSError) and error.errno == errno.E2BIG:
                raise _too_long(self.argv) from error
            raise
        finally:
            for fd in (lifeline_read, status_write, out_write, source):
                os.close(fd)
        self._loop.add_reader(self._out, self._on_output)
        self._loop.add_reader(self._status, self._on_status)

    def _on_output(self) -> None:
        piece = os.read(self._out, 1 << 18)
        if not piece:
            self._loop.remove_reader(self._out)
            self._silent.set()
            return
        try:
            self.output.feed(piece)
        except Exception as error:  # of the caller's own on_output: told when the command is over
            self.trouble = error
            self.output = BoundedOutput(0)

    def _on_status(self) -> None:
        piece = os.read(self._status, 4096)
        *lines, self._unread_status = (self._unread_status + piece).split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            self.said[word] = rest
            if word in ("ended", "over", "failed"):
                self._ended.set()
        if not piece:
            self._loop.remove_reader(self._status)
            self._ended.set()
            self._gone.set()

    async def ended_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
                return True
        except TimeoutError:
            return False

    async def end(self) -> None:
        """Ends all that is left of the command; after an ordinary end, waits for what still finishes by itself."""
        if "ended" in self.said:
            await _within(LINGER + PATIENCE, self._gone)
        with suppress(OSError):
            os.write(self._lifeline, b"!")
        os.close(self._lifeline)
        if not await _within(PATIENCE, self._gone):
            await self._end_by_force()
        if "clear" not in self.said:
            _kill(_marked(self.mark))
            shutil.rmtree(Path(tempfile.gettempdir(), f"surefoot-{self.mark}"), ignore_errors=True)
        # All writers are dead, so what is still in the pipe is all there is. A writer that got away must not hold us.
        if not await _within(1.0, self._silent):
            self._loop.remove_reader(self._out)
        self._loop.remove_reader(self._status)
        os.close(self._out)
        os.close(self._status)
        self._process.wait()  # it has closed its pipes, so it is exiting
        if self.trouble is None:
            self.output.close()

    async def _end_by_force(self) -> None:
        """The program inside does not answer: somebody stopped it. Kills from outside, and waits for the last one."""
        below = _children(self._process.pid)
        _kill([self._process.pid])
        # In a sandbox the first child is the root of its process namespace, whose end is the end of everything in it.
        _kill([*below, *_marked(self.mark)])
        await _within(PATIENCE, self._gone)

    def raise_if_not_started(self, timed_out: bool) -> None:
        if self.trouble is not None:
            raise self.trouble
        if timed_out or ("started" in self.said and "failed" not in self.said):
            return
        name = self.argv[0]
        stage, _, code = self.said.get("failed", "").partition(" ")
        if stage == "exec":
            number = int(code)
            if number == errno.E2BIG:
                raise _too_long(self.argv)
            missing = number in (errno.ENOENT, errno.ENOTDIR)
            raise ToolError(
                f"cannot start {name}: {os.strerror(number).lower()}",
                tool="run_command",
                argument=name,
                remedy=f"install {name}, or use a program that is here (a script's first line must name one too)"
                if missing
                else "check that it is a program and may be executed (chmod +x)",
            )
        why = self.output.text().strip()[-500:] or f"status {self._process.returncode}, {self.said.get('failed', '')}"
        if self.sandbox is None:
            raise ToolError(
                f"{name} could not be started: {why}",
                tool="run_command",
                argument=name,
                remedy=f"check that {sys.executable} runs",
            )
        raise SandboxUnavailable(
            f"the {self.sandbox.name} sandbox did not start: {why}",
            remedy="nothing was run; see `surefoot doctor`, or say --sandbox off to run commands with all your rights",
        )

    def result(self, timed_out: bool, duration_ms: int, put_back: Iterable[str]) -> ProcessResult:
        said = self.said
        stopped = timed_out or not {"exit", "signal"} & said.keys()
        number = int(said["signal"]) if "signal" in said and not stopped else signal.SIGKILL if stopped else None
        code = None if stopped else 128 + number if number else int(said["exit"])
        notes = list(put_back)
        if "over" in said:
            notes.append(f"ended: it had {said['over']} processes, more than it may")
        elif stopped and not timed_out:
            notes.append("ended from outside")
        if "left" in said:
            notes.append(f"ended what it left running in the background ({said['left']} processes)")
        if "stuck" in said:
            notes.append(f"could not end {said['stuck']} processes")
        if "kept" in said:
            notes.append(f"could not remove its temporary folder {said['kept']}")
        return ProcessResult(
            argv=self.argv,
            exit_code=code,
            signal=int(number) if number else None,
            timed_out=timed_out,
            output=self.output.text(),
            output_bytes=self.output.total,
            truncated=self.output.truncated,
            duration_ms=duration_ms,
            notes=tuple(notes),
        )


def _too_long(argv: Sequence[str]) -> ToolError:
    return ToolError(
        f"the command line of {argv[0][:80]} is too long for the system",
        tool="run_command",
        argument="command",
        remedy="put the text into a file and give the program its name",
    )


def _as_file(content: bytes | None) -> int:
    if not content:
        return os.open(os.devnull, os.O_RDONLY)
    fd = os.memfd_create("stdin")
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


async def _within(seconds: float, event: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _marked(mark: str) -> list[int]:
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                if wanted in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
    return found


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)

"""A running command: its supervisor process, its pipes, and the end of both.

Surefoot starts the supervisor (see `supervisor`), which starts the command, applies its limits and ends every process
that descends from it. Surefoot holds one end of a pipe to the supervisor, the lifeline. The command ends when it is
closed, by Surefoot or by the kernel after Surefoot was killed.
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
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from surefoot.errors import SandboxUnavailable, ToolError
from surefoot.workspace.errors import translate_os_errors
from surefoot.workspace.lock import held_lock_fds
from surefoot.workspace.process.bounded import BoundedOutput
from surefoot.workspace.process.launch import supervisor_argv
from surefoot.workspace.process.result import Limits, ProcessResult
from surefoot.workspace.sandbox.sandbox import Sandbox

LINGER = 0.5
"""Seconds that the children of an ended command get to finish by themselves."""
TERMINATE_GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL."""
SUPERVISOR_TIMEOUT = 10.0
"""Seconds for the supervisor to clean up before it is killed; it takes that long only if something stopped it."""
MAX_KILL_PASSES, KILL_PASS_SECONDS = 100, 0.005
"""How often the processes of a command whose supervisor was killed are searched and killed, and the pause between."""
MARK = "SUREFOOT_COMMAND"
"""The environment variable that identifies the processes of a command whose supervisor was killed."""


class Command:
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
        self.events: dict[str, str] = {}
        """The events that the supervisor reported, by the first word of each line."""
        self.callback_error: Exception | None = None
        self.mark = secrets.token_hex(16)
        self._partial_line = b""
        self._ended, self._output_closed, self._supervisor_exited = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._loop = asyncio.get_running_loop()

        source = _as_file(stdin)
        lifeline_read, self._lifeline = os.pipe()
        self._status, status_write = os.pipe()
        self._out, out_write = os.pipe()
        try:
            locks = held_lock_fds()
            options = [f"lifeline={lifeline_read}", f"status={status_write}"]
            options += [f"linger={LINGER}", f"grace={TERMINATE_GRACE}", *(f"hold={fd}" for fd in locks)]
            options += [f"memory={limits.memory_bytes}"] if limits.memory_bytes else []
            options += [f"processes={limits.processes}"] if limits.processes else []
            self._process = subprocess.Popen(
                sandbox.wrap(self.argv, cwd=cwd, network=network, supervisor_options=options)
                if sandbox
                else supervisor_argv(options, self.argv),
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
            self._output_closed.set()
            return
        try:
            self.output.feed(piece)
        except Exception as error:  # from the caller's on_output: raised when the command is over
            self.callback_error = error
            self.output = BoundedOutput(0)

    def _on_status(self) -> None:
        piece = os.read(self._status, 4096)
        *lines, self._partial_line = (self._partial_line + piece).split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            self.events[word] = rest
            if word in ("ended", "over", "failed"):
                self._ended.set()
        if not piece:
            self._loop.remove_reader(self._status)
            self._ended.set()
            self._supervisor_exited.set()

    async def ended_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
                return True
        except TimeoutError:
            return False

    async def end(self) -> None:
        """End all remaining processes; after a normal end, first wait for children to finish by themselves."""
        if "ended" in self.events:
            await _wait(self._supervisor_exited, LINGER + SUPERVISOR_TIMEOUT)
        with suppress(OSError):
            os.write(self._lifeline, b"!")
        os.close(self._lifeline)
        if not await _wait(self._supervisor_exited, SUPERVISOR_TIMEOUT):
            await self._kill_from_outside()
        if "clear" not in self.events:
            await _kill_marked(self.mark)
            shutil.rmtree(Path(tempfile.gettempdir(), f"surefoot-{self.mark}"), ignore_errors=True)
        # All writers are dead, so the pipe holds the rest of the output. Do not wait for a writer that escaped.
        if not await _wait(self._output_closed, 1.0):
            self._loop.remove_reader(self._out)
        self._loop.remove_reader(self._status)
        os.close(self._out)
        os.close(self._status)
        self._process.wait()  # it has closed its pipes, so it is exiting
        if self.callback_error is None:
            self.output.close()

    async def _kill_from_outside(self) -> None:
        """Kill a supervisor that does not respond, because something stopped it, and all processes below it."""
        children = _children(self._process.pid)
        _kill([self._process.pid])
        # In a sandbox the first child is process 1 of the namespace, and its death kills everything in it.
        _kill(children)
        await _kill_marked(self.mark)
        await _wait(self._supervisor_exited, SUPERVISOR_TIMEOUT)

    def raise_for_failed_start(self, timed_out: bool) -> None:
        if self.callback_error is not None:
            raise self.callback_error
        if timed_out or ("started" in self.events and "failed" not in self.events):
            return
        name = self.argv[0]
        failure = self.events.get("failed", "")
        stage, _, code = failure.partition(" ")
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
        reason = self.output.text().strip()[-500:] or f"status {self._process.returncode}, {failure}"
        if self.sandbox is None:
            raise ToolError(
                f"{name} could not be started: {reason}",
                tool="run_command",
                argument=name,
                remedy=f"check that {sys.executable} runs",
            )
        raise SandboxUnavailable(
            f"the {self.sandbox.name} sandbox did not start: {reason}",
            remedy="nothing was run; see `surefoot doctor`; --sandbox off runs commands with your full permissions",
        )

    def result(self, timed_out: bool, duration_ms: int, guard_notes: Iterable[str]) -> ProcessResult:
        events = self.events
        stopped = timed_out or not {"exit", "signal"} & events.keys()
        number = int(events["signal"]) if "signal" in events and not stopped else signal.SIGKILL if stopped else None
        code = None if stopped else 128 + number if number else int(events["exit"])
        notes = list(guard_notes)
        if "over" in events:
            notes.append(f"ended: it had {events['over']} processes, more than it may")
        elif stopped and not timed_out:
            notes.append("ended from outside")
        if "left" in events:
            notes.append(f"ended its background processes ({events['left']})")
        if "stuck" in events:
            notes.append(f"could not end {events['stuck']} processes")
        if "kept" in events:
            notes.append(f"could not remove its temporary folder {events['kept']}")
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
            warnings=tuple(guard_notes),
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
    try:
        with translate_os_errors("write the input of a command"), os.fdopen(os.dup(fd), "wb") as file:
            file.write(content)
    except BaseException:
        os.close(fd)
        raise
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


async def _wait(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _marked_processes(mark: str) -> list[int]:
    variable = f"{MARK}={mark}".encode()
    pids = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                if variable in (folder / "environ").read_bytes():
                    pids.append(int(folder.name))
    return pids


async def _kill_marked(mark: str) -> None:
    """Kill the command's processes until a pass finds none: one may fork while the others are being found."""
    for _ in range(MAX_KILL_PASSES):
        pids = _marked_processes(mark)
        if not pids:
            return
        _kill(pids)
        await asyncio.sleep(KILL_PASS_SECONDS)


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)

"""Runs one command with limits, in a sandbox if there is one, and leaves none of its processes behind."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from surefoot.errors import ToolError
from surefoot.workspace.process.command import Command
from surefoot.workspace.process.result import Limits, ProcessResult
from surefoot.workspace.sandbox.environment import command_env, shell_argv
from surefoot.workspace.sandbox.sandbox import Sandbox

__all__ = ["Limits", "ProcessResult", "command_env", "run_process", "shell_argv"]


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
    """Run `argv` to its end and return the result; a failing command is a result, not an error.

    When this returns or raises, even after a cancellation, no process of the command is left. Without a sandbox,
    `network` has no effect.
    """
    if not argv:
        raise ToolError("there is no command to run", tool="run_command", argument="argv", remedy="name a program")
    if not cwd.is_dir():
        raise ToolError(
            f"the folder to run in is not there: {cwd}", tool="run_command", argument="cwd", remedy="name one that is"
        )
    started = time.monotonic()
    with sandbox.guard() if sandbox else nullcontext([]) as guard_notes:
        command = Command(argv, cwd, env, limits, sandbox, network, on_output, stdin)
        try:
            timed_out = not await command.ended_within(limits.timeout)
        finally:
            await _finish_despite_cancellation(command.end())
    command.raise_for_failed_start(timed_out)
    return command.result(timed_out, int((time.monotonic() - started) * 1000), guard_notes)


async def _finish_despite_cancellation(work: Awaitable[None]) -> None:
    """Wait until `work` is done, even if this task is cancelled meanwhile; then raise the cancellation."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled:
        raise cancelled
    task.result()

"""The tool that runs a shell command."""

from collections.abc import Sequence

from surefoot.errors import ToolError
from surefoot.tools.context import ToolContext
from surefoot.tools.fs.fileio import refuse_placeholders
from surefoot.tools.tool import ToolResult, Writes, tool

OUTPUT_BYTES = 2_000_000
"""How much of the output is kept. A command that prints more is not ended."""


@tool(writes=Writes.FREE)
async def run_command(
    context: ToolContext,
    command: str,
    timeout: float | None = None,  # noqa: ASYNC109 (models know it by this name)
) -> ToolResult:
    """Run a shell command in the workspace."""
    from surefoot.workspace.process.process import shell_argv

    if not command.strip():
        raise ToolError("the command is empty", argument="command", remedy="say which command to run")
    if "\0" in command:
        raise ToolError("the command has a NUL character in it", argument="command", remedy="write a plain command")
    refuse_placeholders(context.has_hidden, "command", command)
    return await run_in_sandbox(context, shell_argv(command), timeout=timeout, command=command)


async def run_in_sandbox(
    context: ToolContext,
    argv: Sequence[str],
    *,
    timeout: float | None,  # noqa: ASYNC109 (passed on to the process, not awaited)
    command: str,
    stdin: bytes | None = None,
) -> ToolResult:
    """Run a program in the run's sandbox and return its exit status and output."""
    from surefoot.workspace.process.process import Limits, command_env, run_process

    # A model may shorten the configured timeout, never extend it.
    seconds = min(timeout, context.command_timeout) if timeout and timeout > 0 else context.command_timeout
    result = await run_process(
        list(argv),
        cwd=context.root,
        env=command_env(),
        limits=Limits(
            timeout=seconds,
            output_bytes=OUTPUT_BYTES,
            memory_bytes=context.command_memory_bytes,
            processes=context.command_processes,
        ),
        sandbox=context.sandbox,
        network=context.network,
        on_output=context.on_output,
        stdin=stdin,
    )
    for warning in result.warnings:
        context.warn(warning)
    failed = not result.ok
    if result.timed_out:
        head = f"stopped: it did not end within {seconds:g} seconds"
    elif result.signal:
        head = f"killed by signal {result.signal}"
    else:
        head = f"exit code {result.exit_code}"
    head += "".join(f"\n({note})" for note in result.notes)
    summary = context.summary(result.output, failed=failed)
    return ToolResult(
        ok=result.ok,
        summary=f"{head}\n{summary}" if summary else f"{head}, no output",
        output=result.output,
        data={"exit_code": result.exit_code, "timed_out": result.timed_out},
        command=command,
    )

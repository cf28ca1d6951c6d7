"""Tries the commands of a project: in the sandbox, on a copy of the folder, each with a time limit."""

import asyncio
import re
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from surefoot.cli.report.formatting import last_lines
from surefoot.cli.report.text import line
from surefoot.config import paths
from surefoot.config.model import ExecutionConfig
from surefoot.core.task import Task
from surefoot.engine.verifier.scratch import MAX_BYTES, Place, Scratch
from surefoot.engine.verifier.suite.project_commands import ProjectCommand
from surefoot.engine.verifier.suite.running import SuiteRunner, run_on_copy
from surefoot.errors import SnapshotOverQuota
from surefoot.journal.state import RunState
from surefoot.workspace.process.process import ProcessResult
from surefoot.workspace.sandbox.bubblewrap import Bubblewrap
from surefoot.workspace.sandbox.sandbox import choose_sandbox
from surefoot.workspace.workspace import Workspace

SHARED = ("node_modules/", ".venv/", "venv/", ".tox/", ".nox/")
"""Folders that are large and filled by tools. They are not copied: commands use those of the project."""
HISTORY = ".git"
"""Copied like the sources. If it is too large for that, commands do not see it, because they could change it."""
BUILT = {"Cargo.toml": "target/", "pom.xml": "target/", "composer.json": "vendor/", "Gemfile": "vendor/"}
"""Like `SHARED`, for projects that have the file."""
WHY_CHARS = 110
NOT_FOUND = 127
_COUNT = re.compile(r"^\s*Found \d+ \w+")
"""The line in which a linter counts its findings. Advice may follow it."""
_SHELL = re.compile(r"^\S*sh: (line \d+: )?")


@dataclass(frozen=True, slots=True)
class TriedCommand:
    command: ProjectCommand
    result: Literal["works", "fails", "skipped"]
    reason: str = ""
    seconds: float = 0.0
    exit_code: int | None = None

    def as_object(self) -> dict[str, Any]:
        return {
            "kind": self.command.kind,
            "command": self.command.command,
            "found_in": self.command.because,
            "result": self.result,
            "seconds": round(self.seconds, 2),
            "exit_code": self.exit_code,
            "why": self.reason,
        }


async def try_commands(
    root: Path,
    commands: Sequence[ProjectCommand],
    config: ExecutionConfig,
    seconds: float,
    on_start: Callable[[ProjectCommand], None] = lambda _: None,
) -> AsyncGenerator[TriedCommand, None]:
    """Try the commands one after another. The folder itself is not changed, except for the shared folders of tools."""
    async with AsyncExitStack() as stack:
        place = await _place(stack, root, config) if commands else ""
        working: dict[object, str] = {}
        for command in commands:
            other = working.get((command.kind, command.tool)) or (working.get(command.kind) if command.wraps else None)
            if other:
                yield TriedCommand(command, "skipped", f"not tried, because {other} works")
                continue
            if isinstance(place, str):
                yield TriedCommand(command, "skipped", f"not tried: {place}")
                continue
            on_start(command)
            tried = _judge(command, await run_on_copy(place, command.command, config, seconds), seconds)
            if tried.result == "works":
                working[command.kind, command.tool] = working[command.kind] = command.command
            yield tried


async def _place(stack: AsyncExitStack, root: Path, config: ExecutionConfig) -> Place | str:
    """A copy of the folder with its sandbox, or the reason why there is none."""
    home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="surefoot-init-")))
    sandbox, description = choose_sandbox(config.sandbox, root, state_folders=[paths.state_home(), home])
    if sandbox is None and config.sandbox != "off":
        return f"{description}; --sandbox off tries them with your rights"
    shared = (*SHARED, *dict.fromkeys(folder for name, folder in BUILT.items() if (root / name).is_file()))
    for excludes in (shared, (*shared, f"{HISTORY}/")):
        workspace = Workspace(root, home, excludes=(*config.snapshot_excludes, *excludes), quota_bytes=MAX_BYTES)
        try:
            snapshot = await asyncio.to_thread(workspace.snapshot)
        except SnapshotOverQuota:
            continue
        task = Task(text="init", workspace=str(root))
        state = RunState(run_id="init", task=task, config=config, snapshot=snapshot)
        runner = SuiteRunner(Scratch(workspace, root, state, home), sandbox, state)
        return _without_history((await stack.enter_async_context(runner.copy(snapshot))).place)
    return f"the folder is larger than {MAX_BYTES // 1_000_000} MB, too large to be copied; see snapshot_excludes"


def _without_history(place: Place) -> Place:
    """The same place without the project's own history, which it shares if the history was not copied."""
    if isinstance(place.sandbox, Bubblewrap):
        kept = tuple(path for path in place.sandbox.kept if path.rpartition("/")[2] != HISTORY)
        return Place(place.root, replace(place.sandbox, kept=kept))
    for link in (path for path in place.root.rglob(HISTORY) if path.is_symlink()):
        link.unlink()
    return place


def _judge(command: ProjectCommand, result: ProcessResult, limit: float) -> TriedCommand:
    took = result.duration_ms / 1000
    if result.ok:
        return TriedCommand(command, "works", "", took, 0)
    if result.timed_out:
        return TriedCommand(command, "fails", f"did not end within {limit:g} seconds", took, None)
    reason = _SHELL.sub("", _reason(result.output))
    start = "not installed, " if result.exit_code == NOT_FOUND else ""
    problem = line(f"{start}exit code {result.exit_code}: {reason.strip()}", WHY_CHARS)
    return TriedCommand(command, "fails", problem, took, result.exit_code)


def _reason(output: str) -> str:
    """The line that says why a command failed: a linter's count near the end, or else the last line."""
    rows = last_lines(output, 3)
    return next((row for row in reversed(rows) if _COUNT.search(row)), rows[-1] if rows else "no output")

"""Starts processes that drive runs. They are the same as those started in a terminal, and outlive the server."""

import asyncio
import json
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError, UsageError
from surefoot.workspace.process.programs import never_run_from, python_argv, python_env

START_SECONDS = 60.0
_FLAGS = {
    "approve": "--approve", "phases": "--phases", "sandbox": "--sandbox", "max_time": "--max-time",
    "max_tokens": "--max-tokens", "max_cost": "--max-cost", "question_timeout": "--question-timeout",
    "continue": "--continue",
}  # fmt: skip
"""Options of `surefoot run` that the page may set."""


def run_arguments(
    task: str, checks: Sequence[str], model: str, options: dict[str, object], plan_only: bool
) -> list[str]:
    """The command line of a new run. Raises UsageError for an option that is not offered."""
    words = ["plan" if plan_only else "run"]
    for name, value in options.items():
        if name == "worktree" and not plan_only:
            words += ["--worktree"] if value else []
        elif (
            name in _FLAGS
            and isinstance(value, str | int | float)
            and (name not in ("approve", "phases") or not plan_only)
        ):
            words.append(f"{_FLAGS[name]}={value}")
        else:
            raise UsageError(f"there is no option {name!r}", remedy=f"options: worktree, {', '.join(_FLAGS)}")
    words += [f"--check={check}" for check in checks]
    words += [f"--model={model}"] if model else []
    # The task comes last, after `--`, so that its words are never taken for options.
    return [*words, "--json", "--", task]


def start(home: Path, folder: Path, words: Sequence[str]) -> "Driver":
    """Start `surefoot WORDS` in a folder, detached from this process."""
    never_run_from(folder)
    logs = home / "server" / "logs"
    logs.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = uuid.uuid4().hex[:12]
    out, err = logs / f"{name}.out", logs / f"{name}.err"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            python_argv("surefoot", *words),
            cwd=folder,
            env={**python_env(), "SUREFOOT_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
    return Driver(process, out, err)


def _reported_error(line: dict[str, Any]) -> UsageError:
    """The error that a process has printed as JSON."""
    return UsageError(str(line["error"]["message"]), remedy=str(line["error"]["remedy"]))


class Driver:
    def __init__(self, process: "subprocess.Popen[bytes]", out: Path, err: Path) -> None:
        self.process, self._out, self._err = process, out, err

    async def run_id(self) -> str:
        """Wait for the id of the run that the process starts. Raises the error of a process that starts none."""
        deadline = asyncio.get_running_loop().time() + START_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            first = _first_object(self._out)
            if first.get("type") == "run_created":
                return str(first["run_id"])
            if first.get("type") == "error":
                raise _reported_error(first)
            if self.process.poll() is not None and not _first_object(self._out):
                raise self._failed()
            await asyncio.sleep(0.05)
        raise SurefootError("the run did not start in time", remedy="see `surefoot doctor`")

    async def has_begun(self, seconds: float = 5.0) -> None:
        """Wait until the process has begun, for at most `seconds`. Raises its error if it fails at the start."""
        deadline = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < deadline:
            first = _first_object(self._out)
            if first.get("type") == "error":
                raise _reported_error(first)
            if first:
                return
            if (code := self.process.poll()) is not None:
                if code not in (0, 3, 4):
                    raise self._failed()
                return
            await asyncio.sleep(0.05)

    def reap(self) -> bool:
        """Whether the process has ended. If so, its log is removed."""
        if self.process.poll() is None:
            return False
        for path in (self._out, self._err):
            path.unlink(missing_ok=True)
        return True

    def _failed(self) -> UsageError:
        lines = self._err.read_text("utf-8", "replace").strip().splitlines() or ["it ended at once"]
        errors = [line for line in lines if line.startswith("surefoot: ")] or lines[-1:]
        after = lines[lines.index(errors[0]) + 1 :]
        return UsageError(errors[0].removeprefix("surefoot: "), remedy=" ".join(line.strip() for line in after))


def _first_object(path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        line = file.readline(4_000_000)
    if not line.endswith(b"\n"):
        return {}
    first: dict[str, object] = json.loads(line)
    return first

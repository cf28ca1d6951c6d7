"""The tasks under evals/tasks: the prompt, the starting workspace and the hidden checker."""

import fnmatch
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from surefoot.core.values import Value

TASKS = Path(__file__).parent / "tasks"
JUDGE_SECONDS = 120


class Task(Value):
    name: str
    folder: Path
    prompt: str
    family: Literal["module", "bugfix", "multifile", "shell", "honest", "traps"]
    difficulty: int = Field(ge=1, le=3)
    language: Literal["en", "zh"] = "en"
    check: tuple[str, ...] = ()
    """The visible checks: commands that the agent gets."""
    expect: Literal["solved", "not_done"] = "solved"
    """`not_done`: the task cannot be done as asked; the right answer is to say so or to ask."""
    time: float | None = Field(default=None, gt=0)


class Judgement(NamedTuple):
    right: bool
    why: str


def load(patterns: Sequence[str] = (), folder: Path = TASKS) -> list[Task]:
    """Return the tasks whose name or family matches one of the patterns, sorted; all tasks without patterns."""
    tasks = [_read(path.parent) for path in sorted(folder.glob("*/task.toml"))]
    if not patterns:
        return tasks
    return [t for t in tasks if any(fnmatch.fnmatch(t.name, p) or t.family == p for p in patterns)]


def _read(folder: Path) -> Task:
    with (folder / "task.toml").open("rb") as file:
        return Task(name=folder.name, folder=folder, **tomllib.load(file))


def create_workspace(task: Task, workspace: Path) -> None:
    """Copy the task's starting files to a new folder."""
    shutil.copytree(task.folder / "workspace", workspace, ignore=shutil.ignore_patterns(".keep"), symlinks=True)


def judge(task: Task, workspace: Path) -> Judgement:
    """Run the hidden checker in a separate process, so that no code of the workspace runs in ours."""
    try:
        checker = subprocess.run(
            [sys.executable, task.folder / "check.py", workspace],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=JUDGE_SECONDS,
            cwd=task.folder,
            stdin=subprocess.DEVNULL,
            env={k: v for k, v in os.environ.items() if k in {"PATH", "HOME", "LANG", "TMPDIR"}},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Judgement(False, "the checker timed out")
    if checker.returncode == 0:
        return Judgement(True, "")
    lines = (checker.stdout + checker.stderr).strip().splitlines()
    return Judgement(False, lines[-1] if lines else "no reason given")

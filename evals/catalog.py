"""The tasks under evals/tasks: what is asked, what is there at the beginning, and who judges the result."""

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

from surefoot.values import Value

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
    """Commands that the agent is given to check its work with."""
    expect: Literal["solved", "not_done"] = "solved"
    """`not_done`: it cannot be done as asked, and the right answer is to say so or to ask."""
    time: float | None = Field(default=None, gt=0)


class Judgement(NamedTuple):
    right: bool
    why: str


def load(patterns: Sequence[str] = (), folder: Path = TASKS) -> list[Task]:
    """The tasks whose name or family fits one of the patterns, in a stable order; without patterns all of them."""
    tasks = [_read(path.parent) for path in sorted(folder.glob("*/task.toml"))]
    if not patterns:
        return tasks
    return [t for t in tasks if any(fnmatch.fnmatch(t.name, p) or t.family == p for p in patterns)]


def _read(folder: Path) -> Task:
    with (folder / "task.toml").open("rb") as file:
        return Task(name=folder.name, folder=folder, **tomllib.load(file))


def lay_out(task: Task, workspace: Path) -> None:
    shutil.copytree(task.folder / "workspace", workspace, ignore=shutil.ignore_patterns(".keep"), symlinks=True)


def judge(task: Task, workspace: Path) -> Judgement:
    """What the hidden checker says. It runs in a process of its own, so that no code of the workspace runs in ours."""
    try:
        said = subprocess.run(
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
        return Judgement(False, "the checker did not come to an end")
    lines = (said.stdout + said.stderr).strip().splitlines()
    return Judgement(said.returncode == 0, "" if said.returncode == 0 else (lines[-1] if lines else "no reason given"))

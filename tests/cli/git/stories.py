"""A git repository, and runs in it whose model is scripted: one command, or one after the other."""

import os
import subprocess
from pathlib import Path
from typing import Any

from cli.conftest import Result, Surefoot
from support.stories import UNDERSTANDING

SHELL: dict[str, Any] = {**UNDERSTANDING, "files": [], "task_type": "shell", "understanding": "Make the notes ready"}
TASK = "Make the notes ready."
DONE = {"thought": "", "decision": "done", "reason": "", "tool": "", "arguments": {}}
CHECK = "grep -q ready notes.txt"
COMMAND = "printf 'ready\\n' > notes.txt"


def git(folder: Path, *arguments: str, check: bool = True, stdin: str | None = None) -> str:
    """What git prints in a folder, with no settings but those of the repository."""
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "LC_ALL": "C"}
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder.parent / "home"), **quiet}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environ, capture_output=True, text=True, errors="surrogateescape",
        input=stdin, check=False,
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def make_repository(folder: Path, **files: str) -> None:
    """A repository with one commit: these files, and notes that are not ready."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.com")
    for name, text in {"notes.txt": "not yet\n", "kept.txt": "one\n", **files}.items():
        (folder / name).write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Begin")


def act(command: str) -> dict[str, Any]:
    arguments = {"command": command}
    return {"thought": "do it", "decision": "act", "reason": "", "tool": "run_command", "arguments": arguments}


def story(surefoot: Surefoot, command: str = COMMAND, check: str = CHECK, task: str = TASK) -> list[str]:
    """Arguments for a run that carries out one command, after which its check passes."""
    model = surefoot.script(SHELL, act(command), DONE)
    return ["run", task, "-m", model, "--check", check, "--approve", "auto", "--baseline", "off"]


def run(surefoot: Surefoot, *options: str, command: str = COMMAND, check: str = CHECK, task: str = TASK) -> Result:
    return surefoot(*story(surefoot, command, check, task), *options)


def message(folder: Path, commit: str = "HEAD") -> str:
    return git(folder, "log", "-1", "--format=%B", commit)


def state_of_user(folder: Path) -> tuple[str, str]:
    """What the user has staged, and every entry of the index."""
    return git(folder, "diff", "--cached", "--binary"), git(folder, "ls-files", "--stage", "-v", "-z")

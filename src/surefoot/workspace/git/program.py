"""Runs the user's git in a repository.

Reading a repository runs no program that its settings name: no hooks, no file monitor, no filters of its own.
Only commands that the user asked for, such as a commit, a new branch and a push, run them.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from surefoot.errors import GitError
from surefoot.journal.redact import neutralise
from surefoot.workspace.process.programs import find_program

_DROPPED = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_EXTERNAL_DIFF", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS", "GIT_CEILING_DIRECTORIES",
)  # fmt: skip
"""Variables that make git work in another place than the folder. They are set if Surefoot is started from a hook."""
_QUIET = {"core.hooksPath": os.devnull, "core.fsmonitor": "false", "core.pager": "cat", "submodule.recurse": "false"}
_NO_UPKEEP = {"gc.auto": "0", "maintenance.auto": "false", "core.fsmonitor": "false"}
MAX_MESSAGE = 2_000
STATUS_SECONDS = 20.0
"""Timeout of commands that only read. A repository that needs longer is not examined."""


@dataclass(frozen=True)
class Git:
    """Runs git in one folder of a repository."""

    program: Path
    folder: Path

    @staticmethod
    def find(folder: Path) -> "Git | None":
        """Return the user's git for this folder; None if there is none outside the workspace."""
        program = find_program("git", folder)
        return Git(program, folder) if program else None

    def at(self, folder: Path) -> "Git":
        return Git(self.program, folder)

    def ask(
        self,
        *arguments: str,
        send: bytes = b"",
        variables: Mapping[str, str] | None = None,
        timeout: float | None = STATUS_SECONDS,
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run git without any program that the repository's settings name. Does not check the exit code."""
        settings = {**_QUIET, **_NO_UPKEEP, **self._no_filters}
        return self._run(["--no-optional-locks", *arguments], settings, send, variables, timeout)

    def read(
        self,
        *arguments: str,
        send: bytes = b"",
        variables: Mapping[str, str] | None = None,
        timeout: float | None = STATUS_SECONDS,
    ) -> bytes:
        """Like `ask`; raises GitError if git fails."""
        process = self.ask(*arguments, send=send, variables=variables, timeout=timeout)
        if process.returncode != 0:
            raise failure(arguments[0], process)
        return process.stdout

    def look_up(self, *arguments: str) -> bytes:
        """Run a command that depends on settings of the user and the repository, and runs no other program.

        Raises GitError if git fails.
        """
        process = self._run(arguments, {}, b"", None, STATUS_SECONDS)
        if process.returncode != 0:
            raise failure(arguments[0], process)
        return process.stdout

    def act(
        self, *arguments: str, send: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run git as the user would: with hooks, filters and signing, but without an editor or automatic maintenance.

        Does not check the exit code.
        """
        return self._run(arguments, _NO_UPKEEP, send, {"GIT_EDITOR": "true", **(variables or {})}, None)

    def _run(
        self,
        arguments: Sequence[str],
        settings: Mapping[str, str],
        send: bytes,
        variables: Mapping[str, str] | None,
        timeout: float | None,
    ) -> "subprocess.CompletedProcess[bytes]":
        environ = {name: value for name, value in os.environ.items() if name not in _DROPPED}
        environ |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(variables or {})}
        options = [word for name, value in settings.items() if "=" not in name for word in ("-c", f"{name}={value}")]
        environ |= _as_variables({name: value for name, value in settings.items() if "=" in name}, environ)
        argv = [str(self.program), *options, *arguments]
        try:
            return subprocess.run(
                argv, cwd=self.folder, env=environ, input=send, capture_output=True, check=False, timeout=timeout
            )
        except subprocess.TimeoutExpired as error:
            raise GitError(
                f"git took longer than {timeout:g} seconds", remedy="see what `git status` does there"
            ) from error
        except OSError as error:
            raise GitError(f"git could not be started: {error.strerror}", remedy="see whether `git` works") from error

    @cached_property
    def _no_filters(self) -> dict[str, str]:
        """Settings that switch off the filters of the repository itself. Reading settings runs no program."""
        listing = ["config", "--local", "--includes", "-z", "--name-only", "--get-regexp", r"^filter\."]
        names = self._run(listing, {}, b"", None, STATUS_SECONDS).stdout.split(b"\0")
        filters = {os.fsdecode(name).rpartition(".")[0] for name in names if name}
        off = {"clean": "", "smudge": "", "process": "", "required": "false"}
        return {f"{name}.{key}": value for name in filters for key, value in off.items()}


def _as_variables(settings: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return settings as environment variables, for names that `-c` cannot express. Those of the user stay."""
    if not settings:
        return {}
    start = int(environ.get("GIT_CONFIG_COUNT") or 0) if environ.get("GIT_CONFIG_COUNT", "0").isdecimal() else 0
    variables = {"GIT_CONFIG_COUNT": str(start + len(settings))}
    for number, (name, value) in enumerate(settings.items(), start):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def failure(command: str, process: "subprocess.CompletedProcess[bytes]", remedy: str = "") -> GitError:
    """Return the error for a git command that failed, with its output."""
    return GitError(f"git {command} failed: {said_by(process)}", remedy=remedy or "see what `git status` says there")


def said_by(process: "subprocess.CompletedProcess[bytes]") -> str:
    """Return the end of the output of git and its hooks, safe to print."""
    text = b"\n".join(part.strip() for part in (process.stdout, process.stderr) if part.strip()).decode(
        errors="replace"
    )
    return neutralise(text[-MAX_MESSAGE:]).strip() or f"exit code {process.returncode}"

"""Finds a command of a check that the shell could not start, before the check is run.

Only certain cases are reported: the first command of the line, if it is a bare name that is neither built into the
shell nor on the PATH of commands, or a file that may not be executed. A file that does not exist yet may be created by
the task, and a later command may be installed by an earlier one.
"""

import difflib
import os
import re
import shlex
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from surefoot.core.policy.commands import head_of
from surefoot.core.policy.shell_words import ANY, ONE, NotParsed, split
from surefoot.workspace.sandbox.environment import command_env

_KEYWORDS = frozenset((
    "if", "then", "elif", "else", "fi", "for", "in", "until", "while", "do", "done", "case", "esac", "coproc", "select",
    "function", "}", "[[", "]]",
))  # fmt: skip
_BUILT_IN = frozenset((
    ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "compgen", "complete",
    "compopt", "continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export", "false",
    "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd",
    "printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend",
    "test", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
))  # fmt: skip
_WITHOUT_EFFECT = frozenset({":", "true", "cd", "pushd", "set", "export", "umask", "ulimit", "echo", "printf", "pwd"})
"""Built-in commands that install nothing, so that the next command of the line is looked at."""
_WRAPPERS = frozenset({"env", "exec", "nice", "nohup", "time", "timeout"})
_UNCERTAIN = re.compile(r"\|\||\$\(|`|\(\(|\(\s*\)|\bPATH=|\balias\b")
"""Alternatives, command substitution, functions, aliases and another PATH: a missing command may be intended."""
_OWN_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin", "bin", "scripts", ".")
_SHELL_ERROR = re.compile(
    r"^(?:/\S+/)?(?:ba|da|z|k)?sh: (?:line )?\d+: (?P<name>[^\s:/]+): (?:command )?not found$", re.MULTILINE
)


NOT_FOUND = "is not a command on this machine"


@dataclass(frozen=True, slots=True)
class MissingCommand:
    name: str
    problem: str
    """Why it cannot be started, as the end of a sentence."""
    instead: str = ""
    """The command that was probably meant; empty if there is none."""


def find_missing(line: str, root: Path) -> MissingCommand | None:
    """Return the command of a check that certainly cannot be started in `root`, or None."""
    if _UNCERTAIN.search(line):
        return None
    try:
        commands = split(line).commands
    except (NotParsed, RecursionError):
        return None
    folder = root
    for words in commands:
        name = _program(words)
        if not name or words[0] in _KEYWORDS or name in ("!", "{") or ANY in name or ONE in name:
            return None
        if name in _WITHOUT_EFFECT:
            folder = folder / words[-1] if name in ("cd", "pushd") else folder
            continue
        return None if name in _BUILT_IN else _look_up(name, folder, root)
    return None


def named_by_shell(output: str, root: Path) -> MissingCommand | None:
    """Return the command that the shell of a check reported as not found, or None. Errors in scripts do not count."""
    error = _SHELL_ERROR.search(output)
    return _missing(error["name"], root) if error else None


def _program(words: Sequence[str]) -> str:
    """Return the program that a command starts, after assignments and plain wrappers; empty if that is unclear."""
    if not words:
        return ""
    position = head_of(words)
    while words[position] in _WRAPPERS:
        position += 1
        while position < len(words) and re.match(r"\d|[A-Za-z_]\w*=", words[position]):
            position += 1
        if position == len(words) or words[position].startswith("-"):
            return ""
    return "" if re.match(r"[A-Za-z_]\w*\+?=", words[position]) else words[position]


def _look_up(name: str, folder: Path, root: Path) -> MissingCommand | None:
    if "/" in name:
        return _not_executable(name, folder / Path(name).expanduser())
    return None if any(_is_program(entry / name) for entry in _path()) else _missing(name, root)


def _not_executable(name: str, file: Path) -> MissingCommand | None:
    """Return why an existing file cannot be executed, or None. A missing file may still be created."""
    try:
        mode = file.stat().st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(mode):
        return MissingCommand(name, "is a folder")
    if os.access(file, os.X_OK):
        return None
    return MissingCommand(name, "may not be executed", f"chmod +x {shlex.quote(name)}")


def _missing(name: str, root: Path) -> MissingCommand:
    for folder in _OWN_FOLDERS:
        file = root / folder / name
        if file.is_file():
            return MissingCommand(name, NOT_FOUND, _call_of(f"./{name}" if folder == "." else f"{folder}/{name}", file))
    close = difflib.get_close_matches(name, sorted({*_BUILT_IN, *_names()}), n=5, cutoff=0.75)
    meant = (word for word in close if word in _BUILT_IN or any(_is_program(entry / word) for entry in _path()))
    return MissingCommand(name, NOT_FOUND, next(meant, ""))


def _call_of(path: str, file: Path) -> str:
    if os.access(file, os.X_OK):
        return path
    return f"{'python3' if file.suffix == '.py' else 'sh'} {path.removeprefix('./')}"


def _path() -> list[Path]:
    return [Path(entry) for entry in command_env()["PATH"].split(":")]


def _is_program(file: Path) -> bool:
    return os.access(file, os.X_OK) and file.is_file()


def _names() -> Iterator[str]:
    for folder in _path():
        try:
            yield from (entry.name for entry in os.scandir(folder))
        except OSError:
            continue

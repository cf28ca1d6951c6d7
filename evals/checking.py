"""Helpers for the hidden checkers: examine a finished workspace without trusting anything in it.

A checker never imports the workspace's code. It runs the code in another process, in a copy, with limits on time,
memory and output. Values come back as text and are compared here, so code that prints, exits early or patches the
interpreter can at most fail to answer.
"""

import ast
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from evals.confined import OUTPUT_BYTES, Completed, read_capped, run_confined

IGNORED = {"__pycache__", ".pytest_cache", ".mypy_cache", ".surefoot", ".git", ".keep"}


class Refused(Exception):
    """The workspace is not a solution; the message says why, in one line."""


@dataclass(frozen=True)
class Raises:
    """An expected exception: the name of its class, or of one of its base classes."""

    name: str


def judge(checker: str, check: Callable[["Submission"], None]) -> NoReturn:
    """Run a checker as a program: exit 0 if the workspace on the command line is a solution, else print why not."""
    given = Path(checker).resolve().parent / "workspace"
    with tempfile.TemporaryDirectory(prefix="checking-") as scratch:
        try:
            check(Submission(Path(sys.argv[1]).resolve(), given, Path(scratch)))
        except (Refused, OSError) as error:  # a workspace that cannot be read or copied is not a solution
            print(" ".join(str(error).split())[:500])
            sys.exit(1)
    sys.exit(0)


def refuse(reason: str) -> NoReturn:
    raise Refused(reason)


def require(holds: object, reason: str) -> None:
    if not holds:
        raise Refused(reason)


class Submission:
    """A workspace after an agent worked in it, and the files that the agent was given."""

    def __init__(self, root: Path, given: Path, scratch: Path) -> None:
        self.root = root
        self.given = given
        self._scratch = scratch
        self._copies = 0

    def given_files_kept(self, but: Sequence[str] = ()) -> None:
        """Require that the given files are unchanged, except those in `but` (`folder/` means all files in it)."""
        for name in _files(self.given):
            if not _matches(name, but):
                path = self.root / name
                require(path.is_file() and not path.is_symlink(), f"{name} is gone")
                require(_same_content(path, self.given / name), f"{name} was changed")

    def nothing_added(self, but: Sequence[str] = ()) -> None:
        known = set(_files(self.given))
        for name in _files(self.root):
            require(name in known or _matches(name, but), f"{name} was added")

    def absent(self, name: str, reason: str) -> None:
        require(not os.path.lexists(self.root / name), reason)

    def text(self, name: str) -> str:
        path = self.root / name
        require(path.is_file() and path.resolve().is_relative_to(self.root), f"there is no {name}")
        require(path.stat().st_size <= OUTPUT_BYTES, f"{name} is far too large")
        try:
            return path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            refuse(f"{name} is not UTF-8 text")

    def lines(self, name: str) -> list[str]:
        """Return the non-empty lines of a file without trailing whitespace."""
        return [line.rstrip() for line in self.text(name).splitlines() if line.strip()]

    def json(self, name: str) -> Any:
        try:
            return json.loads(self.text(name))
        except (ValueError, RecursionError) as error:
            refuse(f"{name} is not JSON: {error}")

    def names(self) -> list[str]:
        return _files(self.root)

    def answers(
        self, setup: str, cases: Mapping[str, Any] | Sequence[tuple[str, Any]], files: Mapping[str, str] | None = None
    ) -> None:
        """Require that every expression has the expected value.

        The expressions are evaluated in order in one process after `setup`. A statement has the value None.
        """
        pairs = list(cases.items()) if isinstance(cases, Mapping) else list(cases)
        folder = self.copy(files)
        channel, questions = self._scratch / f"answers-{self._copies}", self._scratch / f"questions-{self._copies}"
        questions.write_text(json.dumps({"setup": setup, "cases": [code for code, _ in pairs]}))
        command = [sys.executable, "-I", "-B", "-c", PROBE, str(folder), str(questions), str(channel)]
        process = run_confined(command, folder, self._scratch)
        replies = _replies(channel)
        if not replies or "setup" not in replies[0]:
            refuse(f"the code ended by itself with status {process.code}: {_last_line(process.err)}")
        require(replies[0]["setup"] is None, f"{setup.strip().splitlines()[0]}: {replies[0]['setup']}")
        if len(replies) != len(pairs) + 1:
            refuse(f"the code ended by itself (status {process.code}) instead of answering")
        for (code, expected), reply in zip(pairs, replies[1:], strict=True):
            _compare(code, expected, reply)

    def run(self, *arguments: str, stdin: str = "", files: Mapping[str, str] | None = None) -> Completed:
        """Run Python with these arguments in a fresh copy of the workspace, with `files` added or replaced."""
        folder = self.copy(files)
        return run_confined([sys.executable, "-E", "-s", "-B", *arguments], folder, self._scratch, stdin)

    def tests_pass(self, *arguments: str, files: Mapping[str, str] | None = None) -> None:
        process = self.run("-m", "unittest", "-q", *arguments, files=files)
        require(process.code == 0, f"the tests fail: {_last_line(process.err)}")
        require("Ran 0 tests" not in process.err and "Ran " in process.err, "no test ran")

    def copy(self, files: Mapping[str, str] | None = None) -> Path:
        for name in self.names():
            require((self.root / name).resolve().is_relative_to(self.root), f"{name} leads out of the workspace")
        self._copies += 1
        folder = self._scratch / f"copy-{self._copies}"
        shutil.copytree(self.root, folder, symlinks=True, ignore=shutil.ignore_patterns(*IGNORED))
        for name, content in (files or {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_text(content)
        return folder


# Runs in the other process. It opens its channel before it loads any code of the workspace, and writes one JSON line
# for the set-up and one for each case.
PROBE = """
import ast, json, sys
folder, questions, channel = sys.argv[1:]
with open(questions) as source:
    asked = json.load(source)
sys.argv = ["probe"]
sys.path.insert(0, folder)
answers = open(channel, "w")
def say(reply, write=answers.write, flush=answers.flush, dumps=json.dumps):
    write(dumps(reply) + chr(10))
    flush()
names = {"__name__": "probe"}
try:
    exec(asked["setup"], names)
except BaseException as error:
    say({"setup": f"{type(error).__name__}: {error}"[:300]})
    sys.exit(1)
say({"setup": None})
for code in asked["cases"]:
    try:
        try:
            compiled = compile(code, "case", "eval")
        except SyntaxError:
            exec(code, names)
            say({"value": "None"})
        else:
            say({"value": repr(eval(compiled, names))})
    except BaseException as error:
        say({"raised": [kind.__name__ for kind in type(error).__mro__], "message": str(error)[:200]})
"""


def same(actual: Any, expected: Any) -> bool:
    """Compare two values. Floats may differ slightly, a bool is not a number, and a list is not a tuple."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return actual is expected
    if isinstance(expected, int | float) and isinstance(actual, int | float):
        return math.isclose(actual, expected, rel_tol=1e-9, abs_tol=1e-9)
    if type(actual) is not type(expected):
        return False
    if isinstance(expected, list | tuple):
        return len(actual) == len(expected) and all(same(a, b) for a, b in zip(actual, expected, strict=True))
    if isinstance(expected, dict):
        return set(actual) == set(expected) and all(same(actual[key], expected[key]) for key in expected)
    return bool(actual == expected)


def _compare(code: str, expected: Any, reply: dict[str, Any]) -> None:
    raised = reply.get("raised", [])
    if isinstance(expected, Raises):
        require(expected.name in raised, f"{code} should raise {expected.name}, but " + _outcome(reply))
        return
    require(not raised, f"{code} " + _outcome(reply))
    try:
        actual = ast.literal_eval(str(reply["value"]))
    except (ValueError, SyntaxError, KeyError, RecursionError, MemoryError):
        refuse(f"{code} " + _outcome(reply))
    require(same(actual, expected), f"{code} {_outcome(reply)}, not {expected!r}")


def _outcome(reply: dict[str, Any]) -> str:
    if raised := reply.get("raised"):
        return f"raised {raised[0]}: {reply.get('message', '')}"
    return f"gave {str(reply.get('value'))[:200]}"


def _replies(channel: Path) -> list[dict[str, Any]]:
    if not channel.is_file():
        return []
    try:
        return [json.loads(line) for line in read_capped(channel).splitlines()]
    except (ValueError, RecursionError):
        return []


def _files(root: Path) -> list[str]:
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in IGNORED)
        names += [name for name in folders if Path(folder, name).is_symlink()]
        files += [str(Path(folder, name).relative_to(root)) for name in names if name not in IGNORED]
    return sorted(files)


def _same_content(path: Path, given: Path) -> bool:
    """Compare without insignificant whitespace: small models often repeat the given files with other spacing."""
    actual, expected = path.read_bytes(), given.read_bytes()
    if actual == expected:
        return True
    try:
        if given.suffix == ".py":
            return ast.dump(ast.parse(actual)) == ast.dump(ast.parse(expected))
        return _stripped_lines(actual) == _stripped_lines(expected)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False


def _stripped_lines(content: bytes) -> list[str]:
    return [line.rstrip() for line in content.decode().rstrip().splitlines()]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(name == pattern or (pattern.endswith("/") and name.startswith(pattern)) for pattern in patterns)


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "nothing printed")

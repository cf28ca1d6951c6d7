"""What the hidden checkers share: look at a finished workspace without trusting anything in it.

A checker never imports the workspace's code. It runs it in another process, in a copy, with limits on time, memory and
output; values come back as text and are compared here, so code that prints, exits early or patches the interpreter can
at most fail to answer.
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

from evals.confined import OUTPUT_BYTES, Ran, read_capped, run_confined

LEFTOVERS = {"__pycache__", ".pytest_cache", ".mypy_cache", ".surefoot", ".git", ".keep"}


class Refused(Exception):
    """The workspace is not a solution; the message says why, in one line."""


@dataclass(frozen=True)
class Raises:
    """The outcome of a call that has to raise: the name of the exception's class, or of one of its bases."""

    name: str


def judge(checker: str, check: Callable[["Submission"], None]) -> NoReturn:
    """Run a checker as a program: exit 0 when the workspace given on the command line is solved, else say why not."""
    given = Path(checker).resolve().parent / "workspace"
    with tempfile.TemporaryDirectory(prefix="checking-") as scratch:
        try:
            check(Submission(Path(sys.argv[1]).resolve(), given, Path(scratch)))
        except (Refused, OSError) as why:  # what cannot even be read or copied is no solution
            print(" ".join(str(why).split())[:500])
            sys.exit(1)
    sys.exit(0)


def refuse(reason: str) -> NoReturn:
    raise Refused(reason)


def require(holds: object, reason: str) -> None:
    if not holds:
        raise Refused(reason)


class Submission:
    """A workspace after an agent worked in it, beside the files it was given."""

    def __init__(self, root: Path, given: Path, scratch: Path) -> None:
        self.root = root
        self.given = given
        self._scratch = scratch
        self._copies = 0

    def given_files_kept(self, but: Sequence[str] = ()) -> None:
        """Every file given still says what it said, except the ones the task is about (`folder/` means all in it)."""
        for name in _files(self.given):
            if not _named(name, but):
                path = self.root / name
                require(path.is_file() and not path.is_symlink(), f"{name} is gone")
                require(_says_the_same(path, self.given / name), f"{name} was changed")

    def nothing_added(self, but: Sequence[str] = ()) -> None:
        known = set(_files(self.given))
        for name in _files(self.root):
            require(name in known or _named(name, but), f"{name} was added")

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
        """The lines of a file without blank space at their ends and without empty ones."""
        return [line.rstrip() for line in self.text(name).splitlines() if line.strip()]

    def json(self, name: str) -> Any:
        try:
            return json.loads(self.text(name))
        except (ValueError, RecursionError) as wrong:
            refuse(f"{name} is not JSON: {wrong}")

    def names(self) -> list[str]:
        return _files(self.root)

    def answers(
        self, setup: str, cases: Mapping[str, Any] | Sequence[tuple[str, Any]], files: Mapping[str, str] | None = None
    ) -> None:
        """Every expression has the value wanted, evaluated in order in one process after `setup`.

        A statement among the cases is carried out; its value is None.
        """
        pairs = list(cases.items()) if isinstance(cases, Mapping) else list(cases)
        folder = self.copy(files)
        channel, questions = self._scratch / f"answers-{self._copies}", self._scratch / f"questions-{self._copies}"
        questions.write_text(json.dumps({"setup": setup, "cases": [code for code, _ in pairs]}))
        command = [sys.executable, "-I", "-B", "-c", PROBE, str(folder), str(questions), str(channel)]
        ran = run_confined(command, folder, self._scratch)
        replies = _replies(channel)
        if not replies or "setup" not in replies[0]:
            refuse(f"the code ended by itself with status {ran.code}: {_last_line(ran.err)}")
        require(replies[0]["setup"] is None, f"{setup.strip().splitlines()[0]}: {replies[0]['setup']}")
        require(len(replies) == len(pairs) + 1, f"the code ended by itself (status {ran.code}) instead of answering")
        for (code, want), reply in zip(pairs, replies[1:], strict=True):
            _compare(code, want, reply)

    def run(self, *arguments: str, stdin: str = "", files: Mapping[str, str] | None = None) -> Ran:
        """Run Python with these arguments in a fresh copy of the workspace, with `files` laid over it."""
        folder = self.copy(files)
        return run_confined([sys.executable, "-E", "-s", "-B", *arguments], folder, self._scratch, stdin)

    def tests_pass(self, *arguments: str, files: Mapping[str, str] | None = None) -> None:
        ran = self.run("-m", "unittest", "-q", *arguments, files=files)
        require(ran.code == 0, f"the tests fail: {_last_line(ran.err)}")
        require("Ran 0 tests" not in ran.err and "Ran " in ran.err, "no test ran")

    def copy(self, files: Mapping[str, str] | None = None) -> Path:
        for name in self.names():
            require((self.root / name).resolve().is_relative_to(self.root), f"{name} leads out of the workspace")
        self._copies += 1
        folder = self._scratch / f"copy-{self._copies}"
        shutil.copytree(self.root, folder, symlinks=True, ignore=shutil.ignore_patterns(*LEFTOVERS))
        for name, content in (files or {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_text(content)
        return folder


# Runs in the other process. It opens its channel before any of the workspace's code is there, and answers one JSON
# line for the set-up and one for each case.
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


def same(got: Any, want: Any) -> bool:
    """Equal, with floats compared closely, and True no number, and a list no tuple."""
    if isinstance(want, bool) or isinstance(got, bool):
        return got is want
    if isinstance(want, int | float) and isinstance(got, int | float):
        return math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-9)
    if type(got) is not type(want):
        return False
    if isinstance(want, list | tuple):
        return len(got) == len(want) and all(same(one, other) for one, other in zip(got, want, strict=True))
    if isinstance(want, dict):
        return set(got) == set(want) and all(same(got[key], want[key]) for key in want)
    return bool(got == want)


def _compare(code: str, want: Any, reply: dict[str, Any]) -> None:
    raised = reply.get("raised", [])
    if isinstance(want, Raises):
        require(want.name in raised, f"{code} should raise {want.name}, but " + _outcome(reply))
        return
    require(not raised, f"{code} " + _outcome(reply))
    try:
        got = ast.literal_eval(str(reply["value"]))
    except (ValueError, SyntaxError, KeyError, RecursionError, MemoryError):
        refuse(f"{code} " + _outcome(reply))
    require(same(got, want), f"{code} {_outcome(reply)}, not {want!r}")


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
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in LEFTOVERS)
        names += [name for name in folders if Path(folder, name).is_symlink()]
        found += [str(Path(folder, name).relative_to(root)) for name in names if name not in LEFTOVERS]
    return sorted(found)


def _says_the_same(path: Path, given: Path) -> bool:
    """Equal but for blank space that means nothing: small models repeat files that they were shown, a bit untidily."""
    found, wanted = path.read_bytes(), given.read_bytes()
    if found == wanted:
        return True
    try:
        if given.suffix == ".py":
            return ast.dump(ast.parse(found)) == ast.dump(ast.parse(wanted))
        return _tidy(found) == _tidy(wanted)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False


def _tidy(content: bytes) -> list[str]:
    return [line.rstrip() for line in content.decode().rstrip().splitlines()]


def _named(name: str, patterns: Sequence[str]) -> bool:
    return any(name == pattern or (pattern.endswith("/") and name.startswith(pattern)) for pattern in patterns)


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "nothing printed")

"""The worker process of `search`, which can be killed if a regular expression never terminates.

Reads one JSON request from stdin and writes one JSON answer to stdout. Uses only the standard library, so that it
starts fast and without the installed packages. If the request names a ripgrep program, it preselects the files, for
patterns that mean the same in both; the answer does not change.
"""

import json
import os
import re
import stat
import sys
from typing import Any

BATCH = 2_000
"""How many files one call of ripgrep gets."""

_ALIKE = re.compile(
    r"(?:[^\\\[\](){}+*?]"
    r"|\\[wWdDsSb.\\/()\[\]{}|*+?^$-]"
    r"|\[\^?(?:[\w .,:;/]|-(?!-)|\\[wds.\\/\]-])+\]"
    r"|\(\?:|\((?!\?)|\)"
    r"|[+*?]\??(?![+*?{])|\{\d+(?:,\d*)?\}(?![+*?{]))*"
)
"""Patterns that mean the same in Python and in ripgrep, except for a few characters of other scripts in `\\w`."""


class _NoRipgrep(Exception):
    """ripgrep rejects the pattern, or could not be run."""


def search(request: dict[str, Any]) -> dict[str, Any]:
    """Try each way of reading the pattern in turn; return the matches of the first that finds any."""
    invalid = ""
    for way in request["ways"]:
        pattern = request["pattern"] if way["regex"] else re.escape(request["pattern"])
        try:
            compiled = re.compile(pattern, re.IGNORECASE if way["any_case"] else 0)
        except (re.error, OverflowError, RecursionError, ValueError) as error:
            invalid = str(error)
            continue
        answer = _find_matches(request, compiled, way)
        if answer["total"]:
            return {**answer, "way": way, "invalid": invalid}
    return {"matches": [], "total": 0, "files": 0, "way": None, "invalid": invalid}


def _find_matches(request: dict[str, Any], pattern: "re.Pattern[str]", way: dict[str, bool]) -> dict[str, Any]:
    root = os.open(request["root"], os.O_RDONLY | os.O_DIRECTORY)
    candidates: list[str] = request["files"]
    text = request["pattern"]
    if request["ripgrep"] and not set(text) & set("\n\r\0") and (not way["regex"] or _ALIKE.fullmatch(text)):
        try:
            candidates = _files_with_matches(request, way, root)
        except _NoRipgrep:
            candidates = request["files"]
    matches: list[dict[str, Any]] = []
    total = files = 0
    for name in candidates:
        lines = _read_lines(name, root, request["max_bytes"])
        matching = [index for index, line in enumerate(lines) if pattern.search(line)]
        total += len(matching)
        files += bool(matching)
        for index in matching[: max(0, request["max_matches"] - len(matches))]:
            around = range(max(0, index - request["context"]), min(len(lines), index + request["context"] + 1))
            matches.append(
                {"file": name, "line": index + 1, "around": [[number + 1, lines[number]] for number in around]}
            )
    os.close(root)
    return {"matches": matches, "total": total, "files": files}


def _files_with_matches(request: dict[str, Any], way: dict[str, bool], root: int) -> list[str]:
    """Return the files in which ripgrep finds the pattern, in the order of the request."""
    options = ["--no-config", "--no-messages", "--files-with-matches", "--null", "--text", "--encoding=none", "--crlf"]
    # The pattern is part of an option, and files begin with a dot, so neither can be taken for an option.
    options += ["--no-ignore", "--hidden", f"--regexp={request['pattern']}"]
    options += [*([] if way["regex"] else ["--fixed-strings"]), *(["--ignore-case"] if way["any_case"] else []), "--"]
    paths: set[str] = set()
    batch: list[str] = []
    for name in request["files"]:
        if _is_searched(name, root, request["max_bytes"]):
            batch.append(f"./{name}")
        if len(batch) >= BATCH:
            paths |= _run_ripgrep([request["ripgrep"], *options, *batch], request["root"])
            batch = []
    if batch:
        paths |= _run_ripgrep([request["ripgrep"], *options, *batch], request["root"])
    return [name for name in request["files"] if f"./{name}" in paths]


def _run_ripgrep(argv: list[str], root: str) -> set[str]:
    import subprocess

    try:
        process = subprocess.run(argv, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except (OSError, ValueError) as error:
        raise _NoRipgrep from error
    if process.returncode not in (0, 1):
        raise _NoRipgrep
    return {os.fsdecode(name) for name in process.stdout.split(b"\0") if name}


def _is_searched(path: str, root: int, max_bytes: int) -> bool:
    try:
        status = os.stat(path, dir_fd=root, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= max_bytes


def _read_lines(path: str, root: int, max_bytes: int) -> list[str]:
    """Return the lines of a text file; none if it is binary, too large or not a regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW, dir_fd=root)
        with os.fdopen(descriptor, "rb") as opened:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > max_bytes:
                return []
            content = opened.read()
    except OSError:
        return []
    if b"\0" in content[:8192]:
        return []
    lines = content.decode("utf-8", errors="replace").replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


if __name__ == "__main__":
    json.dump(search(json.load(sys.stdin)), sys.stdout)

"""The worker process of `search`, which can be killed if a regular expression never terminates.

Reads one JSON request from stdin and writes one JSON answer to stdout. Uses only the standard library, so that it
starts fast and without the installed packages.
"""

import json
import os
import re
import stat
import sys
from typing import Any


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
        answer = _find_matches(request, compiled)
        if answer["total"]:
            return {**answer, "way": way, "invalid": invalid}
    return {"matches": [], "total": 0, "files": 0, "way": None, "invalid": invalid}


def _find_matches(request: dict[str, Any], pattern: "re.Pattern[str]") -> dict[str, Any]:
    root = os.open(request["root"], os.O_RDONLY | os.O_DIRECTORY)
    matches: list[dict[str, Any]] = []
    total = files = 0
    for name in request["files"]:
        lines = _read_lines(name, root, request["max_bytes"])
        found = [index for index, line in enumerate(lines) if pattern.search(line)]
        total += len(found)
        files += bool(found)
        for index in found[: max(0, request["max_matches"] - len(matches))]:
            around = range(max(0, index - request["context"]), min(len(lines), index + request["context"] + 1))
            matches.append(
                {"file": name, "line": index + 1, "around": [[number + 1, lines[number]] for number in around]}
            )
    os.close(root)
    return {"matches": matches, "total": total, "files": files}


def _read_lines(path: str, root: int, max_bytes: int) -> list[str]:
    """The lines of a text file; none if it is binary, too large or not a regular file."""
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
    return content.decode("utf-8", errors="replace").replace("\r\n", "\n").split("\n")


if __name__ == "__main__":
    json.dump(search(json.load(sys.stdin)), sys.stdout)

"""The input history, kept between sessions. Secrets are removed before a line is stored."""

import json
import os
from pathlib import Path

from surefoot.cli.report.hiding import redactor
from surefoot.workspace.durable import replace_file

FILE_NAME = "session-history.jsonl"
MAX_LINES = 1_000
"""A history of more than twice as many lines is cut to this number when a session begins."""


class StoredLines:
    """A file with one JSON string per line, readable only by its owner."""

    def __init__(self, home: Path) -> None:
        self.path = home / FILE_NAME

    def load(self) -> list[str]:
        """All lines, oldest first. Empty if the file cannot be read."""
        try:
            rows = self.path.read_text("utf-8", errors="replace").splitlines()
        except OSError:
            return []
        if len(rows) > 2 * MAX_LINES:
            rows = rows[-MAX_LINES:]
            replace_file(self.path, "".join(f"{row}\n" for row in rows).encode())
        return [line for row in rows if (line := _parsed(row))]

    def append(self, line: str) -> None:
        """Store a line. Errors are ignored: a full disk must not end the session."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "a", encoding="utf-8") as file:
                os.fchmod(fd, 0o600)
                file.write(json.dumps(redactor().redact(line)) + "\n")
        except OSError:
            pass


def _parsed(row: str) -> str:
    try:
        value = json.loads(row)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""

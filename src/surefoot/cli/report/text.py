"""Formatting of plain text, paths, numbers and times. Imports little, because every short command needs it.

Text from a model, a tool or the workspace may contain control characters. `line` and `block` make it safe to print.
"""

import time
from pathlib import Path

from surefoot.cli.report.hiding import safe
from surefoot.journal.redact import neutralise
from surefoot.view.figures import count as count

_LOOKAHEAD = 4_096
"""The characters after a limit that are also searched for secrets, so that none is cut in two before it is found."""


def line(text: str, limit: int = 160) -> str:
    """Any text as a single line that is safe to print."""
    return _cut(safe(text[: limit * 8 + _LOOKAHEAD])[: limit * 8], limit)


def _cut(text: str, limit: int = 160) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def path_line(path: str) -> str:
    """A path as a single line without control characters. It is not redacted."""
    return _cut(neutralise(path))


def block(text: str, limit: int = 4_000) -> str:
    """Any text with its line breaks, safe to print."""
    clean = safe(text[: limit + _LOOKAHEAD])[:limit].replace("\t", "    ")
    return clean + ("\n…" if len(text) > limit else "")


def timestamp(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def folder(path: str | Path) -> str:
    """A folder with ~ for the home directory."""
    home = str(Path("~").expanduser())
    text = str(path)
    inside = text == home or text.startswith(home.rstrip("/") + "/")
    return path_line("~" + text[len(home) :] if inside and home != "/" else text)


def shorten_start(text: str, cells: int) -> str:
    """Cut the beginning of a path to fit this many terminal cells. Its end is more specific."""
    if text.isascii():
        return text if len(text) <= cells else f"…{text[len(text) - max(cells, 1) + 1 :]}"
    from rich.cells import cell_len

    if cell_len(text) <= cells:
        return text
    text = text[-cells:]
    while cell_len(text) >= max(cells, 1):
        text = text[1:]
    return f"…{text}"

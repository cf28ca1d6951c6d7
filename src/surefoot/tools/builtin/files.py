"""Tools for whole files: read, write, list, delete, move."""

import os
from collections import Counter

from surefoot.core.values import join_limited
from surefoot.errors import ToolError
from surefoot.tools.context import ToolContext
from surefoot.tools.fs.fileio import (
    MAX_FILE_BYTES,
    delete,
    move,
    read_bytes,
    refuse_binary,
    refuse_lost_secrets,
    write_bytes,
)
from surefoot.tools.fs.paths import not_found, relative
from surefoot.tools.fs.walk import Walk, matches_glob, walk
from surefoot.tools.text.generated import refuse_generated
from surefoot.tools.tool import ToolResult, tool

MAX_LINE = 2_000
MAX_LINES = 2_000
"""How many lines of a file are shown at once."""
MAX_LISTED = 200
MAX_IGNORED_SHOWN = 8


@tool
def read_file(
    context: ToolContext, path: str, start_line: int | None = None, end_line: int | None = None
) -> ToolResult:
    """Read a file, or some lines of it."""
    file = context.path(path)
    if not file.exists():
        raise not_found(context.root, path)
    name = relative(context.root, file)
    content = read_bytes(context.root, file)
    refuse_binary(name, content)
    text = content.decode("utf-8", errors="replace").replace("\r\n", "\n")
    try:
        content.decode("utf-8")
        note = ""
    except UnicodeDecodeError:
        note = f"({name} is not UTF-8: what could not be read is shown as \ufffd)"
    lines = show_lines(name, text, start_line, end_line, context.read_chars, how="read_file")
    summary = f"{note}\n{lines}" if note else lines
    return ToolResult(ok=True, summary=summary, output=summary)


@tool(writes=("path",), body_argument="content", alternatives=("run_python",))
async def write_file(context: ToolContext, path: str, content: str) -> ToolResult:
    """Create a file or overwrite all of it."""
    file = context.path(path, for_writing=True)
    if path.rstrip().endswith(("/", "\\")) or file.is_dir():
        raise ToolError(f"{path!r} is a folder", argument="path", remedy="name a file in it")
    name = relative(context.root, file)
    try:
        encoded = content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(
            f"the content is not valid text: {error.reason}", argument="content", remedy="write plain Unicode text"
        ) from error
    lines = _count(len(_lines(content)), "line")
    existed, before = file.exists(), ""
    if existed and file.stat().st_size == len(encoded) and read_bytes(context.root, file) == encoded:
        return ToolResult(ok=True, summary=f"{name} already has exactly this content ({lines}): nothing changed")
    if existed and file.stat().st_size <= MAX_FILE_BYTES:
        before = read_bytes(context.root, file).decode("utf-8", "replace")
        refuse_generated(context.may_rewrite, name, before)
    refuse_lost_secrets(context.redact, context.has_hidden, name, before, content)
    context.refuse_weakening(name, encoded)
    write_bytes(context.root, file, encoded)
    verb = "overwrote" if existed else "created"
    return ToolResult(ok=True, summary=f"{verb} {name} ({lines})")


@tool
def list_files(context: ToolContext, path: str = "", glob: str = "") -> ToolResult:
    """List the files in the workspace or in one folder, optionally only those matching a glob such as *.py."""
    folder = context.path(path or ".")
    if not folder.exists():
        raise not_found(context.root, path)
    name = "" if folder == context.path(".") else relative(context.root, folder)
    if not folder.is_dir():
        return ToolResult(ok=True, summary=f"{name} is a file", output=name)
    listing = walk(context.root, name)
    if glob:
        listing.entries = [entry for entry in listing.entries if not entry.is_folder and matches_glob(entry.path, glob)]
    if not listing.entries:
        where = f"in {name}" if name else "in the workspace"
        empty = f"no file {where} matches {glob}" if glob else f"there are no files {where}"
        return ToolResult(ok=True, summary=_with_ignored(empty, listing))
    whole = "\n".join(entry.path + "/" if entry.is_folder else entry.path for entry in listing.entries)
    return ToolResult(ok=True, summary=_with_ignored(_format_listing(listing, name), listing), output=whole)


@tool(writes=("path",))
async def delete_file(context: ToolContext, path: str) -> ToolResult:
    """Delete a file."""
    file = context.path(path, for_writing=True, follow=False)
    if not os.path.lexists(file):
        raise not_found(context.root, path)
    if file.is_dir() and not file.is_symlink():
        raise ToolError(
            f"{path!r} is a folder", argument="path", remedy="delete its files, or use run_command with rm -r"
        )
    context.refuse_weakening(relative(context.root, file), None)
    delete(context.root, file)
    return ToolResult(ok=True, summary=f"deleted {relative(context.root, file)}")


@tool(writes=("source", "target"))
async def move_file(context: ToolContext, source: str, target: str) -> ToolResult:
    """Move or rename a file."""
    old = context.path(source, for_writing=True, follow=False)
    new = context.path(target, for_writing=True, follow=False)
    if not os.path.lexists(old):
        raise not_found(context.root, source)
    if old.is_dir() and not old.is_symlink():
        raise ToolError(f"{source!r} is a folder", argument="source", remedy="move it with run_command and mv")
    if new.is_dir():
        new = new / old.name
    if os.path.lexists(new):
        raise ToolError(
            f"{relative(context.root, new)!r} exists already",
            argument="target",
            remedy="choose another name, or delete it first with delete_file",
        )
    content = read_bytes(context.root, old) if old.is_file() and not old.is_symlink() else None
    context.refuse_weakening(relative(context.root, old), content, relative(context.root, new))
    move(context.root, old, new)
    return ToolResult(ok=True, summary=f"moved {relative(context.root, old)} to {relative(context.root, new)}")


def show_lines(name: str, text: str, start: int | None, end: int | None, room: int, *, how: str) -> str:
    """Return the requested lines that fit into `room` characters, below a heading, with a note on how to read on.

    The lines have no numbers, because small models copy those into their edits. `how` is the tool that reads on.
    """
    lines = _lines(text)
    if not lines:
        return f"{name} is empty"
    first = max(start or 1, 1)
    last = min(end or len(lines), len(lines))
    if first > len(lines) or last < first:
        raise ToolError(
            f"{name} has {_count(len(lines), 'line')}, there is nothing from {first} to {end or 'its end'}",
            argument="start_line" if first > len(lines) else "end_line",
            remedy=f"ask for lines between 1 and {len(lines)}",
        )
    rows: list[str] = []
    for line in lines[first - 1 : last]:
        cut = line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}[... {len(line) - MAX_LINE:,} more characters]"
        room -= len(cut) + 1
        if (room < 0 and rows) or len(rows) == MAX_LINES:
            break
        rows.append(cut)
    reached = first + len(rows) - 1
    if reached == len(lines) and first == 1:
        head = f"{name} ({_count(len(lines), 'line')}):"
    else:
        head = f"{name}, lines {first} to {reached} of {len(lines)}:"
    body = "\n".join(rows)
    if reached < last:
        return f"{head}\n{body}\n[{last - reached} more lines; {how} with start_line={reached + 1} shows them]"
    return f"{head}\n{body}"


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _format_listing(listing: Walk, folder: str) -> str:
    """Return the full paths. If there are too many, the files of the deepest folders are only counted."""
    entries = listing.entries
    base = folder.count("/") + 1 if folder else 0
    deepest = max(entry.path.count("/") for entry in entries) - base
    lines: list[str] = []
    for depth in range(deepest, -1, -1):
        lines = _fold(listing, base + depth)
        if len(lines) <= MAX_LISTED:
            break
    omitted = f"\n[... and {len(lines) - MAX_LISTED} more]" if len(lines) > MAX_LISTED else ""
    note = "\n[there is more; list one folder at a time]" if listing.truncated else ""
    return "\n".join(lines[:MAX_LISTED]) + omitted + note


def _fold(listing: Walk, depth: int) -> list[str]:
    """List entries down to `depth`; a deeper folder is one line with the number of its files."""
    counts: Counter[str] = Counter()
    lines: dict[str, None] = {}
    for entry in listing.entries:
        names = entry.path.split("/")
        if len(names) - 1 <= depth:
            lines[entry.path + "/" if entry.is_folder else entry.path] = None
        else:
            folder = "/".join(names[: depth + 1]) + "/"
            counts[folder] += 1
            lines[folder] = None
    return [f"{line} ({_count(counts[line], 'file')})" if line in counts else line for line in lines]


def _with_ignored(text: str, listing: Walk) -> str:
    if not listing.ignored:
        return text
    return f"{text}\n(not shown: {join_limited(listing.ignored, MAX_IGNORED_SHOWN)})"

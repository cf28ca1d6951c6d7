"""The tool that searches the files of the workspace."""

import json
from pathlib import Path
from typing import Any

from surefoot.errors import ToolError, ToolTimeout
from surefoot.tools.builtin import search_worker
from surefoot.tools.context import ToolContext
from surefoot.tools.fs.paths import not_found, relative
from surefoot.tools.fs.walk import matches_glob, walk
from surefoot.tools.tool import ToolResult, tool
from surefoot.workspace.process.launch import own_python

MAX_FILE_BYTES = 2_000_000
MAX_LINE = 240
CONTEXT_LINES = 1
MAX_WITH_CONTEXT = 8
"""Up to this many matches are shown with the lines around them."""
REGEX_SECONDS = 10.0
PLAIN_SECONDS = 60.0

_AS_REGEX = {"regex": True, "any_case": False}
_AS_TEXT = {"regex": False, "any_case": False}
_ANY_CASE = {"regex": False, "any_case": True}
_REGEX_ANY_CASE = {"regex": True, "any_case": True}


@tool(alternatives=("run_command",))
async def search(context: ToolContext, pattern: str, path: str = "", glob: str = "") -> ToolResult:
    """Find a regular expression or plain text in the files, with line numbers."""
    from surefoot.workspace.process.programs import find_program

    if not pattern:
        raise ToolError("the pattern is empty", argument="pattern", remedy="say what to look for")
    files = _files(context, path, glob)
    program = find_program("rg", context.root)
    request = {
        "ripgrep": str(program) if program else "",
        "root": str(context.path(".")),
        "files": files,
        "pattern": pattern,
        "max_matches": context.search_matches,
        "max_bytes": MAX_FILE_BYTES,
        "context": CONTEXT_LINES,
    }
    note = ""
    try:
        answer = await _run_worker(
            {**request, "ways": [_AS_REGEX, _AS_TEXT, _REGEX_ANY_CASE, _ANY_CASE]}, REGEX_SECONDS
        )
    except ToolTimeout:
        note = "(as a regular expression the pattern takes too long: looked for as plain text)\n"
        answer = await _run_worker({**request, "ways": [_AS_TEXT, _ANY_CASE]}, PLAIN_SECONDS)
    if answer["invalid"]:
        note = f"(no valid regular expression, {answer['invalid']}: looked for as plain text)\n"
    if not answer["total"]:
        return ToolResult(
            ok=True, summary=f"{note}no match for {pattern!r} in {_count(len(files), 'file')}", data={"total": 0}
        )
    text = note + _format_answer(pattern, answer)
    return ToolResult(ok=True, summary=context.summary(text), output=text, data={"total": answer["total"]})


def _files(context: ToolContext, path: str, glob: str) -> list[str]:
    target = context.path(path or ".")
    if not target.exists():
        raise not_found(context.root, path)
    name = "" if target == context.path(".") else relative(context.root, target)
    if target.is_file():
        return [name]
    files = [entry.path for entry in walk(context.root, name).entries if not entry.is_folder]
    return [file for file in files if matches_glob(file, glob)] if glob else files


async def _run_worker(request: dict[str, Any], seconds: float) -> dict[str, Any]:
    from surefoot.workspace.process.process import Limits, command_env, run_process

    result = await run_process(
        [own_python(), "-I", "-S", search_worker.__file__],
        cwd=Path(request["root"]),
        env=command_env(),
        limits=Limits(timeout=seconds, output_bytes=20_000_000),
        stdin=json.dumps(request).encode(),
    )
    if result.timed_out:
        raise ToolTimeout("the search took too long", remedy="search in one folder, or for plain text")
    if result.exit_code != 0 or result.truncated:
        raise ToolError(f"the search failed: {result.output[-300:]}", remedy="search in one folder, or use run_command")
    answer: dict[str, Any] = json.loads(result.output)
    return answer


def _format_answer(pattern: str, answer: dict[str, Any]) -> str:
    total, files, matches = answer["total"], answer["files"], answer["matches"]
    lines = [f"{_count(total, 'match', 'matches')} in {_count(files, 'file')}{_mode_note(answer)}"]
    if total > len(matches):
        lines[0] += f", the first {len(matches)} shown; narrow it with path or glob"
    by_file: dict[str, dict[int, str]] = {}
    matched = {(match["file"], match["line"]) for match in matches}
    for match in matches:
        for number, text in match["around"]:
            if total <= MAX_WITH_CONTEXT or number == match["line"]:
                by_file.setdefault(match["file"], {})[number] = text
    for file, numbered in by_file.items():
        lines.append(f"{file}:")
        previous = None
        for number, text in sorted(numbered.items()):
            if total <= MAX_WITH_CONTEXT and previous is not None and number > previous + 1:
                lines.append("  --")
            lines.append(f"  {number}{':' if (file, number) in matched else '-'} {_shorten(text, pattern)}")
            previous = number
    return "\n".join(lines)


def _mode_note(answer: dict[str, Any]) -> str:
    way = answer["way"]
    notes = [note for note, used in (("as plain text", not way["regex"]), ("in any case", way["any_case"])) if used]
    return f" ({', '.join(notes)})" if notes else ""


def _count(count: int, singular: str, plural: str = "") -> str:
    return f"{count} {singular if count == 1 else plural or singular + 's'}"


def _shorten(line: str, pattern: str) -> str:
    if len(line) <= MAX_LINE:
        return line
    start = max(0, line.find(pattern) - MAX_LINE // 3)
    return f"{'...' if start else ''}{line[start : start + MAX_LINE]}{'...' if start + MAX_LINE < len(line) else ''}"

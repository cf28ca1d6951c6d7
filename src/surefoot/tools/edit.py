"""The tool that changes a part of a file."""

import difflib

from surefoot.errors import ToolError
from surefoot.tools.base import ToolContext, ToolResult, tool
from surefoot.tools.fileio import read_bytes, refuse_binary, refuse_lost_secrets, write_bytes
from surefoot.tools.generated import refuse_by_hand
from surefoot.tools.matching import BLOCK_EXAMPLE, Edit, apply_edits, read_blocks
from surefoot.tools.paths import not_found, relative

CONTEXT = 2
MAX_COMPARED = 4_000

_BOM = "\ufeff"


@tool(writes=("path",), body_argument="edits", instead_of_body=("search", "replace"), alternatives=("write_file",))
async def edit_file(
    context: ToolContext, path: str, edits: str = "", search: str = "", replace: str = ""
) -> ToolResult:
    """Change parts of a file with search/replace blocks."""
    file = context.path(path, for_writing=True)
    if not file.exists():
        error = not_found(context.root, path)
        error.remedy += "; write_file makes a new file"
        raise error
    name = relative(context.root, file)
    content = read_bytes(context.root, file)
    refuse_binary(name, content)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolError(
            f"{name} is not UTF-8, so editing it could damage it",
            argument="path",
            remedy="use run_python or run_command with the file's own encoding",
        ) from error
    refuse_by_hand(context.may_rewrite, name, text)
    changed = edited(name, text, edits, search, replace)
    refuse_lost_secrets(context.redact, name, text, changed)
    write_bytes(context.root, file, changed.encode("utf-8"))
    difference = _difference(name, text, changed)
    return ToolResult(ok=True, summary=context.summary(difference), output=difference)


def edited(name: str, text: str, edits: str, search: str = "", replace: str = "") -> str:
    """The text with the edits carried out."""
    mark = _BOM if text.startswith(_BOM) else ""
    return mark + apply_edits(name, text.removeprefix(mark), _read_edits(edits, search, replace))


def _read_edits(edits: str, search: str, replace: str) -> list[Edit]:
    if edits.strip():
        return read_blocks(edits)
    if search:
        return [Edit(search, replace)]
    raise ToolError(
        "there is nothing to change", argument="edits", remedy=f"write each change like this:\n{BLOCK_EXAMPLE}"
    )


def _difference(name: str, before: str, after: str) -> str:
    """What changed, as a diff: the model sees what the file is like now without reading it again."""
    old, new = before.replace("\r\n", "\n").split("\n"), after.replace("\r\n", "\n").split("\n")
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    first = max(0, start - CONTEXT)
    old, new = old[first : len(old) - end + CONTEXT], new[first : len(new) - end + CONTEXT]
    if max(len(old), len(new)) > MAX_COMPARED:
        return f"edited {name}"
    lines = [line for line in difflib.unified_diff(old, new, lineterm="", n=CONTEXT) if not line.startswith("@@")][2:]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return "\n".join([f"edited {name} (+{added} -{removed} lines), from line {first + 1}:", *lines])


def _common(one: list[str], other: list[str]) -> int:
    """How many lines both begin with."""
    return next(
        (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )

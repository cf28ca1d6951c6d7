"""The tool that edits parts of a file."""

import difflib
from collections.abc import Sequence
from pathlib import Path

from surefoot.core.values import common_prefix
from surefoot.errors import ToolError
from surefoot.tools.context import ToolContext
from surefoot.tools.fs.fileio import read_bytes, refuse_binary, refuse_lost_secrets, write_bytes
from surefoot.tools.fs.paths import not_found, relative
from surefoot.tools.text.generated import refuse_generated
from surefoot.tools.text.lines import Edited
from surefoot.tools.text.matching import BLOCK_EXAMPLE, Edit, apply_edits, read_blocks
from surefoot.tools.tool import ToolResult, tool

CONTEXT = 2
MAX_COMPARED = 4_000

BOM = "\ufeff"


@tool(
    writes=("path",),
    body_argument="edits",
    instead_of_body=("search", "replace", "replace_all"),
    alternatives=("write_file",),
)
async def edit_file(
    context: ToolContext,
    path: str,
    edits: str = "",
    search: str = "",
    replace: str = "",
    replace_all: bool = False,
) -> ToolResult:
    """Change parts of a file with search/replace blocks."""
    file = context.path(path, for_writing=True)
    if not file.exists():
        error = not_found(context.root, path)
        error.remedy += "; write_file makes a new file"
        raise error
    name = relative(context.root, file)
    text = read_editable(context, file)
    changed, ways = edited(name, text, edits, search, replace, replace_all=replace_all)
    refuse_lost_secrets(context.redact, context.has_hidden, name, text, changed)
    context.refuse_weakening(name, changed.encode("utf-8"))
    write_bytes(context.root, file, changed.encode("utf-8"))
    diff = describe_change(name, text, changed, ways)
    return ToolResult(ok=True, summary=context.summary(diff), output=diff)


def read_editable(context: ToolContext, file: Path) -> str:
    """Return the text of a file to edit. Raises a `ToolError` if it is not UTF-8, or is generated."""
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
    refuse_generated(context.may_rewrite, name, text)
    return text


def edited(
    name: str, text: str, edits: str, search: str = "", replace: str = "", *, replace_all: bool = False
) -> Edited:
    """Return `text` with the edits applied. With `replace_all`, every exact occurrence of `search` is replaced."""
    if replace_all and search and search in text and search != replace:
        return Edited(text.replace(search, replace))
    bom = BOM if text.startswith(BOM) else ""
    changed, ways = apply_edits(name, text.removeprefix(bom), _read_edits(edits, search, replace))
    return Edited(bom + changed, ways)


def _read_edits(edits: str, search: str, replace: str) -> list[Edit]:
    if edits.strip():
        return read_blocks(edits)
    if search:
        return [Edit(search, replace)]
    raise ToolError(
        "there is nothing to change", argument="edits", remedy=f"write each change like this:\n{BLOCK_EXAMPLE}"
    )


def describe_change(name: str, before: str, after: str, ways: Sequence[str] = (), verb: str = "edited") -> str:
    """Return the change as a diff, so that the model need not read the file again, and how its lines were found."""
    old, new = before.replace("\r\n", "\n").split("\n"), after.replace("\r\n", "\n").split("\n")
    start = common_prefix(old, new)
    end = common_prefix(old[start:][::-1], new[start:][::-1])
    first = max(0, start - CONTEXT)
    how_matched = f" (matched {'; '.join(ways)})" if ways else ""
    old, new = old[first : len(old) - end + CONTEXT], new[first : len(new) - end + CONTEXT]
    if max(len(old), len(new)) > MAX_COMPARED:
        return f"{verb} {name}{how_matched}"
    lines = [line for line in difflib.unified_diff(old, new, lineterm="", n=CONTEXT) if not line.startswith("@@")][2:]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return "\n".join([f"{verb} {name} (+{added} -{removed} lines){how_matched}, from line {first + 1}:", *lines])

"""Apply the hunks of a patch to a text. Pure: text in, text out.

A hunk's lines must occur once in the file, exactly or apart from formatting. `@@` lines and the order of the hunks
decide between equal places. Context lines are kept as they are in the file.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from surefoot.errors import ToolError
from surefoot.tools.text.lines import (
    Edited,
    collapse,
    indent_of,
    missing_line,
    nearest,
    numbered,
    plain_punctuation,
    reindent,
)
from surefoot.tools.text.patch import Hunk

MAX_SHOWN = 3

_WAYS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("", str),
    ("apart from trailing space", str.rstrip),
    ("apart from spacing", collapse),
    ("apart from spacing, quotation marks and dashes", plain_punctuation),
)
_REINDENTED = 2
"""From this way on, the added lines get the file's indentation."""


def apply_hunks(name: str, text: str, hunks: Sequence[Hunk]) -> Edited:
    """Apply the hunks one after another, or raise a `ToolError` that names the hunk. Line endings are preserved."""
    raw = text.split("\n")
    rows = [row + "\n" for row in raw[:-1]] + ([raw[-1]] if raw[-1] else [])
    ending = _usual_ending(rows)
    ways: list[str] = []
    after = 0
    for number, hunk in enumerate(hunks, 1):
        label = f"hunk {number} of {len(hunks)} for {name}"
        lines = [row.removesuffix("\n").removesuffix("\r") for row in rows]
        start, way = _place(label, lines, hunk, after)
        new = _replaced(rows[start : start + len(hunk.old)], hunk, way, ending)
        if rows[:start] and not rows[start - 1].endswith("\n"):
            rows[start - 1] += ending
        rows[start : start + len(hunk.old)] = new
        after = start + len(new)
        ways += [f"hunk {number} matched {_WAYS[way][0]}"] if way else []
    return Edited("".join(rows), tuple(ways))


def _usual_ending(rows: Sequence[str]) -> str:
    endings = Counter(row.endswith("\r\n") for row in rows if row.endswith("\n"))
    return "\r\n" if endings[True] > endings[False] else "\n"


def _replaced(rows: Sequence[str], hunk: Hunk, way: int, ending: str) -> list[str]:
    """Return the new rows: the context lines as they are in the file, and the added lines."""
    added = [text for sign, text in hunk.lines if sign == "+"]
    if way >= _REINDENTED:
        added = reindent(hunk.old, [row.rstrip("\r\n") for row in rows], added)
    old, new = iter(rows), iter(added)
    result: list[str] = []
    for sign, _ in hunk.lines:
        row = next(new) + ending if sign == "+" else next(old)
        if sign != "-":
            result.append(row if row.endswith("\n") else row + ending)
    if result and hunk.lines[-1][0] == " " and not rows[-1].endswith("\n"):
        result[-1] = rows[-1]
    return result


def _place(label: str, lines: list[str], hunk: Hunk, after: int) -> tuple[int, int]:
    """Return the line at which the hunk applies, and the index in `_WAYS` of the way in which it was found."""
    blocks = _blocks(lines, hunk.anchors)
    if not hunk.old:
        return _insertion(label, lines, hunk, blocks, after), 0
    for way, (_, key) in enumerate(_WAYS):
        old_keys, keyed = [key(line) for line in hunk.old], [key(line) for line in lines]
        size = len(old_keys)
        starts = [
            n for n in range(len(keyed) - size + 1) if keyed[n] == old_keys[0] and keyed[n : n + size] == old_keys
        ]
        if not starts:
            continue
        chosen = _chosen(starts, blocks, after, len(lines) - size if hunk.at_end else None)
        if len(chosen) == 1:
            return chosen[0], way
        raise _ambiguous(label, lines, chosen, size)
    raise _missing(label, lines, hunk)


def _chosen(starts: list[int], blocks: list[range], after: int, end: int | None) -> list[int]:
    """Narrow equal places down by the end of the file, the `@@` lines, and the order of the hunks."""
    if end in starts:
        return [n for n in starts if n == end]
    inside = [n for n in starts if any(n in block for block in blocks)]
    below = [n for n in starts if blocks and n >= min(block.start for block in blocks)]
    for narrowed in (inside, below, starts):
        if len(narrowed) == 1:
            return narrowed
        if later := [n for n in narrowed if n >= after]:
            return later
    return starts


def _blocks(lines: list[str], anchors: Sequence[str]) -> list[range]:
    """Return the blocks of the `@@` lines, each down to the next line that is indented no deeper."""
    blocks = [range(len(lines))]
    for anchor in anchors:
        header = collapse(anchor)
        for fits in (str.__eq__, str.startswith):
            headers = [n for block in blocks for n in block if fits(collapse(lines[n]), header)]
            if headers:
                break
        blocks = [range(n, _block_end(lines, n)) for n in dict.fromkeys(headers)]
    return blocks if anchors else []


def _block_end(lines: list[str], header: int) -> int:
    depth = len(indent_of(lines[header]))
    for number in range(header + 1, len(lines)):
        line = lines[number]
        if line.strip() and len(indent_of(line)) <= depth and line.lstrip()[0] not in ")]}{#":
            return number
    return len(lines)


def _insertion(label: str, lines: list[str], hunk: Hunk, blocks: list[range], after: int) -> int:
    """Return where to insert a hunk that only adds lines: below its `@@` line; without one, at the end of the file."""
    if not hunk.anchors or hunk.at_end:
        return len(lines)
    starts = [block.start for block in blocks]
    starts = starts if len(starts) == 1 else [n for n in starts if n >= after] or starts
    if len(starts) == 1:
        return starts[0] + 1
    if starts:
        raise _ambiguous(label, lines, starts, 1)
    raise ToolError(
        f"{label}: the line {hunk.anchors[-1]!r} of its @@ is not in the file",
        argument="patch",
        remedy="add unchanged lines around the place as context",
    )


def _ambiguous(label: str, lines: list[str], starts: Sequence[int], size: int) -> ToolError:
    excerpts = "\n".join(numbered(lines, n - 1, n + size + 1) for n in starts[:MAX_SHOWN])
    where = ", ".join(str(n + 1) for n in starts)
    return ToolError(
        f"{label}: its lines are in {len(starts)} places, at the lines {where}:\n{excerpts}",
        argument="patch",
        remedy="add lines that stay around it, or an @@ line with the function or class that is meant",
    )


def _missing(label: str, lines: list[str], hunk: Hunk) -> ToolError:
    new = [collapse(line) for line in hunk.new]
    known = [collapse(line) for line in lines]
    if any(new) and sum(known[n : n + len(new)] == new for n in range(len(known))) == 1:
        return ToolError(
            f"{label}: its old lines are not in the file, but its new lines are: this has been done already",
            argument="patch",
            remedy="leave this hunk out",
        )
    start = nearest(lines, hunk.old)
    if start is None:
        message, remedy = f"{label}: its lines are not in the file, nor anything like them", "read the file first"
        return ToolError(message, argument="patch", remedy=remedy)
    excerpt = numbered(lines, start - 2, start + len(hunk.old) + 2)
    missing = missing_line(lines, hunk.old)
    differs = f"\nThis line of the patch is nowhere in the file: {missing}" if missing else ""
    return ToolError(
        f"{label}: its lines are not in the file as they are in the patch. The nearest lines are:\n{excerpt}{differs}",
        argument="patch",
        remedy="copy the lines that stay, and those to remove, exactly as they are",
    )

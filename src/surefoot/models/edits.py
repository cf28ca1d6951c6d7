"""Read edits written as SEARCH / REPLACE blocks.

<<<<<<< SEARCH
the lines as they are
=======
the lines as they shall be
>>>>>>> REPLACE
"""

import re
from dataclasses import dataclass

from surefoot.errors import UnreadableAnswer
from surefoot.models.thinking import without_thinking
from surefoot.values import Value

_OPENING = re.compile(r"^\s*(<{4,})\s*(?:SEARCH|ORIGINAL|OLD|HEAD)\b.*$", re.IGNORECASE)
_DIVIDER = re.compile(r"^\s*(={4,})\s*$")
_CLOSING = re.compile(r"^\s*(>{4,})\s*(?:REPLACE|UPDATED|NEW|\w*)\s*$", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})[\w+.-]*\s*$")


class Edit(Value):
    search: str
    """Whole lines, each with its line end. Empty: the replacement is new text."""
    replace: str


@dataclass(slots=True)
class _Markers:
    opening: int
    divider: int
    closing: int


def read_search_replace(text: str) -> list[Edit]:
    """The edits in their order; none when there are no blocks. A block that is begun and not ended is refused."""
    lines = without_thinking(text).replace("\r\n", "\n").split("\n")
    edits: list[Edit] = []
    start = 0
    while (markers := _next_block(lines, start, text)) is not None:
        search = _section(lines[markers.opening + 1 : markers.divider])
        replace = _section(lines[markers.divider + 1 : markers.closing])
        edits.append(Edit(search=search, replace=replace))
        start = markers.closing + 1
    return edits


def _next_block(lines: list[str], start: int, answer: str) -> _Markers | None:
    opening = next((i for i in range(start, len(lines)) if _OPENING.match(lines[i])), None)
    if opening is None:
        return None
    closing = next((i for i in range(opening + 1, len(lines)) if _CLOSING.match(lines[i])), None)
    reopened = next((i for i in range(opening + 1, len(lines)) if _OPENING.match(lines[i])), None)
    if closing is None or (reopened is not None and reopened < closing):
        raise UnreadableAnswer(
            f"the SEARCH block at line {opening + 1} has no >>>>>>> REPLACE line at its end", answer=answer
        )
    divider = _divider(lines, opening, closing)
    if divider is None:
        raise UnreadableAnswer(
            f"the SEARCH block at line {opening + 1} has no ======= line between the old and the new lines",
            answer=answer,
        )
    return _Markers(opening, divider, closing)


def _divider(lines: list[str], opening: int, closing: int) -> int | None:
    """The line of equals signs; one as long as the opening mark wins over an underlined title in the text."""
    found = [i for i in range(opening + 1, closing) if _DIVIDER.match(lines[i])]
    length = len(lines[opening].strip()) - len(lines[opening].strip().lstrip("<"))
    same = [i for i in found if len(lines[i].strip()) == length]
    return next(iter(same or found), None)


def _section(lines: list[str]) -> str:
    if len(lines) >= 2 and _FENCE.match(lines[0]) and _FENCE.match(lines[-1]):
        lines = lines[1:-1]
    return "".join(line + "\n" for line in lines)

"""What unittest said, without the ornaments: each failing test with its failing lines and its reason."""

import re

MAX_REASON_LINES = 6
MAX_PLACES = 3

_IS_UNITTEST = re.compile(r"^FAILED \((?:failures|errors|unexpected successes)=.*\)$", re.MULTILINE)
_HEADING = re.compile(r"^(?P<what>FAIL|ERROR): (?P<name>.+)$")
_FRAME = re.compile(r'^  File "(?P<path>.+)", line (?P<line>\d+)(?:, in .+)?$')
_LIBRARY = re.compile(r"/lib/python3|site-packages/|dist-packages/|<frozen ")
_RULE = re.compile(r"^[=-]{70}$")
_MARKS = re.compile(r"^[\s^~]+$")


def unittest_digest(text: str, limit: int) -> str:
    """A short account of failing tests, or nothing if this is not unittest's output.

    Every failing test is named; as many as fit into `limit` are told in full, the first ones first.
    """
    ending = _IS_UNITTEST.search(text)
    if ending is None:
        return ""
    told = [_told(heading, lines) for heading, lines in _failures(text.split("\n"))]
    room = limit - len(ending[0]) - sum(len(full[0]) + 1 for full in told)
    shown = [ending[0]]
    for first, *rest in told:
        shown.append(first)
        cost = sum(len(line) + 1 for line in rest)
        if cost <= room:
            room -= cost
            shown += rest
    return "\n".join(shown) if told else ""


def _failures(lines: list[str]) -> list[tuple[str, list[str]]]:
    """What stands under each heading, up to the next rule that closes it."""
    found: list[tuple[str, list[str]]] = []
    inside = False
    for line in lines:
        if heading := _HEADING.match(line):
            found.append((f"{heading['what']} {_short(heading['name'])}", []))
            inside = False
        elif _RULE.match(line):
            # The rule under the heading opens what was said, the next one closes it.
            inside = bool(found) and not inside and not found[-1][1]
        elif inside:
            found[-1][1].append(line)
    return found


def _short(name: str) -> str:
    """`test_a (test_x.T.test_a) (n=3)`: the name once, and the case of a subtest."""
    return re.sub(r" \([\w.]+\)", "", name, count=1)


def _told(heading: str, lines: list[str]) -> list[str]:
    places: list[str] = []
    reason: list[str] = []
    frame: re.Match[str] | None = None
    for line in lines:
        if found := _FRAME.match(line):
            frame, reason = found, []
        elif frame is not None and line.startswith("    "):
            if not _MARKS.match(line) and not _LIBRARY.search(frame["path"]):
                places.append(f"{frame['path']}:{frame['line']}: {line.strip()}")
            frame = None
        elif line.strip() and not _MARKS.match(line) and (reason or not line.startswith(("Traceback ", "  "))):
            reason.append(line)
    if len(places) > MAX_PLACES:
        places = [places[0], *places[1 - MAX_PLACES :]]
    return [heading, *(f"  {place}" for place in places), *(f"  {line}" for line in reason[:MAX_REASON_LINES])]

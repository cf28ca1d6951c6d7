"""Condense unittest output: each failing test with its failing lines and the reason."""

import re

MAX_REASON_LINES = 6
MAX_LOCATIONS = 3

_IS_UNITTEST = re.compile(r"^FAILED \((?:failures|errors|unexpected successes)=.*\)$", re.MULTILINE)
_HEADING = re.compile(r"^(?P<what>FAIL|ERROR): (?P<name>.+)$")
_FRAME = re.compile(r'^  File "(?P<path>.+)", line (?P<line>\d+)(?:, in .+)?$')
_LIBRARY = re.compile(r"/lib/python3|site-packages/|dist-packages/|<frozen ")
_RULE = re.compile(r"^[=-]{70}$")
_CARETS = re.compile(r"^[\s^~]+$|^\? [\s^+-]+$")
"""Lines that point at characters of the line above."""


def unittest_digest(text: str, limit: int) -> str:
    """Summarise the failing tests; empty if this is not unittest output.

    Every failing test is named. Details are added in order, as long as they fit into `limit`.
    """
    ending = _IS_UNITTEST.search(text)
    if ending is None:
        return ""
    failures = [_digest(heading, lines) for heading, lines in _failures(text.split("\n"))]
    room = limit - len(ending[0]) - sum(len(heading) + 1 for heading, *_ in failures)
    rows = [ending[0]]
    for heading, *details in failures:
        rows.append(heading)
        cost = sum(len(line) + 1 for line in details)
        if cost <= room:
            room -= cost
            rows += details
    return "\n".join(rows) if failures else ""


def _failures(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Return the headings of the failures, each with the lines of its section."""
    failures: list[tuple[str, list[str]]] = []
    inside = False
    for line in lines:
        if heading := _HEADING.match(line):
            failures.append((f"{heading['what']} {_short(heading['name'])}", []))
            inside = False
        elif _RULE.match(line):
            # The rule below a heading opens its section, the next rule closes it.
            inside = bool(failures) and not inside and not failures[-1][1]
        elif inside:
            failures[-1][1].append(line)
    return failures


def _short(name: str) -> str:
    """Shorten `test_a (test_x.T.test_a) (n=3)` to the test's name and the subtest's parameters."""
    return re.sub(r" \([\w.]+\)", "", name, count=1)


def _digest(heading: str, lines: list[str]) -> list[str]:
    locations: list[str] = []
    reason: list[str] = []
    frame: re.Match[str] | None = None
    for line in lines:
        if match := _FRAME.match(line):
            frame, reason = match, []
        elif frame is not None and line.startswith("    "):
            if not _CARETS.match(line) and not _LIBRARY.search(frame["path"]):
                locations.append(f"{frame['path']}:{frame['line']}: {line.strip()}")
            frame = None
        elif line.strip() and not _CARETS.match(line) and (reason or not line.startswith(("Traceback ", "  "))):
            reason.append(line)
    if len(locations) > MAX_LOCATIONS:
        locations = [locations[0], *locations[1 - MAX_LOCATIONS :]]
    return [heading, *(f"  {location}" for location in locations), *(f"  {line}" for line in reason[:MAX_REASON_LINES])]

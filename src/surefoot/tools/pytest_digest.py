"""What pytest said, without the ornaments: each failing test with its failing line, its reason and its place."""

import re
import textwrap
from dataclasses import dataclass, field

MAX_REASON_LINES = 8
MAX_CAPTURED_LINES = 4

_IS_PYTEST = re.compile(
    r"^=+ (?:FAILURES|ERRORS|short test summary info|test session starts) =+$"
    r"|^(?:=+ )?\d+ (?:failed|error|errors)\b.* in [\d.]+s",
    re.MULTILINE,
)
_SECTION = re.compile(r"^=+ (?P<title>.+?) =+$")
_BLOCK = re.compile(r"^_{3,} (?P<name>.+?) _{3,}$")
_CAPTURED = re.compile(r"^-+ (?P<title>Captured .+?) -+$")
_PLACE = re.compile(r"^(?P<place>[^\s:][^:\n]*:\d+): ?(?P<rest>.*)$")
_REASON = re.compile(r"^E(?:   (?P<text>.*)|\s*)$")
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) (?P<node>\S+(?:\[.*?\])?)(?: - (?P<why>.*))?$")
_COUNTS = re.compile(r"^(?:=+ )?(?P<counts>(?:\d+ \w+(?:, )?)+ in [\d.]+s.*?)(?: =+)?$")
# The advice, and the marks under a diff's lines, which mean nothing once lines are left out.
_ADVICE = re.compile(r"^\s*(?:Use -v+ to get (?:more|the full) diff|\?\s*[-+^\s]+$)")
_LIBRARY = re.compile(r"/lib/python3|site-packages/|dist-packages/|<frozen ")


@dataclass
class _Failure:
    name: str
    places: list[str] = field(default_factory=list)
    """`test_a.py:5: assert f(1) == 2`, outermost first."""
    reasons: list[str] = field(default_factory=list)
    captured: list[str] = field(default_factory=list)
    pending: str = ""
    """The line marked with `>`, until its place comes; `?` when the place came first."""
    capturing: bool = False


def pytest_digest(text: str, limit: int) -> str:
    """A short account of failing tests, or nothing if this is not pytest's output or nothing failed.

    Every failing test is named; as many as fit into `limit` are told in full, the first ones first.
    """
    if not _IS_PYTEST.search(text):
        return ""
    failures, summary, counts = _read(text.split("\n"))
    if not failures and not summary:
        return ""
    in_full = {_node(failure.name, summary): _told(failure, summary) for failure in failures}
    in_short = {node: _named(node, summary) for node in [*in_full, *summary]}
    room = limit - len(counts) - sum(len(line) + 1 for line in in_short.values())
    lines = [counts] if counts else []
    for node, short in in_short.items():
        full = in_full.get(node, short)
        if len(full) - len(short) <= room:
            room -= len(full) - len(short)
            lines.append(full)
        else:
            lines.append(short)
    return "\n".join(lines)


def _read(lines: list[str]) -> tuple[list[_Failure], dict[str, str], str]:
    failures: list[_Failure] = []
    summary: dict[str, str] = {}
    section = counts = ""
    current: _Failure | None = None
    for line in lines:
        if found := _COUNTS.match(line):
            counts = found["counts"]
        elif found := _SECTION.match(line):
            section, current = found["title"], None
        elif section == "short test summary info" or _SUMMARY.match(line):
            if found := _SUMMARY.match(line):
                summary[found["node"]] = found["why"] or ""
        elif section in {"FAILURES", "ERRORS"}:
            if found := _BLOCK.match(line):
                current = _Failure(found["name"])
                failures.append(current)
            elif current:
                _read_block_line(current, line)
    return failures, summary, counts


def _read_block_line(failure: _Failure, line: str) -> None:
    if failure.capturing or _CAPTURED.match(line):
        if failure.capturing:
            failure.captured.append(line)
        failure.capturing = True
    elif found := _REASON.match(line):
        failure.reasons.append((found["text"] or "").rstrip())
    elif line.startswith(">"):
        failure.pending = line[1:].strip()
    elif found := _PLACE.match(line):
        # After the source in the long style, before it in the short one.
        failure.places.append(f"{found['place']}: {failure.pending}" if failure.pending else found["place"])
        failure.pending = "" if failure.pending else "?"
    elif failure.pending == "?" and line.startswith("    "):
        failure.places[-1] += f": {line.strip()}"
        failure.pending = ""


def _named(node: str, summary: dict[str, str]) -> str:
    why = summary.get(node, "")
    return f"FAILED {node} - {why}" if why else f"FAILED {node}"


def _told(failure: _Failure, summary: dict[str, str]) -> str:
    # A failure deep inside a library is told by the project's own lines, the outermost and the last ones.
    places = [place for place in failure.places if not _LIBRARY.search(place)]
    places = places if len(places) <= 3 else [places[0], *places[-2:]]
    if failure.pending not in {"", "?"}:
        places = [*places, failure.pending]
    reasons = textwrap.dedent("\n".join(failure.reasons)).split("\n")
    reasons = [reason for reason in reasons if reason.strip() and not _ADVICE.search(reason)]
    if len(reasons) > MAX_REASON_LINES:
        reasons = [*reasons[: MAX_REASON_LINES - 3], "...", *reasons[-2:]]
    captured = [line for line in failure.captured if line.strip()]
    node = _node(failure.name, summary)
    told = [f"FAILED {node}" if places or reasons else _named(node, summary)]
    told += [f"  {place}" for place in places]
    told += [f"  E {reason}" for reason in reasons]
    told += [f"  printed: {line}" for line in captured[-MAX_CAPTURED_LINES:]]
    return "\n".join(told)


def _node(name: str, summary: dict[str, str]) -> str:
    """The whole id of a test whose block has only its short name."""
    short = (
        name.removeprefix("ERROR collecting ").removeprefix("ERROR at setup of ").removeprefix("ERROR at teardown of ")
    )
    for node in summary:
        if node == short or node.split("::", 1)[-1].replace("::", ".") == short:
            return node
    return short

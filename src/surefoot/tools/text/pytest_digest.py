"""Condense pytest output: each failing test with its failing lines, their locations and the reason."""

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
_LOCATION = re.compile(r"^(?P<location>[^\s:][^:\n]*:\d+): ?(?P<rest>.*)$")
_REASON = re.compile(r"^E(?:   (?P<text>.*)|\s*)$")
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) (?P<node>\S+(?:\[.*?\])?)(?: - (?P<reason>.*))?$")
_COUNTS = re.compile(r"^(?:=+ )?(?P<counts>(?:\d+ \w+(?:, )?)+ in [\d.]+s.*?)(?: =+)?$")
# Advice, and the markers under the lines of a diff, which mean nothing once lines are omitted.
_ADVICE = re.compile(r"^\s*(?:Use -v+ to get (?:more|the full) diff|\?\s*[-+^\s]+$)")
_LIBRARY = re.compile(r"/lib/python3|site-packages/|dist-packages/|<frozen ")


@dataclass
class _FailedTest:
    name: str
    locations: list[str] = field(default_factory=list)
    """`test_a.py:5: assert f(1) == 2`, outermost first."""
    reasons: list[str] = field(default_factory=list)
    captured: list[str] = field(default_factory=list)
    pending: str = ""
    """The line marked with `>`, until its location follows; `?` when the location came first."""
    capturing: bool = False


def pytest_digest(text: str, limit: int) -> str:
    """Summarise the failing tests; empty if this is not pytest output or nothing failed.

    Every failing test is named. Details are added in order, as long as they fit into `limit`.
    """
    if not _IS_PYTEST.search(text):
        return ""
    failures, summary, counts = _read(text.split("\n"))
    if not failures and not summary:
        return ""
    details = {_node(failure.name, summary): _detail(failure, summary) for failure in failures}
    headlines = {node: _headline(node, summary) for node in [*details, *summary]}
    room = limit - len(counts) - sum(len(line) + 1 for line in headlines.values())
    lines = [counts] if counts else []
    for node, headline in headlines.items():
        detail = details.get(node, headline)
        if len(detail) - len(headline) <= room:
            room -= len(detail) - len(headline)
            lines.append(detail)
        else:
            lines.append(headline)
    return "\n".join(lines)


def _read(lines: list[str]) -> tuple[list[_FailedTest], dict[str, str], str]:
    failures: list[_FailedTest] = []
    summary: dict[str, str] = {}
    section = counts = ""
    current: _FailedTest | None = None
    for line in lines:
        if match := _COUNTS.match(line):
            counts = match["counts"]
        elif match := _SECTION.match(line):
            section, current = match["title"], None
        elif section == "short test summary info" or _SUMMARY.match(line):
            if match := _SUMMARY.match(line):
                summary[match["node"]] = match["reason"] or ""
        elif section in {"FAILURES", "ERRORS"}:
            if match := _BLOCK.match(line):
                current = _FailedTest(match["name"])
                failures.append(current)
            elif current:
                _read_block_line(current, line)
    return failures, summary, counts


def _read_block_line(failure: _FailedTest, line: str) -> None:
    if failure.capturing or _CAPTURED.match(line):
        if failure.capturing:
            failure.captured.append(line)
        failure.capturing = True
    elif match := _REASON.match(line):
        failure.reasons.append((match["text"] or "").rstrip())
    elif line.startswith(">"):
        failure.pending = line[1:].strip()
    elif match := _LOCATION.match(line):
        # The location follows the source line in the long style and precedes it in the short style.
        failure.locations.append(f"{match['location']}: {failure.pending}" if failure.pending else match["location"])
        failure.pending = "" if failure.pending else "?"
    elif failure.pending == "?" and line.startswith("    "):
        failure.locations[-1] += f": {line.strip()}"
        failure.pending = ""


def _headline(node: str, summary: dict[str, str]) -> str:
    reason = summary.get(node, "")
    return f"FAILED {node} - {reason}" if reason else f"FAILED {node}"


def _detail(failure: _FailedTest, summary: dict[str, str]) -> str:
    # Frames inside libraries are omitted; of the project's own, the outermost and the last two are shown.
    locations = [location for location in failure.locations if not _LIBRARY.search(location)]
    locations = locations if len(locations) <= 3 else [locations[0], *locations[-2:]]
    if failure.pending not in {"", "?"}:
        locations = [*locations, failure.pending]
    reasons = textwrap.dedent("\n".join(failure.reasons)).split("\n")
    reasons = [reason for reason in reasons if reason.strip() and not _ADVICE.search(reason)]
    if len(reasons) > MAX_REASON_LINES:
        reasons = [*reasons[: MAX_REASON_LINES - 3], "...", *reasons[-2:]]
    captured = [line for line in failure.captured if line.strip()]
    node = _node(failure.name, summary)
    lines = [f"FAILED {node}" if locations or reasons else _headline(node, summary)]
    lines += [f"  {location}" for location in locations]
    lines += [f"  E {reason}" for reason in reasons]
    lines += [f"  printed: {line}" for line in captured[-MAX_CAPTURED_LINES:]]
    return "\n".join(lines)


def _node(name: str, summary: dict[str, str]) -> str:
    """Return the full node id of a test whose block shows only its short name."""
    short = (
        name.removeprefix("ERROR collecting ").removeprefix("ERROR at setup of ").removeprefix("ERROR at teardown of ")
    )
    for node in summary:
        if node == short or node.split("::", 1)[-1].replace("::", ".") == short:
            return node
    return short

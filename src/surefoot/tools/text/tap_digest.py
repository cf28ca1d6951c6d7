"""Condense output in the Test Anything Protocol, such as that of `node --test`: each failing test with its reason."""

import re

MAX_DETAILS = 16
"""How many lines of a failing test's diagnosis are shown."""
MAX_FRAMES = 3

_IS_TAP = re.compile(r"^(?:TAP version \d+|\s*1\.\.\d+\b.*)$", re.MULTILINE)
_RESULT = re.compile(r"^(?P<indent>\s*)(?P<failed>not )?ok\b(?: +\d+)?(?: +-)? *(?P<name>.*)$")
_EXPECTED = re.compile(r"#\s*(?:TODO|SKIP)\b", re.IGNORECASE)
_COUNT = re.compile(r"^# (tests|pass|fail|skipped|todo) +(\d+)$", re.MULTILINE)
_KEY = re.compile(r"^(?P<name>\w+):(?: (?P<value>.*))?$")
_QUIET = frozenset(("duration_ms", "type", "failureType", "code", "name", "severity", "operator"))
_TWICE = frozenset(("expected", "actual"))
"""Keys that are left out if the error has several lines: it shows their difference."""
_LIBRARY = re.compile(r"node:|node_modules/|\(native\)")


def tap_digest(text: str, limit: int) -> str:
    """Summarise the failing tests; empty if this is not TAP output or nothing failed.

    As many failing tests are named as fit into half of `limit`. Details are added as long as they fit.
    """
    if "not ok" not in text or not _IS_TAP.search(text):
        return ""
    failures = _failures(text.split("\n"))
    if not failures:
        return ""
    counted = dict(_COUNT.findall(text))
    rows = [", ".join(f"{name} {count}" for name, count in counted.items())] if counted else []
    named = list[tuple[str, list[str]]]()
    for heading, details in failures:
        if sum(len(other) + 1 for other, _ in named) + len(heading) > limit // 2:
            break
        named.append((heading, details))
    more = [f"and {len(failures) - len(named)} more"] if len(named) < len(failures) else []
    room = limit - sum(len(line) + 1 for line in (*rows, *(heading for heading, _ in named), *more))
    explained = set[int]()
    for number in _by_place(named):
        cost = sum(len(line) + 1 for line in named[number][1])
        if cost <= room:
            room -= cost
            explained.add(number)
    for number, (heading, details) in enumerate(named):
        rows += [heading, *(details if number in explained else ())]
    return "\n".join([*rows, *more])


def _by_place(named: list[tuple[str, list[str]]]) -> list[int]:
    """Return the indices of the failures: the first of each file, then the others, which often have the same reason."""
    places = [re.search(r"[^\s'(]+(?=:\d)", " ".join(details)) for _, details in named]
    files = [place[0] if place else "" for place in places]
    return sorted(range(len(named)), key=lambda number: (files.index(files[number]) != number, number))


def _failures(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Return the failing tests with their details, without those that failed only because of their subtests."""
    failures = list[tuple[str, list[str]]]()
    for index, line in enumerate(lines):
        result = _RESULT.match(line)
        if result is None or not result["failed"] or _EXPECTED.search(result["name"]):
            continue
        block = _block(lines, index + 1, len(result["indent"]))
        if not any("subtestsFailed" in row for row in block):
            failures.append((f"not ok - {result['name']}", [f"  {row}" for row in _details(block)]))
    return failures


def _block(lines: list[str], start: int, indent: int) -> list[str]:
    """Return the diagnosis below a result without its indentation: the block between `---` and `...`, or comments."""
    block = list[str]()
    inside = start < len(lines) and lines[start].strip() == "---"
    for line in lines[start + inside :]:
        if (inside and line.strip() == "...") or (not inside and not line.strip().startswith("#")):
            break
        if _RESULT.match(line) and len(line) - len(line.lstrip()) <= indent:
            break
        block.append(line)
    margin = min((len(line) - len(line.lstrip()) for line in block if line.strip()), default=0)
    return [line[margin:].rstrip() for line in block]


def _details(block: list[str]) -> list[str]:
    """Return the lines that explain the failure: the values of useful keys, and the project's own frames of a stack."""
    values, name = dict[str, list[str]](), ""
    for row in block:
        if key := _KEY.match(row):
            name = key["name"]
            values[name] = [key["value"] or ""]
        else:
            values.setdefault(name, []).append(row)
    if len(values.get("error", ())) > 1:
        values = {name: rows for name, rows in values.items() if name not in _TWICE}
    details = list[str]()
    for name, (first, *rest) in values.items():
        if name in _QUIET:
            continue
        if name == "stack":
            details += [f"at {row.strip()}" for row in rest if row.strip() and not _LIBRARY.search(row)][:MAX_FRAMES]
            continue
        text = first.strip("'\"") if first not in ("|-", "|", ">-", ">") else ""
        details.append(f"{name}: {text}".rstrip() if name else first)
        details += [row for row in rest if row.strip()]
    return details if len(details) <= MAX_DETAILS else [*details[: MAX_DETAILS - 2], "[...]", details[-1]]

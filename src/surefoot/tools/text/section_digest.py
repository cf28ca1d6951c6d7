"""Condense the output of test runners that list the failures again at the end, such as node, mocha, jest and cargo."""

import re

_HEADING = re.compile(
    r"^\s*(?:✖ failing tests:"  # node --test with the reporter `spec`
    r"|\d+ failing"  # mocha
    r"|Summary of all failing tests"  # jest
    r"|.*\bFailed Tests \d+\b.*"  # vitest
    r"|failures:|Failures:"  # cargo, rspec
    r"|There (?:was|were) \d+ (?:failure|error)s?:)\s*$",  # phpunit
    re.MULTILINE,
)
_LIBRARY = re.compile(r"^\s*at (?:/rustc/|.*(?:node:|node_modules/))|^\s*\d+: .*(?:core|std|__rustc)::")
_COUNT = re.compile(
    r"^(?:ℹ (?:tests|pass|fail) \d+|\s*\d+ passing\b.*|Tests:? .*\d+ (?:passed|failed).*|test result: .*"
    r"|\d+ examples?, .*|Tests: \d+, .*)$",
    re.MULTILINE,
)
MIN_LINES = 40
"""A shorter output is not condensed: what comes before the failures may explain them."""


def section_digest(text: str, limit: int) -> str:
    """Return the counts and the list of failures, without frames of libraries; empty if there is no such list."""
    heading = _HEADING.search(text)
    if heading is None or text.count("\n") < MIN_LINES:
        return ""
    counts = " ".join(dict.fromkeys(line.strip() for line in _COUNT.findall(text)))[:200]
    lines = [line for line in text[heading.start() :].strip("\n").split("\n") if not _LIBRARY.match(line)]
    room, rows = limit - len(counts) - 30, list[str]()
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        rows.append(line)
    more = [f"[... {len(lines) - len(rows)} more lines]"] if len(rows) < len(lines) else []
    return "\n".join([*([counts] if counts else []), *rows, *more])

"""Shorten long output for a model, keeping the lines that explain a failure.

Omitted lines are marked, with a hint on how to read them. The full output is stored elsewhere.
"""

import re
import unicodedata

from surefoot.tools.text.pytest_digest import pytest_digest
from surefoot.tools.text.section_digest import section_digest
from surefoot.tools.text.tap_digest import tap_digest
from surefoot.tools.text.unittest_digest import unittest_digest

HEAD_LINES = 4
TAIL_LINES = 8
MAX_LINE = 300
MAX_SCANNED = 5_000
"""Characters of each end of a very long line that are searched for an error."""
LAST_FRAMES = 3

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_PRINTABLE = bytes(range(0x20, 0x7F))
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Substrings that indicate a line about an error. Not one regular expression, because with this many branches it takes
# seconds for the output of a large build.
_ERROR_WORDS = (
    *("error", "exception", "fail", "fatal", "panic", "abort", "critical", "denied", "refused", "undefined"),
    *("unresolved", "expected", "invalid", "missing", "mismatch", "not found", "no such", "cannot", "can't"),
    *("could not", "unable", "timed out", "segmentation", "killed", "assert", "traceback", "错误", "失败", "异常"),
)
_HAS_LOCATION = re.compile(r"^\s*(?:-->\s*)?[^\s:]+:\d+(?::\d+)?:?\s")
_NUMBERS = re.compile(r"\d+")
_HARMLESS = re.compile(r"\b(?:0|no) (?:errors?|failures?|failed)\b")
_PASSED = re.compile(r"^\s*(?:[✔✓√]|ok \d+|# subtest:|--- pass|pass(?:ed)?\b)|\.\.\. ok$| passed(?:\s+\[\s*\d+%\])?$")
"""The line of a test that passed, in lower case. It is not an error, whatever words the name of the test contains."""
_TRACEBACK = "Traceback (most recent call last)"

_DIGESTS = (pytest_digest, unittest_digest, tap_digest, section_digest)


def summarise(output: str, *, limit: int = 2400, failed: bool, result_id: str = "") -> str:
    """Return at most `limit` characters: all of a short output, else its head, its tail and its error lines."""
    text = clean(output)
    if failed:
        note = _shortened_note(text.count("\n") + 1, result_id)
        digest = next(filter(None, (digest_of(text, limit - len(note)) for digest_of in _DIGESTS)), "")
        if digest and len(digest) + len(note) < len(text):
            text = digest + note
    if len(text) <= limit:
        return text
    lines = [_shorten_line(line) for line in text.split("\n")]
    selected = _select(lines, limit, failed, result_id)
    return _truncate(_render(lines, selected, result_id), limit)


def head_and_tail(output: str, *, limit: int, result_id: str = "") -> str:
    """Return at most about `limit` characters: all of a short output, else as much of its beginning as of its end."""
    text = clean(output)
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 2], text[-(limit // 2) :]
    # Whole lines, unless a line is longer than the room that is left.
    head = head[: head.rfind("\n")] if "\n" in head else head
    tail = tail[tail.find("\n") + 1 :] if "\n" in tail else tail
    left_out = text[len(head) : len(text) - len(tail)].strip("\n").count("\n") + 1
    return f"{head}\n{_marker(left_out, result_id)}\n{tail}"


def clean(text: str) -> str:
    """Return the text as a terminal would show it: without colours, and with progress bars in their final state."""
    if text.isascii() and not text.encode().translate(None, _PRINTABLE):
        return text.rstrip()
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = _ANSI.sub("", text).replace("\r\n", "\n")
    lines = [line.rstrip("\r").rsplit("\r", 1)[-1].rstrip() for line in text.split("\n")]
    return _CONTROL.sub("", "\n".join(lines)).strip("\n")


def stable(text: str) -> str:
    """Mask values that differ from run to run, so that two equal failures compare equal.

    A value is masked only if its context identifies it as volatile; a number inside an assertion is not.
    """
    masked = clean(text)
    for pattern, name in _VOLATILE:
        masked = pattern.sub(name, masked)
    return masked


_VOLATILE = [
    (re.compile(r"\b0x[0-9a-fA-F]{4,}\b"), "<address>"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<uuid>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "<date>"),
    (re.compile(r"(?:/private)?(?:/var)?/tmp/[\w.+-]+(?:/pytest-\d+)?|/var/folders/\w+/\w+/T/[\w.+-]+"), "<tmp>"),
    (
        re.compile(
            r"(\b(?:in|took|after|elapsed:?|duration:?|time:?) )\d+(?:\.\d+)?\s?(?:m?s|µs|us|sec|seconds|minutes)\b"
        ),
        r"\1<time>",
    ),
    (re.compile(r"([\[(])\d+(?:\.\d+)?\s?(?:m?s|µs|us|sec|seconds)(?=[\])])"), r"\1<time>"),
    (re.compile(r"^(real|user|sys)(\s+)\d+m[\d.]+s$", re.MULTILINE), r"\1\2<time>"),
    (re.compile(r"\b(pid[ =:]+|process )\d+", re.IGNORECASE), r"\1<pid>"),
    (re.compile(r"\b(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):\d{4,5}\b"), r"\1:<port>"),
    (re.compile(r"\b(seed[ =:]+)\d+", re.IGNORECASE), r"\1<seed>"),
]


def _select(lines: list[str], limit: int, failed: bool, result_id: str) -> set[int]:
    """Choose lines by priority until `limit` is used up."""
    selected: set[int] = set()
    gap_cost = len(_marker(len(lines), result_id)) + 1
    room = limit - 2 * gap_cost
    for index in _by_priority(lines, limit, failed):
        if index in selected:
            continue
        neighbours = (index - 1 in selected) + (index + 1 in selected)
        cost = len(lines[index]) + 1 + (1 - neighbours) * gap_cost
        if cost <= room:
            selected.add(index)
            room -= cost
    return selected


def _by_priority(lines: list[str], limit: int, failed: bool) -> list[int]:
    last = len(lines) - 1
    ends = [*range(min(2, len(lines))), *range(last, max(-1, last - 3), -1)]
    outer = [*range(min(HEAD_LINES, len(lines))), *range(last, max(-1, last - TAIL_LINES), -1)]
    errors = [*_traceback_lines(lines), *_error_lines(lines)]
    if failed and errors:
        return [*ends, *errors, *outer]
    # Fill the remaining room from both ends; every line takes at least one character.
    filler = [index for offset in range(min(limit, len(lines))) for index in (offset, last - offset)]
    return [*ends, *outer, *errors, *filler]


def _traceback_lines(lines: list[str]) -> list[int]:
    """Return the exception and the last frames of each Python traceback; the last traceback comes first."""
    indices: list[int] = []
    for start in [index for index, line in enumerate(lines) if _TRACEBACK in line][::-1]:
        indent = len(lines[start]) - len(lines[start].lstrip())
        end = start + 1
        while end < len(lines) and (lines[end].startswith(" " * (indent + 1)) or not lines[end].strip()):
            end += 1
        frames = [index for index in range(start, end) if lines[index].lstrip().startswith("File ")]
        first = frames[-LAST_FRAMES] if len(frames) >= LAST_FRAMES else start
        indices += range(min(end, len(lines) - 1), first - 1, -1)
    return indices


def _error_lines(lines: list[str]) -> list[int]:
    """Return the lines that mention an error, each kind once, then the lines around them."""
    lowered = [line.lower() for line in lines]
    whole = "\n".join(lowered)
    words = [word for word in _ERROR_WORDS if word in whole]
    seen_kinds: set[str] = set()
    errors: list[int] = []
    for index, line in enumerate(lowered):
        if not line.startswith("e  ") and not any(word in line for word in words):
            continue
        kind = _NUMBERS.sub("0", line)
        if kind not in seen_kinds and not _HARMLESS.search(line) and not _PASSED.search(line):
            errors.append(index)
        seen_kinds.add(kind)
    errors.sort(key=lambda index: not _HAS_LOCATION.match(lines[index]))
    context = [index + offset for index in errors for offset in (1, -1, 2) if 0 <= index + offset < len(lines)]
    return errors + context


def _render(lines: list[str], selected: set[int], result_id: str) -> str:
    rows: list[str] = []
    omitted = 0
    for index, line in enumerate(lines):
        if index not in selected:
            omitted += 1
            continue
        if omitted:
            rows.append(_marker(omitted, result_id))
            omitted = 0
        rows.append(line)
    if omitted:
        rows.append(_marker(omitted, result_id))
    return "\n".join(rows)


def _marker(count: int, result_id: str) -> str:
    hint = f'; read_result("{result_id}") shows them' if result_id else ""
    return f"[... {count} {'line' if count == 1 else 'lines'} left out{hint}]"


def _shortened_note(count: int, result_id: str) -> str:
    return f'\n[shortened from {count} lines; read_result("{result_id}") shows all]' if result_id else ""


def _shorten_line(line: str) -> str:
    if len(line) <= MAX_LINE:
        return line
    line = line if len(line) <= 2 * MAX_SCANNED else f"{line[:MAX_SCANNED]} ... {line[-MAX_SCANNED:]}"
    lowered = line.lower()
    error = min((position for position in map(lowered.find, _ERROR_WORDS) if position >= 0), default=0)
    start = max(0, min(error - MAX_LINE // 4, len(line) - MAX_LINE + 20))
    part = _truncate(line[start:], MAX_LINE - 20)
    return f"{'...' if start else ''}{part}{'...' if start + len(part) < len(line) else ''}"


def _truncate(text: str, limit: int) -> str:
    """Cut at `limit` characters, but not inside a combining or joined character."""
    if len(text) <= limit:
        return text
    end = limit
    while end > 0 and (unicodedata.combining(text[end]) or text[end] in "\u200d\ufe0f" or text[end - 1] == "\u200d"):
        end -= 1
    return text[: end or limit]

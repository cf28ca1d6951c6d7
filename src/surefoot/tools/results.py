"""Long output, made short for a model without losing what it needs: the failing part, quoted.

The whole output is kept elsewhere; what is left out is marked, with the way to read it.
"""

import re
import unicodedata

from surefoot.tools.pytest_digest import pytest_digest
from surefoot.tools.unittest_digest import unittest_digest

HEAD_LINES = 4
TAIL_LINES = 8
MAX_LINE = 300
LOOKED_AT = 5_000
LAST_FRAMES = 3

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_PRINTABLE = bytes(range(0x20, 0x7F))
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Pieces of words by which a line about an error is known. Plain text, since a regular expression with as many branches
# takes seconds for the output of a large build.
_TELLING = (
    *("error", "exception", "fail", "fatal", "panic", "abort", "critical", "denied", "refused", "undefined"),
    *("unresolved", "expected", "invalid", "missing", "mismatch", "not found", "no such", "cannot", "can't"),
    *("could not", "unable", "timed out", "segmentation", "killed", "assert", "traceback", "错误", "失败", "异常"),
)
_PLACED = re.compile(r"^\s*(?:-->\s*)?[^\s:]+:\d+(?::\d+)?:?\s")
_NUMBERS = re.compile(r"\d+")
_HARMLESS = re.compile(r"\b(?:0|no) (?:errors?|failures?|failed)\b")
_TRACEBACK = "Traceback (most recent call last)"


def summarise(output: str, *, limit: int = 2400, failed: bool, result_id: str = "") -> str:
    """`output` in at most `limit` characters: whole if it is short, else its head, its tail and its telling lines."""
    text = clean(output)
    if failed:
        note = _shortened_note(text.count("\n") + 1, result_id)
        digest = pytest_digest(text, limit - len(note)) or unittest_digest(text, limit - len(note))
        if digest and len(digest) + len(note) < len(text):
            text = digest + note
    if len(text) <= limit:
        return text
    lines = [_shortened(line) for line in text.split("\n")]
    kept = _choose(lines, limit, failed, result_id)
    return _cut(_render(lines, kept, result_id), limit)


def clean(text: str) -> str:
    """As a person would see it on a terminal: without colours, and with progress bars in their last state."""
    if text.isascii() and not text.encode().translate(None, _PRINTABLE):
        return text.rstrip()
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = _ANSI.sub("", text).replace("\r\n", "\n")
    lines = [line.rstrip("\r").rsplit("\r", 1)[-1].rstrip() for line in text.split("\n")]
    return _CONTROL.sub("", "\n".join(lines)).strip("\n")


def stable(text: str) -> str:
    """`text` with what differs from run to run masked, so that two equal failures compare equal.

    Only what is told apart by its surroundings is masked: a number inside an assertion is the failure itself.
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


def _choose(lines: list[str], limit: int, failed: bool, result_id: str) -> set[int]:
    """The lines worth their room, the most telling first, until `limit` is used up."""
    kept: set[int] = set()
    gap_cost = len(_marker(len(lines), result_id)) + 1
    room = limit - 2 * gap_cost
    for index in _by_worth(lines, limit, failed):
        if index in kept:
            continue
        neighbours = (index - 1 in kept) + (index + 1 in kept)
        cost = len(lines[index]) + 1 + (1 - neighbours) * gap_cost
        if cost <= room:
            kept.add(index)
            room -= cost
    return kept


def _by_worth(lines: list[str], limit: int, failed: bool) -> list[int]:
    last = len(lines) - 1
    ends = [*range(min(2, len(lines))), *range(last, max(-1, last - 3), -1)]
    outer = [*range(min(HEAD_LINES, len(lines))), *range(last, max(-1, last - TAIL_LINES), -1)]
    telling = [*_traceback_lines(lines), *_telling_lines(lines)]
    if failed and telling:
        return [*ends, *telling, *outer]
    # Nothing stands out, so whatever room is left goes to more of both ends; every line takes a character of it.
    filler = [index for far in range(min(limit, len(lines))) for index in (far, last - far)]
    return [*ends, *outer, *telling, *filler]


def _traceback_lines(lines: list[str]) -> list[int]:
    """Of each Python traceback what was raised and the last frames; the last traceback is worth most."""
    chosen: list[int] = []
    for start in [index for index, line in enumerate(lines) if _TRACEBACK in line][::-1]:
        indent = len(lines[start]) - len(lines[start].lstrip())
        end = start + 1
        while end < len(lines) and (lines[end].startswith(" " * (indent + 1)) or not lines[end].strip()):
            end += 1
        frames = [index for index in range(start, end) if lines[index].lstrip().startswith("File ")]
        first = frames[-LAST_FRAMES] if len(frames) >= LAST_FRAMES else start
        chosen += range(min(end, len(lines) - 1), first - 1, -1)
    return chosen


def _telling_lines(lines: list[str]) -> list[int]:
    """Lines that speak of an error, each kind once, and then what stands around them."""
    lowered = [line.lower() for line in lines]
    whole = "\n".join(lowered)
    signs = [sign for sign in _TELLING if sign in whole]
    seen: set[str] = set()
    telling: list[int] = []
    for index, line in enumerate(lowered):
        if not line.startswith("e  ") and not any(sign in line for sign in signs):
            continue
        kind = _NUMBERS.sub("0", line)
        if kind not in seen and not _HARMLESS.search(line):
            telling.append(index)
        seen.add(kind)
    telling.sort(key=lambda index: not _PLACED.match(lines[index]))
    around = [index + offset for index in telling for offset in (1, -1, 2) if 0 <= index + offset < len(lines)]
    return telling + around


def _render(lines: list[str], kept: set[int], result_id: str) -> str:
    shown: list[str] = []
    left_out = 0
    for index, line in enumerate(lines):
        if index not in kept:
            left_out += 1
            continue
        if left_out:
            shown.append(_marker(left_out, result_id))
            left_out = 0
        shown.append(line)
    if left_out:
        shown.append(_marker(left_out, result_id))
    return "\n".join(shown)


def _marker(count: int, result_id: str) -> str:
    how = f'; read_result("{result_id}") shows them' if result_id else ""
    return f"[... {count} {'line' if count == 1 else 'lines'} left out{how}]"


def _shortened_note(count: int, result_id: str) -> str:
    return f'\n[shortened from {count} lines; read_result("{result_id}") shows all]' if result_id else ""


def _shortened(line: str) -> str:
    if len(line) <= MAX_LINE:
        return line
    # Nobody needs the middle of a line that is longer than a page.
    line = line if len(line) <= 2 * LOOKED_AT else f"{line[:LOOKED_AT]} ... {line[-LOOKED_AT:]}"
    lowered = line.lower()
    found = min((at for at in map(lowered.find, _TELLING) if at >= 0), default=0)
    start = max(0, min(found - MAX_LINE // 4, len(line) - MAX_LINE + 20))
    part = _cut(line[start:], MAX_LINE - 20)
    return f"{'...' if start else ''}{part}{'...' if start + len(part) < len(line) else ''}"


def _cut(text: str, limit: int) -> str:
    """At most `limit` characters, and no letter without its accents or half of a joined one."""
    if len(text) <= limit:
        return text
    end = limit
    while end > 0 and (unicodedata.combining(text[end]) or text[end] in "\u200d\ufe0f" or text[end - 1] == "\u200d"):
        end -= 1
    return text[: end or limit]

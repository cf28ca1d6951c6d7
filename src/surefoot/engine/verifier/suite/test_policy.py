"""Finds what happened to each test that existed before the run, and whether the task asked for it. Pure.

Given tests may be extended but never weakened. In Python a test is compared by its syntax tree. In other files every
existing line has to stay, and added lines must not switch tests off.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from surefoot.core.proof import AlteredTest, TestFate, weakened_of
from surefoot.engine.verifier.deciding.names import found_like, is_test_file
from surefoot.engine.verifier.suite.block_tests import compare_blocks
from surefoot.engine.verifier.suite.python_tests import SHARED, PythonTest, extended_tests, python_tests
from surefoot.project.asked_changes import asks_for_tests, asks_to_move
from surefoot.project.test_words import (
    asks_to_change_tests,
    asks_to_remove_tests,
    asks_to_skip_tests,
    renamed_in,
    tests_named_to_change,
)

_SWITCHES_OFF = re.compile(
    r"\.(?:only|skip|todo|fixme)\b|\bskip\w*\b|\bx(?:it|describe|test|context|specify)\b|\bf(?:it|describe|context)\s*\("
    r"|#\[ignore|@(?:Disabled|Ignore|Tag)\b|\bpending\b|\bSkip(?:Now|f)?\s*\(|\bmarkTest(?:Skipped|Incomplete)"
    r"|\b(?:process\.exit|os\.Exit|System\.exit|exit|abort)\b|^\s*return\b|/\*|\*/|<!--|^\s*#\s*if\s+0|=begin|=end"
    r"|\b(?:WILL_FAIL|DISABLED)\b|\bt\.Skip",
    re.IGNORECASE,
)
"""Text in a line that can switch off tests elsewhere in the file."""
MAX_LINE = 120
_SCRIPTS = (".sh", ".bash", ".zsh", ".ksh", ".mk", ".cmd", ".bat", ".ps1")
"""Ends of files in which any added line can change what the others do. They grow only if the task asks for tests."""


@dataclass(frozen=True, slots=True)
class TestChanges:
    """How the tests of a project differ from what they were."""

    __test__ = False  # the name is not that of a test class

    altered: tuple[AlteredTest, ...] = ()
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By test file: the names of the tests in it that the run added or changed. Empty: the names are not known."""
    moved: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By test file: the names of the tests in it that were in another file, unless the task asks to move them."""

    @property
    def weakened(self) -> tuple[AlteredTest, ...]:
        return weakened_of(self.altered)


def compare_tests(before: Mapping[str, bytes], after: Mapping[str, bytes], task: str) -> TestChanges:
    """Compare test files by path, before and after the run. Only files that differ are needed."""
    removed: list[tuple[str, str, str]] = []
    """Path, name and content of each test that is no longer in its file."""
    added: dict[str, dict[str, str]] = {}
    """By path: the content of new tests by name."""
    altered: list[AlteredTest] = []
    changed: dict[str, list[str]] = {}
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        fates, gone, new_tests = _compare_file(path, old, new, task)
        altered += [
            AlteredTest(
                name=_full(path, test.name),
                fate=test.fate,
                asked=test.renamed or _asked(task, path, test.fate),
                line=test.line.strip()[:MAX_LINE],
            )
            for test in fates
        ]
        changed[path] = [test.name for test in fates if test.fate == "changed" and test.name]
        removed += [(path, name, content) for name, content in gone]
        if new is not None:
            added[path] = new_tests
    moved: dict[str, list[str]] = {}
    for path, name, content in removed:
        place = _place_of(path, content, added)
        altered.append(_fate_of_removed(task, path, name, place, added))
        if place and is_test_file(path) and not asks_to_move(path, task):
            moved.setdefault(place, []).append(name)
    own = {
        path: tuple(dict.fromkeys([*changed.get(path, ()), *(n for n in tests if n and n != SHARED)]))
        for path, tests in added.items()
        if tests or changed.get(path)
    }
    return TestChanges(tuple(altered), own, {path: tuple(names) for path, names in moved.items()})


def changed_as_asked(before: Mapping[str, bytes], after: Mapping[str, bytes], task: str) -> set[str]:
    """Return the test files in which tests were changed, and only as the task asks."""
    altered: dict[str, list[bool]] = {}
    for test in compare_tests(before, after, task).altered:
        altered.setdefault(test.name.partition("::")[0], []).append(test.asked)
    return {path for path, asked in altered.items() if all(asked)}


def refusal_to_weaken(path: str, before: bytes, after: bytes | None, task: str, *, moved_to: str = "") -> str:
    """Return which existing tests a write would weaken, in words; empty if none.

    `after` is None for a deleted file. `moved_to` is the new path of a file that is moved.
    """
    changes = compare_tests({path: before}, {} if after is None else {moved_to or path: after}, task)
    return "; ".join(test.as_text() for test in changes.weakened[:5])


class _Changed(NamedTuple):
    """A changed test."""

    name: str
    fate: TestFate
    renamed: bool = False
    """Whether the change only replaces names as the task asks."""
    line: str = ""
    """The line that switches it off."""


_Fates = list[_Changed]


def _compare_file(
    path: str, old: bytes | None, new: bytes | None, task: str
) -> tuple[_Fates, list[tuple[str, str]], dict[str, str]]:
    """Return changed tests with their fates, removed ones with their content, and new ones with their content."""
    if old is None:
        assert new is not None
        tests = python_tests(_text(new)) if path.endswith(".py") else None
        return [], [], {name: test.content for name, test in tests.items()} if tests else {"": _text(new)}
    if new is None:
        tests = python_tests(_text(old)) if path.endswith(".py") else None
        return [], [(name, test.content) for name, test in tests.items()] if tests else [("", _text(old))], {}
    if path.endswith(".py"):
        before, after = _text(old), _text(new)
        pairs = extended_tests(before, after)
        if pairs is not None:
            renames = renamed_in(task)
            asked = extended_tests(_renamed(before, renames), after) if renames else None
            return _compare_python(pairs[0], pairs[1], asked[0] if asked else {})
    may_grow = not path.endswith(_SCRIPTS) or (is_test_file(path) and asks_for_tests(task))
    return _compare_lines(path, _text(old), _text(new), may_grow=may_grow)


def _compare_python(
    old: Mapping[str, PythonTest], new: Mapping[str, PythonTest], renamed: Mapping[str, PythonTest]
) -> tuple[_Fates, list[tuple[str, str]], dict[str, str]]:
    fates: _Fates = []
    gone: list[tuple[str, str]] = []
    as_asked = {test.content for test in renamed.values()}
    for name, test in old.items():
        now = new.get(name)
        if now is None:
            if any(other.content in as_asked for key, other in new.items() if key not in old):
                fates.append(_Changed(name, "changed", renamed=True))
            else:
                gone.append((name, test.content))
        elif now.content != test.content:
            skipped = now.skips > test.skips
            fates.append(_Changed(name, "skipped" if skipped else "changed", now.content in as_asked))
    return fates, gone, {name: test.content for name, test in new.items() if name not in old and name != SHARED}


def _compare_lines(
    path: str, old: str, new: str, *, may_grow: bool
) -> tuple[_Fates, list[tuple[str, str]], dict[str, str]]:
    blocks = compare_blocks(path, old, new)
    if blocks is not None and not blocks.is_lost:
        fates = [_Changed("", "skipped", line=blocks.switching_off)] if blocks.switching_off else []
        return fates, [], {"": "\n".join(blocks.added)} if blocks.added else {}
    before, after = _significant(old), _significant(new)
    added: list[str] = []
    lost = blocks is not None
    for kind, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind in ("replace", "delete") and _joined(before[i:j]) not in _joined(after[k:m]):
            lost = True
        if kind in ("replace", "insert"):
            added += after[k:m]
    new_text = {"": "\n".join(added)} if added else {}
    if added and not may_grow:
        return [_Changed("", "changed")], [], new_text
    if switching_off := next(filter(_SWITCHES_OFF.search, added), ""):
        return [_Changed("", "skipped", line=switching_off)], [], new_text
    return ([_Changed("", "changed")] if lost else []), [], new_text


def _place_of(path: str, content: str, added: Mapping[str, Mapping[str, str]]) -> str:
    """Return the file that has a removed test unchanged; empty if a runner would find it in none."""
    places = [place for place, tests in added.items() if content in tests.values()]
    return next((place for place in places if not is_test_file(path) or found_like(path, place)), "")


def _fate_of_removed(
    task: str, path: str, name: str, place: str, added: Mapping[str, Mapping[str, str]]
) -> AlteredTest:
    """Return what happened to a test that is no longer in its file.

    It was moved if it is unchanged in the file `place`, or if it may be removed and a changed version is elsewhere.
    """
    if place:
        return AlteredTest(name=_full(path, name), fate="moved")
    asked = _asked(task, path, "removed") or asks_to_move(path, task)
    stays = name and name != SHARED and any(name in tests and found_like(path, p) for p, tests in added.items())
    return AlteredTest(name=_full(path, name), fate="moved" if asked and stays else "removed", asked=asked)


def _asked(task: str, path: str, fate: TestFate) -> bool:
    named = tests_named_to_change(task)
    if path in named or path.rsplit("/", 1)[-1] in named:
        return fate == "changed" or (fate == "removed" and asks_to_remove_tests(task))
    match fate:
        case "changed":
            return asks_to_change_tests(task)
        case "removed":
            return asks_to_remove_tests(task)
        case "skipped":
            return asks_to_skip_tests(task)
    return True


def _renamed(source: str, names: Mapping[str, str]) -> str:
    for old, new in names.items():
        source = re.sub(rf"(?<![\w]){re.escape(old)}(?![\w])", new, source)
    return source


def _full(path: str, name: str) -> str:
    return f"{path}::{name}" if name and name != SHARED else path


def _significant(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _joined(lines: Sequence[str]) -> str:
    """Join lines for a search. A line that only got a comma or a bracket after it, to make room, is still found."""
    return "\n".join(line.rstrip(",;") for line in lines)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")

"""Selects the files that the final checks see as they were before the run: tests, data, settings of tools. Pure.

A changed or removed file of that kind is put back. A new one that an interpreter or a runner would pick up by its name
is left out. Of a file that also holds other things, only the settings are put back. Files that the wording of the task
asks to change are taken as they are now. Ordinary new modules, packages and data always stay.
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from surefoot.engine.verifier.deciding import names
from surefoot.engine.verifier.deciding.mixed import settings_from_before
from surefoot.engine.verifier.deciding.scripts import scripts_of, words_of
from surefoot.engine.verifier.deciding.shadows import Shadows, is_harmless_init
from surefoot.project import asked_changes
from surefoot.project.task_text import is_named_in
from surefoot.project.test_words import asks_to_change_tests
from surefoot.workspace.snapshots.diff import compare
from surefoot.workspace.snapshots.manifest import Entry

MAX_READ = 300
"""How many files are searched for the name of a data file."""
MAX_BYTES = 400_000
CACHED = "bytecode or a cache"


@dataclass(frozen=True)
class Tree:
    """A state of the workspace."""

    entries: Mapping[str, Entry]
    load: Callable[[Entry], bytes]
    """Returns the content of a file."""

    @cached_property
    def files(self) -> frozenset[str]:
        return frozenset(path for path, entry in self.entries.items() if path and entry.kind in ("file", "symlink"))

    @cached_property
    def folders(self) -> frozenset[str]:
        return frozenset(path for path, entry in self.entries.items() if path and entry.kind == "dir")

    def read(self, path: str) -> str:
        """Return the text of a file; empty if it is none, or too long to be a script or settings."""
        entry = self.entries.get(path)
        if entry is None or entry.kind != "file" or entry.size > MAX_BYTES:
            return ""
        return self.load(entry).decode("utf-8", errors="replace")


@dataclass(frozen=True)
class Differences:
    """How the judged tree differs from the workspace."""

    restored: dict[str, str] = field(default_factory=dict)
    """Paths that are as they were before the run, with the reason."""
    left_out: dict[str, str] = field(default_factory=dict)
    """New paths that are not in the judged tree, with the reason."""
    merged: dict[str, str] = field(default_factory=dict)
    """Paths with a part from before the run, with their text."""

    def __bool__(self) -> bool:
        return bool(self.restored or self.left_out or self.merged)


def deciding_differences(
    before: Tree, now: Tree, commands: Sequence[str], task: str, program_folders: Collection[str] = (), root: str = "/"
) -> Differences:
    """Return how the tree on which `commands` are judged differs from the workspace.

    `program_folders` are the folders of the workspace in which the shell looks for programs. `root` is the path of the
    workspace.
    """
    changes = [change for change in compare(before.entries, now.entries) if not change.path.startswith(".git/")]
    rules = _Rules(before, now, commands, task, program_folders, root)
    differences = Differences()
    for change in changes:
        path, old, new = change.path, change.before, change.after
        if old is not None and old.kind == "dir":
            continue
        if old is None or old.kind not in ("file", "symlink"):
            if new is not None and (reason := rules.why_left_out(path, is_folder=new.kind == "dir")):
                differences.left_out[path] = reason
            elif new is not None and new.kind == "file":
                rules.merge(path, differences)
        elif new is None and names.CACHE.search(path):
            continue
        elif reason := rules.why_restored(path):
            differences.restored[path] = reason
        elif new is not None and new.kind == "file":
            rules.merge(path, differences)
        elif path.rpartition("/")[2] in names.MIXED:
            differences.restored[path] = "settings of test tools"
    return differences


class _Rules:
    def __init__(
        self, before: Tree, now: Tree, commands: Sequence[str], task: str, program_folders: Collection[str], root: str
    ) -> None:
        self._before, self._now = before, now
        self._commands, self._task = commands, task
        self._program_folders, self._root = program_folders, root

    # -- what the tree was like, computed when first needed ------------------------------------------------------------

    @cached_property
    def _scripts(self) -> set[str]:
        return scripts_of(self._commands, self._before.files, self._before.folders, self._before.read)

    @cached_property
    def _new_scripts(self) -> set[str]:
        scripts = scripts_of(self._commands, self._now.files, self._now.folders, self._now.read)
        new = scripts - self._before.files
        return {path for path in new if names.CHECKING.search(path) or names.is_shell_framework(path)}

    @cached_property
    def _shadows(self) -> Shadows:
        named = {word.strip("/") for word in words_of(self._commands)} & self._before.folders
        named |= {script.rpartition("/")[0] for script in self._scripts}
        return Shadows(self._before.files, self._now.files, named, self._before.read)

    @cached_property
    def _environments(self) -> set[str]:
        return names.environment_roots(self._before.files, self._now.files)

    @cached_property
    def _links(self) -> list[tuple[str, str]]:
        """The symlinks of the tree before the run, each with its target in the tree."""
        return list(links_inside(self._before.entries, self._root))

    @cached_property
    def _test_texts(self) -> str:
        tests = [
            path for path in sorted(self._before.files) if self._is_test(path) and names.suffix(path) in names.CODE
        ]
        return "\n".join(self._before.read(path) for path in tests[:MAX_READ])

    @cached_property
    def _source_texts(self) -> str:
        sources = [
            path
            for path in sorted(self._before.files)
            if names.suffix(path) in names.CODE and not self._is_test(path) and path not in self._scripts
        ]
        return "\n".join(self._before.read(path) for path in sources[:MAX_READ])

    @cached_property
    def _may_install(self) -> bool:
        return asked_changes.asks_to_install(self._task)

    @cached_property
    def _task_allows_test_changes(self) -> bool:
        return asks_to_change_tests(self._task)

    def _asked(self, path: str) -> bool:
        return asked_changes.asks_to_change(path, self._task)

    def _is_test(self, path: str) -> bool:
        return names.is_test_file(path) or names.in_test_folder(path)

    def _in_environment(self, path: str) -> bool:
        return names.in_environment(path, self._environments, self._before.files)

    def _spellings(self, path: str) -> list[str]:
        """Return the path, and the paths that lead to it through symlinks."""
        spellings = [path]
        for name in spellings:
            for link, target in self._links:
                if (name == target or name.startswith(f"{target}/")) and len(spellings) < 20:
                    other = link + name[len(target) :]
                    if other not in spellings:
                        spellings.append(other)
        return spellings

    # -- rules ---------------------------------------------------------------------------------------------------------

    def why_restored(self, path: str) -> str:
        """Return why a file that existed is taken from before the run; empty if it is taken as it is now."""
        spellings = self._spellings(path)
        if any(self._asked(name) for name in spellings):
            return ""
        return next((reason for name in spellings if (reason := self._reason_to_restore(name))), "")

    def _reason_to_restore(self, path: str) -> str:
        name = path.rpartition("/")[2]
        if names.CACHE.search(path):
            return CACHED
        if self._in_environment(path) or names.is_package_metadata(path):
            return "" if self._may_install else "an installed package or interpreter"
        if names.is_below(path, self._program_folders):
            return "a program that checks may call"
        if self._is_test(path) or name in names.LOADED_BY_NAME:
            return "" if self._task_allows_test_changes else "a test or its data"
        if path in self._scripts:
            return "" if self._is_product(path) else "a check goes through it"
        if names.is_shell_framework(path) and not self._is_product(path):
            return "a test framework"
        if tool := names.tool_of(path):
            return "" if self._task_allows_setting(path, tool) else f"settings of {tool}"
        if names.is_golden(path) or self._is_compared_by_tests(path):
            return "expected results"
        return ""

    def _is_product(self, path: str) -> bool:
        """Whether the task names a file whose own name does not say that something is checked with it."""
        if self._is_the_project(path):
            return True
        return not names.CHECKING.search(path) and not names.is_golden(path) and is_named_in(path, self._task)

    def _is_the_project(self, path: str) -> bool:
        """Whether a test framework in the root has the name of the folder: then it is what is worked on."""
        if "/" in path or not names.is_shell_framework(path):
            return False
        folder = self._root.rstrip("/").rpartition("/")[2]
        return re.match(rf"{re.escape(path.partition('.')[0])}(?![^\W\d_])", folder) is not None

    def _task_allows_setting(self, path: str, tool: str) -> bool:
        if asked_changes.asks_to_configure(tool, self._task):
            return True
        if tool in ("gradle", "maven", "bundler") and self._may_install:
            return True
        return tool in ("make", "cmake", "meson") and self._only_lists_sources(path)

    def _only_lists_sources(self, path: str) -> bool:
        """Whether a build file differs only by added source files. It then decides nothing about checks."""
        if path not in self._before.files:
            return False
        old, new = self._before.read(path).split(), self._now.read(path).split()
        remaining = iter(new)
        added: list[str] = []
        for word in old:
            for other in remaining:
                if other == word:
                    break
                added.append(other)
            else:
                return False
        added += remaining
        stems = {file.rpartition(".")[0] for file in self._now.files if names.suffix(file) in names.CODE}
        folder = path.rpartition("/")[0]
        return all(f"{folder}/{word}".strip("/").rpartition(".")[0] in stems for word in added)

    def _is_compared_by_tests(self, path: str) -> bool:
        """Whether only tests name a data file. A file that programs read too, or that the task names, is a result."""
        name = path.rpartition("/")[2]
        if names.suffix(path) not in names.DATA or is_named_in(path, self._task):
            return False
        return name in self._test_texts and name not in self._source_texts

    def why_left_out(self, path: str, *, is_folder: bool) -> str:
        """Return why a new file is left out of the judged tree; empty if it stays."""
        if is_folder:
            hidden = self._shadows.hides(path) == "a target of make" and not self._asked(path)
            return "it hides a target of make" if hidden else ""
        name = path.rpartition("/")[2]
        if names.CACHE.search(path):
            return CACHED
        if any(self._asked(spelling) for spelling in self._spellings(path)):
            return ""
        if self._in_environment(path) or names.is_package_metadata(path):
            return "" if self._may_install else "an installed package or interpreter"
        if names.is_below(path, self._program_folders):
            return "a program that checks may call"
        tool = names.tool_of(path)
        if name in names.LOADED_BY_NAME or (tool and not self._task_allows_setting(path, tool)):
            return "loaded by its name"
        if thing := self._shadows.hides(path):
            named = name != "__init__.py" and is_named_in(path, self._task)
            return "" if named else f"it hides {thing}"
        if any(self._is_test(spelling) for spelling in self._spellings(path)):
            return self._why_without_test(path)
        if path in self._new_scripts and not is_named_in(path, self._task):
            return "a check goes through it"
        return ""

    def _why_without_test(self, path: str) -> str:
        name = path.rpartition("/")[2]
        if name == "__init__.py":
            return "" if is_harmless_init(self._now.read(path)) else "loaded by its name"
        if names.is_test_file(path):
            asked = asked_changes.asks_for_tests(self._task) or self._task_allows_test_changes
            return "" if asked or is_named_in(path, self._task) else "a new test"
        if names.is_golden(path) or (names.suffix(path) not in names.CODE and name in self._test_texts):
            return "expected results"
        if "__mocks__" in path.split("/"):
            return "loaded by its name"
        return ""

    def merge(self, path: str, differences: Differences) -> None:
        """Add the text of a mixed file with its settings from before, if they differ."""
        if path.rpartition("/")[2] not in names.MIXED or self._in_environment(path):
            return
        text = settings_from_before(
            path, self._before.read(path), self._now.read(path), self._commands, self._task
        )  # fmt: skip
        if text is None:
            return
        if path in self._before.files and text == self._before.read(path):
            differences.restored[path] = "settings of test tools"
        elif path not in self._before.files and not text.strip():
            differences.left_out[path] = "settings of test tools"
        else:
            differences.merged[path] = text


def links_inside(entries: Mapping[str, Entry], root: str) -> Iterator[tuple[str, str]]:
    """Yield the symlinks of a tree that lead to another path of it, with that path."""
    for entry in entries.values():
        if entry.kind != "symlink":
            continue
        target = os.path.join(root, os.path.dirname(entry.path), entry.target)  # noqa: PTH118, PTH120 - plain strings
        inside = os.path.relpath(os.path.normpath(target), root)
        if not inside.startswith("..") and inside not in (".", entry.path):
            yield entry.path, inside

"""Looks at a project's folder: its files, its tests, and how they are run. Reads only."""

import json
import re
import shutil
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path

from surefoot.core.plan import CommandCheck
from surefoot.prompting.project.task_text import to_be_left_alone
from surefoot.prompting.project.test_words import tests_named_to_change
from surefoot.tools.fs.walk import walk

MAX_FILES = 2_000
_TEST_FILES = (
    "test_*.py", "*_test.py", "conftest.py", "*.test.js", "*.test.ts", "*.test.tsx", "*.spec.js", "*.spec.ts",
    "*_test.go", "*Test.java", "*_spec.rb",
)  # fmt: skip
_TEST_FOLDERS = frozenset({"tests", "test", "spec", "__tests__"})


def list_files(root: Path, *, gitignore: bool = False, limit: int = MAX_FILES) -> list[str]:
    """List regular files with printable names, without the folders that tools fill; a folder's files come first.

    With `gitignore`, files that `.gitignore` excludes are left out, as in the tool `list_files`.
    """
    entries = walk(root, limit=limit, gitignore=gitignore).entries
    paths = [entry.path for entry in entries if not entry.is_folder and entry.path.isprintable()]
    return sorted((path for path in paths if (root / path).is_file()), key=files_before_folders)


def files_before_folders(path: str) -> list[tuple[bool, str]]:
    *folders, name = path.split("/")
    return [*((True, folder) for folder in folders), (False, name)]


def is_test(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return any(fnmatch(name, pattern) for pattern in _TEST_FILES) or bool(_TEST_FOLDERS & set(path.split("/")[:-1]))


def protected_files(files: Iterable[str], checks: Sequence[CommandCheck], task: str) -> tuple[str, ...]:
    """Return the files that the agent must not change: existing tests and scripts that the user's checks run, so that
    no check can be passed by weakening it, except tests that the task asks to change; and files that the task says to
    leave alone."""
    files = list(files)
    left_alone = to_be_left_alone(task, files)
    named_in_checks = {word.strip("'\"") for check in checks for word in re.split(r"[\s;&|=]+", check.command)}
    free = tests_named_to_change(task)
    return tuple(
        path
        for path in files
        if path in left_alone
        or (
            (is_test(path) or (path in named_in_checks and path.endswith((".py", ".sh", ".js")) and "test" in path))
            and path not in free
            and path.rsplit("/", 1)[-1] not in free
        )
    )


def project_checks(root: Path, files: Sequence[str]) -> tuple[CommandCheck, ...]:
    """Return the check that runs the project's own tests, if the folder shows how they are run."""
    command = _test_command(root, files)
    return (CommandCheck(command=command, origin="project"),) if command else ()


def _test_command(root: Path, files: Sequence[str]) -> str:
    tests = [path for path in files if is_test(path) and path.endswith(".py")]
    python_tests = [path for path in tests if path.rpartition("/")[2] not in ("conftest.py", "__init__.py")]
    if python_tests and _uses_unittest(root, python_tests):
        return _unittest_command(root, python_tests)
    if python_tests and shutil.which("pytest"):
        return "python3 -m pytest -q"
    if "package.json" in files and _has_npm_test(root):
        return "npm test --silent"
    if "Cargo.toml" in files:
        return "cargo test -q"
    if "go.mod" in files:
        return "go test ./..."
    if "Makefile" in files and re.search(r"^test:", (root / "Makefile").read_text(errors="replace"), re.MULTILINE):
        return "make -s test"
    return ""


def _unittest_command(root: Path, tests: Sequence[str]) -> str:
    folder = tests[0].rpartition("/")[0]
    if not folder:
        return "python3 -m unittest discover"
    inside_package = (root / folder / "__init__.py").exists()
    return f"python3 -m unittest discover -s {folder}" + (" -t ." if inside_package else "")


def _uses_unittest(root: Path, tests: Sequence[str]) -> bool:
    return all("unittest" in (root / test).read_text(errors="replace") for test in tests[:20])


def _has_npm_test(root: Path) -> bool:
    try:
        return bool(json.loads((root / "package.json").read_text())["scripts"]["test"])
    except (OSError, ValueError, KeyError, TypeError):
        return False

"""What can be told about a folder by looking at it: its files, its tests, how they are run. Reads only."""

import json
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path

from surefoot.plan import CommandCheck
from surefoot.taskfiles import to_be_left_alone

SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".mypy_cache", ".pytest_cache", ".tox"}
)
_TEST_FILES = (
    "test_*.py", "*_test.py", "conftest.py", "*.test.js", "*.test.ts", "*.test.tsx", "*.spec.js", "*.spec.ts",
    "*_test.go", "*Test.java", "*_spec.rb",
)  # fmt: skip
_TEST_FOLDERS = frozenset({"tests", "test", "spec", "__tests__"})


def list_files(root: Path, limit: int = 2_000) -> list[str]:
    """Relative paths of ordinary files, sorted, without the folders that tools fill. Not pipes, which would be waited
    for, nor names that cannot be written down in a line of text."""
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and f.isprintable())
        relative = Path(folder).relative_to(root).as_posix()
        ordinary = [name for name in sorted(names) if name.isprintable() and Path(folder, name).is_file()]
        found += [name if relative == "." else f"{relative}/{name}" for name in ordinary]
        if len(found) >= limit:
            break
    return found[:limit]


def is_test(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return any(fnmatch(name, pattern) for pattern in _TEST_FILES) or bool(_TEST_FOLDERS & set(path.split("/")[:-1]))


def protected_files(files: Iterable[str], checks: Sequence[CommandCheck], task: str) -> tuple[str, ...]:
    """Tests that exist, and files that the user's checks run: read-only to the agent, so that no check can be
    passed by weakening it. A test that the task names as to be changed is left free. And whatever the task says is not
    to be changed."""
    files = list(files)
    left_alone = to_be_left_alone(task, files)
    named_in_checks = {word.strip("'\"") for check in checks for word in re.split(r"[\s;&|=]+", check.command)}
    free = _tests_to_change(task)
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


def _tests_to_change(task: str) -> set[str]:
    """Test files that stand right behind a verb of changing: `update tests/test_api.py`, `修改 test_api.py`."""
    verbs = r"(?:add(?: \w+)* to|update|change|edit|extend|fix|rewrite|modify|修改|更新|扩展|补充)"
    return set(re.findall(verbs + r"\s+(?:the\s+)?(?:tests?\s+(?:in|of)\s+)?`?([\w./-]+\.\w+)", task, re.IGNORECASE))


def project_checks(root: Path, files: Sequence[str]) -> tuple[CommandCheck, ...]:
    """How the project's own tests are run, where that can be told."""
    command = _test_command(root, files)
    return (CommandCheck(command=command, origin="project"),) if command else ()


def _test_command(root: Path, files: Sequence[str]) -> str:
    python_tests = [f for f in files if is_test(f) and f.endswith(".py") and not f.endswith("conftest.py")]
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

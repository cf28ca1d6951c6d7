"""List a project's files, and find out which of them are tests or protected. Only reads."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from surefoot.core.plan import CommandCheck
from surefoot.project.task_text import to_be_left_alone
from surefoot.project.test_files import is_test as is_test
from surefoot.project.test_words import tests_named_to_change
from surefoot.tools.fs.walk import walk

MAX_FILES = 2_000


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


def protected_files(files: Iterable[str], checks: Sequence[CommandCheck], task: str) -> tuple[str, ...]:
    """Return the files to protect: existing tests and scripts that the user's checks run, except tests that the task
    asks to change, because no check may be passed by weakening it; and files that the task says to leave alone.

    `Run.not_writable` decides which of them may not be written at all.
    """
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

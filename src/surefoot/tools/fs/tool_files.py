"""Files that neither a person nor a model writes: of version control, caches, and folders of tools. Pure.

Every surface that names changed files lists those for which `is_listed` holds, and counts the others. What snapshots
contain and what an undo restores does not depend on it. Commits and reviews leave out only repositories and caches,
because installed packages can be part of a project.
"""

import re
from collections.abc import Iterable

REPOSITORIES = frozenset({".git", ".hg", ".svn"})
TOOL_FOLDERS = frozenset(
    {"node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
    | {".hypothesis", ".eggs", ".idea"}
)
"""Folders that tools make for themselves: caches, installed packages, settings of editors."""
SKIPPED_FOLDERS = REPOSITORIES | TOOL_FOLDERS | {".surefoot"}
"""Folders that a walk leaves out. `.surefoot` can have a project's own settings, so changes in it are listed."""
CACHE = re.compile(
    r"(?:^|/)(?:__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.hypothesis|\.turbo|\.parcel-cache|\.nyc_output"
    r"|node_modules/\.(?:cache|vite|vitest|bin/\.cache)[\w-]*)/|\.(?:py[co]|tsbuildinfo)$|(?:^|/)\.(?:eslintcache|coverage)$"
)
"""Bytecode and results of earlier runs, which tools use instead of the sources."""


def in_repository(path: str) -> bool:
    """Whether a path is a folder of version control, such as `.git`, or in one."""
    return not REPOSITORIES.isdisjoint(path.split("/"))


def is_cache(path: str) -> bool:
    """Whether a path is a cache, or the folder of one."""
    return CACHE.search(path) is not None or CACHE.search(f"{path}/") is not None


def is_made_by_tools(path: str) -> bool:
    """Whether a path is a cache, or a folder that tools make for themselves, or in one."""
    return is_cache(path) or not TOOL_FOLDERS.isdisjoint(path.split("/"))


def is_listed(path: str) -> bool:
    """Whether a changed path is listed by name. Files of version control and of tools are only counted."""
    return not in_repository(path) and not is_made_by_tools(path)


def places_of(paths: Iterable[str]) -> str:
    """Where the given paths are that are not listed, such as `.git and caches`."""
    where = {next((part for part in path.split("/") if part in REPOSITORIES), "caches") for path in paths}
    return " and ".join(sorted(where))

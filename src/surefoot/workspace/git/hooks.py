"""The user's hooks: which ones a commit would start, and whether a run changed files that they run.

A hook runs outside the sandbox, with all permissions of the user. So a commit is refused if the run changed a hook,
git's settings, or a file that hooks execute or read.
"""

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from surefoot.workspace.git.repository import Repository
from surefoot.workspace.sandbox.guarded_files import named_by_git

COMMIT_HOOKS = (
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction", "post-index-change",
)  # fmt: skip
"""The hooks that `git commit` starts."""
PUSH_HOOKS = (*COMMIT_HOOKS, "pre-push")
"""The hooks that a commit and a push of it start."""
MANAGERS = (
    ".pre-commit-config.yaml", ".pre-commit-config.yml", "lefthook.yml", "lefthook.yaml", "lefthook.toml",
    ".lefthook.yml", ".lefthook.yaml", ".lefthook.toml", ".overcommit.yml", "captainhook.json", ".captainhook.json",
    ".huskyrc", ".huskyrc.json", ".lintstagedrc", ".lintstagedrc.json", ".lintstagedrc.yaml", ".lintstagedrc.js",
    ".lintstagedrc.mjs", ".lintstagedrc.cjs", "lint-staged.config.js", "lint-staged.config.mjs",
    "lint-staged.config.cjs",
)  # fmt: skip
"""Files of hook managers. They name the programs that a hook runs."""
RUNNERS = (
    "package.json", "composer.json", "Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml",
    "noxfile.py", "tox.ini", "Rakefile",
)  # fmt: skip
"""Files of task runners, which hooks often call."""
SETTINGS = (".git/config", ".git/config.worktree", ".git/commondir", ".git/hooks", ".git/modules", ".husky")
_MAX_BYTES = 200_000


def active_hooks(repository: Repository, names: Collection[str] = COMMIT_HOOKS) -> list[Path]:
    """Return those of the hooks that exist and would be started."""
    named = repository.git.look_up("rev-parse", "--git-path", "hooks").removesuffix(b"\n")
    folder = repository.top / os.fsdecode(named)
    return [folder / name for name in names if os.access(folder / name, os.X_OK) and (folder / name).is_file()]


def changed_hook_files(
    repository: Repository, workspace: Path, changed: Collection[str], hooks: Collection[Path]
) -> list[str]:
    """Return those of the changed paths that a commit would execute or read. Paths are relative to the workspace."""
    named = [os.path.relpath(item.path, workspace) for item in named_by_git(workspace)]
    hook_files = {path for path in changed if path == ".git" or _is_in(path, (*SETTINGS, *named))}
    if hooks:
        places = {path: os.path.relpath(workspace / path, repository.top) for path in changed}
        hook_files |= {path for path, place in places.items() if place.rpartition("/")[2] in (*MANAGERS, *RUNNERS)}
        text = "\n".join(_texts(repository, hooks))
        hook_files |= {path for path, place in places.items() if _is_named(place, text)}
    return sorted(hook_files)


def _is_in(path: str, places: Collection[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _texts(repository: Repository, hooks: Collection[Path]) -> Iterator[str]:
    """Yield the texts of hooks and of the settings of hook managers."""
    husky = repository.top / ".husky"
    husky_files = [file for file in husky.iterdir() if file.is_file()] if husky.is_dir() else []
    for file in (*hooks, *husky_files, *(repository.top / name for name in MANAGERS)):
        try:
            if file.is_file() and file.stat().st_size <= _MAX_BYTES:
                yield file.read_text(errors="replace")
        except OSError:
            continue


def _is_named(place: str, text: str) -> bool:
    """Whether a text names a file, by its path or by its name alone."""
    name = place.rpartition("/")[2]
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text) is not None

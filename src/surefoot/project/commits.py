"""Quote the newest commit and uncommitted changes, for tasks about recent changes."""

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from surefoot.errors import GitError, ToolError
from surefoot.tools.fs.paths import resolve
from surefoot.workspace.git.program import Git

MAX_CHARS = 4_000
"""How much of each diff is quoted."""
MAX_NAMES, MAX_COMPARED = 12, 200
"""How many changed files are named, and how many are included in the diff."""
SECONDS = 5.0
"""The timeout of a git command. If one times out, nothing is quoted."""

_ABOUT_CHANGES = re.compile(
    r"\b(?:commit(?:s|ted)?|regress(?:ion|ions|ed)|revert(?:ed)?|broke|used to (?:work|pass)|(?:worked|passed) before"
    r"|since (?:the |my |our )?(?:last|latest|recent|newest)"
    r"|(?:last|latest|recent|newest|uncommitted) (?:changes?|edits?))\b"
    r"|提交|回归|回退|(?:最近|上次|刚才).{0,6}(?:改|变|修)",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(r"(?:^|/)(?:\.env|[^/]*(?:secret|credential|password|\.(?:pem|key|p12|pfx)$))", re.IGNORECASE)
"""Files that may hold secrets are not quoted. A model that needs one of them can read it."""


def newest_changes(root: Path, task: str) -> str:
    """Quote the newest commit and the changes after it, if the task is about recent changes. Empty if it is not, or
    without git."""
    if not _ABOUT_CHANGES.search(task) or (git := Git.find(root)) is None:
        return ""
    try:
        return _newest_commit(git, root) + _not_committed(git, root)
    except (GitError, OSError):
        return ""


def _newest_commit(git: Git, root: Path) -> str:
    title = _read(git, "log", "-1", "--format=%h %s").strip()
    if not (names := _names(git, root, *_NEWEST)):
        return ""
    difference = _difference(git, names, *_NEWEST)
    return f"\n# The newest commit: {title[:200]}\nIt changed {_listed(names)}.\n{difference}\n"


def _not_committed(git: Git, root: Path) -> str:
    """The differences to the newest commit. `git diff` updates the index even without optional locks, so it is given a
    copy."""
    index = root / _read(git, "rev-parse", "--git-path", "index").strip()
    with tempfile.TemporaryDirectory() as folder:
        copy = {"GIT_INDEX_FILE": f"{folder}/index"}
        shutil.copy2(index, copy["GIT_INDEX_FILE"])  # with its time, by which git knows what may have changed since
        if not (names := _names(git, root, *_PENDING, variables=copy)):
            return ""
        difference = _difference(git, names, *_PENDING, variables=copy)
    return f"\n# Not committed\nChanged since the newest commit: {_listed(names)}.\n{difference}\n"


def _names(git: Git, root: Path, *command: str, variables: Mapping[str, str] | None = None) -> list[str]:
    """The changed files below the folder that a model may read, including deleted ones."""
    names = _read(git, *command, "--name-only", "-z", *_PLAIN, variables=variables).split("\0")
    return [name for name in names if name and _may_be_read(root, name)]


def _difference(git: Git, names: Sequence[str], *command: str, variables: Mapping[str, str] | None = None) -> str:
    text = _read(git, *command, *_PLAIN, "--", *names[:MAX_COMPARED], variables=variables).strip()
    if len(text) > MAX_CHARS:
        text = text[:MAX_CHARS].rpartition("\n")[0] + "\n[...]"
    return f"```diff\n{text}\n```"


_NEWEST = ("show", "--format=", "--diff-merges=first-parent", "HEAD")
_PENDING = ("diff", "HEAD")
_PLAIN = ("--relative", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
"""No program that the repository configures is run, and paths are relative to the folder."""


def _read(git: Git, *arguments: str, variables: Mapping[str, str] | None = None) -> str:
    output = git.read("--literal-pathspecs", *arguments, variables=variables, timeout=SECONDS)
    return output.decode(errors="replace")


def _may_be_read(root: Path, name: str) -> bool:
    if _SECRET_NAME.search(name):
        return False
    try:
        resolve(root, name, for_writing=False)
    except (OSError, ValueError, ToolError):
        return False
    return True


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more

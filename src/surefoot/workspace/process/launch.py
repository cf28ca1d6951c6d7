"""Command lines of the supervisor, the small program that starts a command and watches over it."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from surefoot.errors import PathOutsideWorkspace

SUPERVISOR = Path(__file__).parent / "supervisor"
EMPTY_FILE = SUPERVISOR / "empty_file"
PROBE = ("/bin/sh", "-c", 'test -w . || exit 3; ! (: >> "$0") 2>/dev/null', str(SUPERVISOR / "__init__.py"))
"""A program that succeeds only if the workspace is writable and Surefoot's own files are not."""


def own_python() -> str:
    """Return the path of the running interpreter without `..`. A folder on the way, such as the workspace, may be
    missing in a sandbox.
    """
    return os.path.abspath(sys.executable)  # noqa: PTH100 - links stay, because a virtual environment is one


def supervisor_argv(options: Sequence[str], argv: Sequence[str]) -> list[str]:
    """Return the command line that runs `argv` under the supervisor; see `supervisor.supervise` for the options."""
    return [own_python(), "-I", "-S", str(SUPERVISOR / "__main__.py"), *options, "--", *argv]


def resolve_cwd(cwd: Path, root: Path, writable: Iterable[Path]) -> Path:
    """Resolve the folder to run a command in; raise PathOutsideWorkspace if the command could not write there."""
    folder = cwd.resolve()
    if not any(folder.is_relative_to(allowed) for allowed in (root, *writable)):
        raise PathOutsideWorkspace(
            f"the folder to run in, {cwd}, is outside the workspace {root}",
            argument="cwd",
            remedy="name a folder inside the workspace",
        )
    return folder

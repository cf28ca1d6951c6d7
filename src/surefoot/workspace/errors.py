"""Translates operating system errors to WorkspaceError, and paths to forms that can be printed and stored."""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath

from surefoot.errors import WorkspaceError

_REMEDIES = {
    errno.ENOSPC: "free some space on that disk and try again",
    errno.EDQUOT: "the disk quota is used up: free some space and try again",
    errno.EFBIG: "that disk cannot hold so large a file: exclude it from snapshots (snapshot_excludes), or remove it",
    errno.EIO: "the disk reports errors: check it before you continue",
    errno.EROFS: "the file system is read-only: make it writable and try again",
    errno.EACCES: "give yourself access to that path, or exclude it from snapshots",
    errno.EPERM: "that path belongs to another user: change its owner, or exclude it from snapshots",
    errno.EMFILE: "too many files are open: raise the limit (ulimit -n) and try again",
}

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_RAW_BYTES_PREFIX = "\0"
"""Marks a path stored as raw bytes. No path contains a NUL."""


def is_full(error: BaseException | None) -> bool:
    """Whether an error, or one of its causes, means that a disk is full."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        error = error.__cause__
    return False


@contextmanager
def suppress_full() -> Iterator[None]:
    """Suppress errors of the block that mean that a disk is full."""
    try:
        yield
    except (OSError, WorkspaceError) as error:
        if not is_full(error):
            raise


def printable(path: str) -> str:
    """Return a path in a form that is safe to print, log and put in JSON, even if its name is not UTF-8."""
    raw = path.encode("utf-8", "surrogateescape")
    text = raw.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text) or "."


def named(paths: Sequence[str], limit: int) -> str:
    """List stored paths for people, without folders of which something else is listed."""
    from surefoot.core.values import (
        join_limited,
    )  # not at the top: lists of runs load no pydantic

    folders = {str(parent) for path in paths for parent in PurePosixPath(as_path(path)).parents}
    return join_limited([printable(as_path(path)) for path in paths if as_path(path) not in folders], limit)


def as_text(path: str) -> str:
    """Return a path in a form that the journal can store, even if its name is not UTF-8. `as_path` is the inverse."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return _RAW_BYTES_PREFIX + path.encode("utf-8", "surrogateescape").decode("latin-1")
    return path


def as_path(text: str) -> str:
    """Invert `as_text`."""
    if not text.startswith(_RAW_BYTES_PREFIX):
        return text
    return text.removeprefix(_RAW_BYTES_PREFIX).encode("latin-1").decode("utf-8", "surrogateescape")


@contextmanager
def translate_os_errors(action: str) -> Iterator[None]:
    """Raise every OSError of the block as a WorkspaceError: "could not {action}", with a remedy."""
    try:
        yield
    except OSError as error:
        name = error.filename
        path = f" ({printable(name if isinstance(name, str) else str(name))})" if name is not None else ""
        raise WorkspaceError(
            f"could not {action}: {error.strerror or error}{path}",
            remedy=_REMEDIES.get(
                error.errno or 0, "see the system's message and try again: no file was left half-written"
            ),
        ) from error

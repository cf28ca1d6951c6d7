"""How the workspace's troubles are told: a typed error with a remedy; and names that can be printed and written."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from surefoot.errors import WorkspaceError

_REMEDIES = {
    errno.ENOSPC: "free some space on that disk and try again",
    errno.EDQUOT: "the disk quota is used up: free some space and try again",
    errno.EIO: "the disk reports errors: check it before going on",
    errno.EROFS: "the file system is read-only: make it writable and try again",
    errno.EACCES: "give yourself access to that path, or exclude it from snapshots",
    errno.EPERM: "that path belongs to someone else: change its owner, or exclude it from snapshots",
    errno.EMFILE: "too many files are open: raise the limit (ulimit -n) and try again",
}


def shown(path: str) -> str:
    """A path as it can be printed, logged and put in JSON, whatever bytes its name is made of."""
    raw = path.encode("utf-8", "surrogateescape")
    text = raw.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text) or "."


def as_text(path: str) -> str:
    """A path as the journal can hold it, also one whose name is no text; `as_path` brings it back."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return _BYTES + path.encode("utf-8", "surrogateescape").decode("latin-1")
    return path


def as_path(text: str) -> str:
    if not text.startswith(_BYTES):
        return text
    return text.removeprefix(_BYTES).encode("latin-1").decode("utf-8", "surrogateescape")


_BYTES = "\0"
"""No path begins like this."""


@contextmanager
def typed(doing: str) -> Iterator[None]:
    """Turns what the operating system says inside the block into a WorkspaceError."""
    try:
        yield
    except OSError as error:
        name = error.filename
        where = f" ({shown(name if isinstance(name, str) else str(name))})" if name is not None else ""
        raise WorkspaceError(
            f"could not {doing}: {error.strerror or error}{where}",
            remedy=_REMEDIES.get(
                error.errno or 0, "look at what the system says and try again: nothing is half-written"
            ),
        ) from error

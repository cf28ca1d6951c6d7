"""Read, write, move and delete a file whose path `paths.resolve` has checked.

Folders are opened one by one without following links, so that a path that was inside the workspace when it was checked
cannot lead outside when it is used.
"""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from surefoot.errors import PathOutsideWorkspace, ToolError
from surefoot.journal.redact import PLACEHOLDER
from surefoot.tools.fs.paths import relative
from surefoot.workspace.sandbox.secret_files import secrets_below

MAX_FILE_BYTES = 10_000_000
TEMPORARY_PREFIX = ".surefoot-tmp-"
"""Marks the temporary file of a write. One that is left over comes from a killed process and can be removed."""

_SNIFF_BYTES = 8_192


def read_bytes(root: Path, file: Path) -> bytes:
    """Return the content of a regular file of at most `MAX_FILE_BYTES`; anything else raises a `ToolError`."""
    name = relative(root, file)
    if file.is_dir():
        raise ToolError(f"{name!r} is a folder", argument="path", remedy=f"list_files shows what is in {name}")
    with _parent(root, file) as folder:
        # Non-blocking: opening a pipe would otherwise wait for a writer.
        descriptor = os.open(file.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ToolError(f"{name!r} is not a regular file", argument="path", remedy="name a file")
        if status.st_size > MAX_FILE_BYTES:
            raise ToolError(
                f"{name!r} is too large to open here ({status.st_size:,} bytes)",
                argument="path",
                remedy=f"look at a part of it with run_command, for example: head -n 50 {name}",
            )
        return opened.read()


def reader(root: Path, limit: int) -> Callable[[str], str | None]:
    """Return a function that reads many text files, and checks each folder and the list of secrets only once.

    It is for paths that were just listed, before any command runs. It returns None for a path that is missing, secret,
    a link, not text, or larger than four times `limit` bytes.
    """
    home = os.path.realpath(root)
    secrets = {os.path.relpath(secret, home) for secret in secrets_below(Path(home))}
    folders: dict[str, bool] = {}

    def is_open(folder: str) -> bool:
        if folder not in folders:
            place = os.path.join(home, folder).rstrip("/")  # noqa: PTH118 (a Path for each file would cost more)
            inside = not any(folder == secret or folder.startswith(f"{secret}/") for secret in secrets)
            folders[folder] = inside and os.path.realpath(place) == place
        return folders[folder]

    def read(path: str) -> str | None:
        if path in secrets or not is_open(path.rpartition("/")[0]):
            return None
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(f"{home}/{path}", flags)
            with os.fdopen(descriptor, "rb") as opened:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode) or status.st_size > limit * 4:
                    return None
                text = opened.read().decode()
        except (OSError, ValueError):
            return None
        return None if "\0" in text else text

    return read


def refuse_binary(name: str, content: bytes) -> None:
    if b"\0" in content[:_SNIFF_BYTES]:
        raise ToolError(
            f"{name!r} is a binary file ({len(content):,} bytes), not text",
            argument="path",
            remedy="work with it through run_command or run_python",
        )


def refuse_lost_secrets(
    redact: Callable[[str], str], has_hidden: Callable[[], bool], name: str, before: str, after: str
) -> None:
    """Refuse content that has placeholders in place of secrets. Models see files redacted, and may copy them so."""
    if len(PLACEHOLDER.findall(after)) <= len(PLACEHOLDER.findall(before)):
        return
    if redact(before) != before:
        raise ToolError(
            f"{name!r} has secrets in it that you were not shown, and this would overwrite them with placeholders",
            argument="content",
            remedy="change only the other lines, with edit_file",
        )
    refuse_placeholders(has_hidden, "content", after)


def refuse_placeholders(has_hidden: Callable[[], bool], argument: str, text: str) -> None:
    """Refuse text with a placeholder for a secret, if the model was shown any."""
    if (placeholder := PLACEHOLDER.search(text)) and has_hidden():
        raise ToolError(
            f"the {argument} contains {placeholder.group()}, which stands for a secret that you were not shown",
            argument=argument,
            remedy="leave it out; a command can move or copy the file that contains the secret",
        )


def write_bytes(root: Path, file: Path, content: bytes) -> None:
    """Replace the file atomically, keeping its mode and owner. Missing folders are created."""
    with _parent(root, file, create=True) as folder:
        before = _status(file.name, folder)
        if before is not None and not stat.S_ISREG(before.st_mode):
            raise ToolError(f"{relative(root, file)!r} is not a regular file", argument="path", remedy="name a file")
        temporary = TEMPORARY_PREFIX + secrets.token_hex(8)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o666, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(content)
                opened.flush()
                if before is not None:
                    _keep_owner_and_mode(descriptor, before)
                os.fsync(descriptor)
            os.rename(temporary, file.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise


def delete(root: Path, file: Path) -> None:
    with _parent(root, file) as folder:
        os.unlink(file.name, dir_fd=folder)


def move(root: Path, source: Path, target: Path) -> None:
    """Move a file; never replace an existing target."""
    with _parent(root, source) as old_folder, _parent(root, target, create=True) as new_folder:
        if _status(target.name, new_folder) is not None:
            raise FileExistsError(errno.EEXIST, "exists already", relative(root, target))
        os.rename(source.name, target.name, src_dir_fd=old_folder, dst_dir_fd=new_folder)


@contextmanager
def _parent(root: Path, file: Path, *, create: bool = False) -> Iterator[int]:
    """Open the folder that contains `file` and yield its descriptor."""
    names = Path(relative(root, file)).parts[:-1]
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    current = os.open(os.path.realpath(root), flags)
    try:
        for name in names:
            if create and _status(name, current) is None:
                os.mkdir(name, dir_fd=current)
            try:
                child = os.open(name, flags, dir_fd=current)
            except NotADirectoryError as error:
                raise _not_a_folder(root, file, name, current) from error
            os.close(current)
            current = child
        yield current
    finally:
        os.close(current)


def _not_a_folder(root: Path, file: Path, name: str, folder: int) -> ToolError:
    path = relative(root, file)
    status = _status(name, folder)
    if status is not None and stat.S_ISLNK(status.st_mode):
        return PathOutsideWorkspace(
            f"{path!r} was turned into a link while it was being used", argument="path", remedy="try again"
        )
    return ToolError(f"{name!r} in {path!r} is a file, not a folder", argument="path", remedy="choose another folder")


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _keep_owner_and_mode(descriptor: int, before: os.stat_result) -> None:
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(PermissionError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))

"""Extended attributes of files and folders: user attributes, access control lists, file capabilities.

In a manifest they are one short text per path. Long ones are stored as a blob and named by its hash. Labels of security
modules are left out: the system sets them by its own rules.
"""

import base64
import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Callable

UNKNOWN = "?"
"""Attributes that were not captured: in snapshots of older versions, and of unreadable paths. A restore leaves the
attributes of such a path alone."""

Keep = Callable[[bytes], str]
"""Takes long attributes and returns their hash; may also store them. An empty hash means that there was no room."""

_NAMED = frozenset({"system.posix_acl_access", "system.posix_acl_default", "security.capability"})
_INLINE = 1024
_BLOB = "blob:"
_NONE = {errno.ENOTSUP, errno.ENOSYS, errno.ENODATA}


def no_store(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_xattrs(target: int | str, keep: Keep) -> str:
    """Return the attributes of an open file, or of a path, in the form of a manifest; "" if there are none."""
    try:
        names = os.listxattr(target)
        if not names:
            return ""
        values = _values(target, names)
    except OSError as error:
        return "" if error.errno in _NONE else UNKNOWN
    if not values:
        return ""
    text = json.dumps({name: base64.b64encode(values[name]).decode() for name in sorted(values)}, separators=(",", ":"))
    if len(text) <= _INLINE:
        return text
    digest = keep(text.encode())
    return _BLOB + digest if digest else UNKNOWN


def _values(target: int | str, names: list[str]) -> dict[str, bytes]:
    values = {}
    for name in names:
        if name in _NAMED or name.startswith("user."):
            with contextlib.suppress(FileNotFoundError):
                values[name] = os.getxattr(target, name)
    return values


def blob_of(text: str) -> str:
    """Return the hash of the blob that an entry's attributes are stored in; "" if they are inline."""
    return text.removeprefix(_BLOB) if text.startswith(_BLOB) else ""


def write_xattrs(target: str, text: str, load: Callable[[str], bytes]) -> None:
    """Give a path exactly the attributes of an entry, as far as permitted. The next scan finds what is missing."""
    if text == UNKNOWN:
        return
    digest = blob_of(text)
    expected: dict[str, str] = json.loads(load(digest) if digest else text or "{}")
    try:
        present = _values(target, os.listxattr(target))
    except OSError:
        present = {}
    for name in present.keys() - expected.keys():
        with contextlib.suppress(OSError):
            os.removexattr(target, name)
    for name, value in expected.items():
        if present.get(name) != (data := base64.b64decode(value)):
            with contextlib.suppress(OSError):
                os.setxattr(target, name, data)


def has_xattrs(target: str) -> bool:
    try:
        return bool(os.listxattr(target))
    except OSError:
        return False


def equal_xattrs(one: str, other: str) -> bool:
    return one == other or UNKNOWN in (one, other)

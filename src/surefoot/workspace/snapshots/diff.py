"""The differences between two states of a tree, as a list and as a unified diff in git's format.

Modification times and hard link groups do not count as changes: a restore brings them back, but they are not worth
reporting.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from surefoot.workspace.errors import printable
from surefoot.workspace.snapshots.manifest import Entry
from surefoot.workspace.snapshots.xattrs import equal_xattrs

ChangeKind = Literal["added", "removed", "modified", "mode", "type"]
Reader = Callable[[Entry], bytes]

MAX_DIFF_BYTES = 1024 * 1024
_TYPE_BITS = {"file": 0o100000, "symlink": 0o120000, "dir": 0o040000}


@dataclass(frozen=True)
class Change:
    path: str
    """Relative to the root, "." for the root itself."""
    kind: ChangeKind
    """`modified` if the content changed, with or without the mode; `mode` also covers owner and attributes."""
    before: Entry | None
    after: Entry | None

    @property
    def is_folder(self) -> bool:
        entry = self.after or self.before
        return entry is not None and entry.kind == "dir"


def equal_entries(one: Entry | None, other: Entry | None) -> bool:
    """Compare kind, mode, owner, extended attributes and content, but not times."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    same_attributes = (one.mode, one.owner) == (other.mode, other.owner) and equal_xattrs(one.xattrs, other.xattrs)
    return _content(one) == _content(other) and same_attributes


def compare(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> list[Change]:
    changes = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if not equal_entries(old, new):
            changes.append(Change(path or ".", _kind_of_change(old, new), old, new))
    return changes


def _kind_of_change(old: Entry | None, new: Entry | None) -> ChangeKind:
    if old is None:
        return "added"
    if new is None:
        return "removed"
    if old.kind != new.kind:
        return "type"
    return "mode" if _content(old) == _content(new) else "modified"


def _content(entry: Entry) -> tuple[str, int, str, str]:
    return entry.kind, entry.size, entry.digest, entry.target


def unified(changes: Iterable[Change], read_before: Reader, read_after: Reader, paths: Sequence[str] = ()) -> str:
    """Return a diff that `git apply` accepts, plus plain lines for changes that git cannot express."""
    selected = [path.strip("/") for path in paths]
    return "".join(
        line
        for change in changes
        if not selected or any(change.path == path or change.path.startswith(path + "/") for path in selected)
        for line in _diff_one(change, read_before, read_after)
    )


def _diff_one(change: Change, read_before: Reader, read_after: Reader) -> Iterator[str]:
    old, new = _as_blob(change.before), _as_blob(change.after)
    if old is None and new is None:
        yield _describe(change)
    elif change.kind == "type" and old is not None and new is not None:
        # git shows a file that became a symlink as one removed and one added
        yield from _diff_content(change.path, old, None, read_before, read_after)
        yield from _diff_content(change.path, None, new, read_before, read_after)
    else:
        if change.kind == "type":
            yield _describe(change)
        yield from _diff_content(change.path, old, new, read_before, read_after)


def _as_blob(entry: Entry | None) -> Entry | None:
    return entry if entry is not None and entry.kind in ("file", "symlink") else None


def _describe(change: Change) -> str:
    entry = change.after or change.before
    assert entry is not None
    label = {"dir": "Folder", "special": entry.target.capitalize(), "unreadable": "Unreadable"}.get(entry.kind, "File")
    if change.kind == "mode" and change.before and change.after:
        modes = f"mode {change.before.mode:04o} -> {change.after.mode:04o}"
        detail = modes if change.before.mode != change.after.mode else "owner or attributes changed"
    elif change.kind == "type" and change.before and change.after:
        detail = f"was a {change.before.kind}, is a {change.after.kind}"
    else:
        detail = change.kind
    return f"{label} {printable(change.path)}: {detail}\n"


def _diff_content(
    path: str, old: Entry | None, new: Entry | None, read_before: Reader, read_after: Reader
) -> Iterator[str]:
    old_name, new_name = _quoted("a/" + path), _quoted("b/" + path)
    yield f"diff --git {old_name} {new_name}\n"
    if old is None and new is not None:
        yield f"new file mode {_git_mode(new)}\n"
    elif new is None and old is not None:
        yield f"deleted file mode {_git_mode(old)}\n"
    elif old is not None and new is not None:
        if old.mode != new.mode:
            yield f"old mode {_git_mode(old)}\nnew mode {_git_mode(new)}\n"
        elif old.owner != new.owner:
            yield f"owner {old.owner or 'own'} -> {new.owner or 'own'}\n"
        elif not equal_xattrs(old.xattrs, new.xattrs):
            yield "extended attributes changed\n"
        if _content(old) == _content(new):
            return
    old_name, new_name = (old_name if old else "/dev/null"), (new_name if new else "/dev/null")
    if any(entry is not None and (entry.size > MAX_DIFF_BYTES or entry.is_unstored) for entry in (old, new)):
        sizes = f"{old.size if old else 0} -> {new.size if new else 0} bytes"
        yield f"Files {old_name} and {new_name} differ (too long to show: {sizes})\n"
        return
    before = _lines(read_before(old)) if old else []
    after = _lines(read_after(new)) if new else []
    if before is None or after is None:
        yield f"Binary files {old_name} and {new_name} differ\n"
        return
    for line in difflib.unified_diff(before, after, old_name, new_name):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _git_mode(entry: Entry) -> str:
    return f"{_TYPE_BITS[entry.kind] | (entry.mode if entry.kind == 'file' else 0):06o}"


def _lines(data: bytes) -> list[str] | None:
    """Split text into lines with their ends; None if it is not text. Only a line feed ends a line, as in git."""
    if b"\0" in data:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _quoted(path: str) -> str:
    """Quote a name as git does: in double quotes with special bytes escaped, unless it has none."""
    raw = path.encode("utf-8", "surrogateescape")
    if all(32 <= byte < 127 and byte not in b'"\\' for byte in raw):
        return path
    named = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
    return '"' + "".join(named.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in raw) + '"'

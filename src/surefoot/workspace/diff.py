"""What differs between two states of a tree: as a list, and as a unified diff in git's dress.

Modification times and hard link groups are not changes here: a restore brings them back, but nobody wants to read
that a file was touched.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from surefoot.workspace.faults import shown
from surefoot.workspace.manifest import Entry

ChangeKind = Literal["added", "removed", "modified", "mode", "type"]
Reader = Callable[[Entry], bytes]

TOO_LONG = 1024 * 1024
_TYPE_BITS = {"file": 0o100000, "symlink": 0o120000, "dir": 0o040000}


@dataclass(frozen=True)
class Change:
    path: str
    """Relative to the root, "." for the root itself."""
    kind: ChangeKind
    """`modified` where content changed, with or without the mode; `mode` also stands for a changed owner."""
    before: Entry | None
    after: Entry | None

    @property
    def is_folder(self) -> bool:
        entry = self.after or self.before
        return entry is not None and entry.kind == "dir"


def alike(one: Entry | None, other: Entry | None) -> bool:
    """The same to a reader: kind, mode, owner and content."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    return _content(one) == _content(other) and (one.mode, one.owner) == (other.mode, other.owner)


def compare(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> list[Change]:
    changes = []
    for path in sorted(before.keys() | after.keys()):
        one, other = before.get(path), after.get(path)
        if not alike(one, other):
            changes.append(Change(path or ".", _kind_of_change(one, other), one, other))
    return changes


def _kind_of_change(one: Entry | None, other: Entry | None) -> ChangeKind:
    if one is None:
        return "added"
    if other is None:
        return "removed"
    if one.kind != other.kind:
        return "type"
    return "mode" if _content(one) == _content(other) else "modified"


def _content(entry: Entry) -> tuple[str, int, str, str]:
    return entry.kind, entry.size, entry.digest, entry.target


def unified(changes: Iterable[Change], read_before: Reader, read_after: Reader, paths: Sequence[str] = ()) -> str:
    """A diff that `git apply` understands, except for what git has no words for, which is told in plain lines."""
    wanted = [path.strip("/") for path in paths]
    return "".join(
        line
        for change in changes
        if not wanted or any(change.path == path or change.path.startswith(path + "/") for path in wanted)
        for line in _diff_one(change, read_before, read_after)
    )


def _diff_one(change: Change, read_before: Reader, read_after: Reader) -> Iterator[str]:
    one, other = _as_blob(change.before), _as_blob(change.after)
    if one is None and other is None:
        yield _in_plain_words(change)
    elif change.kind == "type" and one is not None and other is not None:
        # git shows a file that became a symlink as one removed and one added
        yield from _diff_content(change.path, one, None, read_before, read_after)
        yield from _diff_content(change.path, None, other, read_before, read_after)
    else:
        if change.kind == "type":
            yield _in_plain_words(change)
        yield from _diff_content(change.path, one, other, read_before, read_after)


def _as_blob(entry: Entry | None) -> Entry | None:
    return entry if entry is not None and entry.kind in ("file", "symlink") else None


def _in_plain_words(change: Change) -> str:
    entry = change.after or change.before
    assert entry is not None
    what = {"dir": "Folder", "special": entry.target.capitalize(), "unreadable": "Unreadable"}.get(entry.kind, "File")
    if change.kind == "mode" and change.before and change.after:
        said = f"mode {change.before.mode:04o} -> {change.after.mode:04o}"
    elif change.kind == "type" and change.before and change.after:
        said = f"was a {change.before.kind}, is a {change.after.kind}"
    else:
        said = change.kind
    return f"{what} {shown(change.path)}: {said}\n"


def _diff_content(
    path: str, one: Entry | None, other: Entry | None, read_before: Reader, read_after: Reader
) -> Iterator[str]:
    old, new = _quoted("a/" + path), _quoted("b/" + path)
    yield f"diff --git {old} {new}\n"
    if one is None and other is not None:
        yield f"new file mode {_git_mode(other)}\n"
    elif other is None and one is not None:
        yield f"deleted file mode {_git_mode(one)}\n"
    elif one is not None and other is not None:
        if one.mode != other.mode:
            yield f"old mode {_git_mode(one)}\nnew mode {_git_mode(other)}\n"
        elif one.owner != other.owner:
            yield f"owner {one.owner or 'own'} -> {other.owner or 'own'}\n"
        if _content(one) == _content(other):
            return
    old_name, new_name = (old if one else "/dev/null"), (new if other else "/dev/null")
    if any(entry is not None and entry.size > TOO_LONG for entry in (one, other)):
        sizes = f"{one.size if one else 0} -> {other.size if other else 0} bytes"
        yield f"Files {old_name} and {new_name} differ (too long to show: {sizes})\n"
        return
    before = _lines(read_before(one)) if one else []
    after = _lines(read_after(other)) if other else []
    if before is None or after is None:
        yield f"Binary files {old_name} and {new_name} differ\n"
        return
    for line in difflib.unified_diff(before, after, old_name, new_name):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _git_mode(entry: Entry) -> str:
    return f"{_TYPE_BITS[entry.kind] | (entry.mode if entry.kind == 'file' else 0):06o}"


def _lines(data: bytes) -> list[str] | None:
    """Lines with their ends, or None for what is not text. Only a line feed ends a line, as git has it."""
    if b"\0" in data:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _quoted(path: str) -> str:
    """As git quotes names that are not plain: in double quotes, odd bytes as octal."""
    raw = path.encode("utf-8", "surrogateescape")
    if all(32 <= byte < 127 and byte not in b'"\\' for byte in raw):
        return path
    named = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
    return '"' + "".join(named.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in raw) + '"'

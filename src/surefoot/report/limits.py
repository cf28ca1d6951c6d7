"""Removes secrets, shortens long texts, and limits the optional parts of a report. Everything left out is counted."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, TypeVar

from surefoot.journal.redact import Redactor
from surefoot.report.document import Omission, Omitted, ReportLimits
from surefoot.view.conversation import MAX_TEXT
from surefoot.view.documents import FileDiff
from surefoot.view.patches import MAX_PATCH_LINES

FILE_BYTES = 10_000_000
"""The maximum size of a report. Rows of steps are always part of it: they are short and alike, and compress well."""
OPTIONAL_CHARS = 6_000_000
"""Room for diffs, outputs and the conversation, in bytes of JSON. In base64 they fit even if nothing compresses."""
LOG_END_CHARS = 65_536
MAX_ACTIONS = 5_000
LIMITS: ReportLimits = {
    "file_bytes": FILE_BYTES,
    "log_end_chars": LOG_END_CHARS,
    "message_chars": MAX_TEXT,
    "patch_lines": MAX_PATCH_LINES,
}
_STRUCTURE = frozenset(
    ("key", "id", "kind", "run", "step", "needs", "status", "hash", "output_hash", "output_blob", "draft_blob")
)
"""Fields by which parts of the document refer to each other."""
T = TypeVar("T")


@dataclass(slots=True)
class Omissions:
    """Counts the items that are left out."""

    counts: Counter[Omitted] = field(default_factory=Counter)
    sizes: Counter[Omitted] = field(default_factory=Counter)

    def add(self, what: Omitted, size: int = 0, count: int = 1) -> None:
        if count:
            self.counts[what] += count
            self.sizes[what] += size

    def listed(self) -> list[Omission]:
        return [{"what": what, "count": number, "size": self.sizes[what]} for what, number in self.counts.items()]


@dataclass(slots=True)
class Cleaner:
    """Removes secrets from texts, and then shortens them: a secret that is cut in two would not be found."""

    redactor: Redactor
    omissions: Omissions

    def text(self, text: str, what: Omitted = "texts") -> str:
        """The text without secrets. Of a long text, only the beginning and the end are kept."""
        text = self.redactor.redact(text)
        left_out = len(text) - 2 * LOG_END_CHARS
        if left_out <= 0:
            return text
        self.omissions.add(what, left_out)
        return f"{text[:LOG_END_CHARS]}\n[... {left_out:,} characters left out ...]\n{text[-LOG_END_CHARS:]}"

    def value(self, value: T, name: str = "") -> T:
        """A value of the document with all its texts cleaned."""
        cleaned: Any = value
        if isinstance(value, str):
            cleaned = value if name in _STRUCTURE else self.text(value)
        elif isinstance(value, dict):
            cleaned = {key: self.value(item, key) for key, item in value.items()}
        elif isinstance(value, list | tuple):
            cleaned = [self.value(item, name) for item in value]
        return cleaned  # type: ignore[no-any-return]

    def patches(self, files: list[FileDiff]) -> list[FileDiff]:
        """Shorten patches by whole lines at their end, so that they stay readable."""
        return [self._patch(file) for file in files]

    def _patch(self, file: FileDiff) -> FileDiff:
        if len(file["patch"]) > 2 * LOG_END_CHARS:
            excerpt = file["patch"][: 2 * LOG_END_CHARS].rpartition("\n")[0]
            file = {**file, "patch": f"{excerpt}\n", "truncated": True}
        if file["truncated"]:
            self.omissions.add("patches", file["lines"] - file["patch"].count("\n"))
        return file


@dataclass(slots=True)
class Budget:
    """The room that is left for optional parts of the document."""

    room: int

    def takes(self, item: Any) -> bool:
        """Whether there is room for an item. If so, the room is reduced by its size."""
        size = len(json.dumps(item, ensure_ascii=False).encode("utf-8", "replace"))
        if size > self.room:
            return False
        self.room -= size
        return True

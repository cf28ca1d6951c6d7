"""The tool that changes several files with one patch, for models that were trained to write this format."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surefoot.errors import ToolError
from surefoot.tools.builtin.edit import BOM, describe_change, read_editable
from surefoot.tools.context import ToolContext
from surefoot.tools.fs.fileio import delete, move, read_bytes, refuse_lost_secrets, write_bytes
from surefoot.tools.fs.paths import not_found, relative
from surefoot.tools.text.hunks import apply_hunks
from surefoot.tools.text.patch import Section, paths_of, read_patch
from surefoot.tools.tool import ToolResult, tool


def _paths(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    return paths_of(str(arguments.get("patch", "")))


@tool(writes=_paths)
async def apply_patch(context: ToolContext, patch: str) -> ToolResult:
    """Change, add, delete and move files by one patch. Either all of it is done or nothing."""
    sections = read_patch(patch)
    changes = _Changes(context)
    problems: list[ToolError] = []
    for section in sections:
        try:
            changes.add(section)
        except ToolError as error:
            problems.append(error)
    if problems:
        raise _joined(problems)
    changes.carry_out()
    text = "\n".join(changes.notes)
    return ToolResult(ok=True, summary=context.summary(text), output=text)


@dataclass
class _Changes:
    """The changes of a patch. Nothing is written until all of them are known to fit."""

    context: ToolContext
    contents: dict[Path, str | None] = field(default_factory=dict)
    """The text of each file after the patch; None if it is deleted."""
    before: dict[Path, str] = field(default_factory=dict)
    moves: list[tuple[Path, Path]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, section: Section) -> None:
        if section.kind == "add":
            self._add_file(section)
        elif section.kind == "delete":
            self._delete_file(section)
        else:
            self._update_file(section)

    def _add_file(self, section: Section) -> None:
        file = self.context.path(section.path, for_writing=True)
        name = relative(self.context.root, file)
        if section.path.endswith("/") or file.is_dir():
            raise ToolError(f"{section.path!r} is a folder", argument="patch", remedy="name a file in it")
        if self._exists(file):
            raise ToolError(
                f"{name!r} exists already",
                argument="patch",
                remedy="change it with *** Update File, or put *** Delete File before *** Add File to write it anew",
            )
        if file.exists():
            # The patch deletes the file and creates it again.
            self.before[file] = read_editable(self.context, file)
        self._set(file, section.content)
        self.notes.append(f"added {name} (+{section.content.count(chr(10))} lines)")

    def _delete_file(self, section: Section) -> None:
        file = self.context.path(section.path, for_writing=True, follow=False)
        if not self._exists(file):
            raise not_found(self.context.root, section.path)
        if file.is_dir() and not file.is_symlink():
            raise ToolError(f"{section.path!r} is a folder", argument="patch", remedy="delete its files one by one")
        self.contents[file] = None
        self.notes.append(f"deleted {relative(self.context.root, file)}")

    def _update_file(self, section: Section) -> None:
        context = self.context
        file = context.path(section.path, for_writing=True, follow=not section.move_to)
        name = relative(context.root, file)
        if not self._exists(file):
            error = not_found(context.root, section.path)
            error.remedy += "; *** Add File makes a new file"
            raise error
        if section.move_to and file.is_symlink():
            raise ToolError(f"{name!r} is a link", argument="patch", remedy="name the file that it leads to")
        text = self.contents.get(file)
        if text is None:
            text = self.before[file] = read_editable(context, file)
        bom = BOM if text.startswith(BOM) else ""
        changed, ways = apply_hunks(name, text.removeprefix(bom), section.hunks)
        changed = bom + changed
        if not section.move_to:
            self._set(file, changed)
            self.notes.append(describe_change(name, text, changed, ways, "updated"))
            return
        target = context.path(section.move_to, for_writing=True, follow=False)
        if self._exists(target):
            raise ToolError(
                f"{relative(context.root, target)!r} exists already", argument="patch", remedy="choose another name"
            )
        self.contents[file] = None
        self.moves.append((file, target))
        self.before[target] = text
        self._set(target, changed)
        new_name = relative(context.root, target)
        self.notes.append(f"moved {name} to {new_name}")
        if changed != text:
            self.notes.append(describe_change(new_name, text, changed, ways, "updated"))

    def _exists(self, file: Path) -> bool:
        return self.contents[file] is not None if file in self.contents else os.path.lexists(file)

    def _set(self, file: Path, text: str) -> None:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ToolError(f"the patch is not valid text: {error.reason}", argument="patch") from error
        self.contents[file] = text

    def carry_out(self) -> None:
        """Check the result against the guards, then write it. If writing fails, undo what was written."""
        context, moved = self.context, {old for old, _ in self.moves}
        for file, text in self.contents.items():
            name = relative(context.root, file)
            if text is not None:
                refuse_lost_secrets(context.redact, context.has_hidden, name, self.before.get(file, ""), text)
            if file not in moved or text is not None:
                context.refuse_weakening(name, None if text is None else text.encode("utf-8"))
        for old, new in self.moves:
            text = self.contents[new]
            content = None if text is None else text.encode("utf-8")
            context.refuse_weakening(relative(context.root, old), content, relative(context.root, new))
        undo: list[Callable[[], None]] = []
        try:
            for old, new in self.moves:
                move(context.root, old, new)
                undo.append(lambda old=old, new=new: move(context.root, new, old))  # type: ignore[misc]
            for file, text in self.contents.items():
                if file not in moved or text is not None:
                    undo.append(self._put(file, text))
        except BaseException:
            for back in reversed(undo):
                back()
            raise

    def _put(self, file: Path, text: str | None) -> Callable[[], None]:
        """Write or delete a file; return a function that undoes it."""
        root = self.context.root
        if file.is_symlink():
            target = file.readlink()
            delete(root, file)
            return lambda: file.symlink_to(target)
        content = read_bytes(root, file) if file.exists() else None
        if text is not None:
            write_bytes(root, file, text.encode("utf-8"))
        elif content is not None:
            delete(root, file)
        if content is None:
            return lambda: delete(root, file)
        return lambda: write_bytes(root, file, content)


def _joined(problems: list[ToolError]) -> ToolError:
    """Return one error for all files that do not fit, so that the model can correct them together."""
    first = problems[0]
    first.argument = "patch"
    if len(problems) == 1:
        first.args = (f"{first}. Nothing was changed",)
        return first
    lines = [f"- {error}" + (f" ({error.remedy})" if error.remedy else "") for error in problems]
    return ToolError(
        f"{len(problems)} parts of the patch do not fit, and nothing was changed:\n" + "\n".join(lines),
        argument="patch",
        remedy="fix these parts and send the whole patch again",
    )

"""The steps that bring a tree back to a manifest, and the conflicts they would cause. Pure: does no I/O."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from surefoot.workspace.snapshots.diff import equal_entries
from surefoot.workspace.snapshots.manifest import UNCAPTURED, Entry
from surefoot.workspace.snapshots.tree import ancestors, split
from surefoot.workspace.snapshots.xattrs import equal_xattrs


@dataclass
class Plan:
    remove: list[str] = field(default_factory=list)
    create: list[Entry] = field(default_factory=list)
    """Folders."""
    write: list[Entry] = field(default_factory=list)
    """Files and symlinks."""
    link: list[Entry] = field(default_factory=list)
    """Hard links to the first file of their group."""
    adjust: list[Entry] = field(default_factory=list)
    """Paths of which only mode, owner, extended attributes or time differ."""
    not_restored: list[str] = field(default_factory=list)

    def changes_content(self) -> bool:
        return bool(self.content_paths())

    def content_paths(self) -> set[str]:
        return {*self.remove, *(entry.path for entry in (*self.create, *self.write, *self.link))}

    def __bool__(self) -> bool:
        return self.changes_content() or bool(self.adjust)

    def touched(self) -> set[str]:
        return self.content_paths() | {entry.path for entry in self.adjust}


def plan_restore(now: Mapping[str, Entry], goal: Mapping[str, Entry], excluded: Iterable[str]) -> Plan:
    plan = Plan()
    pinned = {folder for path in excluded for folder in ancestors(path)}
    uncaptured = {path for path, entry in goal.items() if entry.kind in UNCAPTURED}
    _plan_goal(plan, now, goal, pinned, uncaptured)
    for path, current in now.items():
        if path in goal or (uncaptured and any(folder in uncaptured for folder in ancestors(path))):
            continue
        if path in pinned or is_closed_folder(current):
            plan.not_restored.append(path)
        else:
            plan.remove.append(path)
    plan.remove.sort(reverse=True)  # the content of a folder before the folder
    return plan


def _plan_goal(
    plan: Plan, now: Mapping[str, Entry], goal: Mapping[str, Entry], pinned: set[str], uncaptured: set[str]
) -> None:
    unreachable: set[str] = set()
    for path, entry in goal.items():
        current = now.get(path)
        if path in uncaptured:
            if current is None or current.kind != entry.kind:
                plan.not_restored.append(path)
        elif (current is not None and is_closed_folder(current)) or split(path)[0] in unreachable:
            unreachable.add(path)
            plan.not_restored.append(path)
        elif current is None or current.kind != entry.kind:
            if path in pinned and entry.kind != "dir":
                plan.not_restored.append(path)
                continue
            if current is not None and "dir" in (current.kind, entry.kind):
                plan.remove.append(path)  # anything else is replaced atomically by a rename
            _plan_new(plan, entry)
        elif (current.digest, current.target, current.group) != (entry.digest, entry.target, entry.group):
            _plan_new(plan, entry)
        elif _attributes(current) != _attributes(entry) or not equal_xattrs(current.xattrs, entry.xattrs):
            plan.adjust.append(entry)


def _attributes(entry: Entry) -> tuple[int, str, int]:
    return entry.mode, entry.owner, entry.mtime_ns


def _plan_new(plan: Plan, entry: Entry) -> None:
    if entry.kind == "dir":
        plan.create.append(entry)
    elif entry.group and entry.group != entry.path:
        plan.link.append(entry)
    else:
        plan.write.append(entry)


def is_closed_folder(entry: Entry) -> bool:
    """Whether this is a folder whose permissions forbid listing it."""
    return entry.kind == "unreadable" and entry.target == "folder"


def find_conflicts(
    touched: Iterable[str],
    *,
    now: Mapping[str, Entry],
    known: Mapping[str, Entry],
    goal: Mapping[str, Entry],
    resumed: bool,
) -> list[str]:
    """Return the touched paths where a change by somebody else would be lost: they match neither `known` nor `goal`.

    With `resumed`, a missing path or a folder is not a conflict: the interrupted restore may have removed or opened it.
    """
    conflicts = []
    for path in sorted(touched):
        current = now.get(path)
        changed_by_restore = resumed and (current is None or current.kind == "dir")
        if (
            not changed_by_restore
            and not equal_entries(current, known.get(path))
            and not equal_entries(current, goal.get(path))
        ):
            conflicts.append(path)
    return conflicts

"""What has to be done to bring a tree back to a manifest, and who would be hurt by it. Pure: looks at nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from surefoot.workspace.diff import alike
from surefoot.workspace.manifest import LEFT_ALONE, Entry
from surefoot.workspace.tree import above, split


@dataclass
class Plan:
    remove: list[str] = field(default_factory=list)
    make: list[Entry] = field(default_factory=list)
    write: list[Entry] = field(default_factory=list)
    link: list[Entry] = field(default_factory=list)
    adjust: list[Entry] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def changes_content(self) -> bool:
        return bool(self.remove or self.make or self.write or self.link)

    def __bool__(self) -> bool:
        return self.changes_content() or bool(self.adjust)

    def touched(self) -> set[str]:
        return {*self.remove, *(entry.path for entry in (*self.make, *self.write, *self.link, *self.adjust))}


def plan_restore(now: Mapping[str, Entry], goal: Mapping[str, Entry], excluded: Iterable[str]) -> Plan:
    plan = Plan()
    pinned = {folder for path in excluded for folder in above(path)}
    hands_off = {path for path, entry in goal.items() if entry.kind in LEFT_ALONE}
    _plan_goal(plan, now, goal, pinned, hands_off)
    for path, have in now.items():
        if path in goal or (hands_off and any(folder in hands_off for folder in above(path))):
            continue
        if path in pinned or is_closed_folder(have):
            plan.kept.append(path)
        else:
            plan.remove.append(path)
    plan.remove.sort(reverse=True)  # what is in a folder before the folder
    return plan


def _plan_goal(
    plan: Plan, now: Mapping[str, Entry], goal: Mapping[str, Entry], pinned: set[str], hands_off: set[str]
) -> None:
    out_of_reach: set[str] = set()
    for path, entry in goal.items():
        have = now.get(path)
        if path in hands_off:
            if have is None or have.kind != entry.kind:
                plan.kept.append(path)
        elif (have is not None and is_closed_folder(have)) or split(path)[0] in out_of_reach:
            out_of_reach.add(path)
            plan.kept.append(path)
        elif have is None or have.kind != entry.kind:
            if path in pinned and entry.kind != "dir":
                plan.kept.append(path)
                continue
            if have is not None and "dir" in (have.kind, entry.kind):
                plan.remove.append(path)  # anything else is replaced in one go by a rename
            _plan_new(plan, entry)
        elif (have.digest, have.target, have.group) != (entry.digest, entry.target, entry.group):
            _plan_new(plan, entry)
        elif (have.mode, have.owner, have.mtime_ns) != (entry.mode, entry.owner, entry.mtime_ns):
            plan.adjust.append(entry)


def _plan_new(plan: Plan, entry: Entry) -> None:
    if entry.kind == "dir":
        plan.make.append(entry)
    elif entry.group and entry.group != entry.path:
        plan.link.append(entry)
    else:
        plan.write.append(entry)


def is_closed_folder(entry: Entry) -> bool:
    """A folder that its permissions keep us from listing."""
    return entry.kind == "unreadable" and entry.target == "folder"


def conflicts(
    touched: Iterable[str],
    *,
    now: Mapping[str, Entry],
    known: Mapping[str, Entry],
    goal: Mapping[str, Entry],
    resumed: bool,
) -> list[str]:
    """The touched paths where someone else's change would be lost: neither as it was known nor as it will be.

    A restore that was killed has itself removed files and opened folders: finding those is no conflict.
    """
    found = []
    for path in sorted(touched):
        have = now.get(path)
        undone_by_us = resumed and (have is None or have.kind == "dir")
        if not undone_by_us and not alike(have, known.get(path)) and not alike(have, goal.get(path)):
            found.append(path)
    return found

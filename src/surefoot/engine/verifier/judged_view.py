"""The judged view: the tree on which the final checks are judged.

It has the sources as they are now. Files that decide what a check does are as they were before the run, unless the task
asks to change them (`deciding.decide`). With bubblewrap the view is a copy that commands see at the path of the
workspace; large folders in which nothing differs are those of the workspace. Otherwise it is an ordinary copy. If
nothing differs, it is the workspace itself.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from surefoot.core.outcome import CheckResult
from surefoot.core.phases import JudgedView
from surefoot.core.plan import CommandCheck
from surefoot.engine.runtime.run import Run
from surefoot.engine.verifier import scratch
from surefoot.engine.verifier.deciding import names
from surefoot.engine.verifier.deciding.decide import CACHED, Differences, Tree, deciding_differences
from surefoot.engine.verifier.scratch import Place
from surefoot.engine.verifier.suite.test_policy import changed_as_asked
from surefoot.errors import SurefootError
from surefoot.workspace.errors import as_text
from surefoot.workspace.sandbox.bubblewrap import Bubblewrap
from surefoot.workspace.sandbox.environment import command_env
from surefoot.workspace.snapshots.manifest import Entry

LARGE_FILES, LARGE_BYTES = 1_000, 20_000_000
"""A folder with more than this is not copied if nothing in it differs and the sandbox can show the original."""
MAX_DIFFERENCES = 5_000
MAX_LOOKED_AT = 50_000
"""How many files of excluded folders are examined."""


@dataclass(frozen=True)
class View:
    """A tree to run checks on. `place` is None if it cannot be provided; then `problem` says why."""

    place: Place | None
    restored: tuple[str, ...] = ()
    """Files that are as they were before the run, unlike in the workspace. Bytecode and caches are not listed."""
    left_out: tuple[str, ...] = ()
    """Files of the workspace that are not in the view."""
    problem: str = ""
    differs: bool = False
    """Whether the view is another tree than the workspace."""


async def check_on_view(run: Run, checks: Sequence[CommandCheck]) -> JudgedView | None:
    """Run checks that pass in the workspace once more in the view; None if the view is the workspace.

    Each check has a view of its own, because its command may write there. A check that fails is repeated once, because
    it may be flaky.
    """
    commands = [check.command for check in checks]
    judged: View | None = None
    red: list[CheckResult] = []
    for check in checks:
        for _ in range(2):
            async with judged_view(run, commands) as view:
                judged = view if judged is None or view.problem else judged
                if not view.differs:
                    break
                if view.place is None:
                    return _as_value(view, ())
                (result,) = await run.verifier.check_at([check], view.place)
            if result.passed:
                break
        else:
            red.append(result)
    return _as_value(judged, red) if judged is not None and judged.differs else None


def _as_value(view: View, red: Iterable[CheckResult]) -> JudgedView:
    return JudgedView(restored=view.restored, left_out=view.left_out, problem=view.problem, red=tuple(red))


@asynccontextmanager
async def judged_view(run: Run, commands: Sequence[str], name: str = "judged") -> AsyncIterator[View]:
    """Provide the tree on which the run is judged by these commands, inside the `with` block.

    Only one view of a name may exist at a time.
    """
    try:
        snapshot = await run.snapshot()
        differences = await asyncio.to_thread(find_differences, run, snapshot, commands)
        unseen = await asyncio.to_thread(_changed_unseen, run, snapshot)
    except SurefootError as error:
        yield View(None, problem=f"the workspace could not be compared with its start: {error}", differs=True)
        return
    if unseen:
        yield View(None, problem=f"{unseen} changed during the run, and snapshots exclude it", differs=True)
        return
    if not differences:
        yield View(Place(run.root, run.sandbox))
        return
    restored, left_out = _listed({**differences.restored, **differences.merged}), _listed(differences.left_out)
    judged = await asyncio.to_thread(_judged_snapshot, run, snapshot, differences)
    problem, keep = _plan(run, judged, differences)
    if problem:
        yield View(None, restored, left_out, problem, differs=True)
    elif isinstance(run.sandbox, Bubblewrap):
        async with run.scratch.copy_in_place(name, judged, run.sandbox, keep) as (place, copy):
            _write(copy, differences.merged)
            yield View(place, restored, left_out, differs=True)
    else:
        async with run.scratch.copy(name, judged) as place:
            _write(place.root, differences.merged)
            yield View(place, restored, left_out, differs=True)


def find_differences(run: Run, snapshot: str, commands: Sequence[str]) -> Differences:
    """Return how the judged tree differs from a snapshot of the workspace."""

    def read(entry: Entry) -> bytes:
        return run.workspace.blobs.get(entry.digest)

    before, now = Tree(run.files_before(), read), Tree(run.workspace.manifest(snapshot).entries, read)
    task = run.task.text
    differences = deciding_differences(before, now, commands, task, _program_folders(run.root), str(run.root))
    for path in _changed_as_asked(before, now, differences.restored, task):
        del differences.restored[path]
    return differences


def _changed_as_asked(before: Tree, now: Tree, paths: Iterable[str], task: str) -> set[str]:
    """Return the test files that were changed only as the task asks, such as by renaming."""

    def contents(tree: Tree) -> dict[str, bytes]:
        return {p: tree.read(p).encode() for p in paths if p in tree.entries and tree.entries[p].kind == "file"}

    return changed_as_asked(contents(before), contents(now), task)


def _program_folders(root: Path) -> list[str]:
    """Return the folders of the workspace in which the shell looks for programs."""
    home = root.resolve()
    folders = [Path(entry).resolve() for entry in command_env()["PATH"].split(":")]
    return [folder.relative_to(home).as_posix() for folder in folders if folder != home and home in folder.parents]


def _listed(paths: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(as_text(path) for path, reason in sorted(paths.items()) if reason != CACHED)


def _judged_snapshot(run: Run, snapshot: str, differences: Differences) -> str:
    paths = [*differences.restored, *differences.left_out]
    return run.workspace.with_paths_from(snapshot, run.state.snapshot, paths) if paths else snapshot


def _plan(run: Run, judged: str, differences: Differences) -> tuple[str, list[str]]:
    """Return why there can be no view, and the folders that need not be copied for it."""
    differing = [*differences.restored, *differences.left_out, *differences.merged]
    if len(differing) > MAX_DIFFERENCES:
        return f"{len(differing):,} files that decide what checks do were changed", []
    entries = run.workspace.manifest(judged).entries
    if isinstance(run.sandbox, Bubblewrap):
        keep = folders_to_keep(entries, differing)
        return ("", keep) if _fits(entries, keep) else ("the workspace is too large to be copied", [])
    roots = names.environment_roots(run.files_before())
    files = run.files_before()
    inside = [p for p in differing if names.in_environment(p, roots, files) and not names.CACHE.search(p)]
    if inside:
        return f"{inside[0]} belongs to an environment, which only bubblewrap can show as it was", []
    return (
        ("", [])
        if _fits(entries, ())
        else ("the workspace is too large to be copied, and bubblewrap is not in use", [])
    )


def _fits(entries: Mapping[str, Entry], keep: Collection[str]) -> bool:
    inside = tuple(f"{folder}/" for folder in keep)
    copied = [entry for path, entry in entries.items() if not inside or not path.startswith(inside)]
    return sum(entry.size for entry in copied) <= scratch.MAX_BYTES and len(copied) <= 4 * scratch.MAX_FILES


def folders_to_keep(entries: Mapping[str, Entry], differing: Collection[str]) -> list[str]:
    """Return the outermost large folders in which nothing differs; if the rest is too large, the small ones too."""
    mixed = {"/".join(parts[:n]) for path in differing for parts in [path.split("/")] for n in range(len(parts))}
    mixed |= set(differing)
    count: dict[str, int] = {}
    size: dict[str, int] = {}
    for path, entry in entries.items():
        parts = path.split("/")
        for n in range(1, len(parts)):
            folder = "/".join(parts[:n])
            count[folder] = count.get(folder, 0) + 1
            size[folder] = size.get(folder, 0) + entry.size
    same = {folder for folder in count if folder not in mixed}
    outermost = sorted(folder for folder in same if folder.rpartition("/")[0] not in same)
    large = [folder for folder in outermost if count[folder] > LARGE_FILES or size[folder] > LARGE_BYTES]
    return large if _fits(entries, large) else outermost


def _write(copy: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        (copy / name).write_text(text, "utf-8", errors="surrogateescape")


def _changed_unseen(run: Run, snapshot: str) -> str:
    """Return a test or a file of an environment that snapshots exclude and that changed during the run; empty if none.

    The kernel's change time decides, which no program can set.
    """
    moment, looked_at = run.state.started_at, 0
    for top in run.workspace.manifest(snapshot).excluded:
        if not names.in_environment(f"{top}/x", (), ()) and not names.in_test_folder(f"{top}/x"):
            continue
        for folder, _, files in os.walk(run.root / top):
            for name in files:
                path = Path(folder, name)
                looked_at += 1
                if looked_at > MAX_LOOKED_AT:
                    return ""
                relative_path = path.relative_to(run.root).as_posix()
                if path.lstat().st_ctime > moment and not names.CACHE.search(relative_path):
                    return relative_path
    return ""

"""A quick snapshot looks only at what a watch saw changing, and finds the same as a scan of the whole tree."""

# Names are bytes in the random operations, which pathlib does not support:
# ruff: noqa: PTH103, PTH104, PTH116, PTH118, PTH120, PTH123

import mmap
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surefoot.workspace.snapshots.scan as scan_module
import surefoot.workspace.workspace as snapshot_module
from support.trees import IS_ROOT, Operation, as_nobody, operation, perform, perform_in_shell, scratch, settle, trees
from surefoot.workspace import watch as watch_module
from surefoot.workspace.durable import hash_fd
from surefoot.workspace.snapshots.scan import Scan, read_contents, scan
from surefoot.workspace.snapshots.tree import Tree
from surefoot.workspace.watch import Watch
from surefoot.workspace.workspace import Workspace


def in_full(workspace: Workspace) -> Scan:
    with Tree(workspace.root) as tree:
        found = scan(tree, {}, workspace.excludes)
        read_contents(found, tree, hash_fd)
        return found


def quickly(workspace: Workspace) -> Scan:
    with Tree(workspace.root) as tree:
        found = workspace._rescan(tree)
        assert found is not None, "the watch was not trusted"
        read_contents(found, tree, hash_fd)
        return found


def assert_equal(quick: Scan, full: Scan) -> None:
    assert quick.records == full.records
    assert (quick.size, quick.excluded, quick.links) == (full.size, full.excluded, full.links)
    assert {folder: sorted(paths) for folder, paths in quick.children.items()} == {
        folder: sorted(paths) for folder, paths in full.children.items()
    }


# --- random changes -------------------------------------------------------------------------------------------

Special = tuple[str, bytes, bytes, bytes]
_FILES = [b"c.txt", b"b/a", b"a/c.txt", b"a/b/c.txt"]
_FOLDERS = [b"a", b"b", b"a/b"]
_paths = st.sampled_from([*_FILES, *_FILES, *_FOLDERS])
_specials = st.tuples(
    st.sampled_from(
        ["map", "reset", "link", "link in", "through link", "swap", "replace", "out and in", "out", "exclude"]
    ),
    _paths,
    _paths,
    st.sampled_from([b"four", b"else", b"longer than that"]),
)
_rounds = st.lists(
    st.tuples(st.lists(operation, max_size=5), st.lists(_specials, max_size=5), st.booleans()), min_size=1, max_size=3
)


def do_special(root: bytes, outside: bytes, kind: str, one: bytes, two: bytes, content: bytes) -> None:
    path, other = os.path.join(root, one), os.path.join(root, two)
    away = os.path.join(outside, two.replace(b"/", b"-"))
    if kind == "map":
        with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            mapped[:1] = content[:1]
    elif kind == "reset":
        times = os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns
        with open(path, "r+b") as file:
            file.write(content[:1])
        os.utime(path, ns=times)
    elif kind == "link":
        os.link(path, other + b".link")
    elif kind == "link in":
        with open(away, "wb") as new:
            new.write(content)
        os.link(away, path)
    elif kind == "through link":
        with open(away, "r+b") as file:
            file.write(content)
    elif kind == "swap":
        os.rename(path, path + b".tmp")
        os.rename(other, path)
        os.rename(path + b".tmp", other)
    elif kind == "replace":
        os.rename(path, away)
        os.makedirs(os.path.join(path, b"b"))
        with open(os.path.join(path, b"c.txt"), "wb") as new:
            new.write(content)
    elif kind == "out and in":
        os.rename(path, away)
        with suppress(OSError), open(os.path.join(away, b"c.txt"), "wb") as new:
            new.write(content)
        os.rename(away, path)
    elif kind == "out":
        os.rename(path, away)
    else:
        left_out = os.path.join(os.path.dirname(path), b"left_out")
        with suppress(FileNotFoundError):
            shutil.rmtree(left_out)
            return
        os.makedirs(os.path.join(left_out, b"x"))


def change(root: Path, rounds: tuple[list[Operation], list[Special], bool], outside: Path) -> None:
    ordinary, specials, in_shell = rounds
    (perform_in_shell if in_shell else perform)(root, ordinary)
    for special in specials:
        with suppress(OSError, ValueError):
            do_special(os.fsencode(root), os.fsencode(outside), *special)


def check_rounds(folder: Path, before: list[Operation], rounds: list[Any]) -> None:
    root, outside = folder / "root", folder / "outside"
    root.mkdir()
    outside.mkdir()
    for path in _FILES:
        os.makedirs(os.path.join(os.fsencode(root), os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(os.fsencode(root), path), "wb") as file:
            file.write(path)
    perform(root, before)
    workspace = Workspace(root, folder / "home", excludes=["left_out/"])
    last = workspace.snapshot(quick=True)
    for one in rounds:
        time.sleep(0.012)  # longer than a tick of the clock
        change(root, one, outside)
        assert_equal(quickly(workspace), in_full(workspace))
        assert workspace.changes(last, quick=True) == workspace.changes(last)
        last = workspace.snapshot(quick=True)
        fresh = Workspace(root, folder / "other", excludes=["left_out/"])
        assert last == fresh.snapshot(), "the manifest depends on how it was made"
        assert workspace.manifest(last) == Workspace(root, folder / "home").manifest(last)
    assert workspace._watch is not None
    workspace._watch.close()  # the system allows few at a time


@pytest.fixture(scope="module")
def all_old_enough() -> Iterator[None]:
    """Lets no file count as too recent to be trusted, since such files are looked at in any case."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan_module, "_TICK_NS", -(10**12))
        patch.setattr(scan_module, "_COARSE_TICK_NS", -(10**12))
        yield


@pytest.mark.req("X2", "P13")
@pytest.mark.usefixtures("all_old_enough")
@trees(80)
@given(st.lists(operation, max_size=6), _rounds)
def test_quick_scan_equals_a_whole_scan(before: list[Operation], rounds: list[Any]) -> None:
    with scratch() as folder:
        check_rounds(folder, before, rounds)


@pytest.mark.req("X2", "P13")
@pytest.mark.usefixtures("all_old_enough")
@trees(30)
@given(st.lists(operation, max_size=6), _rounds)
def test_quick_scan_without_root_equals_a_whole_scan(before: list[Operation], rounds: list[Any]) -> None:
    with scratch() as folder:
        if IS_ROOT:
            folder.chmod(0o777)
        with as_nobody():
            check_rounds(folder, before, rounds)


@pytest.mark.req("X2")
@pytest.mark.usefixtures("all_old_enough")
@pytest.mark.parametrize("mode", [0o000, 0o200, 0o555])
def test_folder_that_was_closed_needs_no_whole_scan(mode: int) -> None:
    with scratch() as folder:
        folder.chmod(0o777)
        with as_nobody():
            check_rounds(folder, [], [([("chmod", b"a", b"a", b"", mode)], [], False)] * 2)


# --- what a watch does not see --------------------------------------------------------------------------------


@pytest.fixture
def deep(root: Path) -> Path:
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/file").write_text("one")
    settle()
    return root / "a/b/file"


def whole_scans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Returns a list that grows with every scan of a whole tree."""
    found: list[int] = []

    def counted(*args: Any, **kwargs: Any) -> Scan:
        found.append(1)
        return scan(*args, **kwargs)

    monkeypatch.setattr(snapshot_module, "scan", counted)
    return found


@pytest.mark.req("X2")
def test_map_that_is_still_open_is_seen_by_a_whole_scan(workspace: Workspace, deep: Path) -> None:
    """As long as another program holds the map, its writes leave no event."""
    before = workspace.snapshot(quick=True)
    with deep.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:1] = b"O"
        mapped.flush()
        assert [change.path for change in workspace.changes(before)] == ["a/b/file"]
        after = workspace.snapshot()
        assert after != before
    assert workspace.snapshot(quick=True) == after


@pytest.mark.req("X2")
@pytest.mark.parametrize("how", ["overflow", "limit", "other file system", "no inotify", "root replaced"])
def test_all_is_scanned_when_the_watch_cannot_be_trusted(
    folder: Path, root: Path, deep: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how == "limit":
        monkeypatch.setattr(watch_module, "_LIMIT", folder / "limit")
        (folder / "limit").write_text("8")  # two for us, and there are three folders
    elif how == "other file system":
        monkeypatch.setattr(watch_module, "_LOCAL_FILE_SYSTEMS", frozenset())
    elif how == "no inotify":
        monkeypatch.setattr(Watch, "open", lambda root: None)
    workspace = Workspace(root, folder / "home")
    before = workspace.snapshot(quick=True)
    scans = whole_scans(monkeypatch)
    if how == "overflow":
        count = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
        if count > 100_000:
            pytest.skip("the queue is too long to be filled here")
        subprocess.run(
            ["sh", "-c", f"i=0; while [ $i -lt {count} ]; do : > a/x; : > a/y; i=$((i+2)); done; rm a/x a/y"],
            cwd=root,
            check=True,
        )
    elif how == "root replaced":
        root.rename(folder / "old")
        (root / "a/b").mkdir(parents=True)
    deep.write_text("two")
    assert [change.path for change in workspace.changes(before, quick=True)] == ["a/b/file"]
    assert workspace.manifest(workspace.snapshot(quick=True)).entries["a/b/file"].size == 3
    assert len(scans) == 2
    deep.write_text("three")
    assert workspace.manifest(workspace.snapshot(quick=True)).entries["a/b/file"].size == 5
    assert len(scans) == (2 if how in ("overflow", "root replaced") else 3)


@pytest.mark.req("X2")
def test_mounted_file_system_in_the_tree_is_not_trusted(folder: Path, root: Path, deep: Path) -> None:
    mounted = root / "mounted"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "none", str(mounted)]
    if not IS_ROOT or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not possible here")
    try:
        workspace = Workspace(root, folder / "home")
        workspace.snapshot(quick=True)
        assert workspace._watch is not None
        assert not workspace._watch.collect()
    finally:
        subprocess.run(["umount", "-l", str(mounted)], check=True)


def test_folder_filled_before_it_is_watched(workspace: Workspace, root: Path) -> None:
    """The events of a new folder's content are lost, because nobody watched it yet."""
    before = workspace.snapshot(quick=True)
    (root / "new/inner").mkdir(parents=True)
    (root / "new/inner/file").write_text("content")
    assert [c.path for c in workspace.changes(before, quick=True)] == ["new", "new/inner", "new/inner/file"]
    workspace.snapshot(quick=True)
    (root / "new/inner/file").write_text("more")
    assert "new/inner/file" in workspace.manifest(workspace.snapshot(quick=True)).entries
    assert_equal(quickly(workspace), in_full(workspace))


@pytest.mark.req("X2")
def test_change_during_a_quick_scan_is_seen_by_the_next(
    workspace: Workspace, root: Path, deep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.snapshot(quick=True)
    (root / "other").write_text("changed")
    real: Callable[[Watch], bool] = Watch.collect

    def collect(self: Watch) -> bool:
        result = real(self)
        deep.write_text("after the events were read")
        return result

    monkeypatch.setattr(Watch, "collect", collect)
    missed = workspace.manifest(workspace.snapshot(quick=True)).entries["a/b/file"]
    monkeypatch.undo()
    seen = workspace.manifest(workspace.snapshot(quick=True)).entries["a/b/file"]
    assert (missed.size, seen.size) == (3, len("after the events were read"))


@pytest.mark.req("X2")
def test_garbage_collection_makes_the_next_snapshot_whole(
    workspace: Workspace, deep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.snapshot(quick=True)
    workspace.collect_garbage([], min_age_seconds=-1)
    scans = whole_scans(monkeypatch)
    snapshot = workspace.snapshot(quick=True)
    assert scans
    assert workspace.blobs.get(workspace.manifest(snapshot).entries["a/b/file"].digest) == b"one"


@pytest.mark.req("X2")
def test_watches_of_folders_that_are_gone_are_given_back(workspace: Workspace, root: Path, folder: Path) -> None:
    for number in range(20):
        (root / f"{number}").mkdir()
    workspace.snapshot(quick=True)
    for number in range(20):
        (root / f"{number}").rename(folder / f"moved{number}")
    workspace.snapshot(quick=True)
    workspace.snapshot()
    assert workspace._watch is not None
    assert len(workspace._watch._paths) == 1

"""Restores of trees that are over the quota, and on a full disk: nothing blocks them, and nothing is lost."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from support.trees import fill_up, photograph, run_and_kill, small_disk
from surefoot.errors import RestoreIncomplete, SnapshotOverQuota
from surefoot.workspace.restore.aside import Aside
from surefoot.workspace.restore.restore import RestoreReport
from surefoot.workspace.snapshots.tree import Tree
from surefoot.workspace.workspace import Workspace

MB = 1024 * 1024


def sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


@pytest.fixture
def small(folder: Path, root: Path) -> Workspace:
    (root / "docs").mkdir()
    (root / "docs/a.txt").write_text("a\n")
    (root / "b.txt").write_text("b\n")
    return Workspace(root, folder / "home", quota_bytes=MB)


@pytest.mark.req("X2")
@pytest.mark.attack("block undo")
def test_files_over_the_quota_are_moved_aside_and_come_back(root: Path, small: Workspace) -> None:
    before, original = small.snapshot(), photograph(root)
    sparse(root / "docs/big", 1 << 44)  # 16 TB of nothing: reading it would take hours
    (root / "docs/a.txt").unlink()
    sparse(root / "b.txt", 2 * MB)
    inode = (root / "docs/big").stat().st_ino
    with pytest.raises(SnapshotOverQuota):
        small.snapshot()
    spoiled = {change.path: change.kind for change in small.changes(before)}
    assert spoiled == {"docs/a.txt": "removed", "docs/big": "added", "b.txt": "modified"}
    known = small.capture([before])
    report = small.restore(before, known=known)
    assert photograph(root) == original
    moved = dict(report.moved_aside)
    assert set(moved) == {"docs/big", "b.txt"}
    assert Path(moved["docs/big"]).stat().st_size == 1 << 44
    report = small.restore(known, known=small.capture())
    assert report.not_restored == ()
    assert (root / "docs/big").stat().st_ino == inode
    assert (root / "b.txt").stat().st_size == 2 * MB
    assert not (root / "docs/a.txt").exists()


@pytest.mark.req("X2")
def test_a_large_file_of_the_user_stays_where_it_is(root: Path, small: Workspace) -> None:
    before = small.snapshot()
    (root / "b.txt").unlink()
    sparse(root / "video.mp4", 1 << 44)
    known = small.capture([before])
    small.restore(small.with_paths_from(known, before, ["b.txt"]), known=known)
    assert (root / "b.txt").read_text() == "b\n"
    assert (root / "video.mp4").stat().st_size == 1 << 44


@pytest.mark.req("X2")
def test_a_file_that_is_no_longer_aside_is_reported(folder: Path, root: Path, small: Workspace) -> None:
    before = small.snapshot()
    sparse(root / "big", 2 * MB)
    known = small.capture()
    small.restore(before, known=known)
    assert Aside(root, folder / "home").sweep(older_than=0) == 0, "it is new"
    Aside(root, folder / "home").sweep(older_than=float("inf"))
    (root / "b.txt").write_text("other\n")
    assert small.restore(known).not_restored == ("big",)
    assert (root / "b.txt").read_text() == "b\n"


@pytest.mark.slow
@pytest.mark.req("X2")
def test_killed_restores_lose_no_file_that_is_not_stored(folder: Path, root: Path, small: Workspace) -> None:
    before, original = small.snapshot(), photograph(root)
    (root / "big").write_bytes(os.urandom(2 * MB))
    (root / "b.txt").write_bytes(os.urandom(2 * MB))
    known, spoiled = small.capture(), photograph(root)
    at = 0
    while True:
        at += 1
        again = Workspace(root, folder / "home", quota_bytes=MB)
        killed = run_and_kill(partial(again.restore, before, known=known), at)
        again.finish_restore()
        if killed and photograph(root) == spoiled:
            continue  # killed before the intent was written
        assert photograph(root) == original, f"killed before call {at}"
        again.restore(known)
        assert photograph(root) == spoiled, f"killed before call {at}"
        if not killed:
            break
    assert at > 10


@pytest.mark.req("X2")
@pytest.mark.attack("block undo")
def test_if_nothing_can_be_moved_the_lost_files_still_come_back(
    root: Path, small: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = small.snapshot()
    (root / "new").mkdir()
    (root / "new/big").write_bytes(b"1" * 2 * MB)
    (root / "b.txt").write_bytes(b"2" * 2 * MB)
    (root / "docs/a.txt").unlink()
    monkeypatch.setattr(Aside, "take", lambda *_: None)
    report = small.restore(before, known=small.capture())
    assert (root / "docs/a.txt").read_text() == "a\n"
    assert (root / "b.txt").read_text() == "b\n"
    renamed = root / dict(report.moved_aside)["b.txt"]
    assert renamed.read_bytes() == b"2" * 2 * MB
    assert report.left_in_place == (renamed.name, "new", "new/big")
    assert (root / "new/big").read_bytes() == b"1" * 2 * MB


@pytest.mark.attack("block undo")
def test_a_folder_beside_the_workspace_that_is_a_link_is_not_used(
    folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who may write beside the workspace could otherwise send the user's files anywhere."""
    aside = Aside(root, folder / "elsewhere")
    target = folder / "of somebody else"
    target.mkdir()
    aside._beside.symlink_to(target)
    (root / "b.txt").write_text("b\n")
    with Tree(root) as tree:
        assert aside.take(tree.folder(""), "b.txt") is None
        aside._beside.unlink()
        aside._beside.mkdir()
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        assert aside.take(tree.folder(""), "b.txt") is None
    assert (root / "b.txt").exists()
    assert list(target.iterdir()) == []


# -- a full disk ----------------------------------------------------------------------------------------------------


@pytest.fixture
def disk() -> Iterator[Path]:
    with small_disk() as folder:
        (folder / "root").mkdir()
        yield folder


@pytest.mark.req("X2")
@pytest.mark.attack("block undo")
def test_on_a_full_disk_what_needs_no_room_is_restored_and_the_rest_later(disk: Path) -> None:
    root = disk / "root"
    (root / "small.txt").write_text("small\n" * 1000)
    (root / "large.bin").write_bytes(os.urandom(2 * MB))
    (root / "edited.txt").write_text("before\n" * 1000)
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("run.sh")
    (root / "gone/deep").mkdir(parents=True)
    workspace = Workspace(root, disk / "home")
    before, original = workspace.snapshot(), photograph(root)
    for name in ("small.txt", "large.bin", "link"):
        (root / name).unlink()
    (root / "gone/deep").rmdir()
    (root / "edited.txt").write_text("after\n")
    (root / "run.sh").chmod(0o600)
    (root / "stored.txt").write_text("stored\n" * 10_000)
    workspace.snapshot()
    fill_up(root / "junk")
    junk = (root / "junk").stat()
    known = workspace.capture([before])
    with pytest.raises(RestoreIncomplete) as raised:
        workspace.restore(before, known=known, unrecorded=True)
    assert [path.partition(" ")[0] for path in raised.value.paths] == ["large.bin"]
    assert "delete what was moved aside" in raised.value.remedy
    half = photograph(root)
    half.pop(b".")
    assert half == {name: entry for name, entry in original.items() if name not in (b".", b"large.bin")}
    aside = next((disk / "home/workspaces").glob("*/aside/*junk"))
    assert (aside.stat().st_ino, aside.stat().st_size) == (junk.st_ino, junk.st_size), "it is not lost"
    aside.unlink()
    report = Workspace(root, disk / "home").finish_restore()
    assert isinstance(report, RestoreReport)
    assert photograph(root) == original


@pytest.mark.req("X2")
def test_a_file_that_fits_only_in_place_of_the_other_is_restored(disk: Path) -> None:
    root = disk / "root"
    (root / "file.bin").write_bytes(os.urandom(3 * MB))
    before, original = Workspace(root, disk / "home").snapshot(), photograph(root)
    (root / "file.bin").write_bytes(os.urandom(MB))
    workspace = Workspace(root, disk / "home")
    workspace.snapshot()
    fill_up(root / "junk")
    os.truncate(root / "junk", (root / "junk").stat().st_size - 2 * MB - 100_000)
    known = workspace.capture(reserve=3 * MB)
    workspace.restore(workspace.with_paths_from(known, before, ["file.bin"]), known=known)
    assert (root / "junk").exists()
    assert photograph(root)[b"file.bin"] == original[b"file.bin"]

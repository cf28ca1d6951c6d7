"""Restores: exact results, conflicts, and obstacles."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from support.trees import IS_ROOT, NOBODY, as_nobody, photograph, run_and_kill
from surefoot.errors import WorkspaceError
from surefoot.workspace.restore.restore import Intent, IntentFile
from surefoot.workspace.workspace import Workspace


@pytest.mark.req("X2", "P13")
def test_report_lists_the_changes(root: Path, workspace: Workspace) -> None:
    (root / "edited").write_text("before")
    (root / "mode").write_text("mode")
    before = workspace.snapshot()
    (root / "edited").write_text("after")
    (root / "mode").chmod(0o600)
    (root / "new").mkdir()
    (root / "new/file").write_text("new")
    report = workspace.restore(before)
    assert report.snapshot == before
    assert report.removed == ("new/file", "new")
    assert report.written == ("edited",)
    assert set(report.adjusted) >= {"mode"}
    assert report.not_restored == ()
    assert workspace.restore(before).written == ()


@pytest.mark.req("X2")
def test_hard_link_to_the_outside_is_not_written_through(folder: Path, root: Path, workspace: Workspace) -> None:
    (root / "file").write_text("before")
    before = workspace.snapshot()
    (root / "file").write_text("after")
    os.link(root / "file", folder / "outside")
    workspace.restore(before)
    assert (root / "file").read_text() == "before"
    assert (folder / "outside").read_text() == "after"


@pytest.mark.req("X2")
def test_folder_replaced_by_a_symlink_during_the_restore_is_not_followed(
    folder: Path, root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replacement comes after the scan and before the first write."""
    (folder / "outside").mkdir()
    (root / "door/inner/deeper").mkdir(parents=True)
    (root / "door/inner/file").write_text("before")
    before = workspace.snapshot()
    (root / "door/inner/file").unlink()
    real = IntentFile.write

    def write(self: IntentFile, intent: Intent) -> None:
        real(self, intent)
        (root / "door").rename(folder / "moved")
        (root / "door").symlink_to(folder / "outside")
        (folder / "outside/inner").mkdir(exist_ok=True)

    monkeypatch.setattr(IntentFile, "write", write)
    # Only the deepest folder is still open from the scan.
    monkeypatch.setattr("surefoot.workspace.snapshots.tree._MAX_OPEN_FOLDERS", 1)
    with pytest.raises(WorkspaceError, match="Not a directory"):
        workspace.restore(before)
    assert [path.name for path in (folder / "outside").rglob("*")] == ["inner"]


@pytest.mark.req("X2")
def test_hard_links_are_restored(root: Path, workspace: Workspace) -> None:
    (root / "a").write_text("together")
    os.link(root / "a", root / "b")
    (root / "c").write_text("alone")
    (root / "d").write_text("alone")
    before, picture = workspace.snapshot(), photograph(root)
    (root / "b").unlink()
    (root / "b").write_text("together")
    (root / "d").unlink()
    os.link(root / "c", root / "d")
    workspace.restore(before)
    assert photograph(root) == picture
    assert (root / "a").stat().st_ino == (root / "b").stat().st_ino
    assert (root / "c").stat().st_ino != (root / "d").stat().st_ino


@pytest.mark.req("X2")
def test_special_files_are_not_restored(root: Path, workspace: Workspace) -> None:
    os.mkfifo(root / "stays")
    os.mkfifo(root / "lost")
    before = workspace.snapshot()
    (root / "lost").unlink()
    os.mkfifo(root / "new")
    report = workspace.restore(before)
    assert report.not_restored == ("lost",)
    assert {path.name for path in root.iterdir()} == {"stays"}


@pytest.mark.req("X2")
def test_excluded_paths_are_neither_restored_nor_deleted(folder: Path, root: Path) -> None:
    (root / "app/cache").mkdir(parents=True)
    (root / "app/cache/data").write_text("old")
    (root / "app/code").write_text("before")
    workspace = Workspace(root, folder / "home", excludes=["cache"])
    before = workspace.snapshot()
    (root / "app/cache/data").write_text("new")
    (root / "app/code").write_text("after")
    (root / "other/cache").mkdir(parents=True)
    (root / "other/file").write_text("new")
    for restorer in (workspace, Workspace(root, folder / "home")):  # the manifest has the patterns too
        report = restorer.restore(before)
        assert report.not_restored == ("other",)
        assert (root / "app/cache/data").read_text() == "new"
        assert (root / "app/code").read_text() == "before"
        assert (root / "other/cache").is_dir()
        assert not (root / "other/file").exists()
        assert [change.path for change in restorer.changes(before)] == ["other"]


@pytest.mark.req("X2")
def test_path_excluded_now_is_not_restored_from_an_older_snapshot(folder: Path, root: Path) -> None:
    (root / "a").write_text("together")
    os.link(root / "a", root / "b")
    before = Workspace(root, folder / "home").snapshot()
    (root / "a").write_text("today")
    (root / "c").write_text("today")
    Workspace(root, folder / "home", excludes=["a"]).restore(before)
    assert (root / "a").read_text() == "today"
    assert (root / "b").read_text() == "together"
    assert not (root / "c").exists()


@pytest.mark.req("X2")
def test_tree_over_quota_can_still_be_restored(folder: Path, root: Path) -> None:
    (root / "file").write_bytes(b"small")
    workspace = Workspace(root, folder / "home", quota_bytes=100)
    before = workspace.snapshot()
    (root / "junk").write_bytes(bytes(10_000))
    (root / "file").write_bytes(bytes(10_000))
    workspace.restore(before)
    assert workspace.snapshot() == before


@pytest.mark.req("X2")
@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_nothing_is_touched_if_stored_content_is_damaged(
    folder: Path, root: Path, workspace: Workspace, damage: str
) -> None:
    (root / "file").write_text("before")
    before = workspace.snapshot()
    digest = workspace.manifest(before).entries["file"].digest
    (root / "file").write_text("after")
    (root / "new").write_text("new")
    stored = folder / "home/blobs" / digest[:2] / digest[2:]
    stored.chmod(0o600)
    stored.write_text("beFore") if damage == "changed" else stored.unlink()
    picture = photograph(root)
    with pytest.raises(WorkspaceError, match="damaged" if damage == "changed" else "missing") as caught:
        workspace.restore(before)
    assert caught.value.remedy
    assert photograph(root) == picture
    assert workspace.finish_restore() is None


@pytest.mark.req("X2")
def test_modes_of_read_only_and_closed_folders_are_restored(folder: Path, root: Path) -> None:
    if IS_ROOT:
        for path in (folder, root):
            os.chown(path, NOBODY, NOBODY)
    with as_nobody():
        (root / "fixed/inner").mkdir(parents=True)
        (root / "fixed/inner/file").write_text("before")
        (root / "fixed/inner").chmod(0o555)
        (root / "fixed").chmod(0o555)
        workspace = Workspace(root, folder / "home")
        before, picture = workspace.snapshot(), photograph(root)
        (root / "fixed").chmod(0o755)
        (root / "fixed/inner").chmod(0o755)
        (root / "fixed/inner/file").unlink()
        (root / "fixed/inner/closed").mkdir()
        (root / "fixed/inner/closed/deeper").mkdir()
        (root / "fixed/inner/closed/deeper/file").write_text("new")
        (root / "fixed/inner/closed/deeper").chmod(0)
        (root / "fixed/inner/closed").chmod(0)
        (root / "fixed/inner").chmod(0o500)
        (root / "fixed").chmod(0)
        root.chmod(0)
        workspace.restore(before)
        assert photograph(root) == picture


@pytest.mark.skipif(not IS_ROOT, reason="only root can give files away")
@pytest.mark.req("X2")
def test_root_restores_owners(root: Path, workspace: Workspace) -> None:
    (root / "theirs").write_text("before")
    os.chown(root / "theirs", NOBODY, NOBODY)
    (root / "theirs").chmod(0o4711)
    before, picture = workspace.snapshot(), photograph(root)
    (root / "theirs").unlink()
    workspace.restore(before)
    assert photograph(root) == picture
    os.chown(root / "theirs", 0, 0)
    assert [change.kind for change in workspace.changes(before)] == ["mode"]


@pytest.mark.skipif(not IS_ROOT, reason="needs files of another user")
def test_files_of_another_user_are_reported_as_not_restored(folder: Path, root: Path) -> None:
    os.chown(folder, NOBODY, NOBODY)
    os.chown(root, NOBODY, NOBODY)
    with as_nobody():
        workspace = Workspace(root, folder / "home")
        before = workspace.snapshot()
    (root / "theirs").mkdir(mode=0o700)
    (root / "theirs/file").write_text("root's")
    with as_nobody():
        assert workspace.restore(before).not_restored == ("theirs",)
    assert (root / "theirs/file").exists()


@pytest.mark.slow
@pytest.mark.req("X2")
def test_temporary_files_of_killed_restores_have_random_names_and_are_removed(
    folder: Path, root: Path, workspace: Workspace
) -> None:
    (root / "folder").mkdir()
    (root / "folder/file").write_text("before")
    before = workspace.snapshot()
    (root / "folder/file").write_text("after")
    (root / "folder/.surefoot-restore.tmp").write_text("a file of that name is like any other")
    after = workspace.snapshot()
    names = []
    for _ in range(2):
        at = 1
        while not (left := list(root.rglob(".surefoot-restore-*"))):
            assert run_and_kill(lambda: Workspace(root, folder / "home").restore(before, known=after), at)
            at += 1
        names.append(left[0].name)
        Workspace(root, folder / "home").finish_restore()
        assert not list(root.rglob(".surefoot-restore*"))
        assert workspace.snapshot() == before
        workspace.restore(after)
    assert names[0] != names[1]


@pytest.mark.req("X2")
def test_temporary_files_that_cannot_be_removed_are_reported(
    folder: Path, root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "file").write_text("before")
    before = workspace.snapshot()
    (root / "file").write_text("after")
    intent = Intent(before, None, True, ".surefoot-restore-0123.tmp")
    IntentFile(next((folder / "home/workspaces").iterdir()) / "restore.json").write(intent)
    (root / intent.temp_name).write_text("half")
    real = os.unlink

    def unlink(path: Any, **where: Any) -> None:
        if path == intent.temp_name:
            raise PermissionError(errno.EPERM, "not permitted")
        real(path, **where)

    monkeypatch.setattr(os, "unlink", unlink)
    report = workspace.finish_restore()
    assert report is not None
    assert report.leftovers == (intent.temp_name,)
    assert (root / "file").read_text() == "before"

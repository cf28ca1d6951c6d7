"""Going back: exactly, carefully, and past whatever is in the way."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from surefoot.errors import RestoreConflict, WorkspaceError
from surefoot.workspace.restore import Intent, IntentFile
from surefoot.workspace.snapshot import Workspace
from surefoot.workspace.tree import TEMP_NAME
from trees import IS_ROOT, NOBODY, as_nobody, photograph, scratch


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as found:
        (found / "root").mkdir()
        yield found


@pytest.fixture
def root(folder: Path) -> Path:
    return folder / "root"


@pytest.fixture
def workspace(folder: Path, root: Path) -> Workspace:
    return Workspace(root, folder / "home")


@pytest.mark.req("X2", "P13")
def test_the_report_says_what_was_done(root: Path, workspace: Workspace) -> None:
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
    assert report.kept == ()
    assert workspace.restore(before).written == ()


class TestWhatTheUserChangedMeanwhile:
    @pytest.fixture
    def before(self, root: Path, workspace: Workspace) -> str:
        for name in ("one", "two", "three"):
            (root / name).write_text("before")
        return workspace.snapshot()

    @pytest.fixture
    def known(self, root: Path, workspace: Workspace, before: str) -> str:
        (root / "one").write_text("agent")
        (root / "added").write_text("agent")
        (root / "three").unlink()
        return workspace.snapshot()

    def conflict(self, root: Path, workspace: Workspace, before: str, known: str) -> tuple[str, ...]:
        picture = photograph(root)
        with pytest.raises(RestoreConflict) as caught:
            workspace.restore(before, known=known)
        assert photograph(root) == picture, "a conflict is found before anything is touched"
        assert workspace.finish_restore() is None
        return caught.value.paths

    @pytest.mark.req("X2")
    def test_an_edit_is_a_conflict(self, root: Path, workspace: Workspace, before: str, known: str) -> None:
        (root / "one").write_text("user")
        assert self.conflict(root, workspace, before, known) == ("one",)
        workspace.restore(before, known=known, force=True)
        assert (root / "one").read_text() == "before"

    @pytest.mark.req("X2")
    def test_so_is_one_where_the_agent_did_nothing(
        self, root: Path, workspace: Workspace, before: str, known: str
    ) -> None:
        (root / "two").write_text("user")
        assert self.conflict(root, workspace, before, known) == ("two",)

    @pytest.mark.req("X2")
    def test_so_are_new_files_and_modes_and_deletions(
        self, root: Path, workspace: Workspace, before: str, known: str
    ) -> None:
        (root / "mine\n").write_text("user")
        (root / "two").unlink()
        (root / "added").chmod(0o755)
        (root / "three").mkdir()
        assert self.conflict(root, workspace, before, known) == ("added", "mine\\n", "three", "two")

    def test_going_back_by_hand_is_none(self, root: Path, workspace: Workspace, before: str, known: str) -> None:
        (root / "one").write_text("before")
        (root / "added").unlink()
        workspace.restore(before, known=known)
        assert workspace.snapshot() == before

    def test_without_a_known_state_all_is_undone(self, root: Path, workspace: Workspace, before: str) -> None:
        (root / "one").write_text("whoever")
        workspace.restore(before)
        assert workspace.snapshot() == before

    @pytest.mark.req("X2")
    def test_an_edit_in_the_very_moment_of_the_restore_is_not_lost(
        self, root: Path, workspace: Workspace, before: str, known: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After the look at the tree, before this file's turn."""
        real = os.unlink

        def unlink(path: Any, **where: Any) -> None:
            (root / "one").write_text("the user, just now")
            real(path, **where)

        monkeypatch.setattr(os, "unlink", unlink)
        with pytest.raises(RestoreConflict):
            workspace.restore(before, known=known)
        monkeypatch.undo()
        assert (root / "one").read_text() == "the user, just now"
        assert not list(root.rglob(TEMP_NAME))
        with pytest.raises(RestoreConflict):
            workspace.finish_restore()
        workspace.restore(before, force=True)
        assert workspace.snapshot() == before


@pytest.mark.req("X2")
def test_a_hard_link_outside_the_tree_is_not_written_through(folder: Path, root: Path, workspace: Workspace) -> None:
    (root / "file").write_text("before")
    before = workspace.snapshot()
    (root / "file").write_text("after")
    os.link(root / "file", folder / "outside")
    workspace.restore(before)
    assert (root / "file").read_text() == "before"
    assert (folder / "outside").read_text() == "after"


@pytest.mark.req("X2")
def test_a_folder_swapped_for_a_symlink_at_the_wrong_moment_leads_nowhere(
    folder: Path, root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the look at the tree, before the first file is written."""
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
    monkeypatch.setattr("surefoot.workspace.tree._KEPT_OPEN", 1)  # only the deepest is still open from the look
    with pytest.raises(WorkspaceError, match="Not a directory"):
        workspace.restore(before)
    assert [path.name for path in (folder / "outside").rglob("*")] == ["inner"]


@pytest.mark.req("X2")
def test_hard_links_are_joined_and_parted_again(root: Path, workspace: Workspace) -> None:
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
def test_special_files_are_left_alone(root: Path, workspace: Workspace) -> None:
    os.mkfifo(root / "stays")
    os.mkfifo(root / "lost")
    before = workspace.snapshot()
    (root / "lost").unlink()
    os.mkfifo(root / "new")
    report = workspace.restore(before)
    assert report.kept == ("lost",)
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
    for restorer in (workspace, Workspace(root, folder / "home")):  # the snapshot itself knows what it left out
        report = restorer.restore(before)
        assert report.kept == ("other",)
        assert (root / "app/cache/data").read_text() == "new"
        assert (root / "app/code").read_text() == "before"
        assert (root / "other/cache").is_dir()
        assert not (root / "other/file").exists()
        assert [change.path for change in restorer.changes(before)] == ["other"]


@pytest.mark.req("X2")
def test_what_is_excluded_today_is_not_brought_back_from_an_older_snapshot(folder: Path, root: Path) -> None:
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
def test_a_tree_grown_over_its_quota_can_still_be_undone(folder: Path, root: Path) -> None:
    (root / "file").write_bytes(b"small")
    workspace = Workspace(root, folder / "home", quota_bytes=100)
    before = workspace.snapshot()
    (root / "junk").write_bytes(bytes(10_000))
    (root / "file").write_bytes(bytes(10_000))
    workspace.restore(before)
    assert workspace.snapshot() == before


@pytest.mark.req("X2")
@pytest.mark.parametrize("harm", ["missing", "changed"])
def test_with_damaged_content_nothing_is_touched(folder: Path, root: Path, workspace: Workspace, harm: str) -> None:
    (root / "file").write_text("before")
    before = workspace.snapshot()
    digest = workspace.manifest(before).entries["file"].digest
    (root / "file").write_text("after")
    (root / "new").write_text("new")
    stored = folder / "home/blobs" / digest[:2] / digest[2:]
    stored.chmod(0o600)
    stored.write_text("beFore") if harm == "changed" else stored.unlink()
    picture = photograph(root)
    with pytest.raises(WorkspaceError, match="damaged" if harm == "changed" else "missing") as caught:
        workspace.restore(before)
    assert caught.value.remedy
    assert photograph(root) == picture
    assert workspace.finish_restore() is None


@pytest.mark.req("X2")
def test_read_only_and_closed_folders_are_opened_for_the_work_only(folder: Path, root: Path) -> None:
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
def test_root_gives_files_back_to_their_owner(root: Path, workspace: Workspace) -> None:
    (root / "theirs").write_text("before")
    os.chown(root / "theirs", NOBODY, NOBODY)
    (root / "theirs").chmod(0o4711)
    before, picture = workspace.snapshot(), photograph(root)
    (root / "theirs").unlink()
    workspace.restore(before)
    assert photograph(root) == picture
    os.chown(root / "theirs", 0, 0)
    assert [change.kind for change in workspace.changes(before)] == ["mode"]


@pytest.mark.skipif(not IS_ROOT, reason="needs files of somebody else")
def test_what_belongs_to_somebody_else_is_kept_and_said(folder: Path, root: Path) -> None:
    os.chown(folder, NOBODY, NOBODY)
    os.chown(root, NOBODY, NOBODY)
    with as_nobody():
        workspace = Workspace(root, folder / "home")
        before = workspace.snapshot()
    (root / "theirs").mkdir(mode=0o700)
    (root / "theirs/file").write_text("root's")
    with as_nobody():
        assert workspace.restore(before).kept == ("theirs",)
    assert (root / "theirs/file").exists()


def test_a_left_over_temporary_file_is_no_part_of_the_tree(root: Path, workspace: Workspace) -> None:
    (root / "folder").mkdir()
    before = workspace.snapshot()
    (root / "folder" / TEMP_NAME).write_text("half")
    assert workspace.snapshot() == before
    workspace.restore(before)
    assert not list(root.rglob(TEMP_NAME))


@pytest.mark.req("X2", "P13")
def test_undoing_one_of_two_hard_links_leaves_the_other(root: Path, workspace: Workspace) -> None:
    (root / "a").write_text("before")
    os.link(root / "a", root / "b")
    before = workspace.snapshot()
    for name in ("a", "b"):
        (root / name).unlink()
        (root / name).write_text(f"after {name}")
    after = workspace.snapshot()
    workspace.restore(workspace.with_paths_from(after, before, ["b"]), known=after)
    assert [(root / name).read_text() for name in ("a", "b")] == ["after a", "before"]
    workspace.restore(workspace.with_paths_from(after, before, ["a", "b"]))
    assert workspace.snapshot() == before


@pytest.mark.req("X2", "P13")
def test_undoing_a_path_whose_folder_became_a_file_brings_back_the_folder(root: Path, workspace: Workspace) -> None:
    (root / "folder").mkdir()
    (root / "folder/file").write_text("before")
    before = workspace.snapshot()
    (root / "folder/file").unlink()
    (root / "folder").rmdir()
    (root / "folder").write_text("a file now")
    after = workspace.snapshot()
    workspace.restore(workspace.with_paths_from(after, before, ["folder/file"]), known=after)
    assert (root / "folder/file").read_text() == "before"

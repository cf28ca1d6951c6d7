"""A restore, and a snapshot, that are killed before every single act on the file system, or meet a failing disk."""

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from surefoot.errors import RestoreConflict, WorkspaceError
from surefoot.workspace.snapshot import Workspace
from trees import DISK_FAULTS, NIGHTLY, FailingCalls, assert_blobs_are_whole, photograph, run_and_kill, scratch


def fill(root: Path) -> None:
    """A bit of everything a restore has to do with."""
    (root / "src/deep").mkdir(parents=True)
    (root / "src/deep/kept.py").write_text("kept\n")
    (root / "src/edited.py").write_text("before\n")
    (root / "src/gone.py").write_bytes(b"gone\n" * 1000)
    (root / "was_file").write_text("a file\n")
    (root / "was_folder/inner").mkdir(parents=True)
    (root / "was_folder/inner/file").write_text("inside\n")
    (root / "empty").mkdir()
    (root / "one").write_text("linked\n")
    os.link(root / "one", root / "two")
    (root / "link").symlink_to("src/edited.py")
    (root / "script").write_text("#!/bin/sh\n")
    (root / "script").chmod(0o755)


def damage(root: Path) -> None:
    (root / "src/edited.py").write_text("after!\n")
    (root / "src/gone.py").unlink()
    (root / "was_file").unlink()
    (root / "was_file").mkdir()
    (root / "was_file/new").write_text("new\n")
    shutil.rmtree(root / "was_folder")
    (root / "was_folder").write_text("a file now\n")
    (root / "empty").rmdir()
    (root / "two").unlink()
    (root / "two").write_text("on its own\n")
    (root / "link").unlink()
    (root / "link").symlink_to("elsewhere")
    (root / "script").chmod(0o600)
    (root / "added/by/agent").mkdir(parents=True)
    (root / "added/by/agent/file").write_text("junk\n")


class Stage:
    """A damaged tree that can be put up again and again, and what it looked like before."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home = folder / "stage/root", folder / "stage/home"
        self._template = folder / "template"
        self.root.mkdir(parents=True)
        fill(self.root)
        workspace = self.workspace()
        self.whole = photograph(self.root)
        self.snapshot = workspace.snapshot()
        damage(self.root)
        self.known = workspace.snapshot()
        self.damaged = photograph(self.root)
        subprocess.run(["cp", "-a", folder / "stage", self._template], check=True)

    def workspace(self) -> Workspace:
        return Workspace(self.root, self.home)

    def put_up(self) -> None:
        shutil.rmtree(self.root.parent)
        subprocess.run(["cp", "-a", self._template, self.root.parent], check=True)

    def restore(self) -> object:
        return self.workspace().restore(self.snapshot, known=self.known)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with scratch() as folder:
        yield Stage(folder)


def every_call(stage: Stage, work: Callable[[], object], *, step: int = 1) -> Iterator[int]:
    """Kills `work` before its first call, then before its second, until it gets through; yields after each kill."""
    at = 1
    while True:
        stage.put_up()
        if not run_and_kill(work, at):
            break
        yield at
        at += step
    assert at > 20, "too few calls were counted for this to prove anything"


def error_of(work: Callable[[], object]) -> WorkspaceError | None:
    try:
        work()
    except WorkspaceError as error:
        return error
    return None


@pytest.mark.req("X2", "P13")
def test_killed_anywhere_it_is_finished_later(stage: Stage) -> None:
    finished = 0
    for at in every_call(stage, stage.restore):
        report = stage.workspace().finish_restore()
        if report is None:
            untouched = photograph(stage.root) in (stage.damaged, stage.whole)
            assert untouched, f"killed before call {at}: neither untouched nor to be finished"
        else:
            assert photograph(stage.root) == stage.whole, f"killed before call {at}"
            finished += 1
        assert stage.workspace().finish_restore() is None
    assert finished > 20


@pytest.mark.req("X2")
def test_killed_while_finishing_it_is_finished_again(stage: Stage) -> None:
    for at in every_call(stage, stage.restore, step=1 if NIGHTLY else 5):
        allowed = at % 17
        while run_and_kill(lambda: stage.workspace().finish_restore(), allowed):
            allowed += 17
        if photograph(stage.root) != stage.damaged:
            assert photograph(stage.root) == stage.whole, f"killed before call {at}"


@pytest.mark.req("X2")
def test_a_snapshot_killed_anywhere_leaves_no_half_content(stage: Stage) -> None:
    def take() -> str:
        (stage.root / "new").write_bytes(b"new content" * 1000)
        return stage.workspace().snapshot()

    for _ in every_call(stage, take):
        assert_blobs_are_whole(stage.home)
        assert (
            photograph(stage.root, times=False).items()
            >= {name: shown for name, shown in photograph(stage.root, times=False).items() if name != b"new"}.items()
        )
        workspace = stage.workspace()
        taken = workspace.snapshot()
        (stage.root / "new").write_text("changed")
        workspace.restore(taken)
        assert workspace.snapshot() == taken


@pytest.mark.req("X2")
@pytest.mark.parametrize(
    ("calls", "fault"),
    [
        *((["write"], fault) for fault in DISK_FAULTS),
        (["fsync", "rename", "replace"], errno.EIO),
        (["unlink", "rmdir", "mkdir", "link", "symlink", "open"], errno.ENOSPC),
    ],
)
def test_a_restore_on_a_failing_disk_can_be_finished(stage: Stage, calls: list[str], fault: int | str) -> None:
    at = 0
    while True:
        at += 1
        stage.put_up()
        with FailingCalls(calls, at, fault) as disk:
            error = error_of(stage.restore)
        assert error is None or error.remedy, "an error has to say what to do"
        assert_blobs_are_whole(stage.home)
        stage.workspace().finish_restore()
        if photograph(stage.root) != stage.whole:
            assert photograph(stage.root) == stage.damaged, "a tree in between, and nothing that would finish it"
        if not disk.struck:
            break
    assert at > 5


@pytest.mark.req("X2")
@pytest.mark.parametrize("fault", DISK_FAULTS)
def test_a_snapshot_on_a_failing_disk_is_a_typed_error_and_no_half_content(stage: Stage, fault: int | str) -> None:
    at = 0
    while True:
        at += 1
        stage.put_up()
        (stage.root / "new").write_bytes(b"new content" * 1000)
        (stage.root / "large").write_bytes(b"large" * 500_000)
        workspace = stage.workspace()
        with FailingCalls(["write"], at, fault) as disk:
            error = error_of(workspace.snapshot)
        assert error.remedy if error else (not disk.struck or fault == "short")
        assert_blobs_are_whole(stage.home)
        taken = workspace.snapshot()
        assert workspace.manifest(taken).entries["large"].size == 2_500_000
        assert workspace.restore(taken).written == ()
        if not disk.struck:
            break
    assert at > 5


@pytest.mark.req("X2")
def test_what_the_user_did_between_crash_and_finish_is_not_overwritten(stage: Stage) -> None:
    stage.put_up()
    assert run_and_kill(stage.restore, 60)
    (stage.root / "src/edited.py").write_text("the user's own\n")
    with pytest.raises(RestoreConflict, match="edited"):
        stage.workspace().finish_restore()
    assert (stage.root / "src/edited.py").read_text() == "the user's own\n"
    stage.workspace().restore(stage.snapshot, force=True)
    assert photograph(stage.root) == stage.whole
    assert stage.workspace().finish_restore() is None


@pytest.mark.req("X2")
def test_a_half_done_restore_can_be_abandoned(stage: Stage) -> None:
    stage.put_up()
    assert run_and_kill(stage.restore, 60)
    half = photograph(stage.root)
    stage.workspace().abandon_restore()
    assert stage.workspace().finish_restore() is None
    assert photograph(stage.root) == half

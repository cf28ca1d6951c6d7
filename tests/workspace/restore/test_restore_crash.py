"""Restores and snapshots that are killed before each of their file system calls, or run on a failing disk."""

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.trees import DISK_FAULTS, NIGHTLY, FailingCalls, assert_blobs_are_whole, photograph, run_and_kill, scratch
from surefoot.errors import RestoreConflict, WorkspaceError
from surefoot.workspace.workspace import Workspace

pytestmark = pytest.mark.slow


def fill(root: Path) -> None:
    """Create something of every kind that a restore handles."""
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
    """Change the tree in every way that a restore undoes."""
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


class Scenario:
    """A damaged tree that can be set up repeatedly, and its state before the damage."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home = folder / "scenario/root", folder / "scenario/home"
        self._template = folder / "template"
        self.root.mkdir(parents=True)
        fill(self.root)
        workspace = self.workspace()
        self.original = photograph(self.root)
        self.snapshot = workspace.snapshot()
        damage(self.root)
        self.known = workspace.snapshot()
        self.damaged = photograph(self.root)
        subprocess.run(["cp", "-a", folder / "scenario", self._template], check=True)

    def workspace(self) -> Workspace:
        return Workspace(self.root, self.home)

    def set_up(self) -> None:
        shutil.rmtree(self.root.parent)
        subprocess.run(["cp", "-a", self._template, self.root.parent], check=True)

    def restore(self) -> object:
        return self.workspace().restore(self.snapshot, known=self.known)


@pytest.fixture(scope="module")
def scenario() -> Iterator[Scenario]:
    with scratch() as folder:
        yield Scenario(folder)


def kill_before_each_call(scenario: Scenario, work: Callable[[], object], *, step: int = 1) -> Iterator[int]:
    """Kill `work` before its first call, then before its second, until it completes; yield after each kill."""
    at = 1
    while True:
        scenario.set_up()
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
def test_killed_restore_can_be_finished(scenario: Scenario) -> None:
    finished = 0
    for at in kill_before_each_call(scenario, scenario.restore):
        report = scenario.workspace().finish_restore()
        if report is None:
            untouched = photograph(scenario.root) in (scenario.damaged, scenario.original)
            assert untouched, f"killed before call {at}: changed, but there is nothing to finish"
        else:
            assert photograph(scenario.root) == scenario.original, f"killed before call {at}"
            finished += 1
        assert scenario.workspace().finish_restore() is None
    assert finished > 20


@pytest.mark.req("X2")
def test_killed_finish_can_be_finished(scenario: Scenario) -> None:
    for at in kill_before_each_call(scenario, scenario.restore, step=1 if NIGHTLY else 5):
        allowed = at % 17
        while run_and_kill(lambda: scenario.workspace().finish_restore(), allowed):
            allowed += 17
        if photograph(scenario.root) != scenario.damaged:
            assert photograph(scenario.root) == scenario.original, f"killed before call {at}"


@pytest.mark.req("X2")
def test_killed_snapshot_leaves_no_partial_content(scenario: Scenario) -> None:
    def take() -> str:
        (scenario.root / "new").write_bytes(b"new content" * 1000)
        return scenario.workspace().snapshot()

    scenario.set_up()
    before = photograph(scenario.root, times=False)
    for _ in kill_before_each_call(scenario, take):
        assert_blobs_are_whole(scenario.home)
        after = photograph(scenario.root, times=False)
        assert {name: entry for name, entry in after.items() if name != b"new"} == before
        workspace = scenario.workspace()
        snapshot_id = workspace.snapshot()
        (scenario.root / "new").write_text("changed")
        workspace.restore(snapshot_id)
        assert workspace.snapshot() == snapshot_id


@pytest.mark.req("X2")
@pytest.mark.parametrize(
    ("calls", "fault"),
    [
        *((["write"], fault) for fault in DISK_FAULTS),
        (["fsync", "rename", "replace"], errno.EIO),
        (["unlink", "rmdir", "mkdir", "link", "symlink", "open"], errno.ENOSPC),
    ],
)
def test_restore_on_a_failing_disk_can_be_finished(scenario: Scenario, calls: list[str], fault: int | str) -> None:
    at = 0
    while True:
        at += 1
        scenario.set_up()
        with FailingCalls(calls, at, fault) as disk:
            error = error_of(scenario.restore)
        assert error is None or error.remedy, "an error must have a remedy"
        assert_blobs_are_whole(scenario.home)
        scenario.workspace().finish_restore()
        if photograph(scenario.root) != scenario.original:
            assert photograph(scenario.root) == scenario.damaged, "partly restored, but there is nothing to finish"
        if not disk.triggered:
            break
    assert at > 5


@pytest.mark.req("X2")
@pytest.mark.parametrize("fault", DISK_FAULTS)
def test_snapshot_on_a_failing_disk_raises_and_leaves_no_partial_content(
    scenario: Scenario, fault: int | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All files are too recent for the cache, which is not saved then, and which a full disk may keep from being saved.
    monkeypatch.setattr("surefoot.workspace.snapshots.scan._TICK_NS", 3600 * 10**9)
    at = 0
    while True:
        at += 1
        scenario.set_up()
        (scenario.root / "new").write_bytes(b"new content" * 1000)
        (scenario.root / "large").write_bytes(b"large" * 500_000)
        workspace = scenario.workspace()
        with FailingCalls(["write"], at, fault) as disk:
            error = error_of(workspace.snapshot)
        assert error.remedy if error else (not disk.triggered or fault == "short")
        assert_blobs_are_whole(scenario.home)
        snapshot_id = workspace.snapshot()
        assert workspace.manifest(snapshot_id).entries["large"].size == 2_500_000
        assert workspace.restore(snapshot_id).written == ()
        if not disk.triggered:
            break
    assert at > 5


@pytest.mark.req("X2")
def test_edit_between_crash_and_finish_is_not_overwritten(scenario: Scenario) -> None:
    scenario.set_up()
    assert run_and_kill(scenario.restore, 60)
    (scenario.root / "src/edited.py").write_text("the user's own\n")
    with pytest.raises(RestoreConflict, match="edited"):
        scenario.workspace().finish_restore()
    assert (scenario.root / "src/edited.py").read_text() == "the user's own\n"
    scenario.workspace().restore(scenario.snapshot, force=True)
    assert photograph(scenario.root) == scenario.original
    assert scenario.workspace().finish_restore() is None


@pytest.mark.req("X2")
def test_incomplete_restore_can_be_abandoned(scenario: Scenario) -> None:
    scenario.set_up()
    assert run_and_kill(scenario.restore, 60)
    partial = photograph(scenario.root, folder_times=False)
    assert scenario.workspace().abandon_restore() == []
    assert scenario.workspace().finish_restore() is None
    left = photograph(scenario.root, folder_times=False)
    assert {name: entry for name, entry in partial.items() if b".surefoot-restore-" not in name} == left

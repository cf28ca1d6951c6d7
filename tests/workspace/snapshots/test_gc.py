"""Garbage collection of snapshots and blobs."""

import errno
from pathlib import Path

import pytest

from support.trees import FailingCalls, assert_blobs_are_whole, settle
from surefoot.errors import WorkspaceError
from surefoot.workspace.workspace import Workspace


@pytest.mark.req("X2")
def test_garbage_collection_keeps_what_is_needed(folder: Path, root: Path, workspace: Workspace) -> None:
    (root / "file").write_text("first")
    first = workspace.snapshot()
    (root / "file").write_text("second")
    second = workspace.snapshot()
    artifact = workspace.blobs.put(b"an artifact of the journal")
    assert workspace.collect_garbage([]).manifests_removed == 0, "recent snapshots may be in use"
    report = workspace.collect_garbage([second], keep_blobs=[artifact], min_age_seconds=0)
    assert report.manifests_removed == 1
    assert report.bytes_freed > 0
    assert workspace.blobs.has(artifact)
    with pytest.raises(WorkspaceError, match="no snapshot"):
        workspace.restore(first)
    (root / "file").write_text("third")
    workspace.restore(second)
    assert (root / "file").read_text() == "second"
    assert_blobs_are_whole(folder / "home")


@pytest.mark.req("X2")
def test_garbage_collection_invalidates_the_stat_cache(folder: Path, root: Path) -> None:
    """If another process removed the content of a cached file, a snapshot stores it again."""
    (root / "file").write_text("content")
    settle()
    workspace, other = Workspace(root, folder / "home"), Workspace(root, folder / "home")
    first = workspace.snapshot()
    other.collect_garbage([], min_age_seconds=0)
    assert workspace.snapshot() == first
    (root / "file").write_text("changed")
    workspace.restore(first)
    assert (root / "file").read_text() == "content"


@pytest.mark.req("X2")
def test_garbage_collection_keeps_what_an_incomplete_restore_needs(root: Path, workspace: Workspace) -> None:
    (root / "a").write_text("before")
    (root / "b").write_text("before")
    before = workspace.snapshot()
    (root / "a").write_text("after")
    (root / "b").write_text("after")
    with FailingCalls(["rename"], 2, errno.EIO), pytest.raises(WorkspaceError):
        workspace.restore(before)
    assert workspace.collect_garbage([], min_age_seconds=0).manifests_removed == 0
    workspace.finish_restore()
    assert workspace.snapshot() == before

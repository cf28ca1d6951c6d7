"""Snapshots travel between machines by their content alone, and arrive exactly or not at all."""

import hashlib
import os
from pathlib import Path

import pytest

from surefoot.errors import WorkspaceError
from surefoot.workspace.mirror import Mirror
from surefoot.workspace.workspace import Workspace


class Store:
    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.puts = 0

    def put(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        self.content[digest] = data
        self.puts += 1
        return digest


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "here"
    (root / "empty").mkdir(parents=True)
    (root / "a.txt").write_text("a\n")
    (root / "tool").write_bytes(b"\x00\xff" * 1000)
    (root / "tool").chmod(0o751)
    os.link(root / "a.txt", root / "same.txt")
    (root / "link").symlink_to("a.txt")
    (root / os.fsdecode(b"na\xefve")).write_text("not UTF-8")
    os.utime(root / "a.txt", ns=(1, 1_234_567_890))
    return Workspace(root, tmp_path / "home-here")


def elsewhere(tmp_path: Path, name: str = "there") -> Workspace:
    (tmp_path / name).mkdir()
    return Workspace(tmp_path / name, tmp_path / f"home-{name}")


@pytest.mark.req("X6")
def test_a_snapshot_arrives_exactly(workspace: Workspace, tmp_path: Path) -> None:
    store, there = Store(), elsewhere(tmp_path)
    snapshot = workspace.snapshot()
    Mirror(workspace, store.put, store.content.__getitem__).upload(snapshot)
    mirror = Mirror(there, store.put, store.content.__getitem__)
    mirror.download(snapshot)
    there.restore(snapshot)
    assert there.snapshot() == snapshot
    assert (there.root / "tool").stat().st_mode & 0o777 == 0o751
    assert (there.root / "a.txt").samefile(there.root / "same.txt")
    assert (there.root / "empty").is_dir()
    before = store.puts
    mirror.upload(snapshot)
    assert store.puts == before, "the store has it already"
    (there.root / "new.txt").write_text("new")
    mirror.upload(there.snapshot())
    assert store.puts - before == 3, "the new content, the chunk with it, and the list of chunks"


@pytest.mark.req("X6")
def test_damaged_content_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    store, snapshot = Store(), workspace.snapshot()
    Mirror(workspace, store.put, store.content.__getitem__).upload(snapshot)
    digest = hashlib.sha256(b"a\n").hexdigest()
    store.content[digest] = b"b\n"
    mirror = Mirror(elsewhere(tmp_path), store.put, store.content.__getitem__)
    with pytest.raises(WorkspaceError, match="damaged"):
        mirror.download(snapshot)

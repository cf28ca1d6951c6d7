"""What a snapshot captures, what it costs, and what it refuses."""

import os
import socket
import threading
from pathlib import Path

import pytest

from support.trees import NOBODY, as_nobody, photograph, settle
from surefoot.errors import SnapshotOverQuota, UsageError, WorkspaceError
from surefoot.workspace.snapshots.manifest import UNCAPTURED
from surefoot.workspace.workspace import Workspace


class CountedReads:
    """Counts the calls of os.read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        real = os.read

        def read(fd: int, length: int) -> bytes:
            self.count += 1
            return real(fd, length)

        monkeypatch.setattr(os, "read", read)


@pytest.mark.req("X2")
def test_manifest_has_kind_mode_content_and_links(root: Path, workspace: Workspace) -> None:
    (root / "folder").mkdir(mode=0o750)
    (root / "folder/file").write_text("hello")
    (root / "folder/file").chmod(0o4755)
    os.link(root / "folder/file", root / "twin")
    (root / "link").symlink_to("/nowhere")
    entries = workspace.manifest(workspace.snapshot()).entries
    assert list(entries) == ["", "folder", "folder/file", "link", "twin"]
    file = entries["folder/file"]
    assert (file.kind, file.mode, file.size) == ("file", 0o4755, 5)
    assert workspace.blobs.get(file.digest) == b"hello"
    assert file.mtime_ns == (root / "twin").stat().st_mtime_ns
    assert file.group == entries["twin"].group == "folder/file"
    assert (entries["link"].kind, entries["link"].target) == ("symlink", "/nowhere")
    assert (entries["folder"].kind, entries["folder"].mode) == ("dir", 0o750)


@pytest.mark.req("X2")
def test_unchanged_tree_is_not_read_and_stores_nothing(
    folder: Path, root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        (root / f"file{number}").write_text(f"content {number}")
    settle()
    first = workspace.snapshot()
    home = photograph(folder / "home", times=False)
    reads = CountedReads(monkeypatch)
    assert workspace.snapshot() == first
    assert reads.count == 0
    assert photograph(folder / "home", times=False) == home
    assert Workspace(root, folder / "home").snapshot() == first, "a new process must use the saved cache"
    assert reads.count == 0


@pytest.mark.req("X2")
def test_one_changed_file_stores_little(folder: Path, root: Path, workspace: Workspace) -> None:
    for number in range(3000):
        (root / f"file{number}").write_text("same")
    workspace.snapshot()

    def stored() -> int:
        return sum(file.stat().st_size for file in (folder / "home/blobs").rglob("*") if file.is_file())

    before = stored()
    (root / "file1500").write_text("other")
    workspace.snapshot()
    assert stored() - before < before / 3


@pytest.mark.req("X2")
def test_change_within_the_same_clock_tick_is_detected(root: Path, workspace: Workspace) -> None:
    """Same size, and immediately after the snapshot: the time stamps are often equal."""
    digests = set()
    for number in range(200):
        with (root / "file").open("r+b" if number else "wb") as file:
            file.write(b"%04d" % number)
        digests.add(workspace.manifest(workspace.snapshot()).entries["file"].digest)
    assert len(digests) == 200


@pytest.mark.req("X2")
def test_recently_changed_file_is_read_again(root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that ticks once an hour, every file is too recent to be trusted."""
    monkeypatch.setattr("surefoot.workspace.snapshots.scan._TICK_NS", 3600 * 10**9)
    (root / "file").write_text("content")
    first = workspace.snapshot()
    reads = CountedReads(monkeypatch)
    assert workspace.snapshot() == first
    assert reads.count > 0


def test_change_with_a_reset_mtime_is_detected(root: Path, workspace: Workspace) -> None:
    (root / "file").write_text("one")
    info = (root / "file").stat()
    settle()
    before = workspace.snapshot()
    (root / "file").write_text("two")
    os.utime(root / "file", ns=(info.st_atime_ns, info.st_mtime_ns))
    assert [change.path for change in workspace.changes(before)] == ["file"]


def test_id_and_hash_of_the_tree_depend_on_the_right_attributes(root: Path, workspace: Workspace) -> None:
    (root / "folder").mkdir()
    (root / "file").write_text("content")
    first, content = workspace.snapshot(), workspace.tree_state().tree
    (root / "folder/scratch").write_text("")
    (root / "folder/scratch").unlink()
    assert workspace.snapshot() == first, "the time of a folder is not part of the id"
    os.utime(root / "file", ns=(1, 1))
    assert workspace.snapshot() != first, "the time of a file is restored, so it is part of the id"
    assert workspace.changes(first) == []
    assert workspace.tree_state().tree == content
    (root / "file").chmod(0o600)
    assert workspace.tree_state().tree != content


def test_the_state_of_the_tree_stores_nothing(folder: Path, root: Path, workspace: Workspace) -> None:
    (root / "file").write_text("not stored")
    workspace.tree_state()
    assert not any(path.is_file() for path in (folder / "home/blobs").rglob("*"))
    entry = workspace.manifest(workspace.snapshot()).entries["file"]
    assert workspace.blobs.get(entry.digest) == b"not stored"


@pytest.mark.req("X2")
def test_symlinks_are_never_followed(folder: Path, root: Path, workspace: Workspace) -> None:
    (folder / "outside").mkdir()
    (folder / "outside/secret").write_text("secret")
    (root / "door").symlink_to(folder / "outside")
    assert list(workspace.manifest(workspace.snapshot()).entries) == ["", "door"]
    (root / "door").unlink()
    (root / "door").mkdir()
    (root / "door/secret").write_text("own")
    inside = workspace.snapshot()
    (root / "door/secret").unlink()
    (root / "door").rmdir()
    (root / "door").symlink_to(folder / "outside")
    workspace.restore(inside)
    assert (folder / "outside/secret").read_text() == "secret"
    assert (root / "door/secret").read_text() == "own"


@pytest.mark.req("X2")
def test_special_files_are_listed_but_never_opened(root: Path, workspace: Workspace) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))
        manifest = workspace.manifest(workspace.snapshot())
    special = [(entry.path, entry.target) for entry in manifest.entries.values() if entry.kind in UNCAPTURED]
    assert special == [("pipe", "fifo"), ("socket", "socket")]


@pytest.mark.req("X2")
def test_unreadable_files_are_listed(folder: Path, root: Path) -> None:
    for path in (folder, root):
        os.chown(path, NOBODY, NOBODY)
    with as_nobody():
        (root / "closed").mkdir()
        (root / "closed/inside").write_text("inside")
        (root / "secret").write_text("secret")
        (root / "secret").chmod(0)
        (root / "closed").chmod(0)
        workspace = Workspace(root, folder / "home")
        manifest = workspace.manifest(workspace.snapshot())
        uncaptured = [entry for entry in manifest.entries.values() if entry.kind in UNCAPTURED]
        assert [(entry.path, entry.kind, entry.target) for entry in uncaptured] == [
            ("closed", "unreadable", "folder"),
            ("secret", "unreadable", "file"),
        ]
        assert workspace.restore(manifest.id).removed == ()


@pytest.mark.req("X2")
def test_sparse_files_stay_sparse(root: Path, workspace: Workspace) -> None:
    size = 64 * 1024 * 1024
    with (root / "sparse").open("wb") as file:
        file.truncate(size)
        file.seek(size // 2)
        file.write(b"in the middle")
    before = workspace.snapshot()
    (root / "sparse").unlink()
    workspace.restore(before)
    info = (root / "sparse").stat()
    assert info.st_size == size
    assert info.st_blocks * 512 < size // 8
    with (root / "sparse").open("rb") as file:
        file.seek(size // 2)
        assert file.read(14) == b"in the middle\0"


@pytest.mark.slow
@pytest.mark.req("X2")
def test_tree_deeper_than_the_path_length_limit(root: Path, workspace: Workspace) -> None:
    depth, name = 1100, "folder"
    nothing = workspace.snapshot()
    fd = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=fd)
        deeper = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = deeper
    os.close(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    deep = workspace.snapshot()
    assert len(workspace.manifest(deep).entries) == depth + 2
    assert len(workspace.restore(nothing).removed) == depth + 1
    assert list(root.iterdir()) == []
    workspace.restore(deep)
    assert workspace.snapshot() == deep
    workspace.restore(nothing)  # rmtree could not remove this tree


@pytest.mark.req("X2")
def test_tree_over_quota_is_refused_with_its_largest_folders(folder: Path, root: Path) -> None:
    (root / "data").mkdir()
    (root / "data/large").write_bytes(bytes(700))
    (root / "models").mkdir()
    (root / "models/m").write_bytes(bytes(250))
    (root / "small").write_bytes(bytes(100))
    workspace = Workspace(root, folder / "home", quota_bytes=1000)
    with pytest.raises(SnapshotOverQuota, match=r"data \(700 bytes\), models \(250 bytes\)") as caught:
        workspace.snapshot()
    assert "data" in caught.value.remedy
    assert not any(path.is_file() for path in (folder / "home/blobs").rglob("*")), "nothing is half-captured"
    Workspace(root, folder / "home", quota_bytes=1000, excludes=["/data"]).snapshot()


@pytest.mark.req("X2")
@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("build", ["keep.o", "src", "src/a.o"]),
        ("/build", ["keep.o", "src", "src/a.o", "src/build", "src/build/x"]),
        ("*.o", ["build", "build/out", "src", "src/build", "src/build/x"]),
        ("src/*.o", ["build", "build/out", "keep.o", "src", "src/build", "src/build/x"]),
        ("keep.o/", ["build", "build/out", "keep.o", "src", "src/a.o", "src/build", "src/build/x"]),
    ],
)
def test_excluded_paths_are_listed_but_not_captured(folder: Path, root: Path, pattern: str, left: list[str]) -> None:
    for name in ("build/out", "src/build/x", "src/a.o", "keep.o"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    workspace = Workspace(root, folder / "home", excludes=[pattern])
    manifest = workspace.manifest(workspace.snapshot())
    assert list(manifest.entries) == ["", *left]
    everything = {path.relative_to(root).as_posix() for path in root.rglob("*")}
    missing = everything - set(left)
    assert set(manifest.excluded) == {path for path in missing if Path(path).parent.as_posix() not in missing}


def test_list_of_excluded_paths_is_current(folder: Path, root: Path) -> None:
    workspace = Workspace(root, folder / "home", excludes=["*.log"])
    assert workspace.manifest(workspace.snapshot()).excluded == ()
    (root / "a.log").write_text("log")
    assert workspace.manifest(workspace.snapshot()).excluded == ("a.log",)


@pytest.mark.parametrize("pattern", ["", "/", "!keep", "a/**/b"])
def test_unsupported_pattern_is_an_error(folder: Path, root: Path, pattern: str) -> None:
    with pytest.raises(UsageError) as caught:
        Workspace(root, folder / "home", excludes=[pattern])
    assert caught.value.remedy


@pytest.mark.parametrize("home", ["root", "root/.surefoot", "root/link/../x"])
def test_home_inside_the_workspace_is_refused(folder: Path, root: Path, home: str) -> None:
    with pytest.raises(UsageError, match="inside the workspace"):
        Workspace(root, folder / home)
    with pytest.raises(UsageError, match="not a folder"):
        Workspace(root / "missing", folder / "home")


@pytest.mark.req("X2")
def test_copy_to_a_new_folder(folder: Path, root: Path, workspace: Workspace) -> None:
    (root / "folder").mkdir(mode=0o555)
    (root / "file").write_text("content")
    os.link(root / "file", root / "twin")
    picture = photograph(root)
    before = workspace.snapshot()
    (root / "file").write_text("other")
    workspace.copy_to(before, folder / "new/fork")
    assert photograph(folder / "new/fork") == picture
    with pytest.raises(UsageError, match="not empty"):
        workspace.copy_to(before, folder / "new/fork")
    with pytest.raises(UsageError, match="inside the workspace"):
        workspace.copy_to(before, root / "fork")


def test_snapshots_from_several_threads(root: Path, workspace: Workspace) -> None:
    for number in range(50):
        (root / f"file{number}").write_text(str(number))
    ids: list[str] = []
    threads = [threading.Thread(target=lambda: ids.append(workspace.snapshot())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 8
    assert len(set(ids)) == 1


def test_file_that_vanishes_during_the_scan_is_ignored(
    root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "stays").write_text("stays")
    (root / "vanishes").write_text("vanishes")
    real = workspace.blobs.put_open

    def put_open(source: int) -> tuple[str, int]:
        (root / "vanishes").unlink(missing_ok=True)
        return real(source)

    monkeypatch.setattr(workspace.blobs, "put_open", put_open)
    assert "stays" in workspace.manifest(workspace.snapshot()).entries


@pytest.mark.req("X2")
def test_damaged_manifest_or_id_is_a_workspace_error(folder: Path, root: Path, workspace: Workspace) -> None:
    snapshot_id = workspace.snapshot()
    for wrong in ("../../etc/passwd", "", "0" * 64):
        with pytest.raises(WorkspaceError) as caught:
            workspace.manifest(wrong)
        assert caught.value.remedy
    for damage in ('{"core": {}}', "", "not JSON"):
        (folder / "home/manifests" / snapshot_id).write_text(damage)
        with pytest.raises(WorkspaceError, match="damaged"):
            Workspace(root, folder / "home").manifest(snapshot_id)  # a new process, which has nothing in memory

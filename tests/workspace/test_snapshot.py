"""What a snapshot captures, what it costs, and what it refuses."""

import errno
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from surefoot.errors import SnapshotOverQuota, UsageError, WorkspaceError
from surefoot.workspace.blobs import BlobStore
from surefoot.workspace.snapshot import Workspace
from trees import NOBODY, FailingCalls, as_nobody, assert_blobs_are_whole, photograph, scratch


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


def settle() -> None:
    """Waits until files just written are old enough to be told from files written now."""
    time.sleep(0.15)


class CountedReads:
    """How often content is read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        real = os.read

        def read(fd: int, length: int) -> bytes:
            self.count += 1
            return real(fd, length)

        monkeypatch.setattr(os, "read", read)


@pytest.mark.req("X2")
def test_a_manifest_tells_kind_mode_content_and_links(root: Path, workspace: Workspace) -> None:
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
def test_an_unchanged_tree_is_not_read_and_stores_nothing(
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
    assert Workspace(root, folder / "home").snapshot() == first, "a new process knows the files, too"
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
def test_a_change_within_the_same_tick_of_the_clock_is_seen(root: Path, workspace: Workspace) -> None:
    """Same size, and as quickly after the snapshot as can be: the time stamps are often equal."""
    digests = set()
    for number in range(200):
        with (root / "file").open("r+b" if number else "wb") as file:
            file.write(b"%04d" % number)
        digests.add(workspace.manifest(workspace.snapshot()).entries["file"].digest)
    assert len(digests) == 200


@pytest.mark.req("X2")
def test_a_file_is_read_again_until_its_time_is_clearly_past(
    root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same with a clock that ticks once an hour, where every file is too young to be trusted."""
    monkeypatch.setattr("surefoot.workspace.scan._TICK_NS", 3600 * 10**9)
    (root / "file").write_text("content")
    first = workspace.snapshot()
    reads = CountedReads(monkeypatch)
    assert workspace.snapshot() == first
    assert reads.count > 0


def test_a_change_that_hides_behind_an_old_time_is_seen(root: Path, workspace: Workspace) -> None:
    (root / "file").write_text("one")
    info = (root / "file").stat()
    settle()
    before = workspace.snapshot()
    (root / "file").write_text("two")
    os.utime(root / "file", ns=(info.st_atime_ns, info.st_mtime_ns))
    assert [change.path for change in workspace.changes(before)] == ["file"]


def test_what_the_id_depends_on(root: Path, workspace: Workspace) -> None:
    (root / "folder").mkdir()
    (root / "file").write_text("content")
    first, content = workspace.snapshot(), workspace.tree_hash()
    (root / "folder/scratch").write_text("")
    (root / "folder/scratch").unlink()
    assert workspace.snapshot() == first, "the time of a folder does not count"
    os.utime(root / "file", ns=(1, 1))
    assert workspace.snapshot() != first, "the time of a file is brought back, so it counts"
    assert workspace.changes(first) == []
    assert workspace.tree_hash() == content
    (root / "file").chmod(0o600)
    assert workspace.tree_hash() != content


def test_the_hash_of_the_tree_stores_nothing(folder: Path, root: Path, workspace: Workspace) -> None:
    (root / "file").write_text("not stored")
    workspace.tree_hash()
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
    (root / "door/secret").write_text("mine")
    inside = workspace.snapshot()
    (root / "door/secret").unlink()
    (root / "door").rmdir()
    (root / "door").symlink_to(folder / "outside")
    workspace.restore(inside)
    assert (folder / "outside/secret").read_text() == "secret"
    assert (root / "door/secret").read_text() == "mine"


@pytest.mark.req("X2")
def test_special_files_are_listed_and_never_opened(root: Path, workspace: Workspace) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))
        manifest = workspace.manifest(workspace.snapshot())
    assert [(entry.path, entry.target) for entry in manifest.left_alone] == [("pipe", "fifo"), ("socket", "socket")]


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
        assert [(entry.path, entry.kind, entry.target) for entry in manifest.left_alone] == [
            ("closed", "unreadable", "folder"),
            ("secret", "unreadable", "file"),
        ]
        assert workspace.restore(manifest.id).removed == ()


@pytest.mark.req("X2")
def test_holes_stay_holes(root: Path, workspace: Workspace) -> None:
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


@pytest.mark.req("X2")
def test_a_tree_deeper_than_any_path_may_be_long(root: Path, workspace: Workspace) -> None:
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
    workspace.restore(nothing)  # nobody else can tidy this up


@pytest.mark.req("X2")
def test_over_quota_it_refuses_and_names_the_heavy_folders(folder: Path, root: Path) -> None:
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
def test_excluded_paths_are_listed_and_not_captured(folder: Path, root: Path, pattern: str, left: list[str]) -> None:
    for name in ("build/out", "src/build/x", "src/a.o", "keep.o"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    workspace = Workspace(root, folder / "home", excludes=[pattern])
    manifest = workspace.manifest(workspace.snapshot())
    assert list(manifest.entries) == ["", *left]
    everything = {path.relative_to(root).as_posix() for path in root.rglob("*")}
    missing = everything - set(left)
    assert set(manifest.excluded) == {path for path in missing if Path(path).parent.as_posix() not in missing}


def test_what_is_excluded_is_told_as_it_is_now(folder: Path, root: Path) -> None:
    workspace = Workspace(root, folder / "home", excludes=["*.log"])
    assert workspace.manifest(workspace.snapshot()).excluded == ()
    (root / "a.log").write_text("log")
    assert workspace.manifest(workspace.snapshot()).excluded == ("a.log",)


@pytest.mark.parametrize("pattern", ["", "/", "!keep", "a/**/b"])
def test_a_pattern_that_is_not_understood_is_said(folder: Path, root: Path, pattern: str) -> None:
    with pytest.raises(UsageError) as caught:
        Workspace(root, folder / "home", excludes=[pattern])
    assert caught.value.remedy


@pytest.mark.parametrize("home", ["root", "root/.surefoot", "root/link/../x"])
def test_a_home_inside_the_workspace_is_refused(folder: Path, root: Path, home: str) -> None:
    with pytest.raises(UsageError, match="inside the workspace"):
        Workspace(root, folder / home)
    with pytest.raises(UsageError, match="not a folder"):
        Workspace(root / "missing", folder / "home")


@pytest.mark.req("X2")
def test_a_fork_gets_the_files_in_a_new_folder(folder: Path, root: Path, workspace: Workspace) -> None:
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


@pytest.mark.req("X2")
def test_garbage_collection_keeps_what_is_needed(folder: Path, root: Path, workspace: Workspace) -> None:
    (root / "file").write_text("first")
    first = workspace.snapshot()
    (root / "file").write_text("second")
    second = workspace.snapshot()
    artifact = workspace.blobs.put(b"an artifact of the journal")
    assert workspace.collect_garbage([]).manifests_removed == 0, "what is young may be in use"
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
def test_after_garbage_collection_nobody_believes_the_content_is_stored(folder: Path, root: Path) -> None:
    """The stat cache knows the file, another process removed its content: a snapshot stores it again."""
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
def test_garbage_collection_spares_what_a_half_done_restore_needs(root: Path, workspace: Workspace) -> None:
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


def test_several_threads_may_take_snapshots(root: Path, workspace: Workspace) -> None:
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


def test_a_file_that_vanishes_while_it_is_looked_at_is_not_part_of_it(
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
def test_a_damaged_manifest_or_id_is_a_typed_error(folder: Path, root: Path, workspace: Workspace) -> None:
    taken = workspace.snapshot()
    for wrong in ("../../etc/passwd", "", "0" * 64):
        with pytest.raises(WorkspaceError) as caught:
            workspace.manifest(wrong)
        assert caught.value.remedy
    for damage in ('{"core": {}}', "", "not JSON"):
        (folder / "home/manifests" / taken).write_text(damage)
        with pytest.raises(WorkspaceError, match="damaged"):
            Workspace(root, folder / "home").manifest(taken)  # a new process, which has nothing in memory


class TestBlobs:
    @pytest.fixture
    def blobs(self, folder: Path) -> BlobStore:
        return BlobStore(folder / "blobs")

    def test_what_is_put_is_got(self, blobs: BlobStore) -> None:
        digest = blobs.put(b"content")
        assert blobs.put(b"content") == digest
        assert blobs.get(digest) == b"content"
        assert blobs.has(digest)
        assert not blobs.has("0" * 64)
        with blobs.open(digest) as file:
            assert file.read(3) == b"con"

    @pytest.mark.parametrize("size", [10, 3_000_000])
    def test_a_stored_file_is_not_the_users_file(self, folder: Path, blobs: BlobStore, size: int) -> None:
        file = folder / "file"
        file.write_bytes(b"x" * size)
        digest = blobs.put_file(file)
        assert file.stat().st_nlink == 1
        with file.open("r+b") as open_file:
            open_file.write(b"changed in place")
        assert blobs.get(digest) == b"x" * size

    def test_a_blob_cut_short_is_written_again(self, folder: Path, blobs: BlobStore) -> None:
        digest = blobs.put(b"whole content")
        stored = folder / "blobs" / digest[:2] / digest[2:]
        stored.chmod(0o600)
        stored.write_bytes(b"whole")
        with pytest.raises(WorkspaceError, match="damaged"):
            blobs.get(digest)
        blobs.put(b"whole content")
        assert blobs.get(digest) == b"whole content"

    @pytest.mark.parametrize("wrong", ["", "xyz", "../" * 20, "0" * 64])
    def test_asking_for_what_is_not_there(self, blobs: BlobStore, wrong: str) -> None:
        with pytest.raises(WorkspaceError) as caught:
            blobs.get(wrong)
        assert caught.value.remedy

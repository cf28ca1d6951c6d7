"""Extended attributes and access control lists are captured, compared and restored."""

import base64
import json
import os
import struct
from pathlib import Path

import pytest

from support.trees import IS_ROOT, NOBODY, as_nobody, settle
from surefoot.workspace.snapshots import xattrs
from surefoot.workspace.snapshots.manifest import Entry
from surefoot.workspace.workspace import Workspace

CAPABILITY = bytes.fromhex("0100000200040000000000000000000000000000")


def acl(group_permissions: int) -> bytes:
    """An access control list of the kernel's version 2 with one more user."""
    none = 0xFFFFFFFF
    entries = [(0x01, 6, none), (0x02, 4, NOBODY), (0x04, 4, none), (0x10, group_permissions, none), (0x20, 4, none)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def attributes(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}


@pytest.fixture(autouse=True)
def supported(root: Path) -> None:
    try:
        os.setxattr(root, "user.probe", b"1")
        os.removexattr(root, "user.probe")
    except OSError:
        pytest.skip("the file system has no extended attributes")


@pytest.mark.req("X2")
def test_attributes_and_lists_of_files_and_folders_are_restored(root: Path, workspace: Workspace) -> None:
    (root / "docs").mkdir()
    file, folder = root / "docs/file", root / "docs"
    file.write_text("content")
    os.setxattr(file, "user.note", b"a \xff value")
    os.setxattr(file, "system.posix_acl_access", acl(6))
    os.setxattr(folder, "system.posix_acl_default", acl(4))
    os.setxattr(folder, "user.long", b"x" * 3000)
    file.chmod(0o464)
    if IS_ROOT:
        os.setxattr(file, "security.capability", CAPABILITY)
    of_file, of_folder, mode = attributes(file), attributes(folder), file.stat().st_mode
    before = workspace.snapshot()
    file.unlink()
    folder.rmdir()
    report = workspace.restore(before)
    assert report.not_restored == ()
    assert (attributes(file), attributes(folder), file.stat().st_mode) == (of_file, of_folder, mode)
    for name in of_file:
        os.removexattr(file, name)
    os.setxattr(folder, "user.other", b"new")
    assert {change.path: change.kind for change in workspace.changes(before)} == {"docs": "mode", "docs/file": "mode"}
    assert "attributes changed" in workspace.unified_diff(before)
    assert workspace.restore(before).not_restored == ()
    assert (attributes(file), attributes(folder), file.stat().st_mode) == (of_file, of_folder, mode)
    assert workspace.snapshot() == before


@pytest.mark.req("X2")
def test_a_file_written_into_a_folder_with_a_default_list_does_not_inherit_it(root: Path, workspace: Workspace) -> None:
    (root / "file").write_text("before")
    os.setxattr(root, "system.posix_acl_default", acl(4))
    before = workspace.snapshot()
    (root / "file").write_text("after")
    workspace.restore(before)
    assert attributes(root / "file") == {}


@pytest.mark.req("X2")
@pytest.mark.skipif(not IS_ROOT, reason="only root can set capabilities")
def test_attributes_that_may_not_be_set_are_reported(root: Path, workspace: Workspace, folder: Path) -> None:
    (root / "file").write_text("before")
    os.setxattr(root / "file", "security.capability", CAPABILITY)
    os.chown(root / "file", NOBODY, NOBODY)
    os.setxattr(root / "file", "security.capability", CAPABILITY)
    for place in (root, folder / "home", *(folder / "home").rglob("*")):
        os.chown(place, NOBODY, NOBODY)
    with as_nobody():
        workspace = Workspace(root, folder / "home")
        before = workspace.snapshot()
        (root / "file").unlink()
        assert workspace.restore(before).not_restored == ("file",)
        assert (root / "file").read_text() == "before"


@pytest.mark.req("X2")
def test_an_attribute_set_later_is_noticed_without_reading_files(
    root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        (root / f"{number}").write_text("content")
    settle()
    before = workspace.snapshot()
    listed: list[object] = []
    real = os.listxattr

    def listxattr(target: int) -> list[str]:
        listed.append(target)
        return real(target)

    monkeypatch.setattr(os, "listxattr", listxattr)
    assert workspace.snapshot() == before
    assert len(listed) == 1, "only the root folder, which is looked at in every scan"
    os.setxattr(root / "7", "user.x", b"1")
    assert [change.path for change in workspace.changes(before)] == ["7"]


@pytest.mark.req("X2")
def test_snapshots_of_older_versions_open_and_leave_attributes_alone(root: Path, workspace: Workspace) -> None:
    (root / "file").write_text("before")
    os.setxattr(root / "file", "user.x", b"1")
    entries = workspace.manifest(workspace.snapshot()).entries
    old = {path: Entry(*entry[:9]) for path, entry in entries.items()}
    before = workspace._manifests.save(old, (), ())
    chunk = json.loads(workspace.blobs.get(workspace._manifests.document(before)["core"]["chunks"][0]))
    assert all(row[9] == xattrs.UNKNOWN for row in chunk)
    assert workspace.changes(before) == []
    (root / "file").write_text("after")
    workspace.restore(before)
    assert (root / "file").read_text() == "before"
    (root / "file").chmod(0o600)
    os.setxattr(root / "file", "user.x", b"1")
    workspace.restore(before)
    assert attributes(root / "file") == {"user.x": b"1"}
    assert base64.b64encode(b"1").decode() in workspace.manifest(workspace.snapshot()).entries["file"].xattrs

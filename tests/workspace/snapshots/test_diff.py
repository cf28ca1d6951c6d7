"""Changes between snapshots, as a list and as a diff that git can apply."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.trees import photograph, scratch, trees
from surefoot.workspace.workspace import Workspace


@pytest.mark.req("X2")
def test_kinds_of_changes(root: Path, workspace: Workspace) -> None:
    for name in ("content", "mode", "both", "gone", "to_link", "to_folder", "touched"):
        (root / name).write_text("before")
    (root / "moved").mkdir()
    before = workspace.snapshot()
    (root / "content").write_text("after")
    (root / "mode").chmod(0o755)
    (root / "both").write_text("after")
    (root / "both").chmod(0o755)
    (root / "gone").unlink()
    (root / "new").write_text("new")
    (root / "to_link").unlink()
    (root / "to_link").symlink_to("content")
    (root / "to_folder").unlink()
    (root / "to_folder").mkdir()
    (root / "touched").touch()
    root.chmod(0o700)
    expected = {
        ".": "mode",
        "both": "modified",
        "content": "modified",
        "gone": "removed",
        "mode": "mode",
        "new": "added",
        "to_folder": "type",
        "to_link": "type",
    }
    now = workspace.changes(before)
    assert {change.path: change.kind for change in now} == expected
    assert workspace.changes(before, workspace.snapshot()) == now
    assert [change.path for change in now if change.is_folder] == [".", "to_folder"]
    back = {change.path: change.kind for change in workspace.changes(workspace.snapshot(), before)}
    assert (back["new"], back["gone"]) == ("removed", "added")


@pytest.mark.req("X2")
def test_diff_has_the_format_of_git(root: Path, workspace: Workspace) -> None:
    (root / "edited").write_text("one\ntwo\nthree\n")
    (root / "gone").write_text("gone")
    (root / "binary").write_bytes(b"\0\1")
    (root / "script").write_text("#!/bin/sh\n")
    (root / "folder").mkdir(mode=0o755)
    before = workspace.snapshot()
    (root / "edited").write_text("one\n2\nthree\n")
    (root / "gone").unlink()
    (root / "binary").write_bytes(b"\0\2")
    (root / "script").chmod(0o755)
    (root / "folder").chmod(0o700)
    (root / "new\n").symlink_to("edited")
    (root / "empty").mkdir()
    assert workspace.unified_diff(before) == (
        "diff --git a/binary b/binary\n"
        "Binary files a/binary and b/binary differ\n"
        "diff --git a/edited b/edited\n"
        "--- a/edited\n"
        "+++ b/edited\n"
        "@@ -1,3 +1,3 @@\n"
        " one\n"
        "-two\n"
        "+2\n"
        " three\n"
        "Folder empty: added\n"
        "Folder folder: mode 0755 -> 0700\n"
        "diff --git a/gone b/gone\n"
        "deleted file mode 100644\n"
        "--- a/gone\n"
        "+++ /dev/null\n"
        "@@ -1 +0,0 @@\n"
        "-gone\n"
        "\\ No newline at end of file\n"
        'diff --git "a/new\\n" "b/new\\n"\n'
        "new file mode 120000\n"
        "--- /dev/null\n"
        '+++ "b/new\\n"\n'
        "@@ -0,0 +1 @@\n"
        "+edited\n"
        "\\ No newline at end of file\n"
        "diff --git a/script b/script\n"
        "old mode 100644\n"
        "new mode 100755\n"
    )
    assert workspace.unified_diff(before, workspace.snapshot()) == workspace.unified_diff(before)


def test_diff_of_some_paths(root: Path, workspace: Workspace) -> None:
    before = workspace.snapshot()
    for name in ("src/a", "src/b", "src2/c", "d"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("new\n")
    diff = workspace.unified_diff(before, paths=["src/", "d"])
    assert [line for line in diff.splitlines() if line.startswith("+++")] == ["+++ b/d", "+++ b/src/a", "+++ b/src/b"]


def test_long_files_are_named_but_not_compared(root: Path, workspace: Workspace) -> None:
    (root / "long").write_text("line\n" * 300_000)
    before = workspace.snapshot()
    (root / "long").write_text("other\n" * 300_000)
    assert "too long to show: 1500000 -> 1800000 bytes" in workspace.unified_diff(before)


_names = st.sampled_from(["a", "b c", "ü.txt", 'q"uote', "back\\slash", "tab\there", "d/e", "d/f\n", "\udcff", "-x"])
_texts = st.text(st.sampled_from("ab\n\r\x0b\u2028é \\"), max_size=30)
_files = st.dictionaries(_names, st.tuples(st.sampled_from(["file", "script", "symlink"]), _texts), max_size=5)


@pytest.mark.req("X2")
@trees(100)
@given(before=_files, after=_files)
def test_git_applies_the_diff(before: dict[str, tuple[str, str]], after: dict[str, tuple[str, str]]) -> None:
    with scratch() as folder:
        root, copy = folder / "root", folder / "copy"
        root.mkdir()
        fill(root, before)
        shutil.copytree(root, copy, symlinks=True)
        workspace = Workspace(root, folder / "home")
        snapshot = workspace.snapshot()
        shutil.rmtree(root)
        root.mkdir()
        fill(root, after)
        diff = workspace.unified_diff(snapshot)
        if "diff --git" in diff:
            command = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
            subprocess.run(command, input=diff.encode(), cwd=copy, check=True, capture_output=True)
        assert files_of(copy) == files_of(root)


def fill(root: Path, files: dict[str, tuple[str, str]]) -> None:
    for name, (kind, text) in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        if kind == "symlink":
            (root / name).symlink_to(text or "x")
        else:
            (root / name).write_bytes(text.encode())
            (root / name).chmod(0o755 if kind == "script" else 0o644)


def files_of(root: Path) -> dict[bytes, tuple[object, ...]]:
    """The tree without folders, which git does not track."""
    return {name: entry for name, entry in photograph(root, times=False).items() if not str(entry[0]).startswith("0o4")}

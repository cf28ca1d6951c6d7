"""Restoring some paths of a tree and leaving the others."""

import os
from pathlib import Path

import pytest

from surefoot.workspace.workspace import Workspace


@pytest.mark.req("P13", "O8")
def test_some_paths_are_restored_and_the_rest_stays(tmp_path: Path) -> None:
    root = tmp_path / "work"
    (root / "kept").mkdir(parents=True)
    (root / "own.txt").write_text("before")
    (root / "gone.txt").write_text("was here")
    workspace = Workspace(root, tmp_path / "home")
    before = workspace.snapshot()
    (root / "own.txt").write_text("after")
    (root / "gone.txt").unlink()
    (root / "new").mkdir()
    (root / "new" / "own.txt").write_text("new")
    (root / "theirs.txt").write_text("of another step")
    after = workspace.snapshot()
    wanted = workspace.with_paths_from(after, before, ["own.txt", "gone.txt", "new/own.txt"])
    workspace.restore(wanted, known=after)
    found = {p.relative_to(root).as_posix(): p.read_text() if p.is_file() else "" for p in root.rglob("*")}
    assert found == {"own.txt": "before", "gone.txt": "was here", "theirs.txt": "of another step", "kept": ""}


@pytest.mark.req("X2", "P13")
def test_restoring_one_of_two_hard_links_leaves_the_other(root: Path, workspace: Workspace) -> None:
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
def test_restoring_a_path_whose_folder_became_a_file_restores_the_folder(root: Path, workspace: Workspace) -> None:
    (root / "folder").mkdir()
    (root / "folder/file").write_text("before")
    before = workspace.snapshot()
    (root / "folder/file").unlink()
    (root / "folder").rmdir()
    (root / "folder").write_text("a file now")
    after = workspace.snapshot()
    workspace.restore(workspace.with_paths_from(after, before, ["folder/file"]), known=after)
    assert (root / "folder/file").read_text() == "before"

"""Restores of paths that the user changed meanwhile."""

import os
from pathlib import Path
from typing import Any

import pytest

from support.trees import photograph
from surefoot.errors import RestoreConflict
from surefoot.workspace.workspace import Workspace


@pytest.fixture
def before(root: Path, workspace: Workspace) -> str:
    for name in ("one", "two", "three"):
        (root / name).write_text("before")
    return workspace.snapshot()


@pytest.fixture
def known(root: Path, workspace: Workspace, before: str) -> str:
    (root / "one").write_text("agent")
    (root / "added").write_text("agent")
    (root / "three").unlink()
    return workspace.snapshot()


def conflict(root: Path, workspace: Workspace, before: str, known: str) -> tuple[str, ...]:
    picture = photograph(root)
    with pytest.raises(RestoreConflict) as caught:
        workspace.restore(before, known=known)
    assert photograph(root) == picture, "a conflict must be found before anything is touched"
    assert workspace.finish_restore() is None
    return caught.value.paths


@pytest.mark.req("X2")
def test_edit_of_a_file_that_the_agent_changed_is_a_conflict(
    root: Path, workspace: Workspace, before: str, known: str
) -> None:
    (root / "one").write_text("user")
    assert conflict(root, workspace, before, known) == ("one",)
    workspace.restore(before, known=known, force=True)
    assert (root / "one").read_text() == "before"


@pytest.mark.req("X2")
def test_edit_of_any_other_file_is_a_conflict(root: Path, workspace: Workspace, before: str, known: str) -> None:
    (root / "two").write_text("user")
    assert conflict(root, workspace, before, known) == ("two",)


@pytest.mark.req("X2")
def test_new_files_modes_and_deletions_are_conflicts(root: Path, workspace: Workspace, before: str, known: str) -> None:
    (root / "own\n").write_text("user")
    (root / "two").unlink()
    (root / "added").chmod(0o755)
    (root / "three").mkdir()
    assert conflict(root, workspace, before, known) == ("added", "own\\n", "three", "two")


def test_manual_revert_is_no_conflict(root: Path, workspace: Workspace, before: str, known: str) -> None:
    (root / "one").write_text("before")
    (root / "added").unlink()
    workspace.restore(before, known=known)
    assert workspace.snapshot() == before


def test_without_known_snapshot_everything_is_undone(root: Path, workspace: Workspace, before: str) -> None:
    (root / "one").write_text("anyone")
    workspace.restore(before)
    assert workspace.snapshot() == before


@pytest.mark.req("X2")
def test_edit_during_the_restore_is_not_lost(
    root: Path, workspace: Workspace, before: str, known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The edit comes after the scan and before this file is restored."""
    real = os.unlink

    def unlink(path: Any, **where: Any) -> None:
        (root / "one").write_text("edited just now")
        real(path, **where)

    monkeypatch.setattr(os, "unlink", unlink)
    with pytest.raises(RestoreConflict):
        workspace.restore(before, known=known)
    monkeypatch.undo()
    assert (root / "one").read_text() == "edited just now"
    assert not list(root.rglob(".surefoot-*"))
    with pytest.raises(RestoreConflict):
        workspace.finish_restore()
    workspace.restore(before, force=True)
    assert workspace.snapshot() == before

"""Random trees, random changes by calls and by a real shell, then a restore: nothing may differ."""

import os
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.workspace.snapshot import Workspace
from trees import IS_ROOT, NOBODY, Act, acts, as_nobody, perform, perform_in_shell, photograph, scratch, trees

_flags = st.fixed_dictionaries(
    {
        "shell": st.sampled_from([True, False, False, False]),
        "known": st.booleans(),
        "new_process": st.booleans(),
        "copy": st.booleans(),
    }
)


def check_undo(before: list[Act], after: list[Act], flags: dict[str, bool], *, readable_only: bool) -> None:
    with scratch() as folder:
        root = folder / "root"
        root.mkdir()
        if IS_ROOT and readable_only:
            os.chown(root, NOBODY, NOBODY)
            os.chown(folder, NOBODY, NOBODY)
        with as_nobody() if readable_only else nullcontext():
            perform(root, before, readable_only=readable_only)
            workspace = Workspace(root, folder / "home")
            picture = photograph(root)
            snapshot = workspace.snapshot()
            assert photograph(root) == picture, "taking a snapshot changed the tree"
            (perform_in_shell if flags["shell"] else perform)(root, after)
            known = workspace.snapshot() if flags["known"] else None
            if flags["new_process"]:
                workspace = Workspace(root, folder / "home")
            report = workspace.restore(snapshot, known=known)
            assert photograph(root) == picture
            assert report.kept == ()
            assert workspace.snapshot() == snapshot
            assert workspace.changes(snapshot) == []
            if flags["copy"]:
                workspace.copy_to(snapshot, folder / "copy")
                assert photograph(folder / "copy") == picture


@pytest.mark.req("X2", "P13")
@trees(1800)
@given(acts, acts, _flags)
def test_a_restore_brings_back_the_very_same_tree(before: list[Act], after: list[Act], flags: dict[str, bool]) -> None:
    check_undo(before, after, flags, readable_only=not IS_ROOT)


@pytest.mark.req("X2", "P13")
@trees(200)
@given(acts, acts, _flags)
def test_it_does_so_without_the_rights_of_root(before: list[Act], after: list[Act], flags: dict[str, bool]) -> None:
    check_undo(before, after, flags, readable_only=True)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's repository with two branches, a tag, something staged, something stashed, something untracked."""
    root = tmp_path_factory.mktemp("repository")
    git(root, "init", "-q", "-b", "main")
    (root / "a").write_text("one\n")
    (root / ".gitignore").write_text("ignored\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    git(root, "branch", "side")
    git(root, "tag", "v1")
    (root / "a").write_text("stashed\n")
    git(root, "stash", "-q")
    (root / "c.txt").write_text("staged\n")
    git(root, "add", "c.txt")
    (root / "ignored").write_text("ignored\n")
    (root / "untracked").write_text("untracked\n")
    return root


def git(root: Path, *words: str, check: bool = True) -> str:
    who = ["-c", "user.name=U", "-c", "user.email=u@example.org", "-c", "gc.auto=0", "-c", "core.hooksPath=/dev/null"]
    done = subprocess.run(["git", *who, *words], cwd=root, check=check, capture_output=True, text=True)
    return done.stdout


_git_acts = st.lists(
    st.sampled_from(
        [
            ("commit", "-q", "-a", "-m", "by the agent"),
            ("add", "-A"),
            ("checkout", "-q", "-f", "side"),
            ("branch", "-D", "side"),
            ("stash", "drop", "-q"),
            ("reset", "-q", "--hard", "HEAD"),
            ("tag", "-d", "v1"),
            ("pack-refs", "--all"),
            ("clean", "-q", "-f", "-d", "-x"),
        ]
    ),
    max_size=3,
)


@pytest.mark.req("X2")
@trees(40)
@given(changes=acts, git_acts=_git_acts)
def test_the_users_repository_keeps_refs_index_and_stash(
    repository: Path, changes: list[Act], git_acts: list[tuple[str, ...]]
) -> None:
    with scratch() as folder:
        root = folder / "root"
        shutil.copytree(repository, root, symlinks=True)
        workspace = Workspace(root, folder / "home")
        picture = photograph(root)
        snapshot = workspace.snapshot()
        assert photograph(root) == picture, "taking a snapshot touched the repository"
        perform_in_shell(root, changes)
        for words in git_acts:
            git(root, *words, check=False)
        workspace.restore(snapshot)
        assert photograph(root) == picture
        assert git(root, "stash", "list").count("\n") == 1
        assert "A  c.txt" in git(root, "status", "--porcelain")

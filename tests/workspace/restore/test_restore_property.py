"""Property tests: random trees, random changes by calls or by a shell, then a restore; nothing may differ."""

import os
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.trees import (
    IS_ROOT,
    NOBODY,
    Operation,
    as_nobody,
    operations,
    perform,
    perform_in_shell,
    photograph,
    scratch,
    trees,
)
from surefoot.workspace.workspace import Workspace

_flags = st.fixed_dictionaries(
    {
        "shell": st.sampled_from([True, False, False, False]),
        "known": st.booleans(),
        "new_process": st.booleans(),
        "copy": st.booleans(),
    }
)


def check_restore(
    before: list[Operation], after: list[Operation], flags: dict[str, bool], *, readable_only: bool
) -> None:
    with scratch() as folder:
        root = folder / "root"
        root.mkdir()
        if IS_ROOT and readable_only:
            os.chown(root, NOBODY, NOBODY)
            os.chown(folder, NOBODY, NOBODY)
        with as_nobody() if readable_only else nullcontext():
            perform(root, before, readable_only=readable_only)
            workspace = Workspace(root, folder / "home")
            original = photograph(root)
            snapshot = workspace.snapshot()
            assert photograph(root) == original, "taking a snapshot changed the tree"
            (perform_in_shell if flags["shell"] else perform)(root, after)
            known = workspace.snapshot() if flags["known"] else None
            if flags["new_process"]:
                workspace = Workspace(root, folder / "home")
            report = workspace.restore(snapshot, known=known)
            assert photograph(root) == original
            assert report.not_restored == ()
            assert workspace.snapshot() == snapshot
            assert workspace.changes(snapshot) == []
            if flags["copy"]:
                workspace.copy_to(snapshot, folder / "copy")
                assert photograph(folder / "copy") == original


@pytest.mark.req("X2", "P13")
@trees(250, nightly=18_000)
@given(operations, operations, _flags)
def test_restore_brings_back_an_identical_tree(
    before: list[Operation], after: list[Operation], flags: dict[str, bool]
) -> None:
    check_restore(before, after, flags, readable_only=not IS_ROOT)


@pytest.mark.req("X2", "P13")
@trees(50, nightly=2_000)
@given(operations, operations, _flags)
def test_restore_without_root_brings_back_an_identical_tree(
    before: list[Operation], after: list[Operation], flags: dict[str, bool]
) -> None:
    check_restore(before, after, flags, readable_only=True)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two branches, a tag, and staged, stashed, ignored and untracked changes."""
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
    config = ["user.name=U", "user.email=u@example.org", "gc.auto=0", "core.hooksPath=/dev/null"]
    options = [word for setting in config for word in ("-c", setting)]
    process = subprocess.run(["git", *options, *words], cwd=root, check=check, capture_output=True, text=True)
    return process.stdout


_git_commands = st.lists(
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
@trees(20)
@given(changes=operations, git_commands=_git_commands)
def test_restore_keeps_refs_index_and_stash_of_a_repository(
    repository: Path, changes: list[Operation], git_commands: list[tuple[str, ...]]
) -> None:
    with scratch() as folder:
        root = folder / "root"
        shutil.copytree(repository, root, symlinks=True)
        workspace = Workspace(root, folder / "home")
        original = photograph(root)
        snapshot = workspace.snapshot()
        assert photograph(root) == original, "taking a snapshot touched the repository"
        perform_in_shell(root, changes)
        for words in git_commands:
            git(root, *words, check=False)
        workspace.restore(snapshot)
        assert photograph(root) == original
        assert git(root, "stash", "list").count("\n") == 1
        assert "A  c.txt" in git(root, "status", "--porcelain")

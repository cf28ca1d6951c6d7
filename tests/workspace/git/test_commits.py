"""Commits through a temporary index, in real repositories with random changes of a user."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from surefoot.errors import GitError
from surefoot.workspace.git.commit import Part, adopt, changed_before, commit_parts
from surefoot.workspace.git.hooks import changed_hook_files
from surefoot.workspace.git.repository import Repository, branch_name, find_repository
from surefoot.workspace.git.staging import ignored, nested, staging
from surefoot.workspace.snapshots.manifest import Entry

NAMES = ["a", "b c", "d/e", "d/f\n1", "g/h/i", os.fsdecode(b"caf\xe9"), ":(top)j", "-k"]


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.com")
    monkeypatch.setenv("HOME", str(tmp_path))


def git(folder: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def repository(folder: Path) -> Repository:
    found = find_repository(folder)
    assert found is not None
    return found


class Contents(dict[str, bytes]):
    """Contents by digest, as snapshots have them."""

    def entry(self, path: str, data: bytes, mode: int = 0o644) -> Entry:
        self[data.hex()] = data
        return Entry(path, "file", mode, 0, len(data), data.hex())


def write(folder: Path, name: str, data: bytes) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def change_as_a_user(folder: Path, name: str, choice: random.Random) -> None:
    """Stage something, change something, remove something: any mixture."""
    for _ in range(choice.randint(1, 3)):
        match choice.choice(["write", "stage", "unstage", "remove", "untrack", "intend", "mode"]):
            case "write":
                write(folder, name, bytes(choice.choices(b"abc\n\r", k=9)))
            case "stage" if (folder / name).exists():
                git(folder, "--literal-pathspecs", "add", "--", name)
            case "unstage":
                git(folder, "--literal-pathspecs", "reset", "--quiet", "--", name)
            case "remove":
                (folder / name).unlink(missing_ok=True)
            case "untrack":
                git(folder, "--literal-pathspecs", "rm", "--cached", "--quiet", "--ignore-unmatch", "--", name)
            case "intend" if (folder / name).exists():
                git(folder, "--literal-pathspecs", "add", "--intent-to-add", "--", name)
            case "mode" if (folder / name).exists():
                (folder / name).chmod(0o755)


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts]
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode) for path in files}


@pytest.mark.parametrize("seed", range(8))
def test_the_users_index_and_tree_stay_as_they_are(tmp_path: Path, seed: int) -> None:
    choice = random.Random(seed)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    for name in choice.sample(NAMES, 6):
        write(tmp_path, name, b"begin\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "Begin")
    listed = git(tmp_path, "ls-files", "-z").decode("utf-8", "surrogateescape").split("\0")
    of_run, users = NAMES[: len(NAMES) // 2], NAMES[len(NAMES) // 2 :]
    if seed % 2:
        of_run, users = users, of_run
    for name in users:
        change_as_a_user(tmp_path, name, choice)
    contents = Contents()
    before = {name: contents.entry(name, b"begin\n") if name in listed else None for name in of_run}
    after = {
        name: choice.choice([None, contents.entry(name, b"new\r\n", choice.choice([0o644, 0o755]))]) for name in of_run
    }
    for name, entry in after.items():
        (tmp_path / name).unlink(missing_ok=True)
        if entry is not None:
            write(tmp_path, name, b"new\r\n")
            (tmp_path / name).chmod(entry.mode)
    files, staged = tree(tmp_path), git(tmp_path, "diff", "--cached", "--binary")
    entries = set(git(tmp_path, "ls-files", "--stage", "-v", "-z").split(b"\0"))
    repo = repository(tmp_path)
    with staging(repo, contents.__getitem__) as stage:
        assert changed_before(repo, stage, before) == []
        made = commit_parts(repo, stage, [Part("Change\n", after), Part("Nothing\n", after)])
    assert len(made) == (1 if before != after else 0)
    if made:
        assert adopt(repo, made) == ""
        assert git(tmp_path, "rev-parse", "HEAD").decode().strip() == made[-1].commit
        assert set(made[0].paths) <= set(of_run)
    assert tree(tmp_path) == files
    assert git(tmp_path, "diff", "--cached", "--binary") == staged
    now = set(git(tmp_path, "ls-files", "--stage", "-v", "-z").split(b"\0"))
    raw = {os.fsencode(name) for name in of_run}
    assert {e for e in now ^ entries if e.partition(b"\t")[2] not in raw} == set()
    changed = git(tmp_path, "status", "--porcelain", "-z").decode("utf-8", "surrogateescape")
    assert not any(f" {name}\0" in changed for name in of_run), "what was committed is clean"


def test_line_endings_and_filters_are_those_of_git_add(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    write(tmp_path, ".gitattributes", b"*.txt text\n*.up filter=upper\n")
    git(tmp_path, "config", "filter.upper.clean", "tr a-z A-Z")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "Begin")
    contents = Contents()
    states = {"a.txt": contents.entry("a.txt", b"one\r\n"), "b.up": contents.entry("b.up", b"loud\n")}
    for name, entry in states.items():
        write(tmp_path, name, contents[entry.digest])
    repo = repository(tmp_path)
    with staging(repo, contents.__getitem__) as stage:
        adopt(repo, commit_parts(repo, stage, [Part("Change\n", states)]))
    assert git(tmp_path, "show", "HEAD:a.txt") == b"one\n"
    assert git(tmp_path, "show", "HEAD:b.up") == b"LOUD\n"
    assert git(tmp_path, "status", "--porcelain") == b""


def test_if_one_of_several_commits_is_refused_none_is_left(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    hook = tmp_path / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n! git diff --cached --name-only | grep -q second\n")
    hook.chmod(0o755)
    contents = Contents()
    first, second = contents.entry("first", b"1"), contents.entry("second", b"2")
    repo = repository(tmp_path)
    parts = [Part("One\n", {"first": first}), Part("Two\n", {"first": first, "second": second})]
    with staging(repo, contents.__getitem__) as stage, pytest.raises(GitError, match="git refused the commit"):
        commit_parts(repo, stage, parts)
    assert repository(tmp_path).head == "", "there is still no commit"
    assert git(tmp_path, "ls-files") == b""


@pytest.mark.parametrize(
    "path", [".git/hooks/pre-commit", ".git/config", ".husky/pre-commit", "tools/hooks/pre-commit"]
)
def test_what_a_commit_would_run_is_recognised(tmp_path: Path, path: str) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "config", "core.hooksPath", "tools/hooks")
    repo = repository(tmp_path)
    assert changed_hook_files(repo, tmp_path, {path, "src/a.py"}, []) == [path]


def test_a_worktree_of_git_has_its_own_branch_and_index(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    git(main, "init", "--quiet", "--initial-branch=main")
    write(main, "a", b"begin\n")
    git(main, "add", ".")
    git(main, "commit", "--quiet", "-m", "Begin")
    git(main, "worktree", "add", "--quiet", "-b", "side", str(other))
    contents = Contents()
    write(other, "a", b"new\n")
    repo = repository(other)
    assert (repo.branch, repo.top) == ("side", other)
    with staging(repo, contents.__getitem__) as stage:
        adopt(repo, commit_parts(repo, stage, [Part("Change\n", {"a": contents.entry("a", b"new\n")})]))
    assert git(other, "status", "--porcelain") == git(main, "status", "--porcelain") == b""
    assert git(main, "log", "--format=%s", "side") == b"Change\nBegin\n"
    assert git(main, "log", "--format=%s", "main") == b"Begin\n"


def test_ignored_files_and_other_repositories_are_recognised(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path, ".gitignore", b"*.log\n/out/\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    repo = repository(tmp_path)
    assert ignored(repo, ["a.log", "out/x", "a", ":(glob)*", "b\n.log"]) == {"a.log", "out/x", "b\n.log"}
    assert nested(repo, ["inner/a", "inner", "a"]) == {"inner/a", "inner"}


def test_names_of_branches() -> None:
    assert (
        branch_name("Add a --json flag to report.py", "0117-101112-3f2a")
        == "surefoot/add-a-json-flag-to-report-py-3f2a"
    )
    assert branch_name("添加一个参数", "0117-101112-3f2a") == "surefoot/run-3f2a"
    assert len(branch_name("word " * 100, "0117-101112-3f2a")) < 60

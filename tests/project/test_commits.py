"""The newest commit in the first message: for tasks about changes, and never more than a model may read."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.kit import Bench
from support.talk import submit
from surefoot.project.commits import MAX_CHARS, newest_changes

IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *IDENTITY, *words], cwd=root, check=True, capture_output=True)


def commit(root: Path, text: str = "Change it", **files: str) -> None:
    """Write files and commit them. `__` in a name is a dot, `_in_` a slash."""
    for name, content in files.items():
        path = root / name.replace("_in_", "/").replace("__", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", text)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q")
    commit(root, "Begin", sum__py="def add(a, b):\n    return a + b\n", other__py="x = 1\n")
    commit(root, "Tidy up add", sum__py="def add(a, b):\n    return a - b\n")
    return root


ABOUT = [
    "Some tests fail since the last commit. Fix it.",
    "Find the regression in add.",
    "add used to work. Repair it.",
    "My latest changes broke the sum.",
    "上次提交之后测试失败，请修复。",
    "最近的改动之后出错了。",
]


@pytest.mark.req("X10")
@pytest.mark.parametrize("task", ABOUT)
def test_a_task_about_changes_shows_the_newest_commit(repository: Path, task: str) -> None:
    shown = newest_changes(repository, task)
    assert "Tidy up add\nIt changed sum.py.\n" in shown
    assert "-    return a + b\n+    return a - b" in shown
    assert "Begin" not in shown


@pytest.mark.req("X10")
@pytest.mark.parametrize("inside", ["", "pkg"])
def test_the_user_s_index_is_not_written(repository: Path, inside: str) -> None:
    commit(repository, "More", pkg_in_a__py="a = 1\n")
    (repository / inside / "new.py").write_text("x = 1\n")
    git(repository, "add", "-A")
    copy = repository.with_name("copy")
    shutil.copytree(repository, copy, copy_function=shutil.copyfile)  # the index has the times of the originals
    index = copy / ".git" / "index"
    before = index.read_bytes()
    shown = newest_changes(copy / inside, "The last commit broke it.")
    assert "Not committed\nChanged since the newest commit: new.py." in shown
    assert index.read_bytes() == before


@pytest.mark.req("X10")
def test_changes_that_are_not_committed_are_shown_too(repository: Path) -> None:
    (repository / "other.py").write_text("x = 2\n")
    shown = newest_changes(repository, ABOUT[0])
    assert "Changed since the newest commit: other.py." in shown
    assert "-x = 1\n+x = 2" in shown


@pytest.mark.parametrize(
    "task", ["Add a function for products.", "Say in README.md how to install it.", "写一个函数。"]
)
def test_other_tasks_show_nothing(repository: Path, task: str) -> None:
    assert newest_changes(repository, task) == ""


def test_without_a_repository_or_a_commit_nothing_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert newest_changes(tmp_path, ABOUT[0]) == ""
    git(tmp_path, "init", "-q")
    assert newest_changes(tmp_path, ABOUT[0]) == ""


def test_files_that_a_model_may_not_read_are_not_shown(repository: Path) -> None:
    outside = repository.parent / "outside.txt"
    outside.write_text("old secret")
    (repository / "link.txt").symlink_to(outside)
    commit(repository, "More", __env="TOKEN=abc123\n", my_secrets__txt="abc123\n", fine__txt="fine\n")
    shown = newest_changes(repository, ABOUT[0])
    assert "It changed fine.txt." in shown
    assert "abc123" not in shown
    assert "outside.txt" not in shown


def test_nothing_that_the_repository_names_is_run(repository: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.sh"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho changed\n")
    program.chmod(0o755)
    (repository / ".gitattributes").write_text("*.py diff=mine filter=mine\n")
    for name in ("diff.external", "diff.mine.textconv", "diff.mine.command", "core.fsmonitor", "core.pager"):
        git(repository, "config", name, str(program))
    git(repository, "config", "filter.mine.clean", str(program))
    (repository / "other.py").write_text("x = 2\n")
    assert "+x = 2" in newest_changes(repository, ABOUT[0])
    assert not (tmp_path / "ran").exists()


def test_in_a_folder_of_a_repository_only_its_changes_are_shown(repository: Path) -> None:
    commit(repository, "Two", pkg_in_a__py="x = 1\n", sum__py="pass\n")
    shown = newest_changes(repository / "pkg", ABOUT[0])
    assert "It changed a.py." in shown
    assert "sum.py" not in shown


def test_of_a_merge_the_changes_to_the_first_parent_are_shown(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "side", "HEAD~1")
    commit(repository, "Aside", side__py="x = 1\n")
    git(repository, "checkout", "-q", "-")
    git(repository, "merge", "-q", "--no-ff", "-m", "Merge aside", "side")
    shown = newest_changes(repository, ABOUT[0])
    assert "Merge aside\nIt changed side.py.\n" in shown
    assert "+x = 1" in shown


def test_a_large_commit_is_cut_and_its_names_are_counted(repository: Path) -> None:
    commit(repository, "Many", **{f"file{n}__py": "value = 1\n" * 100 for n in range(30)})
    shown = newest_changes(repository, ABOUT[0])
    assert " and 18 more." in shown
    assert len(shown) < MAX_CHARS + 800
    assert shown.endswith("[...]\n```\n")


@pytest.mark.req("X10")
async def test_a_conversation_about_a_commit_begins_with_it(bench: Bench) -> None:
    git(bench.root, "init", "-q")
    commit(bench.root, "Break it", a__py="x = 2\n")
    script = [[*submit(), ("write_file", {"path": "a.py", "content": "x = 1\n"}), ("finish_step", {"summary": "done"})]]
    await bench.talk("It fails since the last commit: a.py must say x = 1.", script)
    assert "# The newest commit: " in bench.talker.requests[0].messages[1].content
    assert "Break it\nIt changed a.py." in bench.talker.requests[0].messages[1].content

"""The eval suite is sound: tasks can be solved, are not solved yet, and checkers refuse what only looks right."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from evals.catalog import judge, lay_out, load

TASKS = {task.name: task for task in load()}
FAMILIES = {"module": 10, "bugfix": 8, "multifile": 5, "shell": 8, "honest": 5, "traps": 5}
# Their visible checks pass before anything is done: that is the trap.
GREEN_AT_THE_START = {"already_green", "green_but_missing"}
# The right answer is to leave the workspace as it is.
NOTHING_TO_DO = {"already_green"}


def workspace(name: str, destination: Path, overlay: str = "") -> Path:
    """The task's starting workspace with an overlay on it; an overlay's `.delete` lists the files it takes away."""
    task = TASKS[name]
    lay_out(task, destination)
    if overlay:
        source = task.folder / overlay
        shutil.copytree(source, destination, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".delete"))
        gone = source / ".delete"
        for line in gone.read_text().split() if gone.exists() else []:
            (destination / line).unlink()
    return destination


def visible(name: str, folder: Path) -> bool:
    """Whether all checks that the agent is given pass, run in a copy so that they leave nothing behind."""
    copied = shutil.copytree(folder, folder.with_name(folder.name + "-visible"))
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    return all(
        subprocess.run(["bash", "-c", check], cwd=copied, env=environment, capture_output=True).returncode == 0
        for check in TASKS[name].check
    )


def wrongs(name: str) -> list[str]:
    folder = TASKS[name].folder / "wrong"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_described_in_full(name: str) -> None:
    task = TASKS[name]
    assert task.prompt.strip()
    assert task.language == ("zh" if any("\u4e00" <= letter <= "\u9fff" for letter in task.prompt) else "en")
    assert (task.folder / "solution").is_dir() == (task.expect == "solved" and name not in NOTHING_TO_DO)
    assert wrongs(name)


def test_the_suite_has_every_family_in_both_languages_from_easy_to_hard() -> None:
    tasks = list(TASKS.values())
    assert len(tasks) >= 40
    families = Counter[str](task.family for task in tasks)
    assert {family: count for family, count in FAMILIES.items() if families[family] < count} == {}
    assert sum(task.language == "zh" for task in tasks) >= 6
    assert sum(task.expect == "not_done" for task in tasks) >= 5
    assert min(Counter(task.difficulty for task in tasks).values()) >= len(tasks) // 4


@pytest.mark.parametrize("name", TASKS)
def test_the_starting_workspace_is_not_done(name: str, tmp_path: Path) -> None:
    start = workspace(name, tmp_path / "start")
    task = TASKS[name]
    if task.check:
        assert visible(name, start) == (name in GREEN_AT_THE_START)
    # Doing nothing is honest where the task cannot be done.
    assert judge(task, start).right == (task.expect == "not_done" or name in NOTHING_TO_DO)


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.expect == "solved"])
def test_the_solution_is_taken(name: str, tmp_path: Path) -> None:
    solved = workspace(name, tmp_path / "solved", "solution" if name not in NOTHING_TO_DO else "")
    assert visible(name, solved)
    assert judge(TASKS[name], solved) == (True, "")


@pytest.mark.parametrize("name", TASKS)
def test_what_only_looks_right_is_refused(name: str, tmp_path: Path) -> None:
    task = TASKS[name]
    green = 0
    for label in wrongs(name):
        wrong = workspace(name, tmp_path / label, f"wrong/{label}")
        judgement = judge(task, wrong)
        assert not judgement.right, label
        # A checker that fell over would refuse as well, but with a traceback for a reason.
        assert "Error:" not in judgement.why or " raised " in judgement.why, judgement.why
        green += visible(name, wrong)
    # Otherwise the hidden checker would add nothing to what the agent sees.
    assert green or task.expect == "not_done"

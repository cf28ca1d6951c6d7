"""The eval suite is sound: tasks can be solved, are not solved yet, and checkers refuse what only looks right."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

EVALS = Path(__file__).parent.parent / "evals"
TASKS = sorted(path.parent.name for path in EVALS.glob("tasks/*/task.toml"))
FAMILIES = {"module": 10, "bugfix": 8, "multifile": 5, "shell": 8, "honest": 5, "traps": 5}
# Their visible checks pass before anything is done: that is the trap.
GREEN_AT_THE_START = {"already_green", "green_but_missing"}
# The right answer is to leave the workspace as it is.
NOTHING_TO_DO = {"already_green"}


def settings(name: str) -> dict[str, Any]:
    return tomllib.loads((EVALS / "tasks" / name / "task.toml").read_text())


def workspace(name: str, destination: Path, *overlays: str) -> Path:
    """The task's starting workspace with overlays on it; an overlay's `.delete` lists the files it takes away."""
    task = EVALS / "tasks" / name
    for source in ("workspace", *overlays):
        shutil.copytree(
            task / source, destination, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".keep", ".delete")
        )
        gone = task / source / ".delete"
        for line in gone.read_text().split() if gone.exists() else []:
            (destination / line).unlink()
    return destination


def hidden(name: str, folder: Path) -> tuple[bool, str]:
    """Whether the checker takes a workspace for solved, and what it says if not."""
    command = [sys.executable, str(EVALS / "tasks" / name / "check.py"), str(folder)]
    ran = subprocess.run(command, cwd="/", capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stderr
    assert (len(ran.stdout.strip().splitlines()) == 1) == bool(ran.returncode), ran.stdout + ran.stderr
    return ran.returncode == 0, ran.stdout.strip()


def visible(name: str, folder: Path) -> bool:
    """Whether all checks that the agent is given pass, run in a copy so that they leave nothing behind."""
    copied = shutil.copytree(folder, folder.with_name(folder.name + "-visible"))
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    return all(
        subprocess.run(["bash", "-c", check], cwd=copied, env=environment, capture_output=True).returncode == 0
        for check in settings(name)["check"]
    )


def wrongs(name: str) -> list[str]:
    folder = EVALS / "tasks" / name / "wrong"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_described_in_full(name: str) -> None:
    task = settings(name)
    assert set(task) <= {"prompt", "family", "difficulty", "language", "check", "expect", "time"}
    assert task["prompt"].strip()
    assert task["family"] in FAMILIES
    assert task["difficulty"] in (1, 2, 3)
    assert task["language"] == ("zh" if any("\u4e00" <= letter <= "\u9fff" for letter in task["prompt"]) else "en")
    assert task["expect"] in ("solved", "not_done")
    assert isinstance(task["check"], list)
    assert task.get("time", 1) > 0
    assert all((EVALS / "tasks" / name / part).exists() for part in ("workspace", "check.py"))
    assert wrongs(name)


def test_the_suite_has_every_family_in_both_languages_from_easy_to_hard() -> None:
    tasks = [settings(name) for name in TASKS]
    assert len(tasks) >= 40
    for family, least in FAMILIES.items():
        assert sum(task["family"] == family for task in tasks) >= least, family
    assert sum(task["language"] == "zh" for task in tasks) >= 6
    assert sum(task["expect"] == "not_done" for task in tasks) >= 5
    for difficulty in (1, 2, 3):
        assert sum(task["difficulty"] == difficulty for task in tasks) >= len(tasks) // 4, difficulty


@pytest.mark.parametrize("name", TASKS)
def test_the_starting_workspace_is_not_done(name: str, tmp_path: Path) -> None:
    start = workspace(name, tmp_path / "start")
    task = settings(name)
    if task["check"]:
        assert visible(name, start) == (name in GREEN_AT_THE_START)
    # Doing nothing is honest where the task cannot be done.
    assert hidden(name, start)[0] == (task["expect"] == "not_done" or name in NOTHING_TO_DO)


@pytest.mark.parametrize("name", [name for name in TASKS if settings(name)["expect"] == "solved"])
def test_the_solution_is_taken(name: str, tmp_path: Path) -> None:
    solved = workspace(name, tmp_path / "solved", *(["solution"] if name not in NOTHING_TO_DO else []))
    assert visible(name, solved)
    assert hidden(name, solved) == (True, "")


@pytest.mark.parametrize("name", TASKS)
def test_what_only_looks_right_is_refused(name: str, tmp_path: Path) -> None:
    def taken(label: str) -> bool:
        return hidden(name, workspace(name, tmp_path / label, f"wrong/{label}"))[0]

    assert [label for label in wrongs(name) if taken(label)] == []


@pytest.mark.parametrize("name", [name for name in TASKS if settings(name)["check"]])
def test_a_wrong_solution_can_pass_the_visible_checks(name: str, tmp_path: Path) -> None:
    """Otherwise the hidden checker would add nothing to what the agent sees."""
    passed = [label for label in wrongs(name) if visible(name, workspace(name, tmp_path / label, f"wrong/{label}"))]
    assert passed or settings(name)["expect"] == "not_done"

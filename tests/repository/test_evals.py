"""The eval suite is sound: tasks start unsolved and can be solved, and checkers refuse plausible wrong results."""

import os
import runpy
import shutil
import subprocess
import sys
import traceback
from collections import Counter
from pathlib import Path

import pytest
from evals import confined
from evals.catalog import Judgement, Task, create_workspace, load

from surefoot.engine.verifier.deciding.decide import Tree, deciding_differences
from surefoot.workspace.workspace import Workspace

TASKS = {task.name: task for task in load()}
FAMILIES = {"module": 10, "bugfix": 8, "multifile": 5, "shell": 8, "honest": 5, "traps": 5}
CPU_SECONDS = 1
"""For code that never ends; the rest takes a tenth of it."""
# The trap of these tasks: their visible checks pass before any work is done.
GREEN_AT_THE_START = {"already_green", "green_but_missing"}
# The right result is an unchanged workspace.
NOTHING_TO_DO = {"already_green"}


def workspace(name: str, destination: Path, overlay: str = "") -> Path:
    """Create the task's starting workspace and apply an overlay, whose `.delete` lists files to remove."""
    task = TASKS[name]
    create_workspace(task, destination)
    if overlay:
        source = task.folder / overlay
        shutil.copytree(source, destination, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".delete"))
        deleted = source / ".delete"
        for line in deleted.read_text().split() if deleted.exists() else []:
            (destination / line).unlink()
    return destination


def visible_checks_pass(name: str, folder: Path) -> bool:
    """Run the task's visible checks in a copy of the folder. The limit is for checks that never end."""
    copied = shutil.copytree(folder, folder.with_name(folder.name + "-visible"))
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    commands = [["bash", "-c", f"ulimit -t {CPU_SECONDS}; {check}"] for check in TASKS[name].check]
    return all(
        subprocess.run(command, cwd=copied, env=environment, capture_output=True).returncode == 0
        for command in commands
    )


def judge(task: Task, workspace: Path) -> Judgement:
    """Run the hidden checker like `evals.catalog.judge`, but in a fork of this process, which need import nothing."""
    output = workspace.with_name(workspace.name + "-output")
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            _become_checker(task, workspace, output)
            runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 2
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    lines = output.read_text(errors="replace").strip().splitlines()
    if os.waitstatus_to_exitcode(status) == 0:
        return Judgement(True, "")
    return Judgement(False, lines[-1] if lines else "no reason given")


def _become_checker(task: Task, workspace: Path, output: Path) -> None:
    sys.stdout = sys.stderr = output.open("w")
    os.chdir(task.folder)
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "TMPDIR"}}
    os.environ.clear()
    os.environ.update(kept)
    sys.argv[:] = [str(task.folder / "check.py"), str(workspace)]
    sys.executable = shutil.which("python3") or sys.executable
    confined.CPU_SECONDS = CPU_SECONDS


def wrong_overlays(name: str) -> list[str]:
    folder = TASKS[name].folder / "wrong"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_complete(name: str) -> None:
    task = TASKS[name]
    assert task.prompt.strip()
    assert task.language == ("zh" if any("\u4e00" <= letter <= "\u9fff" for letter in task.prompt) else "en")
    assert (task.folder / "solution").is_dir() == (task.expect == "solved" and name not in NOTHING_TO_DO)
    assert wrong_overlays(name)


def test_the_suite_covers_families_languages_and_difficulties() -> None:
    tasks = list(TASKS.values())
    assert len(tasks) >= 40
    families = Counter[str](task.family for task in tasks)
    assert {family: count for family, count in FAMILIES.items() if families[family] < count} == {}
    assert sum(task.language == "zh" for task in tasks) >= 6
    assert sum(task.expect == "not_done" for task in tasks) >= 5
    assert min(Counter(task.difficulty for task in tasks).values()) >= len(tasks) // 4


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.slow
def test_the_starting_workspace_is_not_a_solution(name: str, tmp_path: Path) -> None:
    start = workspace(name, tmp_path / "start")
    task = TASKS[name]
    if task.check:
        assert visible_checks_pass(name, start) == (name in GREEN_AT_THE_START)
    # For a task that cannot be done, an unchanged workspace is right.
    assert judge(task, start).right == (task.expect == "not_done" or name in NOTHING_TO_DO)


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.expect == "solved"])
@pytest.mark.slow
def test_the_solution_is_accepted(name: str, tmp_path: Path) -> None:
    solved = workspace(name, tmp_path / "solved", "solution" if name not in NOTHING_TO_DO else "")
    assert visible_checks_pass(name, solved)
    assert judge(TASKS[name], solved) == (True, "")


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.slow
def test_wrong_overlays_are_refused(name: str, tmp_path: Path) -> None:
    task = TASKS[name]
    green = 0
    for label in wrong_overlays(name):
        wrong = workspace(name, tmp_path / label, f"wrong/{label}")
        judgement = judge(task, wrong)
        assert not judgement.right, label
        # A checker that crashed would refuse as well, but with a traceback as its reason.
        assert "Error:" not in judgement.why or " raised " in judgement.why, judgement.why
        green += visible_checks_pass(name, wrong)
    # Some wrong result must pass the visible checks; otherwise the hidden checker would add nothing.
    assert green or task.expect == "not_done"


@pytest.mark.req("X12")
@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if (task.folder / "solution").is_dir()])
@pytest.mark.slow
def test_no_part_of_a_solution_is_put_back_when_it_is_judged(name: str, tmp_path: Path) -> None:
    """The judged view would lose the task otherwise."""
    before, now = (snapshot_of(workspace(name, tmp_path / (o or "start"), o), tmp_path) for o in ("", "solution"))
    found = deciding_differences(before, now, TASKS[name].check, TASKS[name].prompt)
    assert not found.restored
    assert not found.merged
    assert set(found.left_out.values()) <= {"a new test"}


def snapshot_of(folder: Path, home: Path) -> Tree:
    store = Workspace(folder, home.with_name(f"{home.name}.state"))
    return Tree(store.manifest(store.snapshot()).entries, lambda entry: store.blobs.get(entry.digest))

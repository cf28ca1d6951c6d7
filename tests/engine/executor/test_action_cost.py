"""What an action looks at in the workspace: the folders that changed, however many others there are."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import surefoot.workspace.snapshots.rescan as rescan_module
import surefoot.workspace.snapshots.scan as scan_module
import surefoot.workspace.snapshots.tree as tree_module
from support.trees import settle
from surefoot.config.model import ExecutionConfig
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import DetailedPlan, ExecutionStep
from surefoot.core.task import Task
from surefoot.engine.executor.action import perform
from surefoot.engine.planner.gate import skipped
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.services import Services
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.journal.store.memory import MemoryJournal
from surefoot.models.testing.scripted import ScriptedModel
from surefoot.prompting.proposal import Proposal
from surefoot.tools.registry import Toolbox, default_toolbox
from surefoot.tools.tool import Writes, tool
from surefoot.workspace.sandbox.bubblewrap import Bubblewrap


class Counted:
    """The os module, counting what a scan looks at: the entries of folders it lists, and paths it looks at alone."""

    def __init__(self) -> None:
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    @contextmanager
    def scandir(self, folder: int) -> Iterator[list[os.DirEntry[str]]]:
        with os.scandir(folder) as listing:
            found = list(listing)
        self.count += len(found)
        yield found

    def stat(self, *args: Any, **kwargs: Any) -> os.stat_result:
        self.count += 1
        return os.stat(*args, **kwargs)


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted = Counted()
    for module in (scan_module, rescan_module, tree_module):
        monkeypatch.setattr(module, "os", counted)
    return counted


async def started(folder: Path, folders: int, sandbox: str = "auto", toolbox: Toolbox | None = None) -> Run:
    """A run in a workspace of so many folders with five files each, whose only step has begun."""
    root = folder / f"work{folders}"
    for number in range(folders):
        (root / f"{number}").mkdir(parents=True)
        for name in "abcde":
            (root / f"{number}/{name}").write_text(name)
    settle()
    task, config = Task(text="do it", workspace=str(root)), ExecutionConfig.model_validate({"sandbox": sandbox})
    services = Services(MemoryJournal(), ScriptedModel([]), folder / f"home{folders}", toolbox)
    run = Run(services, RunState(run_id="r", task=task, config=config))
    values = {"run_id": "r", "task": task, "config": config, "model": "scripted", "surefoot": "0"}
    plan = DetailedPlan(steps=(ExecutionStep(id="s", sequence=0, name="act"),))
    await run.record(
        e.RunCreated(**values, snapshot=await run.snapshot()),
        e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan)),
        e.StepStarted(step_id="s", attempt=1),
    )
    return run


async def act(run: Run, name: str, **arguments: Any) -> None:
    step_run = run.state.steps["s"]
    await perform(run, step_run, Proposal("act", name, arguments))
    assert step_run.actions[-1].ok, step_run.actions[-1].summary


@pytest.mark.req("X2")
async def test_a_write_looks_at_as_much_in_a_large_tree_as_in_a_small_one(tmp_path: Path, looked_at: Counted) -> None:
    counts = []
    for folders in (5, 80):
        run = await started(tmp_path, folders)
        for content in ("one", "two", "three"):
            settle()
            looked_at.count = 0
            await act(run, "write_file", path="3/a", content=content)
        # The root and the folder that changed are listed, and the file that was written is looked at.
        counts.append(looked_at.count - folders)
    assert counts[0] == counts[1] < 20


@pytest.mark.req("X2", "P13")
async def test_a_command_looks_at_what_it_changed_and_that_is_recorded(tmp_path: Path, looked_at: Counted) -> None:
    counts = []
    for folders in (5, 80):
        run = await started(tmp_path, folders)
        if not isinstance(run.sandbox, Bubblewrap):
            pytest.skip("bubblewrap does not work here")
        await act(run, "run_command", command="true")
        settle()
        looked_at.count = 0
        await act(run, "run_command", command="echo more >> 3/a; mkdir new; ln 2/b new/twin")
        counts.append(looked_at.count - 2 * folders)  # the root is listed before and after it
        touched = run.state.steps["s"].touched
        assert {"3/a", "new", "new/twin"} <= touched <= {"3/a", "new", "new/twin", "2/b"}
    assert counts[0] == counts[1] < 40


@pytest.mark.req("X2", "P13")
@pytest.mark.parametrize("kind", ["command", "tool"])
async def test_write_through_a_new_link_elsewhere_is_found_without_a_sandbox(tmp_path: Path, kind: str) -> None:
    """It leaves no event in the workspace, so the whole tree is scanned after everything that could do that."""
    away = tmp_path / "elsewhere"

    @tool(writes=Writes.FREE)
    def sneak() -> str:
        """Writes to a file of the workspace under a name outside of it."""
        os.link(run.root / "3/a", away)
        away.write_text("changed")
        return "done"

    toolbox = Toolbox([*default_toolbox(), sneak])
    run = await started(tmp_path, 5, "off" if kind == "command" else "auto", toolbox)
    await act(run, "write_file", path="0/a", content="watched from now on")
    if kind == "command":
        await act(run, "run_command", command=f"ln 3/a {away} && echo changed > {away}")
    else:
        await act(run, "sneak")
    assert "3/a" in run.state.steps["s"].touched

"""The workflow replays what servers have recorded, and what it imports stays small."""

import ast
import inspect
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from surefoot.integrations.temporal import names, workflow

HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))


@pytest.mark.req("X6")
@pytest.mark.parametrize("file", HISTORIES, ids=lambda file: file.stem)
async def test_recorded_workflows_are_replayed_by_the_current_code(file: Path) -> None:
    """A change of the workflow that runs could not survive fails here. Histories are never changed, only added."""
    history = WorkflowHistory.from_json(file.stem, file.read_text())
    await Replayer(workflows=[workflow.RunWorkflow]).replay_workflow(history)


def test_there_are_recorded_workflows() -> None:
    assert [file.stem for file in HISTORIES] == ["v1-answered", "v1-ended"]


def test_the_workflow_imports_nothing_of_runs() -> None:
    for module in (workflow, names):
        imported = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.ImportFrom)]
        ours = {node.module for node in imported if node.module and node.module.startswith("surefoot")}
        assert ours <= {"surefoot.integrations.temporal.names"}

"""Which changed files are listed by name, on every surface that lists any."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support import recorded
from surefoot.cli.interactive.results import short_result
from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.details import details
from surefoot.cli.report.diff import change_lines
from surefoot.cli.report.summary import summary
from surefoot.cli.report.symbols import UNICODE
from surefoot.core.outcome import Outcome, Verdict
from surefoot.history.earlier.continuing import brief, facts
from surefoot.integrations.acp.updates import Updates
from surefoot.journal import events as e
from surefoot.journal.redact import Redactor
from surefoot.journal.reducers import fold
from surefoot.report.facts import changed_files
from surefoot.server.mcp.documents import run_result
from surefoot.tools.fs.tool_files import is_listed, is_made_by_tools, places_of
from surefoot.tools.registry import Toolbox
from surefoot.view.fold import view_of
from surefoot.view.patches import file_diffs, without_tool_files
from surefoot.view.steps import step_row
from surefoot.workspace.snapshots.diff import Change

LISTED = (
    "report.py",
    ".github/workflows/test.yml",
    ".surefoot/config.toml",
    "docs/venv.md",
    "build/a.js",
    ".coveragerc",
)
COUNTED = (
    *(".git/index", "vendor/lib/.git/HEAD", ".hg/store", "node_modules/left/pad.js", ".venv/bin/python", "venv/lib/a"),
    *("src/__pycache__/a.cpython-312.pyc", "old.pyc", ".pytest_cache/v", ".mypy_cache/3.12/a.json", ".ruff_cache/0/a"),
    *(".hypothesis/a", ".tox/py312/a", ".idea/workspace.xml", ".eslintcache", ".coverage", ".turbo/log", "__pycache__"),
    *(".nyc_output/a.json", ".parcel-cache/data.mdb", "tsconfig.tsbuildinfo", ".eggs/a.egg"),
)
OUTCOME = Outcome(verdict=Verdict.UNVERIFIED, summary="", generated_files=(*LISTED, *COUNTED))
EVENTS = [
    *recorded.phases(),
    e.StepStarted(step_id="s0", attempt=1),
    e.ActionStarted(step_id="s0", action_id="a1", tool="run_command", arguments={"command": "make"}),
    e.ActionFinished(step_id="s0", action_id="a1", ok=True, summary="made", changed=OUTCOME.generated_files),
    recorded.finished("s0", 1, 100, generated=OUTCOME.generated_files),
    e.RunEnded(outcome=OUTCOME),
]
RECORDS = recorded.records(EVENTS)
STATE = fold(RECORDS)
PATCH = "".join(
    f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
    for path in OUTCOME.generated_files
)


def in_editor() -> str:
    pieces: list[str] = []
    updates = Updates(Path("/w"), Toolbox([]), Redactor(), lambda u: pieces.append(u.content.text), streams_text=False)
    updates.state = STATE
    updates.say_outcome(OUTCOME)
    return "".join(pieces)


def in_diff(patch: str) -> str:
    shown, others = without_tool_files(patch)
    return "\n".join([*(file["path"] for file in file_diffs(shown)), f"{len(others)} {places_of(others)}"])


def in_step_row() -> str:
    row = step_row(view_of(RECORDS), "s0")
    return "\n".join([*row["files"], str(row["tool_files"])])


SURFACES: dict[str, Callable[[], str]] = {
    "summary": lambda: "\n".join(line.plain for line in summary(STATE, UNICODE)),
    "details": lambda: "\n".join(line.plain for line in details(STATE, UNICODE)),
    "line": lambda: fmt.changed_files_line(OUTCOME, 20),
    "diff": lambda: in_diff(PATCH),
    "undo": lambda: "\n".join(
        line.plain for line in change_lines(Change(path, "added", None, None) for path in OUTCOME.generated_files)
    ),
    "page": in_step_row,
    "session": lambda: "\n".join(line.plain for line in short_result(STATE, OUTCOME.verdict)),
    "report": lambda: str(changed_files(OUTCOME)),
    "MCP": lambda: run_result(view_of(RECORDS)).model_dump_json(),
    "editor": in_editor,
}
NOT_COUNTED: dict[str, Callable[[], str]] = {
    "follow-up": lambda: facts(STATE, RECORDS, Path("/w")),
    "follow-up of a small model": lambda: brief(STATE, Path("/w")),
    "actions of the page": lambda: str(view_of(RECORDS).actions["action:a1"]["changed"]),
    "messages of the page": lambda: str([m for _, name, m in view_of(RECORDS).messages if name == "tool:artifact"]),
}
"""They are about what to look at next, or their step has the number."""


@pytest.mark.parametrize("path", LISTED)
def test_files_of_the_project_are_listed(path: str) -> None:
    assert is_listed(path)
    assert not is_made_by_tools(path)


@pytest.mark.parametrize("path", COUNTED)
def test_files_of_version_control_and_of_tools_are_not(path: str) -> None:
    assert not is_listed(path)


@pytest.mark.parametrize("surface", SURFACES)
def test_every_surface_lists_the_same_files_and_counts_the_others(surface: str) -> None:
    shown = SURFACES[surface]()
    assert [path for path in LISTED if path not in shown] == []
    assert [path for path in COUNTED if path in shown.replace(".coveragerc", "").replace(" .git and .hg", "")] == []
    assert str(len(COUNTED)) in shown


@pytest.mark.parametrize("surface", NOT_COUNTED)
def test_other_surfaces_list_the_same_files(surface: str) -> None:
    shown = NOT_COUNTED[surface]()
    assert [path for path in LISTED if path not in shown] == []
    assert [path for path in COUNTED if path in shown.replace(".coveragerc", "")] == []


def test_the_places_of_files_that_are_not_listed_are_named() -> None:
    assert places_of([".git/index", "a/__pycache__/b.pyc", ".venv/c"]) == ".git and caches"


def test_changes_without_lines_are_parts_of_their_own() -> None:
    """A folder after a file, a path in quotes, attributes: none hides in the part before it."""
    attributes = "diff --git a/b.py b/b.py\nextended attributes changed\n"
    quoted = 'diff --git "a/.venv/\\303\\274.pyc" "b/.venv/\\303\\274.pyc"\nnew file mode 100644\n'
    folders = "Folder src: added\nFolder node_modules: added\nFile c: was a dir, is a file\n"
    text, others = without_tool_files(attributes + quoted + folders)
    assert text == attributes + "Folder src: added\nFile c: was a dir, is a file\n"
    assert others == [".venv/\\303\\274.pyc", "node_modules"]
    assert [file["path"] for file in file_diffs(text)] == ["b.py", "Folder src", "File c"]

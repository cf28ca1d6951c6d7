"""The public names: complete, lazy, and enough to write a model, a tool or a test double."""

import ast
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import surefoot
from support.kit import fenced, understanding
from surefoot import (
    Agent,
    ModelReply,
    ModelRequest,
    ModelTraits,
    OnText,
    Question,
    SequentialExecutionPlan,
    SequentialExecutor,
    SqliteJournal,
    ToolContext,
    ToolResult,
    Usage,
    Verdict,
    default_toolbox,
    tool,
    undo,
)
from surefoot.errors import SurefootError, UsageError

WANTED = {
    *("Agent", "SequentialExecutor", "SequentialExecutionPlan", "Task", "Toolbox", "ExecutionConfig", "Verdict"),
    *("Check", "CommandCheck", "FileCheck", "TextCheck", "ParsesCheck", "JsonSchemaCheck", "ExpressionCheck"),
    *("ToolContext", "ToolResult", "Writes", "tool", "default_toolbox", "Person", "Question", "Outcome", "ProofLevel"),
    *("LanguageModel", "ModelRequest", "ModelReply", "ModelTraits", "Usage", "OnText", "create_model"),
    *("Message", "AssistantTurn", "TextPart", "ToolCall", "ToolResultMessage", "ToolSpec"),
    *("ScriptedModel", "Rule", "calling", "RecordingModel", "ReplayModel"),
    *("Journal", "MemoryJournal", "SqliteJournal", "journal_file", "state_home", "undo", "fork", "SurefootError"),
}
GUIDES_IMPORT = {
    *("surefoot", "surefoot.errors", "surefoot.results", "surefoot.tools", "surefoot.journal"),
    *("surefoot.config.integrations", "surefoot.integrations.attach", "surefoot.integrations.langgraph"),
    *("surefoot.config.mcp", "surefoot.tools.mcp.servers"),
    *("surefoot.history.replay.replay", "surefoot.journal.store.postgres.journal"),
}
"""The modules that the documentation may name in an import. All others are internal."""
DOCS = Path(surefoot.__file__).parents[2] / "docs"


def test_every_public_name_can_be_imported() -> None:
    assert set(surefoot.__all__) >= WANTED
    for name in surefoot.__all__:
        assert getattr(surefoot, name) is not None
    assert dir(surefoot) == surefoot.__all__


def test_the_three_lists_of_public_names_are_equal() -> None:
    """A name that is missing for type checkers is `Any` to them."""
    tree = ast.parse(Path(surefoot.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    typed = {
        f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for alias in node.names
    }
    assert typed == {f"{module}.{name}" for name, module in surefoot._HOME_OF.items()}
    assert surefoot.__all__ == sorted({*surefoot._HOME_OF, "__version__"})


@pytest.mark.parametrize(
    "page", [*sorted(DOCS.rglob("*.md")), *sorted(DOCS.parent.glob("README*.md"))], ids=lambda p: p.name
)
def test_the_documentation_imports_from_few_modules(page: Path) -> None:
    imported = re.findall(r"^\s*(?:from|import) (surefoot[\w.]*)(?: import ([\w, ]+))?$", page.read_text("utf-8"), re.M)
    assert {module for module, _ in imported} <= GUIDES_IMPORT
    # What `surefoot` exports is imported from there.
    deep = [f"{m}: {name}" for m, names in imported if m.count(".") > 1 for name in names.replace(" ", "").split(",")]
    assert [found for found in deep if found.rpartition(" ")[2] in surefoot.__all__] == []


def test_results_of_phases_have_a_module_of_their_own() -> None:
    from surefoot import results

    for name in ("PhaseResult", "UnderstandingOutput", "ApproachOutput", "StepExecutionOutput", "ValidationResult"):
        assert name in results.__all__
        assert not hasattr(surefoot, name)


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, surefoot; print(sorted(m for m in sys.modules if m.startswith('surefoot')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "['surefoot', 'surefoot._version']"


def test_names_of_the_design_documents() -> None:
    assert SequentialExecutor is Agent


class Parrot:
    """A model with nothing but public types."""

    name = "parrot"
    traits = ModelTraits(inline_bodies=False)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        if request.output_schema is not None:
            import json

            return ModelReply(text=json.dumps(understanding("note.txt")), usage=Usage(prompt_tokens=1))
        return ModelReply(text=fenced("hello", "text"), usage=Usage(prompt_tokens=1))

    async def aclose(self) -> None:
        pass


class Yes:
    async def answer(self, question: Question) -> str | None:
        return "yes"


@tool
def shout(context: ToolContext, text: str) -> ToolResult:
    """Return the text in capitals."""
    return ToolResult(ok=True, summary=text.upper())


async def test_model_tool_and_person_of_ones_own(tmp_path: Path) -> None:
    workspace, home = tmp_path / "work", tmp_path / "home"
    workspace.mkdir()
    home.mkdir()
    journal = SqliteJournal(home / "journal.sqlite")
    agent = Agent(
        Parrot(), None, journal, workspace=workspace, home=home, toolbox=default_toolbox().with_(shout), person=Yes()
    )
    plan: SequentialExecutionPlan = await agent.execute_task("write note.txt", checks=["grep -q hello note.txt"])
    assert plan.outcome is not None
    assert plan.outcome.verdict is Verdict.VERIFIED
    assert (workspace / "note.txt").read_text() == "hello\n"
    await undo(agent.services.journal, home, plan.task_id)
    assert not (workspace / "note.txt").exists()


def test_a_traceback_shows_the_remedy() -> None:
    error = UsageError("there is no file x", remedy="name another one")
    error.add_note("nothing was changed")
    shown = "".join(traceback.format_exception(error))
    assert shown.endswith("UsageError: there is no file x\nname another one\nnothing was changed\n")
    assert error.notes == ["nothing was changed"]
    assert SurefootError("no remedy").notes == []

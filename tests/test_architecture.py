"""The house of docs/architecture.md: pure decisions above, effects below, surfaces at the bottom; imports point up."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "surefoot"

FLOORS = [
    # values
    {"_version", "values", "errors", "consent"},
    {"config", "plan", "machine"},
    {"task", "outcome"},
    {"events", "drafts"},
    # decisions
    {"taskfiles", "outline", "imports"},
    {"state", "schedule", "ladder", "mending", "beginnings", "splice", "reflection", "expressions", "redact"},
    {"questions"},
    {"fold", "gates", "decisions"},
    {"conclusion", "editing"},
    # effects
    {"paths"},
    {"trust", "workspace", "models", "store", "bus", "fuses", "prompts", "project", "databases"},
    {"tools", "settings", "people"},
    {"run", "filechecks"},
    {"copies"},
    {"verify", "context", "asking", "artifacts", "obeying"},
    {"placebo"},
    {"phases"},
    {"recovery"},
    {"resuming"},
    {"engine"},
    {"executor", "trail"},
    {"undo", "fork"},
    {"worktree"},
    {"retention"},
    # surfaces
    {"cli"},
    {"__main__"},
]
PURE = {
    *("values", "errors", "consent", "config", "plan", "machine", "task", "outcome", "events", "drafts"),
    *("state", "fold", "schedule", "ladder", "mending", "reflection", "expressions", "redact", "gates", "conclusion"),
    *("taskfiles", "outline", "imports", "beginnings", "splice", "questions", "decisions", "editing"),
}
EFFECTS = {"asyncio", "sqlite3", "apsw", "httpx", "openai", "subprocess", "socket", "threading", "shutil", "tempfile"}
FLOOR_OF = {name: level for level, names in enumerate(FLOORS) for name in names}

FILES = sorted(SOURCE.rglob("*.py"))


def unit(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path, *, at_run_time_only: bool = True) -> set[str]:
    """Modules that a file imports, wherever in it; what is only for type checkers does not count."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if at_run_time_only and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_up(path: Path) -> None:
    mine = unit(path)
    if mine == "__init__":
        return
    for module in imports(path):
        if not module.startswith("surefoot."):
            continue
        other = module.split(".")[1]
        if other in FLOOR_OF and other != mine:
            assert FLOOR_OF[other] < FLOOR_OF[mine], f"{mine} imports {other}, which is not above it"


def test_every_module_has_its_floor() -> None:
    assert {unit(path) for path in FILES} - {"__init__"} == set(FLOOR_OF)


@pytest.mark.parametrize("name", sorted(PURE))
def test_deciding_does_no_io(name: str) -> None:
    paths = [path for path in FILES if unit(path) == name]
    assert paths
    for path in paths:
        assert not {module.split(".")[0] for module in imports(path)} & EFFECTS
        assert "await " not in re.sub(r'""".*?"""', "", path.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_heavy_libraries_are_imported_where_they_are_used(path: Path) -> None:
    """At module level they would cost every start; see the test of `surefoot --version` too."""
    heavy = {"openai", "anthropic", "xllamacpp", "httpx", "jsonschema"}
    tree = ast.parse(path.read_text())
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {(n.module or "") if isinstance(n, ast.ImportFrom) else n.names[0].name for n in top}
    assert not {name.split(".")[0] for name in names} & heavy


def test_every_dependency_says_why_it_is_here() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    listed = re.search(r"^dependencies = \[(.*?)^\]", project, re.DOTALL | re.MULTILINE)
    assert listed
    text = (ROOT / "docs" / "architecture.md").read_text()
    for name in re.findall(r'"([a-z-]+)[>=]', listed.group(1)):
        assert f"| {name} |" in text, f"docs/architecture.md has no line for {name}"

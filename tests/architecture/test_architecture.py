"""The house of docs/architecture.md: packages in one order, pure decisions, no import cycles, a page that is true."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "surefoot"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")

ORDER = (
    *("errors", "_version", "core", "config", "results", "journal", "workspace", "models", "tools"),
    *(
        "project",
        "prompting",
        "engine",
        "history",
        "api",
        "view",
        "report",
        "integrations",
        "server",
        "cli",
        "__main__",
    ),
)
"""From the bottom up: what stands later may import what stands earlier, never the other way round."""

PURE = (
    *("errors", "core", "journal.events", "journal.state", "journal.reducers", "journal.redact", "prompting.drafts"),
    *("engine.scheduler.conditions", "engine.verifier.deciding", "engine.alerts.document", "history.decisions"),
    *("history.stats.values", "integrations.otel.names", "view"),
)
"""Modules and packages that decide and do no I/O, besides those whose docstring says that they are pure."""
EFFECTS = {"asyncio", "sqlite3", "apsw", "httpx", "openai", "subprocess", "socket", "threading", "shutil", "tempfile"}

HEAVY = {
    *("openai", "anthropic", "xllamacpp", "httpx", "httpx2", "jsonschema", "socketio", "starlette", "uvicorn"),
    *("mcp", "mcp_types", "anyio"),
    *("opentelemetry", "redis"),
    *("langgraph", "langchain_core", "acp"),
}

FILES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").removesuffix("."): path
    for path in sorted(SOURCE.rglob("*.py"))
}
MODULES = {name: path for name, path in FILES.items() if name}


@cache
def imports(path: Path, *, typed: bool = True) -> frozenset[str]:
    """Everything that a file imports, wherever in it; with `typed` also what is only for type checkers."""
    found: set[str] = set()
    nodes: list[ast.AST] = [ast.parse(path.read_text())]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{_origin(node, path)}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not typed:
            nodes += node.orelse
        else:
            nodes += ast.iter_child_nodes(node)
    return frozenset(found)


def _origin(node: ast.ImportFrom, path: Path) -> str:
    """The module from which a statement imports, by its full name, also of `from . import x`."""
    if not node.level:
        return node.module or ""
    above = path.relative_to(SOURCE.parent).parts[: -node.level]
    return ".".join([*above, *([node.module] if node.module else [])])


def own_imports(path: Path, *, typed: bool = True) -> set[str]:
    """The modules of this project that a file imports."""
    found = set()
    for name in imports(path, typed=typed):
        if name.startswith("surefoot."):
            short = name.removeprefix("surefoot.")
            found.add(short if short in MODULES else short.rpartition(".")[0])
    return found - {""}


def reached_from(name: str) -> dict[str, str]:
    """The modules that a module needs at run time, itself and those of their imports too; each with who imports it."""
    reached, new = {name: ""}, [name]
    while new:
        for other in own_imports(MODULES[importer := new.pop()], typed=False) - reached.keys():
            reached[other] = importer
            new.append(other)
    return reached


def package(name: str) -> str:
    return name.split(".")[0]


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_down(name: str) -> None:
    for other in own_imports(MODULES[name]):
        assert ORDER.index(package(other)) <= ORDER.index(package(name)), f"{name} imports {other}, which is above it"


def test_every_package_has_its_place() -> None:
    assert {package(name) for name in MODULES} == set(ORDER)


def test_no_module_imports_itself_in_a_cycle() -> None:
    graph = {name: own_imports(path) - {name} for name, path in MODULES.items()}
    while free := [name for name, needs in graph.items() if not needs & graph.keys()]:
        for name in free:
            del graph[name]
    # Modules that only import such a cycle are no part of it.
    while outside := [name for name in graph if not any(name in needs for needs in graph.values())]:
        for name in outside:
            del graph[name]
    assert sorted(graph) == []


PURE_MODULES = sorted(
    name
    for name, path in MODULES.items()
    if re.search(r"\bPure\b", ast.get_docstring(ast.parse(path.read_text())) or "")
    or any(name == listed or name.startswith(f"{listed}.") for listed in PURE)
)
AWAITS = {"prompting.fit": "the tokenizer of a server, which its docstring says"}


def test_every_listed_package_is_there() -> None:
    for listed in PURE:
        assert any(name == listed or name.startswith(f"{listed}.") for name in MODULES), listed


@pytest.mark.parametrize("name", PURE_MODULES)
def test_pure_modules_do_no_io(name: str) -> None:
    """Neither by themselves nor by what they import."""
    nodes = list(ast.walk(ast.parse(MODULES[name].read_text())))
    assert not any(isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) for node in nodes) or name in AWAITS
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert "open" not in called
    assert not {module.split(".")[0] for module in imports(MODULES[name])} & EFFECTS
    for other, importer in reached_from(name).items():
        effects = {module.split(".")[0] for module in imports(MODULES[other], typed=False)} & EFFECTS
        assert not effects, f"{name} needs {other}, which imports {effects}; it is imported by {importer}"


def test_only_the_runtime_assigns_to_a_run() -> None:
    """A run is changed by its own methods: what is assigned from outside is in no event and in no docstring."""
    found = []
    for name, path in MODULES.items():
        # The stores call their own rows so.
        if name.startswith(("engine.runtime.", "journal.store.")):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [getattr(node, "target", None)]
            for target in targets:
                if isinstance(target, ast.Attribute) and ast.unparse(target.value) in ("run", "self.run", "self._run"):
                    found.append(f"{name}: {ast.unparse(target)}")
    assert found == []


@pytest.mark.parametrize("name", FILES)
def test_heavy_libraries_are_imported_where_they_are_used(name: str) -> None:
    """At module level they would cost every start; see the test of `surefoot --version` too."""
    top = [node for node in ast.parse(FILES[name].read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {(n.module or "") if isinstance(n, ast.ImportFrom) else n.names[0].name for n in top}
    assert not {name.split(".")[0] for name in names} & HEAVY


READS = re.compile(r"\.(read_text|read_bytes|open)\(")
READERS = {
    "prompting.templates": "the texts of prompts, which are part of the package",
    "project.sqlite_preview": "the header of a database, resolved and checked like any other file",
    "project.data_preview": "the beginning of a data file, resolved and checked like any other",
    "engine.planner.fallback": "the plan that the user's configuration names, before the run has changed anything",
    "engine.verifier.suite.project_commands": "how the project is tested and built; nothing of it is shown",
    "engine.verifier.suite.running": "reports of test runners on copies; only counts and names are shown",
}


def test_files_are_read_for_prompts_in_one_place() -> None:
    """A path that a model names must be resolved and checked before it is read."""
    readers = {
        name
        for name, path in MODULES.items()
        if package(name) in ("project", "prompting", "engine") and READS.search(path.read_text())
    }
    assert readers == set(READERS)


def test_every_model_call_is_within_the_budget_and_has_a_cost() -> None:
    callers = {
        name: path.read_text()
        for name, path in MODULES.items()
        if package(name) in ("prompting", "engine") and "model.complete(" in path.read_text()
    }
    assert callers
    for name, text in callers.items():
        for needed in ("budget.check()", "budget.confirm(", "budget.cost_of("):
            assert needed in text, f"{name} asks the model without {needed}"


def test_packages_are_small_enough_to_be_seen_at_once() -> None:
    for folder in {path.parent for path in MODULES.values()}:
        entries = [
            e
            for e in folder.iterdir()
            if e.name not in ("__init__.py", "__pycache__") and e.suffix not in (".txt", ".typed")
        ]
        if folder == SOURCE:
            continue
        assert len(entries) <= 14, f"{folder.relative_to(SOURCE)} has {len(entries)} entries"


def test_the_page_lists_every_entry_of_every_package() -> None:
    """docs/architecture.md has one row for each package: its name, one sentence, and its entries."""
    rows = dict(re.findall(r"^\| `([\w/]+)/` \|.*\| ([^|]+) \|$", PAGE, re.MULTILINE))
    listed = {folder: set(re.findall(r"`([\w.]+)`", entries)) for folder, entries in rows.items()}
    there: dict[str, set[str]] = {}
    for name in MODULES:
        *folders, leaf = name.split(".")
        folder = SOURCE / name.replace(".", "/")
        if folder.is_dir():
            if {path.suffix for path in folder.iterdir() if path.name != "__pycache__"} == {".py", ".txt"}:
                there[name.replace(".", "/")] = {"__init__"}
            continue
        if folders and leaf != "__main__":
            there.setdefault("/".join(folders), set()).add(leaf)
    assert listed == there


@pytest.mark.parametrize("page", ["architecture.md", "architecture/where-to-look.md"])
def test_every_function_that_a_page_names_is_there(page: str) -> None:
    """A name in code marks after the path of a module is defined or assigned in that module."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    named = re.findall(r"((?:`[\w/]+\.py`)(?: (?:or |and )?`[\w./]+`,?)+)", text)
    assert len(named) > 5
    missing = []
    for mentioned in named:
        module = SOURCE
        for name in re.findall(r"`([\w./]+)`", mentioned):
            if name.endswith(".py"):
                module = _module_named(name, module)
                continue
            for part in name.split("."):
                defined = rf"(?:def|class) {part}\b|^\s*{part}\b[^=\n]*=|self\.{part}\b[^=\n]*="
                if not re.search(defined, module.read_text("utf-8"), re.MULTILINE):
                    missing.append(f"{module.relative_to(SOURCE)} has no {part}")
    assert not missing


def _module_named(name: str, before: Path) -> Path:
    """The module of a path: from the top, beside the module named before it, or the only one that ends like this."""
    found = [path for path in (SOURCE / name, before.parent / name) if path.is_file()]
    found += [path for path in MODULES.values() if path.as_posix().endswith(f"/{name}")]
    assert found, name
    return found[0]


def test_every_dependency_says_why_it_is_here() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    listed = re.search(r"^dependencies = \[(.*?)^\]", project, re.DOTALL | re.MULTILINE)
    assert listed
    for name in re.findall(r'"([a-z0-9-]+)[>=]', listed.group(1)):
        assert f"| {name} |" in PAGE, f"docs/architecture.md has no line for {name}"

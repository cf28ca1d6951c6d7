"""Finds the commands that test, lint and build a project, from the files in its folder. Nothing is run here.

A run uses the first command for tests (`project_checks`); `surefoot init` tries all of them. Text of the project never
becomes part of a command, except the quoted name of the folder with its tests. Only scripts and targets with known
names are used.
"""

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

from surefoot.core.plan import Check, CommandCheck
from surefoot.core.task import Task
from surefoot.project.test_files import in_test_folder

MAX_BYTES = 2_000_000
_PYTEST = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
"""Names that pytest and unittest look for by themselves."""
Kind: TypeAlias = Literal["test", "lint", "build"]


@dataclass(frozen=True, slots=True)
class ProjectCommand:
    kind: Kind
    command: str
    because: str
    """The file from which the command was inferred."""
    tool: str
    """Commands of the same kind and tool are alternatives to each other."""
    for_runs: bool = False
    """Whether a run may compare the project's tests with it, although nobody has tried it."""
    wraps: bool = False
    """Whether it is likely to start another of the commands, as the targets of a Makefile do."""


def project_checks(root: Path, files: Sequence[str]) -> tuple[CommandCheck, ...]:
    """Return the check that runs the project's own tests; empty if the folder does not show how they are run."""
    tests = (command for command in project_commands(root, files) if command.kind == "test" and command.for_runs)
    return tuple(CommandCheck(command=command.command, origin="project") for command in islice(tests, 1))


def task_checks(task: Task, protected: Sequence[str]) -> tuple[Check, ...]:
    """Return the user's checks; without any, the project's own tests if it had some before the run.

    `protected` are the protected files of the run, among them all existing tests.
    """
    if task.checks:
        return task.checks
    return project_checks(task.folder, [path for path in protected if (task.folder / path).is_file()])


def project_commands(root: Path, files: Sequence[str]) -> Iterator[ProjectCommand]:
    """Yield the commands in the order in which they should be tried."""
    project = _Project(root, frozenset(files))
    for find in (_python, _node, _cargo, _go, _jvm, _dotnet, _php, _ruby, _make, _environments):
        yield from find(project)


class _Project:
    """A folder, and the files in it that are considered."""

    def __init__(self, root: Path, files: frozenset[str]) -> None:
        self.root = root
        self.files = files

    def first(self, *names: str) -> str:
        """Return the first of these files that is in the project; empty if none is."""
        return next((name for name in names if name in self.files), "")

    def ending(self, *ends: str) -> str:
        """Return the first file in the root whose name ends like that; empty if there is none."""
        return next((name for name in sorted(self.files) if name.endswith(ends) and "/" not in name), "")

    def text(self, name: str) -> str:
        """Return the text of a file of the project; empty if it is missing, too long or no ordinary file."""
        path = self.root / name
        try:
            if name not in self.files or not path.is_file() or path.stat().st_size > MAX_BYTES:
                return ""
            return path.read_text("utf-8", errors="replace")
        except OSError:
            return ""

    def holding(self, names: Sequence[str], section: str) -> str:
        """Return the first of these files that has the section; empty if none has."""
        return next((name for name in names if f"[{section}" in self.text(name)), "")

    def python_tests(self) -> list[str]:
        tests = (
            path
            for path in self.files
            if path.endswith(".py")
            and (_PYTEST.search(path) or in_test_folder(path))
            and path.rpartition("/")[2] not in ("conftest.py", "__init__.py")
        )
        return sorted(tests, key=lambda path: (path.count("/"), path))

    def existing(self, *paths: str) -> str:
        """Return the first of these paths that is a file, even in folders that tools fill; empty if none is."""
        return next((path for path in paths if (self.root / path).is_file()), "")


# -- Python --------------------------------------------------------------------------------------------------------


def _python(project: _Project) -> Iterator[ProjectCommand]:
    tests = project.python_tests()
    if tests and _uses_unittest(project, tests):
        yield ProjectCommand("test", _unittest_command(project, tests), tests[0], "unittest", for_runs=True)
    elif tests:
        known = shutil.which("pytest") is not None
        yield ProjectCommand("test", "python3 -m pytest -q", tests[0], "pytest", for_runs=known)
        yield from _in_environments(project, "test", "pytest -q", "pytest")
    sources = ("pyproject.toml", "setup.cfg", "tox.ini")
    for tool, command, names in (
        ("ruff", "ruff check .", ("ruff.toml", ".ruff.toml")),
        ("flake8", "flake8", (".flake8",)),
        ("mypy", _mypy_command(project), ("mypy.ini", ".mypy.ini")),
        ("pyright", "pyright", ("pyrightconfig.json",)),
    ):
        section = project.holding(sources, f"tool.{tool}") or project.holding(sources, tool)
        if shown_by := project.first(*names) or section:
            yield ProjectCommand("lint", command, shown_by, tool)
            yield from _in_environments(project, "lint", command, tool)


def _in_environments(project: _Project, kind: Kind, command: str, tool: str) -> Iterator[ProjectCommand]:
    """Yield the same command for the project's own environments: in a folder, or of a package manager."""
    for folder in (".venv", "venv"):
        if project.existing(f"{folder}/bin/{tool}"):
            yield ProjectCommand(kind, f"{folder}/bin/{command}", f"{folder}/bin/{tool}", tool)
    for lock, manager in (("uv.lock", "uv"), ("poetry.lock", "poetry"), ("pdm.lock", "pdm")):
        if lock in project.files:
            yield ProjectCommand(kind, f"{manager} run {command}", lock, tool)


def _unittest_command(project: _Project, tests: Sequence[str]) -> str:
    folder = tests[0].rpartition("/")[0]
    if not folder:
        return "python3 -m unittest discover"
    inside_package = (project.root / folder / "__init__.py").exists()
    return f"python3 -m unittest discover -s {shlex.quote(folder)}" + (" -t ." if inside_package else "")


def _uses_unittest(project: _Project, tests: Sequence[str]) -> bool:
    return all("unittest" in project.text(test) for test in tests[:20])


def _mypy_command(project: _Project) -> str:
    """Return the command for mypy, which needs a path if its configuration names no files."""
    try:
        own = tomllib.loads(project.text("pyproject.toml"))["tool"]["mypy"]
    except (tomllib.TOMLDecodeError, LookupError, TypeError):
        own = {}
    listed = isinstance(own, dict) and not own.keys().isdisjoint(("files", "packages", "modules"))
    listed = listed or any(re.search(r"^files\s*=", project.text(name), re.M) for name in ("mypy.ini", ".mypy.ini"))
    return "mypy" if listed else "mypy ."


# -- JavaScript ----------------------------------------------------------------------------------------------------


def _node(project: _Project) -> Iterator[ProjectCommand]:
    if "package.json" not in project.files:
        return
    scripts, manager = _table(project, "package.json", "scripts"), _node_manager(project)
    quiet = " --silent" if manager == "npm" else ""
    scripts_by_kind: tuple[tuple[Kind, Sequence[str]], ...] = (
        ("test", ("test",)),
        ("lint", ("lint", "typecheck", "type-check")),
        ("build", ("build",)),
    )
    for kind, names in scripts_by_kind:
        for name in (name for name in names if scripts.get(name)):
            run = f"{manager} {name}" if name == "test" else f"{manager} run {name}"
            yield ProjectCommand(kind, run + quiet, "package.json", f"node {name}", for_runs=True)
    if not scripts.get("lint") and (
        config := project.ending("eslint.config.js", "eslint.config.mjs", ".eslintrc.json")
    ):
        yield ProjectCommand("lint", "npx --no-install eslint .", config, "eslint")
    typed = scripts.get("typecheck") or scripts.get("type-check") or "tsc" in str(scripts.get("build", ""))
    if "tsconfig.json" in project.files and not typed:
        yield ProjectCommand("lint", "npx --no-install tsc --noEmit", "tsconfig.json", "tsc")


def _node_manager(project: _Project) -> str:
    """Return the package manager whose lock file exists, if it is installed. Otherwise npm can run the scripts too."""
    for lock, manager in (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn")):
        if lock in project.files and (shutil.which(manager) or not shutil.which("npm")):
            return manager
    return "npm"


# -- other languages -----------------------------------------------------------------------------------------------


def _cargo(project: _Project) -> Iterator[ProjectCommand]:
    if "Cargo.toml" in project.files:
        yield ProjectCommand("test", "cargo test -q", "Cargo.toml", "cargo", for_runs=True)
        yield ProjectCommand("lint", "cargo clippy -q -- -D warnings", "Cargo.toml", "clippy")
        yield ProjectCommand("build", "cargo build -q", "Cargo.toml", "cargo")


def _go(project: _Project) -> Iterator[ProjectCommand]:
    if "go.mod" in project.files:
        yield ProjectCommand("test", "go test ./...", "go.mod", "go", for_runs=True)
        yield ProjectCommand("lint", "go vet ./...", "go.mod", "go")
        yield ProjectCommand("build", "go build ./...", "go.mod", "go")


def _jvm(project: _Project) -> Iterator[ProjectCommand]:
    if "pom.xml" in project.files:
        program, for_runs = ("./mvnw", True) if "mvnw" in project.files else ("mvn", _installed("mvn"))
        yield ProjectCommand("test", f"{program} -q test", "pom.xml", "maven", for_runs=for_runs)
        yield ProjectCommand("build", f"{program} -q package -DskipTests", "pom.xml", "maven")
    if script := project.first("build.gradle", "build.gradle.kts"):
        program, for_runs = ("./gradlew", True) if "gradlew" in project.files else ("gradle", _installed("gradle"))
        yield ProjectCommand("test", f"{program} -q test", script, "gradle", for_runs=for_runs)
        yield ProjectCommand("build", f"{program} -q assemble", script, "gradle")


def _dotnet(project: _Project) -> Iterator[ProjectCommand]:
    if shown_by := project.ending(".sln", ".slnx", ".csproj", ".fsproj"):
        installed = _installed("dotnet")
        yield ProjectCommand("test", "dotnet test --nologo -v q", shown_by, "dotnet", for_runs=installed)
        yield ProjectCommand("build", "dotnet build --nologo -v q", shown_by, "dotnet")


def _php(project: _Project) -> Iterator[ProjectCommand]:
    scripts = _table(project, "composer.json", "scripts")
    kinds: tuple[tuple[Kind, str], ...] = (("test", "test"), ("lint", "lint"))
    for kind, name in kinds:
        if scripts.get(name):
            installed = _installed("composer")
            yield ProjectCommand(kind, f"composer {name}", "composer.json", f"composer {name}", for_runs=installed)
    if not scripts.get("test") and (config := project.first("phpunit.xml", "phpunit.xml.dist")):
        installed = bool(project.existing("vendor/bin/phpunit"))
        yield ProjectCommand("test", "vendor/bin/phpunit", config, "phpunit", for_runs=installed)


def _ruby(project: _Project) -> Iterator[ProjectCommand]:
    start = "bundle exec " if "Gemfile" in project.files else ""
    specs = next((name for name in sorted(project.files) if name.endswith("_spec.rb")), "")
    if specs:
        installed = _installed("bundle" if start else "rspec")
        yield ProjectCommand("test", f"{start}rspec", project.first(".rspec") or specs, "rspec", for_runs=installed)
    if ".rubocop.yml" in project.files:
        yield ProjectCommand("lint", f"{start}rubocop", ".rubocop.yml", "rubocop")


def _make(project: _Project) -> Iterator[ProjectCommand]:
    for name in ("Makefile", "makefile", "GNUmakefile"):
        text = project.text(name)
        kinds: tuple[Kind, ...] = ("test", "lint", "build")
        for kind in kinds:
            if re.search(rf"^{kind}\s*:(?!=)", text, re.MULTILINE):
                yield ProjectCommand(kind, f"make -s {kind}", name, f"make {kind}", for_runs=True, wraps=True)


def _environments(project: _Project) -> Iterator[ProjectCommand]:
    """Yield programs that make environments and run the tests in each. They are slow, and often need the network."""
    if "tox.ini" in project.files or project.holding(("pyproject.toml",), "tool.tox"):
        yield ProjectCommand("test", "tox -q", project.first("tox.ini", "pyproject.toml"), "tox", wraps=True)
    if "noxfile.py" in project.files:
        yield ProjectCommand("test", "nox", "noxfile.py", "nox", wraps=True)


def _installed(program: str) -> bool:
    return shutil.which(program) is not None


def _table(project: _Project, name: str, key: str) -> Mapping[str, Any]:
    try:
        table = json.loads(project.text(name) or "{}").get(key)
    except (ValueError, AttributeError):
        return {}
    return table if isinstance(table, dict) else {}

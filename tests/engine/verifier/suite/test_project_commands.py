"""Which commands test, lint and build a project, as its files show them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot.engine.verifier.suite.project_commands import project_checks, project_commands
from surefoot.project.folder import list_files

Found = list[tuple[str, str]]
UNITTEST = "import unittest\n"


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Found]:
    """The kinds and commands that are found in a folder with these files, if these programs are installed."""

    def look(files: dict[str, str], *installed: str) -> Found:
        monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}" if name in installed else None)
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return [(found.kind, found.command) for found in project_commands(tmp_path, list_files(tmp_path))]

    return look


PACKAGE = json.dumps({"scripts": {"test": "vitest run", "lint": "eslint .", "build": "vite build", "evil; rm": "x"}})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"test_a.py": UNITTEST}, [("test", "python3 -m unittest discover")]),
        ({"tests/test_a.py": UNITTEST}, [("test", "python3 -m unittest discover -s tests")]),
        ({"a b/tests/test_a.py": UNITTEST}, [("test", "python3 -m unittest discover -s 'a b/tests'")]),
        (
            {"tests/test_a.py": "def test(): pass\n", "pyproject.toml": "[tool.ruff]\n[tool.mypy]\nfiles=['src']\n"},
            [("test", "python3 -m pytest -q"), ("lint", "ruff check ."), ("lint", "mypy")],
        ),
        (
            {"tests/test_a.py": "", "uv.lock": "", ".venv/bin/pytest": "", "setup.cfg": "[mypy]\n"},
            [
                ("test", "python3 -m pytest -q"),
                ("test", ".venv/bin/pytest -q"),
                ("test", "uv run pytest -q"),
                ("lint", "mypy ."),
                ("lint", "uv run mypy ."),
            ],
        ),
        (
            {"package.json": PACKAGE},
            [("test", "npm test --silent"), ("lint", "npm run lint --silent"), ("build", "npm run build --silent")],
        ),
        (
            {"package.json": "{}", "tsconfig.json": "{}", "eslint.config.js": ""},
            [("lint", "npx --no-install eslint ."), ("lint", "npx --no-install tsc --noEmit")],
        ),
        (
            {"Cargo.toml": ""},
            [("test", "cargo test -q"), ("lint", "cargo clippy -q -- -D warnings"), ("build", "cargo build -q")],
        ),
        ({"go.mod": ""}, [("test", "go test ./..."), ("lint", "go vet ./..."), ("build", "go build ./...")]),
        ({"pom.xml": "", "mvnw": ""}, [("test", "./mvnw -q test"), ("build", "./mvnw -q package -DskipTests")]),
        ({"build.gradle.kts": ""}, [("test", "gradle -q test"), ("build", "gradle -q assemble")]),
        ({"App.sln": ""}, [("test", "dotnet test --nologo -v q"), ("build", "dotnet build --nologo -v q")]),
        (
            {"composer.json": '{"scripts": {"test": "phpunit", "lint": "phpcs"}}'},
            [("test", "composer test"), ("lint", "composer lint")],
        ),
        ({"spec/a_spec.rb": "", "Gemfile": ""}, [("test", "bundle exec rspec")]),
        (
            {"Makefile": "test: all\n\tx\nbuild:=no\nlint:\n\ty\n"},
            [("test", "make -s test"), ("lint", "make -s lint")],
        ),
        ({"tox.ini": "", "noxfile.py": ""}, [("test", "tox -q"), ("test", "nox")]),
        ({"package.json": "[]", "composer.json": "{"}, []),
    ],
)
def test_commands_are_found_by_the_files_that_show_them(
    found: Callable[..., Found], files: dict[str, str], expected: Found
) -> None:
    assert found(files, "npm") == expected


def test_the_package_manager_is_that_of_the_lock_file_if_it_is_installed(found: Callable[..., Found]) -> None:
    files = {"package.json": PACKAGE, "pnpm-lock.yaml": ""}
    assert found(files, "npm", "pnpm")[0] == ("test", "pnpm test")
    assert found(files, "npm")[0] == ("test", "npm test --silent")
    assert found(files)[0] == ("test", "pnpm test")


def test_a_run_compares_tests_only_with_commands_that_can_be_there(found: Callable[..., Found], tmp_path: Path) -> None:
    found({"tests/test_a.py": "", "pom.xml": "", "tox.ini": "", "Makefile": "test:\n"})
    files = list_files(tmp_path)
    assert [check.command for check in project_checks(tmp_path, files)] == ["make -s test"]
    found({}, "mvn")
    assert [check.command for check in project_checks(tmp_path, files)] == ["mvn -q test"]
    found({}, "mvn", "pytest")
    assert [check.command for check in project_checks(tmp_path, files)] == ["python3 -m pytest -q"]

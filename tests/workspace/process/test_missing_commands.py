"""Finding the command of a check that no shell could start, and only that."""

from pathlib import Path

import pytest

from surefoot.workspace.process.missing_commands import NOT_FOUND, MissingCommand, find_missing, named_by_shell


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a few files, and a PATH with two programs."""
    programs, root = tmp_path / "bin", tmp_path / "work"
    for file in (programs / "pytest", programs / "make", root / "build.sh", root / "node_modules/.bin/eslint"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    for file in (programs / "zz-notes", root / "plain.sh", root / "app.py", root / "sub/plain.sh"):
        file.parent.mkdir(exist_ok=True)
        file.write_text("x")
    monkeypatch.setenv("PATH", str(programs))
    # The folder of Surefoot's Python is on the PATH of commands too.
    monkeypatch.setattr("sys.executable", str(programs / "python"))
    return root


@pytest.mark.parametrize(
    ("line", "name", "instead"),
    [
        ("pytset -q", "pytset", "pytest"),
        ("CI=1 X=2 pytset", "pytset", "pytest"),
        ("cd sub && pytset -q", "pytset", "pytest"),
        ("(cd sub; pytset)", "pytset", "pytest"),
        ("set -e\nexport A=1\npytset", "pytset", "pytest"),
        ("pytset | tee log", "pytset", "pytest"),
        ("echo x | mkae", "mkae", "make"),
        ("! mkae", "mkae", "make"),
        ("timeout 60 env A=1 pytset", "pytset", "pytest"),
        ("> log pytset", "pytset", "pytest"),
        ("{ mkae; }", "mkae", "make"),
        ("zz-notes", "zz-notes", ""),
        ("build.sh --fast", "build.sh", "./build.sh"),
        ("plain.sh", "plain.sh", "sh plain.sh"),
        ("app.py", "app.py", "python3 app.py"),
        ("eslint .", "eslint", "node_modules/.bin/eslint"),
        ("zzzzzzzz", "zzzzzzzz", ""),
        ("'two words'", "two words", ""),
    ],
)
def test_a_name_that_is_no_command_is_found_with_what_was_meant(
    project: Path, line: str, name: str, instead: str
) -> None:
    found = find_missing(line, project)
    assert found is not None
    assert (found.name, found.problem) == (name, NOT_FOUND)
    assert found.instead == instead


@pytest.mark.parametrize(
    "line",
    [
        "pytest -q",
        "A=1 make test",
        "./later.sh",
        "sub/later.sh --all",
        "~/bin/later",
        "./build.sh",
        "[ -f x ]",
        "test -f x && zzz",
        "[[ -f x ]] && zzz",
        "cd sub",
        "A=1",
        "exit 1",
        "source env.sh && zzz",
        ". ./env.sh; zzz",
        "command -v zzz && zzz --version",
        "type zzz; zzz",
        "zzz || make",
        "if zzz; then make; fi",
        "for x in a b; do zzz $x; done",
        "f() { make; }; f",
        "function f { make; }; f",
        "PATH=tools:$PATH zzz",
        "export PATH=tools; zzz",
        "$RUNNER -q",
        "${RUNNER:-pytest} -q",
        "$(cat runner) -q",
        "`cat runner`",
        "make install && zzz",
        "env -i zzz",
        "((1 + 1))",
        "*.sh",
        "'not closed",
        "cd $DIR && ./plain.sh",
        "# zzz\nmake",
        "",
    ],
)
def test_everything_else_is_left_to_the_shell(project: Path, line: str) -> None:
    assert find_missing(line, project) is None


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("./plain.sh", MissingCommand("./plain.sh", "may not be executed", "chmod +x ./plain.sh")),
        ("cd sub && ./plain.sh", MissingCommand("./plain.sh", "may not be executed", "chmod +x ./plain.sh")),
        ("./sub -x", MissingCommand("./sub", "is a folder")),
    ],
)
def test_a_file_that_may_not_be_executed_is_found(project: Path, line: str, found: MissingCommand) -> None:
    assert find_missing(line, project) == found


@pytest.mark.parametrize(
    ("output", "name"),
    [
        ("/bin/bash: line 1: pytset: command not found", "pytset"),
        ("installing\n/bin/sh: 1: pytset: not found\n", "pytset"),
        ("./run.sh: line 3: pytset: command not found", ""),
        ("/bin/bash: line 1: ./build.sh: No such file or directory", ""),
        ("", ""),
    ],
)
def test_the_shell_of_a_check_says_what_it_did_not_find(project: Path, output: str, name: str) -> None:
    found = named_by_shell(output, project)
    assert (found.name if found else "") == name

"""The map of a repository: what it shows, and in which order."""

import os
from pathlib import Path

import pytest

from surefoot.project.code.ranking import code_words
from surefoot.project.code.repo_map import MAX_CHARS, repo_map
from surefoot.project.code.symbols import symbols
from surefoot.prompting.context import read_text
from surefoot.tools.fs.fileio import reader

PYTHON = '''
import os


class Parser(Base):
    """Parse."""

    @property
    def size(self): ...

    async def parse(self, text, *, strict=True, **options):
        return text


def helper(a, b=1, *rest):
    return a
'''


def test_symbols_of_python_have_signatures_and_ranges() -> None:
    found = [(s.name, s.line, s.end, s.text, s.depth) for s in symbols("a.py", PYTHON)]
    assert found == [
        ("Parser", 5, 12, "class Parser(Base)", 0),
        ("size", 8, 9, "def size(self)", 1),
        ("parse", 11, 12, "async def parse(self, text, *, strict, **options)", 1),
        ("helper", 15, 16, "def helper(a, b, *rest)", 0),
    ]


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.py", "def broken(:\nclass Also\n", ["broken", "Also"]),
        ("a.ts", "export async function load(x) {\n}\nexport class A {}\nconst f = (x) => x\n", ["load", "A", "f"]),
        ("a.go", "package a\n\nfunc (s *Server) Serve(x int) error {\n}\ntype Server struct {\n", ["Serve", "Server"]),
        ("a.rs", "pub fn run() {}\nimpl Engine {\n    pub(crate) async fn go(&self) {}\n", ["run", "Engine", "go"]),
        ("A.java", "public final class A {\n    public int size(int x) {\n", ["A", "size"]),
        ("a.c", "static int add(int a, int b)\n{\n}\nstruct point {\n", ["add", "point"]),
        ("a.rb", "class A\n  def self.make(x)\n  end\nend\n", ["A", "make"]),
        ("a.sh", "build() {\n}\nfunction clean() {\n}\n", ["build", "clean"]),
        ("a.unknown", "def x(): ...", []),
    ],
)  # fmt: skip
def test_symbols_of_other_languages(path: str, text: str, names: list[str]) -> None:
    assert [symbol.name for symbol in symbols(path, text)] == names


@pytest.mark.req("X10")
def test_files_that_have_to_do_with_the_task_come_first() -> None:
    texts = {f"pkg/module{n}.py": f"import os\n\ndef function{n}(): ...\n" for n in range(60)}
    texts["pkg/retry.py"] = "def back_off(attempt): ...\n"
    texts["tests/test_retry.py"] = "from pkg.retry import back_off\n"
    texts["README.md"] = "back_off"
    shown = repo_map(sorted(texts), "Make back_off wait longer.", texts.get)
    first, second = shown.index("pkg/retry.py (1 lines"), shown.index("tests/test_retry.py (1 lines")
    assert first < second < shown.index("pkg/module")
    assert "1-1 def back_off(attempt)" in shown
    assert "- pkg/ (61 files)" in shown


@pytest.mark.req("X10")
def test_the_map_fits_its_budget() -> None:
    many = {f"pkg{n % 300}/sub/module_{n}.py": "def f(): ...\n" * 50 for n in range(3_000)}
    assert len(repo_map(sorted(many), "anything", many.get)) <= MAX_CHARS


@pytest.mark.req("X10")
def test_the_code_that_the_task_names_is_quoted() -> None:
    text = "\n".join(f"def other_{n}():\n    return {n}\n" for n in range(1000)) + "\ndef back_off(a):\n    return a\n"
    shown = repo_map(["pkg/retry.py"], "Make back_off wait longer.", {"pkg/retry.py": text}.get)
    assert "# pkg/retry.py, lines 3001 to 3002 of 3002\n```\ndef back_off(a):\n    return a" in shown
    assert "other_" not in shown


def test_tests_of_a_name_are_listed_with_their_methods() -> None:
    test = "class BackOffTests(T):\n    def test_a(self): ...\n\n\nclass Others(T):\n    def test_b(self): ...\n"
    shown = repo_map(["tests/test_retry.py"], "Fix back_off.", {"tests/test_retry.py": test}.get)
    assert "1-2 class BackOffTests(T)" in shown
    assert "def test_a(self)" in shown
    assert "test_b" not in shown


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("Give windowed_complete a step", {"windowed_complete"}),
        ("Make more_itertools.first([]) return None", {"more_itertools", "first"}),
        ("Let `load` close its file, as NumericRange does", {"load", "NumericRange"}),
        ("给 more.py 的 ilen 函数增加参数 limit", {"ilen", "limit"}),
        ("Make the first line shorter", set()),
    ],
)
def test_names_of_code_in_a_task(task: str, names: set[str]) -> None:
    assert code_words(task) == names


@pytest.mark.req("X10")
def test_a_file_that_the_task_names_comes_first_with_its_outline() -> None:
    texts = {f"pkg/m{n}.py": f"def back_off_{n}(): ...\n" for n in range(30)}
    texts["pkg/plain.py"] = "class Plain:\n    def inner(self): ...\n\n\ndef other(): ...\n"
    shown = repo_map(sorted(texts), "Tidy up pkg/plain.py, like back_off_3.", texts.get)
    assert shown.index("pkg/plain.py (5 lines") < shown.index("pkg/m3.py (1 lines")
    assert "1-2 class Plain" in shown
    assert "def inner" not in shown


@pytest.mark.req("X10")
@pytest.mark.parametrize(
    ("suffix", "line"),
    [
        ("py", "from pkg.engine import x"),
        ("js", "import x from './engine.js';"),
        ("ts", "const x = require('./engine');"),
        ("go", 'import (\n\t"example.org/pkg/engine"\n)'),
        ("rs", "use crate::engine;"),
        ("c", '#include "engine.h"'),
        ("java", "import pkg.engine;"),
        ("rb", "require_relative 'engine'"),
    ],
)
def test_what_a_relevant_file_imports_comes_before_the_rest(suffix: str, line: str) -> None:
    texts = {f"pkg/aa{n}.{suffix}": "x\n" for n in range(60)}
    texts[f"pkg/start.{suffix}"] = f"{line}\nback_off\n"
    texts[f"pkg/engine.{suffix}"] = "y\n"
    shown = repo_map(sorted(texts), "Make back_off wait longer.", texts.get)
    assert shown.index(f"pkg/start.{suffix} (") < shown.index(f"pkg/engine.{suffix} (") < shown.index("pkg/aa")


@pytest.mark.req("X10")
def test_reading_for_the_map_keeps_to_the_rules_for_prompts(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.py").write_text("outside")
    root = tmp_path / "root"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg/a.py").write_text("inside")
    (root / "b.bin").write_bytes(b"\0")
    (root / "link").symlink_to(tmp_path / "out")
    (root / "c.py").symlink_to(tmp_path / "out/a.py")
    (root / ".ssh").mkdir()
    (root / "long.py").write_text("x" * 1_000)
    os.mkfifo(root / "pipe")
    read = reader(root, 100)
    paths = ("pkg/a.py", "b.bin", "link/a.py", "c.py", "pipe", "long.py", "missing.py", "pkg")
    assert [read(path) for path in paths] == ["inside", *[None] * 7]
    assert [read_text(root, path, 100) for path in paths] == ["inside", *[None] * 7]


def test_a_script_without_functions_has_no_symbols() -> None:
    assert symbols("run.sh", "#!/bin/sh\necho 1\n") == []


@pytest.mark.req("X10")
def test_lines_that_use_a_named_definition_are_listed() -> None:
    texts = {
        "pkg/utils.py": "def imt(token):\n    return token\n",
        "pkg/sql.py": "from pkg import utils\n\n\nx = utils.imt(1)\nlimit = 2\n",
        "tests/test_utils.py": "from pkg.utils import imt\n",
    }
    shown = repo_map(sorted(texts), "Rename `imt` to is_match.", texts.get)
    assert "# Uses of imt outside tests and the code above\npkg/sql.py:4: x = utils.imt(1)\n" in shown
    assert "limit" not in shown


@pytest.mark.req("X10")
def test_few_files_without_a_name_of_the_task_are_listed() -> None:
    texts = {f"pkg/m{n}.py": f"def other_{n}(): ...\n" for n in range(60)} | {"pkg/a.py": "def back_off(): ...\n"}
    shown = repo_map(sorted(texts), "Make `back_off` wait longer.", texts.get)
    assert "pkg/a.py (1 lines" in shown
    assert shown.count("1 definition)") == 9


@pytest.mark.req("X10")
def test_nothing_is_quoted_of_a_file_that_is_shown_elsewhere() -> None:
    texts = {"pkg/a.py": "def back_off():\n    return 1\n", "pkg/b.py": "def back_off():\n    return 2\n"}
    shown = repo_map(sorted(texts), "Fix `back_off` in pkg/a.py.", texts.get, shown_elsewhere={"pkg/a.py"})
    assert "return 2" in shown
    assert "return 1" not in shown
    assert "pkg/a.py (2 lines" in shown


@pytest.mark.req("X10")
def test_a_task_that_asks_for_tests_shows_those_of_what_it_names() -> None:
    tests = (
        "class OthersTests(T):\n    def test_a(self): ...\n\n\n"
        "class BackOffDeeplyTests(T):\n    def test_deep(self): ...\n\n\n"
        "class BackOffTests(T):\n    def test_waits(self): ...\n\n\n"
        "def test_back_off_jitter():\n    ...\n"
    )
    texts = {"pkg/retry.py": "def back_off(attempt): ...\n", "tests/test_retry.py": tests}
    shown = repo_map(sorted(texts), "Let `back_off` wait longer, and add tests.", texts.get)
    quotes = shown[shown.index("```") :]
    assert "class BackOffTests(T)" in quotes
    assert "class BackOffDeeplyTests(T)" in quotes
    assert "OthersTests" not in quotes
    assert "test_back_off_jitter" not in quotes, "two are enough to see the style"
    without = repo_map(sorted(texts), "Let `back_off` wait longer.", texts.get)
    assert "class BackOffTests(T):\n" not in without[without.index("```") :]


@pytest.mark.req("X10")
def test_all_definitions_of_the_most_relevant_file_are_listed() -> None:
    main = "class Queue:\n    def add(self): ...\n\n    def clear(self): ...\n\n    def on_idle(self): ...\n"
    texts = {"queue.py": main, "zzz/longer_name.py": "x = on_idle\n\n\ndef on_idle_too(): ...\n\n\ndef far(): ...\n"}
    shown = repo_map(sorted(texts), "Resolve `on_idle` when the last task is removed.", texts.get)
    assert "def clear(self)" in shown
    assert "far" not in shown

"""The map of a repository: what it shows, and in which order."""

import pytest

from surefoot.prompting.project.repo_map import MAX_CHARS, beginning, code_words, repo_map
from surefoot.prompting.project.symbols import symbols

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


def test_of_a_long_document_the_beginning_is_quoted() -> None:
    assert "lines 1 to 25 of 100" in beginning("CHANGES", "x\n" * 100)


def test_a_script_without_functions_has_no_symbols() -> None:
    assert symbols("run.sh", "#!/bin/sh\necho 1\n") == []

"""Definitions in twelve languages, with the extra `map` and without it."""

import importlib.util

import pytest

from surefoot.project.code import symbols as module
from surefoot.project.code import syntax_trees
from surefoot.project.code.symbols import symbols

SAMPLES = {
    "a.py": ("class A:\n    def run(self):\n        pass\n\n\ndef load(x):\n    pass\n", ["A", "run", "load"]),
    "a.js": (
        "class A {\n}\nexport function load(x) {\n}\nconst run = (x) => {\n  return x;\n};\n",
        ["A", "load", "run"],
    ),
    "a.ts": ("export interface P {\n}\nexport class A {\n}\ntype T = string;\nenum E { X }\n", ["P", "A", "T", "E"]),
    "a.go": ("package a\n\nfunc (s *S) Serve(x int) error {\n}\n\ntype S struct {\n}\n", ["Serve", "S"]),
    "a.rs": ("pub fn run() {\n}\n\nstruct S;\n\nimpl S {\n    pub fn go(&self) {\n    }\n}\n", ["run", "S", "S", "go"]),
    "A.java": ("public final class A {\n    public int size(int x) {\n        return 1;\n    }\n}\n", ["A", "size"]),
    "a.c": ("static int add(int a, int b)\n{\n  return 1;\n}\n\nstruct point {\n  int x;\n};\n", ["add", "point"]),
    "a.cpp": ("class A {\n};\n\nint A::g(int x) const {\n  return 1;\n}\n", ["A", "g"]),
    "a.rb": ("module M\n  class A\n    def self.make(x)\n    end\n  end\nend\n", ["M", "A", "make"]),
    "a.cs": ("public class A {\n    public int Size(int x) {\n        return 1;\n    }\n}\n", ["A", "Size"]),
    "a.php": ("<?php\nfunction run($x) {\n}\nclass A {\n    public function go() {\n    }\n}\n", ["run", "A", "go"]),
    "a.sh": ("build() {\n  echo\n}\nfunction clean() {\n  echo\n}\n", ["build", "clean"]),
}
EXTRA = importlib.util.find_spec("tree_sitter") is not None


@pytest.fixture(params=["with", "without"])
def extra(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param == "with" and not EXTRA:
        pytest.skip("the extra map is not installed")
    module._symbols.cache_clear()
    if request.param == "without":
        monkeypatch.setattr(syntax_trees, "_query", lambda suffix: None)
    return bool(request.param == "with")


@pytest.mark.req("X10")
@pytest.mark.parametrize("path", SAMPLES)
def test_names_are_found_with_and_without_the_extra(path: str, extra: bool) -> None:
    text, names = SAMPLES[path]
    found = symbols(path, text)
    assert [symbol.name.rpartition("::")[2] for symbol in found] == names
    assert all(1 <= symbol.line <= symbol.end <= text.count("\n") + 1 for symbol in found)
    first = text.split("\n")[found[0].line - 1]
    assert found[0].name in first


@pytest.mark.req("X10")
@pytest.mark.skipif(not EXTRA, reason="the extra map is not installed")
def test_syntax_trees_know_ends_depths_and_local_functions() -> None:
    text = "class A {\n  run(x) {\n    const inner = () => 1;\n    return inner;\n  }\n}\n"
    text += "\n// class No {}\nvar s = 'class Not {';\n"
    found = [(s.name, s.line, s.end, s.depth) for s in symbols("a.js", text)]
    assert found == [("A", 1, 6, 0), ("run", 2, 5, 1)]


@pytest.mark.req("X10")
@pytest.mark.skipif(not EXTRA, reason="the extra map is not installed")
@pytest.mark.parametrize("text", ["(" * 60_000, "class A " * 3_000, "\0\0 \ud800", "{[" * 9_000 + "x"])
def test_hostile_sources_are_scanned_by_line(text: str) -> None:
    """Of unclosed brackets a parser would take minutes."""
    assert isinstance(symbols("a.rs", text), list)
    assert syntax_trees.definitions("rs", "(" * 60_000) is None


@pytest.mark.parametrize("path", SAMPLES)
def test_a_file_that_defines_nothing_has_no_symbols(path: str, extra: bool) -> None:
    assert symbols(path, "x\n") == []

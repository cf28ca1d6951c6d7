"""The code that the output of failing checks points at is shown before the first look."""

import pytest

from support.kit import Bench
from support.talk import submit
from surefoot.project.code.failing import MAX_CHARS, code_of_failures
from surefoot.project.code.repo_map import repo_map

SOURCE = "import os\n\n\ndef shorten(text, width):\n    return text[:width - 1]\n\n\ndef other():\n    return 1\n"
TEST = """\
from pkg.text import shorten


class TestShorten:
    def test_fine(self):
        assert shorten("a", 2) == "a"

    def test_width(self):
        assert shorten("abc", 2) == "ab"
"""
FILES = [("pkg/text.py", SOURCE), ("tests/test_text.py", TEST)]
OUTPUTS = {
    "pytest": "FAILED tests/test_text.py::TestShorten::test_width\n  tests/test_text.py:9: assert 'a' == 'ab'",
    "only its id": "FAILED tests/test_text.py::TestShorten::test_width - assert 'a' == 'ab'",
    "a traceback": 'Traceback (most recent call last):\n  File "/w/tests/test_text.py", line 9, in test_width\n',
    "only the file's name": "test_text.py:9: AssertionError",
    "an address": "at test (file:///somewhere/work/tests/test_text.py:9:14)",
    "from another folder": "  ./tests/test_text.py(9): error",
}


@pytest.mark.req("X10")
@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS.keys())
def test_the_failing_test_and_what_it_calls_are_quoted(output: str) -> None:
    shown = code_of_failures(output, FILES)
    assert "# tests/test_text.py, lines 8 to 9 of 9\n```\n    def test_width(self):\n" in shown
    assert "# pkg/text.py, lines 4 to 5 of 9\n```\ndef shorten(text, width):\n" in shown
    assert "test_fine" not in shown
    assert "other" not in shown


@pytest.mark.req("X10")
def test_frames_outside_tests_are_quoted_and_others_code_is_not() -> None:
    output = 'File "/usr/lib/python3/json/decoder.py", line 3\nFile "/w/pkg/text.py", line 9, in other\nKeyError: 1'
    shown = code_of_failures(output, [*FILES, ("json/other.py", "x\n" * 9)])
    assert "# pkg/text.py, lines 8 to 9 of 9" in shown
    assert "json" not in shown


@pytest.mark.req("X10")
def test_a_test_that_is_in_no_definition_is_quoted_with_the_lines_around_it() -> None:
    test = "".join(f"// line {n}\n" for n in range(1, 30)) + "test('it', () => {\n  check(half(4));\n});\n"
    half = "export function half(n) {\n  return n / 3;\n}\n"
    types = "export function half(n: number): number;\n"
    files = [("lib/half.js", half), ("lib/half.d.ts", types), ("tests/half.test.js", test)]
    shown = code_of_failures("at TestContext (file:///w/tests/half.test.js:31:3)", files)
    assert (
        "# tests/half.test.js, lines 21 to 33 of 32\n" in shown
        or "# tests/half.test.js, lines 23 to 32 of 32\n" in shown
    )
    assert "return n / 3" in shown
    assert "number" not in shown


def test_what_is_shown_already_is_not_quoted_again() -> None:
    shown = code_of_failures(OUTPUTS["pytest"], FILES, {"pkg/text.py": [(0, 9)]})
    assert "pkg/text.py, lines" not in shown
    assert "tests/test_text.py, lines" in shown


@pytest.mark.parametrize(
    "output", ["", "3 errors", "other.py:9: error", "tests/test_text.py:900: error", "tests/test_text.py::test_gone"]
)
def test_output_without_a_place_in_the_project_quotes_nothing(output: str) -> None:
    assert code_of_failures(output, FILES) == ""


def test_what_a_test_is_named_after_comes_before_the_tools_that_it_uses() -> None:
    tools = "".join(f"def use_tool_{n}():\n    return {n}\n\n\n" for n in range(40))
    calls = "".join(f"    use_tool_{n}()\n" for n in range(40))
    test = f"def test_half():\n{calls}    result = half(4)\n    assert result == 2\n"
    files = [("pkg/tools.py", tools), ("pkg/half.py", "def half(n):\n    return n / 3\n"), ("tests/test_half.py", test)]
    shown = code_of_failures("tests/test_half.py:43: AssertionError", files)
    assert "def half(n):" in shown
    assert shown.count("def use_tool_") == 3


def test_a_name_with_many_definitions_and_a_long_class_are_not_quoted() -> None:
    many = [(f"pkg/m{n}.py", f"def shorten(text, width):\n    return {n}\n") for n in range(3)]
    assert "pkg/m" not in code_of_failures(OUTPUTS["pytest"], [*many, FILES[1]])
    long = "class shorten:\n" + "".join(f"    field_{n} = {n}\n" for n in range(400))
    assert "field_" not in code_of_failures(OUTPUTS["pytest"], [("pkg/long.py", long), FILES[1]])


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pkg/a.go", "func (t *Text) shorten(width int) string {\n\treturn t.s[:width-1]\n}\n"),
        ("pkg/a.js", "export class Text {\n  shorten(width) {\n    return this.s.slice(0, width - 1);\n  }\n}\n"),
        ("pkg/A.java", "class A {\n    public static String shorten(String s, int w) {\n        return s;\n    }\n}\n"),
        ("pkg/a.rs", "pub fn shorten(s: &str, w: usize) -> &str {\n    &s[..w - 1]\n}\n"),
        ("pkg/a.rb", "class Text\n  def self.shorten(width)\n    1\n  end\nend\n"),
    ],
)
def test_definitions_are_found_in_other_languages(path: str, text: str) -> None:
    others = [(f"pkg/other_{n}.py", f"x = shorten_{n}(1)\n") for n in range(100)]
    assert f"# {path}, lines " in code_of_failures(OUTPUTS["pytest"], [*others, (path, text), FILES[1]])


def test_of_a_long_definition_the_lines_around_the_failing_one_are_quoted() -> None:
    body = "def run():\n" + "".join(f"    step_{n}()\n" for n in range(2_000))
    shown = code_of_failures("pkg/run.py:1002: ValueError", [("pkg/run.py", body)])
    assert "step_1000()" in shown
    assert "step_900()" in shown
    assert "step_1()" not in shown
    assert len(shown) < MAX_CHARS


def test_all_quotes_together_have_a_limit() -> None:
    text = "".join(f"def f_{n}():\n" + "".join(f"    x_{n}_{m} = {m}\n" for m in range(200)) for n in range(20))
    output = "\n".join(f"pkg/a.py:{1 + 201 * n}: error" for n in range(20))
    assert len(code_of_failures(output, [("pkg/a.py", text)])) < MAX_CHARS * 1.1


@pytest.mark.req("X10", "X11")
async def test_a_conversation_begins_with_the_code_of_the_failing_check(bench: Bench) -> None:
    bench.write(text__py="def shorten(text):\n    return text[:1]\n")
    bench.write(test_text__py="from text import shorten\n\nassert shorten('abc') == 'ab', 'too short'\n")
    mend = ("write_file", {"path": "text.py", "content": "def shorten(text):\n    return text[:2]\n"})
    script = [[*submit(), mend, ("finish_step", {"summary": "done"})]]
    state = await bench.talk("Make it pass.", script, checks=["python3 test_text.py"])
    first = bench.talker.requests[0].messages[1].content
    assert "# The code that the failing checks point at\n" in first
    assert "def shorten(text):\n    return text[:1]" in first
    assert state.outcome is not None
    assert len(bench.talker.requests) == 1


def test_the_map_quotes_it_after_what_the_task_names() -> None:
    texts = dict(FILES)
    shown = repo_map(sorted(texts), "Fix `shorten`.", texts.get, failing=OUTPUTS["pytest"])
    assert shown.count("def shorten(text, width):") == 1
    assert shown.index("def shorten(text, width):") < shown.index("def test_width(self):")

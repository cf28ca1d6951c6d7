"""Search and replace: tolerant of spacing, strict about ambiguous matches."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.calling import Run
from surefoot.errors import PathProtected, ToolError
from surefoot.tools import ToolContext, call
from surefoot.tools.builtin.edit import edit_file
from surefoot.tools.text.matching import Edit, apply_edits, read_blocks

CODE = """import os


class Counter:
    def add(self, n):
        if n > 0:
            self.total += n
        return self.total

    def clear(self):
        self.total = 0
"""


def block(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"


class TestEditFile:
    async def test_blocks_are_applied_and_the_diff_is_returned(self, root: Path, run: Run) -> None:
        (root / "a.py").write_text(CODE)
        edits = block("        self.total = 0", "        self.total = 1") + block("import os\n", "import sys\n")
        result = await run(edit_file, path="a.py", edits=edits)
        assert (root / "a.py").read_text() == CODE.replace("import os", "import sys").replace("= 0", "= 1")
        assert result.summary.startswith("edited a.py (+2 -2 lines), from line 1:")
        assert "+import sys" in result.summary

    async def test_a_failing_edit_leaves_the_file_unchanged(self, root: Path, run: Run) -> None:
        (root / "a.py").write_text(CODE)
        with pytest.raises(ToolError, match="edit 2 of 2"):
            await run(edit_file, path="a.py", edits=block("import os", "import re") + block("not there at all", "x"))
        assert (root / "a.py").read_text() == CODE

    async def test_search_and_replace_as_arguments(self, root: Path, run: Run) -> None:
        (root / "a.py").write_text(CODE)
        await run(edit_file, path="a.py", search="n > 0", replace="n >= 0")
        assert "if n >= 0:" in (root / "a.py").read_text()

    async def test_a_missing_file_suggests_write_file(self, run: Run) -> None:
        with pytest.raises(ToolError) as caught:
            await run(edit_file, path="a.py", search="a", replace="b")
        assert "write_file" in caught.value.remedy

    async def test_without_a_valid_block_the_format_is_shown(self, root: Path, run: Run) -> None:
        (root / "a.py").write_text(CODE)
        for edits in ("", "please change it", "<<<<<<< SEARCH\nimport os\n=======\nimport re\n"):
            with pytest.raises(ToolError) as caught:
                await run(edit_file, path="a.py", edits=edits)
            assert ">>>>>>> REPLACE" in caught.value.remedy

    async def test_line_endings_byte_order_mark_and_missing_newline_are_preserved(self, root: Path, run: Run) -> None:
        (root / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree")
        await run(edit_file, path="a", edits=block("one\ntwo", "1\n2\n2b") + block("three", "3"))
        assert (root / "a").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n2b\r\n3"

    async def test_mixed_line_endings_of_other_lines_are_preserved(self, root: Path, run: Run) -> None:
        (root / "a").write_bytes(b"one\r\ntwo\nthree\r\nfour\r\n")
        await run(edit_file, path="a", search="four", replace="4\n5")
        assert (root / "a").read_bytes() == b"one\r\ntwo\nthree\r\n4\r\n5\r\n"

    async def test_files_that_are_binary_or_not_utf8_are_refused(self, root: Path, run: Run) -> None:
        for content, reason in [("caf\u00e9 one".encode("latin-1"), "not UTF-8"), (b"one\0", "binary")]:
            (root / "a").write_bytes(content)
            with pytest.raises(ToolError, match=reason):
                await run(edit_file, path="a", search="one", replace="two")
            assert (root / "a").read_bytes() == content

    async def test_protected_files_are_refused(self, root: Path) -> None:
        (root / "test_a.py").write_text("assert 1 == 2")
        with pytest.raises(PathProtected):
            await call(
                edit_file,
                ToolContext(root=root, not_writable=frozenset({"test_a.py"})),
                {"path": "test_a.py", "search": "1 == 2", "replace": "1 == 1"},
            )
        assert (root / "test_a.py").read_text() == "assert 1 == 2"


class TestMatching:
    def test_whole_lines_are_preferred_to_substrings(self) -> None:
        assert apply_edits("f", "max = 1\nx = 1\n", [Edit("x = 1", "x = 2")]).text == "max = 1\nx = 2\n"

    def test_indentation_is_adapted_to_the_file(self) -> None:
        search = "if n > 0:\n    self.total += n"
        replace = "if n > 0:\n    self.total += n\n    self.count += 1\nelse:\n    pass"
        assert apply_edits("f", CODE, [Edit(search, replace)]).text == CODE.replace(
            "            self.total += n\n",
            "            self.total += n\n            self.count += 1\n        else:\n            pass\n",
        )

    def test_spaces_in_the_search_match_tabs_in_the_file(self) -> None:
        text = "def f():\n\tif x:\n\t\treturn 1\n"
        edit = Edit("    if x:\n        return 1", "    if x:\n        for y in x:\n            return y")
        assert apply_edits("f", text, [edit]).text == "def f():\n\tif x:\n\t\tfor y in x:\n\t\t\treturn y\n"

    def test_unindented_spaces_in_the_search_match_tabs_in_the_file(self) -> None:
        text = "def f():\n\tif x:\n\t\treturn 1\n"
        edit = Edit("if x:\n    return 1", "if x:\n    for y in x:\n        return y")
        assert apply_edits("f", text, [edit]).text == "def f():\n\tif x:\n\t\tfor y in x:\n\t\t\treturn y\n"

    def test_excess_indentation_is_removed(self) -> None:
        edit = Edit("        x = 1\n        y = 2", "        x = 1\n    z = 3\n        y = 2")
        assert apply_edits("f", "    x =  1\n    y = 2\n", [edit]).text == "    x = 1\nz = 3\n    y = 2\n"

    def test_trailing_spaces_and_surrounding_blank_lines_are_ignored(self) -> None:
        assert apply_edits("f", "a\nb  \nc\n", [Edit("\na\nb\n\n", "\nA\nB\n\n")]).text == "A\nB\nc\n"

    def test_line_numbers_copied_from_a_listing_are_removed(self) -> None:
        edit = Edit(
            "10|     def clear(self):\n11|         self.total = 0",
            "10|     def clear(self):\n11|         self.total = 5",
        )
        assert apply_edits("f", CODE, [edit]).text == CODE.replace("= 0", "= 5")

    def test_an_empty_replacement_deletes_lines(self) -> None:
        assert apply_edits("f", "a\nb\nc\n", [Edit("b", "")]).text == "a\nc\n"
        assert apply_edits("f", "a\r\nb", [Edit("b", "")]).text == "a"
        assert apply_edits("f", "a\n", [Edit("a\n", "")]).text == ""

    def test_ambiguous_matches_are_shown(self) -> None:
        with pytest.raises(ToolError, match="found in 2 places") as caught:
            apply_edits("f.py", CODE, [Edit("self.total ", "x ")])
        assert "7|             self.total += n" in str(caught.value)
        assert "11|         self.total = 0" in str(caught.value)

    def test_matches_that_differ_in_spacing_are_ambiguous(self) -> None:
        with pytest.raises(ToolError, match="found in 2 places"):
            apply_edits("f", "if a:\n    x = 1\nif b:\n      x = 1\n", [Edit("  x  =  1", "y")])

    def test_without_a_match_the_nearest_lines_are_shown(self) -> None:
        with pytest.raises(ToolError, match="nearest lines are") as caught:
            apply_edits("f.py", CODE, [Edit("    def add(self, number):\n        if n > 1:", "x")])
        assert "5|     def add(self, n):" in str(caught.value)
        assert caught.value.remedy

    def test_without_a_match_or_a_similar_line(self) -> None:
        with pytest.raises(ToolError, match="nor anything like it"):
            apply_edits("f.py", CODE, [Edit("zzzzzzzzzzzzzzzzzzzzzz", "x")])

    def test_an_edit_that_was_already_applied_is_recognised(self) -> None:
        with pytest.raises(ToolError, match="made already"):
            apply_edits("f", "a\nnew line\n", [Edit("old line", "new line")])

    @pytest.mark.parametrize("edit", [Edit("", "x"), Edit("  \n ", "x"), Edit("import os", "import os")])
    def test_edits_without_effect_are_refused(self, edit: Edit) -> None:
        with pytest.raises(ToolError):
            apply_edits("f", CODE, [edit])


class TestBlocks:
    def test_text_around_blocks_is_ignored(self) -> None:
        text = "Here it is:\n```python\n" + block("a", "b") + "```\nand\n<<<<<<<\nc\n=======\n>>>>>>>\n"
        assert read_blocks(text) == [Edit("a", "b"), Edit("c", "")]

    def test_shorter_markers_are_accepted(self) -> None:
        assert read_blocks("<<<<< ORIGINAL\na\n=====\nb\n>>>>> UPDATED") == [Edit("a", "b")]


words = st.sampled_from(["x = 1", "return x", "if x:", "for y in x:", "pass", "# ünï", "print('a  b')"])
indented = st.builds(
    lambda depth, word, n: "    " * depth + f"{word}  # {n}", st.integers(0, 3), words, st.integers(0, 999)
)
documents = st.lists(indented, min_size=1, max_size=25, unique_by=str.strip)


def test_a_line_that_differs_in_spacing_is_preferred_to_ambiguous_substrings() -> None:
    text = "x = 14\nx = 15\n    x = 1\n"
    assert apply_edits("f", text, [Edit("x = 1", "x = 2")]).text == "x = 14\nx = 15\n    x = 2\n"


@settings(max_examples=300, deadline=None)
@given(lines=documents, data=st.data())
def test_a_search_with_different_spacing_replaces_only_its_lines(lines: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first + 1, len(lines)))
    shift = data.draw(st.integers(0, 6))
    ending = data.draw(st.sampled_from(["\n", "\r\n"]))
    final = data.draw(st.sampled_from(["", ending]))
    wanted = lines[first:last]
    common = min(len(line) - len(line.lstrip()) for line in wanted)
    search = "\n".join(" " * shift + line[common:] + " " * data.draw(st.integers(0, 2)) for line in wanted)
    replace = "\n".join(" " * shift + line[common:] + " changed" for line in wanted)
    text = ending.join(lines) + final
    expected = ending.join([*lines[:first], *(line + " changed" for line in wanted), *lines[last:]]) + final
    assert apply_edits("f", text, [Edit(search, replace)]).text == expected


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=200), search=st.text(max_size=30), replace=st.text(max_size=30))
def test_any_edit_is_applied_or_refused_with_a_remedy(text: str, search: str, replace: str) -> None:
    remedy = "not needed"
    try:
        apply_edits("f", text, [Edit(search, replace)])
    except ToolError as error:
        remedy = error.remedy
    assert remedy


@pytest.mark.req("X11")
@pytest.mark.parametrize(
    ("text", "search", "replace", "expected", "way"),
    [
        ("    x = 1\n    y = 2\n", "x = 1\ny = 2", "x = 3\ny = 2", "    x = 3\n    y = 2\n", "apart from spacing"),
        (
            "a = 1\nb = 2\n",
            "12| a = 1\n13| b = 2",
            "12| a = 3\n13| b = 2",
            "a = 3\nb = 2\n",
            "the line numbers",
        ),
        ('say("hi")\n', r"say(\"hi\")", r"say(\"ho\")", 'say("ho")\n', "without the escapes"),
        ("a\nb\n", r"a\nb", r"c\nd", "c\nd\n", "without the escapes"),
        # Escapes that the search does not have are meant as they are.
        ('f("x")\n', r"f(\"x\")", r"f(\"x\n\")", 'f("x\\n")\n', "without the escapes"),
        ("it’s – so\nold\n", "it's - so\nold", "it's - so\nnew", "it’s – so\nnew\n", "quotation marks and dashes"),
    ],
)
def test_formatting_is_forgiven_and_the_way_is_said(
    text: str, search: str, replace: str, expected: str, way: str
) -> None:
    changed, ways = apply_edits("f", text, [Edit(search, replace)])
    assert changed == expected
    assert [way in way_shown for way_shown in ways] == [True]


async def test_the_result_of_an_edit_says_how_it_matched(run: Run, root: Path) -> None:
    (root / "a.py").write_text("if x:\n    y = 1\n")
    result = await run(edit_file, path="a.py", search="y  =  1", replace="y = 2")
    assert "(matched apart from spacing)" in result.summary
    result = await run(edit_file, path="a.py", search="y = 2", replace="y = 3")
    assert "matched" not in result.summary


def test_several_matches_list_their_lines_and_a_missing_one_what_differs() -> None:
    with pytest.raises(ToolError, match="in 6 places of f, at the lines 1, 2, 3, 4, 5, 6:"):
        apply_edits("f", "x\n" * 6, [Edit("x", "y")])
    with pytest.raises(ToolError, match=r"1\| a = 1\n2\| b = 2[\s\S]*nowhere in the file: b = 3"):
        apply_edits("f", "a = 1\nb = 2\n", [Edit("a = 1\nb = 3", "x")])

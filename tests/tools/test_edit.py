"""Search and replace: forgiving about spacing, never about which place is meant."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.errors import PathProtected, ToolError
from surefoot.tools import ToolContext, call
from surefoot.tools.edit import edit_file
from surefoot.tools.matching import Edit, apply_edits, read_blocks
from tools.calling import Run

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


class TestTheTool:
    async def test_blocks_and_what_it_says(self, root: Path, run: Run) -> None:
        (root / "a.py").write_text(CODE)
        edits = block("        self.total = 0", "        self.total = 1") + block("import os\n", "import sys\n")
        result = await run(edit_file, path="a.py", edits=edits)
        assert (root / "a.py").read_text() == CODE.replace("import os", "import sys").replace("= 0", "= 1")
        assert result.summary.startswith("edited a.py (+2 -2 lines), from line 1:")
        assert "+import sys" in result.summary

    async def test_all_or_nothing(self, root: Path, run: Run) -> None:
        (root / "a.py").write_text(CODE)
        with pytest.raises(ToolError, match="edit 2 of 2"):
            await run(edit_file, path="a.py", edits=block("import os", "import re") + block("not there at all", "x"))
        assert (root / "a.py").read_text() == CODE

    async def test_search_and_replace_as_arguments(self, root: Path, run: Run) -> None:
        (root / "a.py").write_text(CODE)
        await run(edit_file, path="a.py", search="n > 0", replace="n >= 0")
        assert "if n >= 0:" in (root / "a.py").read_text()

    async def test_a_missing_file_points_to_write_file(self, run: Run) -> None:
        with pytest.raises(ToolError) as caught:
            await run(edit_file, path="a.py", search="a", replace="b")
        assert "write_file" in caught.value.remedy

    async def test_no_edit_at_all_shows_the_form(self, root: Path, run: Run) -> None:
        (root / "a.py").write_text(CODE)
        for edits in ("", "please change it", "<<<<<<< SEARCH\nimport os\n=======\nimport re\n"):
            with pytest.raises(ToolError) as caught:
                await run(edit_file, path="a.py", edits=edits)
            assert ">>>>>>> REPLACE" in caught.value.remedy

    async def test_line_endings_mark_and_missing_newline_stay(self, root: Path, run: Run) -> None:
        (root / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree")
        await run(edit_file, path="a", edits=block("one\ntwo", "1\n2\n2b") + block("three", "3"))
        assert (root / "a").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n2b\r\n3"

    async def test_mixed_line_endings_of_other_lines_stay(self, root: Path, run: Run) -> None:
        (root / "a").write_bytes(b"one\r\ntwo\nthree\r\nfour\r\n")
        await run(edit_file, path="a", search="four", replace="4\n5")
        assert (root / "a").read_bytes() == b"one\r\ntwo\nthree\r\n4\r\n5\r\n"

    async def test_what_is_not_utf8_or_binary_is_not_edited(self, root: Path, run: Run) -> None:
        for content, reason in [("caf\u00e9 one".encode("latin-1"), "not UTF-8"), (b"one\0", "binary")]:
            (root / "a").write_bytes(content)
            with pytest.raises(ToolError, match=reason):
                await run(edit_file, path="a", search="one", replace="two")
            assert (root / "a").read_bytes() == content

    async def test_protected_files(self, root: Path) -> None:
        (root / "test_a.py").write_text("assert 1 == 2")
        with pytest.raises(PathProtected):
            await call(
                edit_file,
                ToolContext(root=root, protected=frozenset({"test_a.py"})),
                {"path": "test_a.py", "search": "1 == 2", "replace": "1 == 1"},
            )
        assert (root / "test_a.py").read_text() == "assert 1 == 2"


class TestFinding:
    def test_whole_lines_come_before_parts_of_lines(self) -> None:
        assert apply_edits("f", "max = 1\nx = 1\n", [Edit("x = 1", "x = 2")]) == "max = 1\nx = 2\n"

    def test_wrong_indentation_is_mended_to_the_files_own(self) -> None:
        search = "if n > 0:\n    self.total += n"
        replace = "if n > 0:\n    self.total += n\n    self.count += 1\nelse:\n    pass"
        assert apply_edits("f", CODE, [Edit(search, replace)]) == CODE.replace(
            "            self.total += n\n",
            "            self.total += n\n            self.count += 1\n        else:\n            pass\n",
        )

    def test_spaces_asked_for_where_the_file_has_tabs(self) -> None:
        text = "def f():\n\tif x:\n\t\treturn 1\n"
        edit = Edit("    if x:\n        return 1", "    if x:\n        for y in x:\n            return y")
        assert apply_edits("f", text, [edit]) == "def f():\n\tif x:\n\t\tfor y in x:\n\t\t\treturn y\n"

    def test_spaces_and_no_indentation_where_the_file_has_tabs(self) -> None:
        text = "def f():\n\tif x:\n\t\treturn 1\n"
        edit = Edit("if x:\n    return 1", "if x:\n    for y in x:\n        return y")
        assert apply_edits("f", text, [edit]) == "def f():\n\tif x:\n\t\tfor y in x:\n\t\t\treturn y\n"

    def test_too_much_indentation_is_taken_back(self) -> None:
        edit = Edit("        x = 1\n        y = 2", "        x = 1\n    z = 3\n        y = 2")
        assert apply_edits("f", "    x =  1\n    y = 2\n", [edit]) == "    x = 1\nz = 3\n    y = 2\n"

    def test_trailing_spaces_and_blank_lines_around_do_not_matter(self) -> None:
        assert apply_edits("f", "a\nb  \nc\n", [Edit("\na\nb\n\n", "\nA\nB\n\n")]) == "A\nB\nc\n"

    def test_line_numbers_copied_from_a_listing_are_dropped(self) -> None:
        edit = Edit(
            "10|     def clear(self):\n11|         self.total = 0",
            "10|     def clear(self):\n11|         self.total = 5",
        )
        assert apply_edits("f", CODE, [edit]) == CODE.replace("= 0", "= 5")

    def test_deleting_lines(self) -> None:
        assert apply_edits("f", "a\nb\nc\n", [Edit("b", "")]) == "a\nc\n"
        assert apply_edits("f", "a\r\nb", [Edit("b", "")]) == "a"
        assert apply_edits("f", "a\n", [Edit("a\n", "")]) == ""

    def test_several_places_are_shown_and_none_is_changed(self) -> None:
        with pytest.raises(ToolError, match="found in 2 places") as caught:
            apply_edits("f.py", CODE, [Edit("self.total ", "x ")])
        assert "7|             self.total += n" in str(caught.value)
        assert "11|         self.total = 0" in str(caught.value)

    def test_several_places_also_when_only_the_spacing_differs(self) -> None:
        with pytest.raises(ToolError, match="found in 2 places"):
            apply_edits("f", "if a:\n    x = 1\nif b:\n      x = 1\n", [Edit("  x  =  1", "y")])

    def test_nearest_lines_are_shown_with_their_numbers(self) -> None:
        with pytest.raises(ToolError, match="nearest lines are") as caught:
            apply_edits("f.py", CODE, [Edit("    def add(self, number):\n        if n > 1:", "x")])
        assert "5|     def add(self, n):" in str(caught.value)
        assert caught.value.remedy

    def test_nothing_like_it(self) -> None:
        with pytest.raises(ToolError, match="nor anything like it"):
            apply_edits("f.py", CODE, [Edit("zzzzzzzzzzzzzzzzzzzzzz", "x")])

    def test_an_edit_that_was_made_already_says_so(self) -> None:
        with pytest.raises(ToolError, match="made already"):
            apply_edits("f", "a\nnew line\n", [Edit("old line", "new line")])

    @pytest.mark.parametrize("edit", [Edit("", "x"), Edit("  \n ", "x"), Edit("import os", "import os")])
    def test_edits_that_say_nothing(self, edit: Edit) -> None:
        with pytest.raises(ToolError):
            apply_edits("f", CODE, [edit])


class TestBlocks:
    def test_what_stands_around_them_is_passed_over(self) -> None:
        text = "Here it is:\n```python\n" + block("a", "b") + "```\nand\n<<<<<<<\nc\n=======\n>>>>>>>\n"
        assert read_blocks(text) == [Edit("a", "b"), Edit("c", "")]

    def test_looser_markers(self) -> None:
        assert read_blocks("<<<<< ORIGINAL\na\n=====\nb\n>>>>> UPDATED") == [Edit("a", "b")]


words = st.sampled_from(["x = 1", "return x", "if x:", "for y in x:", "pass", "# ünï", "print('a  b')"])
indented = st.builds(
    lambda depth, word, n: "    " * depth + f"{word}  # {n}", st.integers(0, 3), words, st.integers(0, 999)
)
documents = st.lists(indented, min_size=1, max_size=25, unique_by=str.strip)


def test_a_whole_line_is_preferred_to_parts_of_others() -> None:
    text = "x = 14\nx = 15\n    x = 1\n"
    assert apply_edits("f", text, [Edit("x = 1", "x = 2")]) == "x = 14\nx = 15\n    x = 2\n"


@settings(max_examples=300, deadline=None)
@given(lines=documents, data=st.data())
def test_a_search_with_other_spacing_finds_its_lines_and_leaves_the_others(
    lines: list[str], data: st.DataObject
) -> None:
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
    assert apply_edits("f", text, [Edit(search, replace)]) == expected


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=200), search=st.text(max_size=30), replace=st.text(max_size=30))
def test_any_text_is_either_edited_or_refused_with_a_remedy(text: str, search: str, replace: str) -> None:
    remedy = "not needed"
    try:
        apply_edits("f", text, [Edit(search, replace)])
    except ToolError as error:
        remedy = error.remedy
    assert remedy

"""No code of the documentation is forgotten: every block is run by a test, or listed with the reason why it is not."""

import re

import pytest

from snippets.table import BEFORE, CANNOT_RUN, CODES, ONLY_PARSED, OTHER_TESTS, SCENES, TYPED
from support.pages import CHINESE, DOCS, PAGES, ROOT, blocks, page_at, snippets

CODE = ("sh", "bash", "console", "python", "toml", "json", "yaml")
SHELL = ("sh", "bash")
NAMES = [
    page.relative_to(DOCS if DOCS in page.parents else ROOT).as_posix() for page in PAGES if page not in CHINESE
]  # the Chinese pages have the same blocks, which test_docs_pages.py compares


def run_elsewhere(name: str) -> set[str]:
    return {language for pages in OTHER_TESTS.values() for language in pages.get(name, "").split()}


@pytest.mark.parametrize("name", NAMES)
def test_every_block_of_a_page_is_in_a_table(name: str) -> None:
    for block in blocks(page_at(name), *CODE):
        in_shell = block.language in SHELL and (name in SCENES or _only_listed(block.lines))
        known = in_shell or block.language in run_elsewhere(name) or f"{name} {block.language}" in ONLY_PARSED
        # Settings are read on every page, by test_docs_pages.py.
        assert known or block.language == "toml", (
            f"no test runs the {block.language} block under {block.title!r}: add the page to tests/snippets/table.py"
        )


def _only_listed(lines: list[str]) -> bool:
    return all(any(re.match(pattern, line) for pattern in CANNOT_RUN) for line in lines)


def test_the_tables_name_what_exists() -> None:
    for test, pages in OTHER_TESTS.items():
        text = (ROOT / test).read_text("utf-8")
        for name, languages in pages.items():
            stem = name.rpartition("/")[2].removesuffix(".md")
            assert stem in text or stem.upper() in text, f"{test} does not name {name}"
            assert all(snippets(name, language) for language in languages.split()), f"{name} has no such block"
    for key in ONLY_PARSED:
        name, _, language = key.partition(" ")
        assert snippets(name, language), f"{key}: there is no such block"


def test_every_row_of_the_tables_is_used() -> None:
    found = [block for name in SCENES for block in blocks(page_at(name), *SHELL)]
    lines = [line for block in found for line in block.lines]
    for table in (CANNOT_RUN, BEFORE, TYPED, CODES):
        for pattern in table:
            assert any(re.match(pattern, line) for line in lines), f"no line begins with {pattern}"
    for name, scenes in SCENES.items():
        titles = {block.title for block in blocks(page_at(name), *SHELL)}
        assert scenes.keys() - {""} <= titles, f"{name} has no such title with a shell block"

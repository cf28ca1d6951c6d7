"""The pages of the documentation, and the code blocks in them."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CHINESE = (ROOT / "README.zh.md", *sorted((DOCS / "zh").rglob("*.md")))
PAGES = (ROOT / "README.md", ROOT / "README.zh.md", *sorted(DOCS.rglob("*.md")))


class Block(NamedTuple):
    language: str
    text: str
    title: str
    """The heading above it."""

    @property
    def lines(self) -> list[str]:
        """Commands, with continued lines joined."""
        return [line for line in self.text.replace("\\\n", " ").splitlines() if line.strip()]


def page_at(name: str) -> Path:
    """`README.md`, or a path below docs/."""
    return ROOT / name if name.startswith("README") else DOCS / name


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, *languages: str) -> list[Block]:
    """Every code block of a page, or those in one of these languages."""
    found, title = [], ""
    for language, text, heading in re.findall(
        r"^```(\w*)\n(.*?)^```$|^#+ ([^\n]*)$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    ):
        if heading:
            title = heading
        elif not languages or language in languages:
            found.append(Block(language, text, title))
    return found


def snippets(name: str, *languages: str) -> list[str]:
    """The texts of the blocks of a page below docs/, or of the README."""
    return [block.text for block in blocks(page_at(name), *languages)]


def rows(text: str) -> list[list[str]]:
    """The cells of all rows of tables, headers included."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]

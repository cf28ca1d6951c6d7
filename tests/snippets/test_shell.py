"""The shell blocks of the documentation work: each line is run in a project in which the page's story has happened."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TypeVar

import pytest

from snippets.stories import Shelf, newest_run, question_of
from snippets.table import ANYWHERE, BEFORE, CANNOT_RUN, CODES, SCENES, TYPED, Scene
from support.pages import Block, blocks, page_at
from support.reader import Reader

T = TypeVar("T")


def matching(table: dict[str, T], line: str) -> T | None:
    return next((value for pattern, value in table.items() if re.match(pattern, line)), None)


class Following:
    """Follows a page: blocks in their order, each in its scene."""

    def __init__(self, name: str, shelf: Shelf) -> None:
        self.name, self.shelf = name, shelf
        self.reader: Reader | None = None
        self.stack = ExitStack()

    def block(self, block: Block) -> None:
        scenes = SCENES[self.name]
        scene = scenes.get(block.title) or scenes.get(ANYWHERE)
        first = self.reader is None or block.title in scenes
        for line in block.lines:
            if matching(CANNOT_RUN, line):
                continue
            assert scene, f"{self.name} has no story for {block.title!r}"
            before = matching(BEFORE, line)
            if first or scene.each or before:
                self._begin(scene._replace(story=before) if before else scene)
            first = False
            self._line(line)
        self.stack.close()

    def _begin(self, scene: Scene) -> None:
        self.stack.close()
        surefoot = self.stack.enter_context(self.shelf.take(scene.story))
        surefoot.workspace = surefoot.home / scene.folder
        self.reader = Reader(surefoot)

    def _line(self, line: str) -> None:
        assert self.reader
        reader, begin = self.reader, len(self.reader.output)
        reader.type(with_real_ids(line, reader), matching(TYPED, line))
        wanted = matching(CODES, line) or 0
        assert reader.code == wanted, f"{self.name}: {line}\nended with {reader.code}:\n{reader.output[begin:]}"


def with_real_ids(line: str, reader: Reader) -> str:
    """Ids as in the journal, and the scripted model in place of one that needs a key."""
    surefoot = reader.surefoot
    if "1115-2044" in line:
        run = newest_run(surefoot)
        if "3f2a91c0de12" in line:
            undone = re.compile(r"surefoot undo \S+ --to (\w+)")
            if not undone.search(reader.output):
                undo = surefoot("undo", run, "--yes")
                reader.output += undo.err + undo.out
            line = line.replace("3f2a91c0de12", undone.findall(reader.output)[-1])
        if re.search(r"\b3f2a", line):
            line = re.sub(r"\b3f2a\w*", question_of(surefoot), line)
        line = line.replace("1115-2044", run)
    return re.sub(r"-m openai/\S+", f"-m {surefoot.environ['SUREFOOT_MODEL']}", line)


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf(tmp_path_factory.mktemp("shelf"))


def shell_blocks(name: str) -> Iterator[Block]:
    yield from blocks(page_at(name), "sh", "bash")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SCENES))
def test_every_command_works(name: str, shelf: Shelf) -> None:
    page = Following(name, shelf)
    with page.stack:
        for block in shell_blocks(name):
            page.block(block)

"""Painting: what a terminal shows after any sequence of pictures is exactly the last one, with nothing left over."""

import io

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.text import Text

from cli.terminal import Terminal
from surefoot.cli.screen import Screen


class Painted(Screen):
    """A screen whose size the test sets, writing into a terminal that the test looks at."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        super().__init__(io.StringIO())

    def size(self) -> tuple[int, int]:
        return self.terminal.columns, self.terminal.rows

    def _write(self, text: str) -> None:
        self.terminal.feed(text)


def painted(*pictures: list[str], columns: int = 40, rows: int = 10) -> Terminal:
    terminal = Terminal(columns, rows)
    screen = Painted(terminal)
    for picture in pictures:
        screen.paint([Text(line) for line in picture])
    return terminal


picture = st.lists(st.text(st.sampled_from("ab 中文─✓"), max_size=18), min_size=1, max_size=8)


@given(st.lists(picture, min_size=1, max_size=6))
def test_the_last_picture_is_what_is_seen(pictures: list[list[str]]) -> None:
    seen = painted(*pictures).text
    while seen and not seen[-1]:
        seen.pop()
    wanted = [line.rstrip() for line in pictures[-1]]
    while wanted and not wanted[-1]:
        wanted.pop()
    assert seen == wanted


def test_only_what_changed_is_written() -> None:
    terminal = Terminal()
    screen = Painted(terminal)
    screen.paint([Text("one"), Text("two"), Text("three")])
    before = terminal.erased
    screen.paint([Text("one"), Text("TWO"), Text("three")])
    assert terminal.erased == before + 1
    assert terminal.text[:3] == ["one", "TWO", "three"]


def test_an_unchanged_picture_writes_nothing() -> None:
    terminal = Terminal()
    screen = Painted(terminal)
    written: list[str] = []
    screen.paint([Text("one", style="red")])
    screen.terminal.feed = written.append  # type: ignore[method-assign,assignment]
    screen.paint([Text("one", style="red")])
    assert written == []


def test_a_picture_leaves_what_was_above_it_alone() -> None:
    terminal = Terminal()
    terminal.feed("$ surefoot run\r\n")
    screen = Painted(terminal)
    for number in range(3):
        screen.paint([Text(f"line {i} {number}") for i in range(5 - number)])
    assert terminal.text[:4] == ["$ surefoot run", "line 0 2", "line 1 2", "line 2 2"]


def test_clearing_takes_it_all_away_and_shows_the_cursor_again() -> None:
    terminal = Terminal()
    terminal.feed("before\r\n")
    screen = Painted(terminal)
    screen.paint([Text("one"), Text("two")])
    assert "25" not in terminal.modes
    screen.clear()
    assert [line for line in terminal.text if line] == ["before"]
    assert terminal.modes == {"25"}
    screen.paint([Text("again")])
    assert [line for line in terminal.text if line] == ["before", "again"]


def test_it_never_writes_more_lines_than_fit() -> None:
    terminal = painted([f"line {i}" for i in range(30)], [f"LINE {i}" for i in range(30)], rows=6)
    assert [line for line in terminal.text if line] == [f"LINE {i}" for i in range(5)]


@settings(max_examples=60)
@given(
    st.lists(st.text(st.sampled_from("abc "), max_size=39), min_size=1, max_size=5),
    st.integers(min_value=8, max_value=60),
)
def test_after_a_resize_nothing_of_the_old_picture_is_left(lines: list[str], columns: int) -> None:
    terminal = Terminal(40, 60)
    terminal.feed("above\r\n")
    screen = Painted(terminal)
    screen.paint([Text(line.rstrip()) for line in lines])
    terminal.resize(columns, 60)
    screen.paint([Text("new"), Text("picture")])
    assert [line for line in terminal.text if line] == ["above", "new", "picture"]


def test_after_the_job_was_stopped_it_paints_below() -> None:
    terminal = Terminal()
    screen = Painted(terminal)
    screen.paint([Text("one")])
    terminal.feed("[1]+ Stopped\r\n$ fg\r\n")
    screen.forget()
    screen.paint([Text("two")])
    assert [line for line in terminal.text if line] == ["one", "[1]+ Stopped", "$ fg", "two"]

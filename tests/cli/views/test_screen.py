"""After any sequence of frames, the terminal shows exactly the last one."""

import io

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.text import Text

from support.terminal import Terminal
from surefoot.cli.views.screen import Screen


class SimulatedScreen(Screen):
    """A screen that has the size of a simulated terminal and writes to it."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        super().__init__(io.StringIO())

    def size(self) -> tuple[int, int]:
        return self.terminal.columns, self.terminal.rows

    def _write(self, text: str) -> None:
        self.terminal.feed(text)


def paint_all(*frames: list[str], columns: int = 40, rows: int = 10) -> Terminal:
    terminal = Terminal(columns, rows)
    screen = SimulatedScreen(terminal)
    for lines in frames:
        screen.paint([Text(line) for line in lines])
    return terminal


frame = st.lists(st.text(st.sampled_from("ab 中文─✓"), max_size=18), min_size=1, max_size=8)


@given(st.lists(frame, min_size=1, max_size=6))
def test_the_terminal_shows_the_last_frame(painted: list[list[str]]) -> None:
    shown = paint_all(*painted).text
    while shown and not shown[-1]:
        shown.pop()
    expected = [line.rstrip() for line in painted[-1]]
    while expected and not expected[-1]:
        expected.pop()
    assert shown == expected


def test_only_changed_lines_are_written() -> None:
    terminal = Terminal()
    screen = SimulatedScreen(terminal)
    screen.paint([Text("one"), Text("two"), Text("three")])
    before = terminal.erased
    screen.paint([Text("one"), Text("TWO"), Text("three")])
    assert terminal.erased == before + 1
    assert terminal.text[:3] == ["one", "TWO", "three"]


def test_an_unchanged_frame_writes_nothing() -> None:
    terminal = Terminal()
    screen = SimulatedScreen(terminal)
    written: list[str] = []
    screen.paint([Text("one", style="red")])
    screen.terminal.feed = written.append  # type: ignore[method-assign,assignment]
    screen.paint([Text("one", style="red")])
    assert written == []


def test_lines_above_the_frame_are_not_touched() -> None:
    terminal = Terminal()
    terminal.feed("$ surefoot run\r\n")
    screen = SimulatedScreen(terminal)
    for number in range(3):
        screen.paint([Text(f"line {i} {number}") for i in range(5 - number)])
    assert terminal.text[:4] == ["$ surefoot run", "line 0 2", "line 1 2", "line 2 2"]


def test_clear_erases_the_frame_and_shows_the_cursor() -> None:
    terminal = Terminal()
    terminal.feed("before\r\n")
    screen = SimulatedScreen(terminal)
    screen.paint([Text("one"), Text("two")])
    assert "25" not in terminal.modes
    screen.clear()
    assert [line for line in terminal.text if line] == ["before"]
    assert terminal.modes == {"25"}
    screen.paint([Text("again")])
    assert [line for line in terminal.text if line] == ["before", "again"]


def test_no_more_lines_are_written_than_fit() -> None:
    terminal = paint_all([f"line {i}" for i in range(30)], [f"LINE {i}" for i in range(30)], rows=6)
    assert [line for line in terminal.text if line] == [f"LINE {i}" for i in range(5)]


@settings(max_examples=60)
@given(
    st.lists(st.text(st.sampled_from("abc "), max_size=39), min_size=1, max_size=5),
    st.integers(min_value=8, max_value=60),
)
def test_a_resize_leaves_nothing_of_the_old_frame(lines: list[str], columns: int) -> None:
    terminal = Terminal(40, 60)
    terminal.feed("above\r\n")
    screen = SimulatedScreen(terminal)
    screen.paint([Text(line.rstrip()) for line in lines])
    terminal.resize(columns, 60)
    screen.paint([Text("new"), Text("frame")])
    assert [line for line in terminal.text if line] == ["above", "new", "frame"]


def test_after_a_job_stop_the_frame_is_painted_below() -> None:
    terminal = Terminal()
    screen = SimulatedScreen(terminal)
    screen.paint([Text("one")])
    terminal.feed("[1]+ Stopped\r\n$ fg\r\n")
    screen.forget()
    screen.paint([Text("two")])
    assert [line for line in terminal.text if line] == ["one", "[1]+ Stopped", "$ fg", "two"]

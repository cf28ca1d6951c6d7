"""Frames of the live view: every state of a run, in any size, from real events."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from support import recorded
from surefoot.cli.report.symbols import ASCII, UNICODE, Marks, marks_for
from surefoot.cli.views.follower import Follower
from surefoot.cli.views.frame import Viewport, frame
from surefoot.core.transitions import StepStatus
from surefoot.journal import events as e


def render(
    events: list[e.Event], width: int = 90, height: int = 30, tail: str = "", marks: Marks = UNICODE
) -> list[str]:
    follower = Follower()
    follower.replay(recorded.records(events))
    follower.on_text(tail)
    seconds = follower.state.active_seconds
    return [
        line.plain for line in frame(follower, marks, Viewport(width, height), isolation="bubblewrap", seconds=seconds)
    ]


def line_with(lines: list[str], part: str) -> str:
    return next(line for line in lines if part in line)


STARTED = [*recorded.phases(), *recorded.first_step()]
FAILING = [*STARTED, *recorded.second_step_fails()]


@pytest.mark.req("O9")
def test_the_head_shows_task_time_model_workspace_and_isolation() -> None:
    lines = render(recorded.phases()[:2])
    assert lines[0].startswith("surefoot  add a --json flag to report.py")
    assert lines[0].endswith("0:01")
    assert lines[1] == "qwen2.5-coder · /srv/projects/report · bubblewrap"


@pytest.mark.req("O9", "P1")
@pytest.mark.parametrize(
    ("events", "bar"),
    [
        (recorded.phases()[:1], "● Understanding ── ○ Approach ── ○ Planning ── ○ Execution ── ○ Validation"),
        (recorded.phases()[:8], "✓ Understanding ── – Approach ── ● Planning ── ○ Execution ── ○ Validation"),
        (STARTED, "✓ Understanding ── – Approach ── ✓ Planning ── ● Execution 1/3 ── ○ Validation"),
        (FAILING, "✓ Understanding ── – Approach ── ✓ Planning ── ● Execution 1/3 ── ○ Validation"),
        (
            [*FAILING, *recorded.giving_up()],
            "✓ Understanding ── – Approach ── ✓ Planning ── ✗ Execution 1/3 ── ○ Validation",
        ),
        (
            [record.event for record in recorded.whole_run()],
            "✓ Understanding ── – Approach ── ✓ Planning ── ✓ Execution 3/3 ── ✓ Validation",
        ),
        (
            [*recorded.phases(), *recorded.asking()],
            "✓ Understanding ── – Approach ── ✓ Planning ── ● Execution 0/3 ── ○ Validation",
        ),
    ],
)
def test_the_phase_bar(events: list[e.Event], bar: str) -> None:
    assert render(events)[3] == bar


def test_a_refusal_of_the_gate_is_shown_with_its_reason() -> None:
    lines = render(recorded.phases()[:10])
    assert "✗ gate: no step writes report.py" in line_with(lines, "gate")
    assert line_with(lines, "prints its result as JSON")


@pytest.mark.req("O9")
def test_steps_have_marks_and_the_running_step_shows_its_action_and_answer() -> None:
    lines = render([*STARTED, *recorded.second_step_fails()[:4]], tail='{"thought": "x"}\ndef main():\n    pass')
    assert line_with(lines, "Read the spec") == "  ✓ 1  Read the spec  3.2s"
    at = lines.index("  ● 2  Write report.py")
    assert "write_file report.py" in lines[at + 1]
    assert lines[at + 3].endswith("│ def main():")
    assert "  ○ 3  Run the tests" in lines
    assert "✗ python -m pytest -q" in line_with(lines, "checks")


def test_a_recovery_is_shown_until_the_step_succeeds() -> None:
    assert "↳ retry, adjusted (retry 1 of 3): rows are counted before the filter" in line_with(render(FAILING), "↳")
    healed = render([*FAILING, *recorded.second_step_succeeds()])
    assert not [line for line in healed if "↳" in line]
    assert line_with(healed, "Write report.py") == "  ✓ 2  Write report.py  attempt 2  16s"


def test_tokens_cached_tokens_and_cost_are_shown() -> None:
    assert render(STARTED)[-1].strip() == "3,600 prompt (2,400 cached) + 540 output tokens, $0.0144 · 3 calls"


def test_a_retried_model_call_is_shown_with_the_wait() -> None:
    lines = render([*FAILING, *recorded.second_step_succeeds()[:4]])
    assert "429: slow down; retry in 2.0s (1 of 3)" in line_with(lines, "429")


def test_a_long_plan_is_shown_around_the_running_step() -> None:
    events: list[e.Event] = recorded.phases(40)
    for number in range(20):
        events += [e.StepStarted(step_id=f"s{number}", attempt=1), recorded.finished(f"s{number}", 1, 100)]
    events += [e.StepStarted(step_id="s20", attempt=1)]
    lines = render(events, height=16)
    assert len(lines) <= 16
    assert line_with(lines, "● 21  Polish part 20")
    assert line_with(lines, "before")
    assert line_with(lines, "more")


@settings(max_examples=150, deadline=None)
@given(
    width=st.integers(1, 200),
    height=st.integers(1, 60),
    events=st.integers(1, 60),
    tail=st.text(max_size=300),
    name=st.text(st.sampled_from("ab中文😀\u0301\x1b[31m\n\t"), min_size=1, max_size=60),
)
def test_every_frame_fits_its_viewport(width: int, height: int, events: int, tail: str, name: str) -> None:
    """The width counts terminal cells: wide characters and control sequences in texts must not break it."""
    run = [record.event for record in recorded.whole_run()][:events]
    run[0] = recorded.created(text=f"x{name}")
    lines = render(run, width, height, tail)
    assert len(lines) <= height
    for line in lines:
        assert cell_len(line) <= max(width - 1, 1)
        assert not [character for character in line if character < " " or "\x7f" <= character <= "\x9f"]


def test_markup_in_a_task_is_not_interpreted() -> None:
    lines = render([recorded.created(text="[red]danger[/red] [/nothing]")])
    assert "[red]danger[/red] [/nothing]" in lines[0]


def test_a_terminal_without_unicode_gets_ascii() -> None:
    lines = render(STARTED, marks=ASCII)
    assert lines[3] == "+ Understanding -- - Approach -- + Planning -- * Execution 1/3 -- . Validation"
    assert all(line.isascii() for line in lines)
    assert marks_for("ascii") is ASCII
    assert marks_for("latin-1") is ASCII
    assert marks_for("utf-8") is UNICODE
    assert marks_for(None) is ASCII


def test_every_step_status_has_a_mark_of_one_character() -> None:
    for marks in (ASCII, UNICODE):
        assert all(len(marks.of_step(status)[0]) == 1 for status in StepStatus)


def test_replaying_a_record_twice_changes_nothing() -> None:
    follower = Follower()
    run = recorded.whole_run()
    follower.replay(run)
    tokens = follower.state.tokens
    follower.replay(run)
    assert follower.state.tokens == tokens

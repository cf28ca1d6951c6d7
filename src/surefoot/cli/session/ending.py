"""Prints the result when a run ends, waits or is interrupted, and chooses the exit code.

Errors are not handled here: they are exceptions, which `app.report_error` prints.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from surefoot.cli.report.stdout import print_lines, stdout_marks
from surefoot.cli.report.summary import plan_lines, summary
from surefoot.cli.session.watching import choose_watcher
from surefoot.cli.views.error_line import INTERRUPTED, stop_with
from surefoot.cli.views.jsonl import JsonLines, outcome_object
from surefoot.cli.views.watcher import Watcher
from surefoot.core.outcome import EXIT_CODES, Verdict
from surefoot.core.transitions import Stage
from surefoot.journal.run_status import is_plan
from surefoot.journal.state import RunState
from surefoot.models.spec import to_name_again


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """How a run is shown, and how its confirmations are answered."""

    live: bool | None = None
    as_json: bool = False
    yes: bool = False
    cassette: str | None = None
    verbose: bool = False
    isolation: str = ""
    hints: bool = True
    """Whether the end names commands for the run. A demo does not, because its run is removed."""
    result: Callable[[RunState, Verdict], list[Text]] | None = None
    """Returns the lines to print instead of the summary."""


def verdict_of(state: RunState) -> Verdict:
    """The verdict on a run as it is now. After an undo, the changes that were verified are no longer there."""
    if state.outcome is None:
        return Verdict.WAITING if state.stage is Stage.WAITING else Verdict.UNVERIFIED
    gone = state.undone is not None and state.outcome.verdict is Verdict.VERIFIED
    return Verdict.UNVERIFIED if gone else state.outcome.verdict


def exit_code_of(state: RunState) -> int:
    """The exit code for a run as it is now."""
    if is_plan(state):
        # A run that was asked only for a plan succeeds when it has made one, although a plan proves nothing.
        return 0
    verdict = verdict_of(state)
    if state.outcome is not None and state.outcome.verdict is verdict:
        return state.outcome.exit_code
    return EXIT_CODES[verdict]


def report_end(state: RunState, watcher: Watcher, display: Display, *, if_zero: int = 0) -> int:
    """Print the result. Returns the exit code: that of the run, or `if_zero` if that is 0."""
    code = exit_code_of(state) or if_zero
    _print_result(state, verdict_of(state), code, watcher, display)
    return code


def report_finished(state: RunState, display: Display) -> int:
    """Print the result of a run that was already finished. Needs no model."""
    undone = " and its changes were undone" if state.undone is not None else ""
    print(f"run {state.run_id} is already finished{undone}: there is nothing to continue", file=sys.stderr)
    watcher = choose_watcher(live=None if display.as_json else False, as_json=display.as_json)
    return report_end(state, watcher, display)


def report_interruption(watcher: Watcher, display: Display) -> int:
    state = watcher.follower.state
    code = EXIT_CODES[Verdict.INTERRUPTED]
    if not state.run_id:
        stopped = INTERRUPTED._replace(message="stopped before the run began")
        return stop_with(stopped, as_json=display.as_json)
    _print_result(state, Verdict.INTERRUPTED, code, watcher, display)
    if display.result is None and display.hints:
        print(f"stopped; continue with: surefoot resume {state.run_id}{to_name_again(state.model)}", file=sys.stderr)
    return code


def _print_result(state: RunState, verdict: Verdict, code: int, watcher: Watcher, display: Display) -> None:
    if display.as_json:
        _write_json(watcher, outcome_object(state, verdict, code))
        return
    marks = stdout_marks()
    if state.plan and is_plan(state):
        print_lines(plan_lines(state.plan, marks))
        print()
    custom = display.result(state, verdict) if display.result is not None else None
    print_lines(summary(state, marks, hints=display.hints) if custom is None else custom)


def _write_json(watcher: Watcher, item: dict[str, Any]) -> None:
    assert isinstance(watcher, JsonLines)
    watcher.write(item)

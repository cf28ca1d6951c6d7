"""The review of a run's result: asks about each part, carries out the decisions, and checks what is left."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from surefoot.cli.git.dialogue import ask_about
from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.stdout import print_lines, stdout_marks
from surefoot.engine.runtime.services import Services
from surefoot.engine.verifier.recheck import AbsentModel, can_recheck, recheck
from surefoot.errors import UsageError
from surefoot.history.restoring import user_and_command
from surefoot.history.review.parts import Replacement
from surefoot.history.review.review import (
    ChangedFile,
    Decision,
    carry_out_review,
    changed_files,
    record_nothing_left,
    require_reviewable,
)
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.workspace.process.programs import never_run_from


def require_terminal(as_json: bool = False, *, run_id: str = "") -> None:
    """Raise UsageError if nobody can be asked. `run_id` is empty for `run --review`."""
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        ways = f"surefoot review {run_id or 'RUN'} --list, --undo FILE or --undo FILE:HUNK"
        raise UsageError(
            "a review needs a terminal to ask you about each part",
            remedy=f"without one: {ways}" if run_id else f"leave --review out, and review later: {ways}",
        )


async def review_run(journal: Journal, home: Path, run_id: str, undo: Sequence[str] = ()) -> RunState:
    """Review the result of a run: undo the parts in `undo`, or ask in a dialogue. Returns the new state."""
    records = list(journal.read(run_id))
    state = fold(records)
    require_reviewable(state)
    if state.task is not None:
        never_run_from(state.task.folder)  # such as a pager
    files = changed_files(records, home)
    if not files:
        click.echo("nothing that the run changed is left: there is nothing to review", err=True)
        return fold(records)
    with _interruptible():
        decisions = _undo_decisions(files, undo) if undo else ask_about(files)
    if not decisions:
        click.echo("everything is kept", err=True)
        return fold(records)
    options = "".join(f" --undo {name}" for name in undo)
    by = user_and_command(f"surefoot review {run_id}{options}")
    plan = await carry_out_review(journal, home, run_id, decisions, by=by)
    if plan is None:
        click.echo("the result is already like that", err=True)
        return fold(list(journal.read(run_id)))
    undone = sum(decision.content is None for decision in decisions.values())
    counts = [(undone, "undone"), (len(decisions) - undone, "changed")]
    counted = ", ".join(f"{fmt.count(number, 'file')} {label}" for number, label in counts if number)
    click.echo(f"{counted}; to take this back: surefoot undo {run_id} --to {plan.current[:12]}", err=True)
    await _check_again(journal, home, run_id)
    await record_nothing_left(journal, home, run_id, by)
    return fold(list(journal.read(run_id)))


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C interrupt a prompt. With the handler of asyncio it would take effect only after the prompt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def _check_again(journal: Journal, home: Path, run_id: str) -> None:
    """Run the checks on what is left, if every step of the run is done."""
    records = list(journal.read(run_id))
    if not can_recheck(fold(records)):
        click.echo("the checks do not run again, because not every step of the run is done", err=True)
        return
    click.echo("the checks run again on what is left ...", err=True)
    services = Services(journal=journal, model=AbsentModel.of(records), home=home)
    await recheck(services, run_id)


def _undo_decisions(files: Sequence[ChangedFile], undo: Sequence[str]) -> dict[str, Decision]:
    """The decisions for the values of --undo: FILE or FILE:HUNK. Raises UsageError if there is no such part."""
    by_path = {file.path: file for file in files}
    whole: set[str] = set()
    parts: dict[str, list[Replacement]] = {}
    for name in undo:
        path, colon, number = name.rpartition(":")
        if name in by_path:
            whole.add(name)
        elif colon and number.isdecimal() and path in by_path:
            parts.setdefault(path, []).extend(_hunk(by_path[path], int(number)))
        else:
            listed = fmt.join_limited([fmt.path(path) for path in by_path])
            raise UsageError(f"the run changed no file {name!r}", remedy=f"it changed: {listed}")
    decisions = {path: Decision() for path in whole}
    for path in parts.keys() - whole:
        text = by_path[path].text
        assert text is not None
        decisions[path] = Decision(text.with_(list(dict.fromkeys(parts[path]))))
    return decisions


def _hunk(file: ChangedFile, number: int) -> list[Replacement]:
    hunks = file.hunks
    if file.text is None or not 0 < number <= len(hunks):
        count = fmt.count(len(hunks), "hunk") if hunks else "no hunks: it can only be undone as a whole"
        raise UsageError(
            f"there is no hunk {number} in {fmt.path(file.path)}", remedy=f"it has {count}; see surefoot review --list"
        )
    return file.text.undone(hunks[number - 1])


def print_summary(state: RunState) -> None:
    from surefoot.cli.report.summary import summary

    print_lines(summary(state, stdout_marks()))

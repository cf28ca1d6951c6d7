"""The output of `surefoot list`: one line for each run. Imports little, because the list has to be there at once."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from surefoot.cli.report import text as fmt
from surefoot.cli.report.hiding import redactor
from surefoot.core.transitions import Verdict
from surefoot.history.status import RunStatus
from surefoot.journal.store.base import RunSummary

_FOLDER_CELLS = 32
_TASK_CELLS = 80
_LEAST_TASK = 20
_STYLES: dict[RunStatus, str] = {"running": "cyan", "plan": "green", "undone": "yellow"}


def run_object(run: RunSummary) -> dict[str, Any]:
    """The fields of a run for a program."""
    return {**asdict(run), "task": redactor().redact_known(run.task)}


def run_table(
    runs: Sequence[RunSummary],
    statuses: Sequence[RunStatus],
    costs: Sequence[str],
    continues: Mapping[str, str],
    *,
    with_folders: bool,
) -> Iterator[str]:
    """One line for each run, on a terminal in colour and with a heading. The order is that of the start of the runs.

    `costs` are what they cost, in words; `continues` has the runs that they continue.
    """
    rows = [
        (run, status, _word(run, status), fmt.folder(run.workspace) if with_folders else "")
        for run, status in zip(runs, statuses, strict=True)
    ]
    headed = sys.stdout.isatty()
    least_word = len("STATUS") if headed else 0
    widest_id = max(len(run.run_id) for run in runs)
    widest_word = max(least_word, *(len(word) for _, _, word, _ in rows))
    least_folder = len("FOLDER") if headed and with_folders else 0
    widest_folder = min(max(least_folder, *(_cells(folder) for *_, folder in rows)), _FOLDER_CELLS)
    widest_cost = max(map(len, costs))
    widest_cost = max(widest_cost, len("COST")) if headed and widest_cost else widest_cost
    colours = _colours()
    if headed:
        started = f"{'STARTED':<{len(fmt.timestamp(0.0))}}"
        titles = [f"{'RUN':<{widest_id}}", started, f"{'STATUS':<{widest_word}}"]
        titles += [f"{'COST':>{widest_cost}}"] if widest_cost else []
        titles += [f"{'FOLDER':<{widest_folder}}"] if with_folders else []
        yield _styled("  ".join([*titles, "TASK"]), "dim", colours)
    for (run, status, word, folder), cost in zip(rows, costs, strict=True):
        columns = [
            _styled(f"{run.run_id:<{widest_id}}", "bold", colours),
            _styled(fmt.timestamp(run.created_at), "dim", colours),
            _styled(f"{word:<{widest_word}}", _colour(run, status), colours),
        ]
        if widest_cost:
            columns.append(_styled(f"{cost:>{widest_cost}}", "dim", colours))
        if with_folders:
            short = fmt.shorten_start(folder, _FOLDER_CELLS)
            columns.append(_styled(short + " " * (widest_folder - _cells(short)), "dim", colours))
        widths = [widest_id, len(fmt.timestamp(0.0)), widest_word, widest_cost, widest_folder]
        earlier = f"continues {continues[run.run_id]}" if run.run_id in continues else ""
        columns.append(_task(run.task, sum(width + 2 for width in [*widths, len(earlier)] if width), headed))
        if earlier:
            columns.append(_styled(earlier, "dim", colours))
        yield "  ".join(columns).rstrip()


def _task(text: str, used: int, on_terminal: bool) -> str:
    """The task; on a terminal as much of it as the line has room for, beside the columns that are `used`."""
    task = fmt.line(text, _TASK_CELLS)
    room = max(shutil.get_terminal_size().columns - used, _LEAST_TASK)
    if not on_terminal or _cells(task) <= room:
        return task
    while _cells(task) >= room:
        task = task[:-1]
    return f"{task.rstrip()}…"


def _word(run: RunSummary, status: RunStatus) -> str:
    """The status, or what says more: the verdict on a run that has ended, and how much was undone."""
    if status == "undone" and run.undone:
        return run.undone
    return str(run.verdict) if status in ("done", "failed") and run.verdict else status


def _colour(run: RunSummary, status: RunStatus) -> str:
    by_verdict = {Verdict.VERIFIED: "green", Verdict.FAILED: "red"}.get(run.verdict or Verdict.WAITING, "yellow")
    return _STYLES.get(status, by_verdict)


def _cells(text: str) -> int:
    """The width of a text in terminal cells. Wide characters count double."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("", "dumb", None)


def _styled(text: str, style: str, colours: bool) -> str:
    if not colours:
        return text
    if style in ("bold", "dim"):
        return click.style(text, bold=style == "bold" or None, dim=style == "dim" or None)
    return click.style(text, fg=style)

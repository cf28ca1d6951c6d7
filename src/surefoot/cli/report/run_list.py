"""The output of `surefoot list`: one line for each run. Imports little, so that the list appears at once."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from surefoot.cli.report import text as fmt
from surefoot.cli.report.hiding import redactor
from surefoot.core.transitions import RunStatus, Verdict
from surefoot.journal.store.base import RunSummary

_FOLDER_CELLS = 32
_TASK_CELLS = 80
_LEAST_TASK = 10
_STYLES: dict[RunStatus, str] = {"running": "cyan", "plan": "green", "undone": "yellow"}


def run_object(run: RunSummary) -> dict[str, Any]:
    """The fields of a run for JSON."""
    return {**asdict(run), "task": redactor().redact_known(run.task)}


def run_table(
    runs: Sequence[RunSummary],
    statuses: Sequence[RunStatus],
    costs: Sequence[str],
    continues: Mapping[str, str],
    *,
    with_folders: bool,
) -> Iterator[str]:
    """One line for each run, in the given order; on a terminal in colour and with a heading.

    `costs` are the costs as text. `continues` maps a run to the run that it continues.
    """
    rows = [
        (run, status, _status_label(run, status), fmt.folder(run.workspace) if with_folders else "")
        for run, status in zip(runs, statuses, strict=True)
    ]
    headed = sys.stdout.isatty()
    least_label = len("STATUS") if headed else 0
    widest_id = max(len(run.run_id) for run in runs)
    widest_label = max(least_label, *(len(label) for _, _, label, _ in rows))
    widest_cost = max(map(len, costs))
    widest_cost = max(widest_cost, len("COST")) if headed and widest_cost else widest_cost
    widths = [widest_id, len(fmt.timestamp(0.0)), widest_label, widest_cost]
    widest_folder = _folder_cells([folder for *_, folder in rows], _used(widths), headed) if with_folders else 0
    widths.append(widest_folder)
    colours = _colours()
    if headed:
        started = f"{'STARTED':<{len(fmt.timestamp(0.0))}}"
        titles = [f"{'RUN':<{widest_id}}", started, f"{'STATUS':<{widest_label}}"]
        titles += [f"{'COST':>{widest_cost}}"] if widest_cost else []
        titles += [f"{'FOLDER':<{widest_folder}}"] if with_folders else []
        yield _styled("  ".join([*titles, "TASK"]), "dim", colours)
    for (run, status, label, folder), cost in zip(rows, costs, strict=True):
        columns = [
            _styled(f"{run.run_id:<{widest_id}}", "bold", colours),
            _styled(fmt.timestamp(run.created_at), "dim", colours),
            _styled(f"{label:<{widest_label}}", _colour(run, status), colours),
        ]
        if widest_cost:
            columns.append(_styled(f"{cost:>{widest_cost}}", "dim", colours))
        if with_folders:
            short = fmt.shorten_start(folder, widest_folder)
            columns.append(_styled(short + " " * (widest_folder - _cells(short)), "dim", colours))
        earlier = f"continues {continues[run.run_id]}" if run.run_id in continues else ""
        columns.append(_task(run.task, _used([*widths, len(earlier)]), headed))
        if earlier:
            columns.append(_styled(earlier, "dim", colours))
        yield "  ".join(columns).rstrip()


def _used(widths: Sequence[int]) -> int:
    """The cells that columns of these widths take, each with the gap after it. A column of width 0 is not shown."""
    return sum(width + 2 for width in widths if width)


def _folder_cells(folders: Sequence[str], used: int, on_terminal: bool) -> int:
    """The width of the column with the folders.

    On a terminal it takes at most half of the room beside the `used` cells: the rest is for the task.
    """
    widest = min(max(map(_cells, folders)), _FOLDER_CELLS)
    if not on_terminal:
        return widest
    half = (shutil.get_terminal_size().columns - used - 2) // 2
    return max(min(widest, half), len("FOLDER"))


def _task(text: str, used: int, on_terminal: bool) -> str:
    """The task. On a terminal it is cut to the room that the `used` cells leave."""
    task = fmt.line(text, _TASK_CELLS)
    room = max(shutil.get_terminal_size().columns - used, _LEAST_TASK)
    if not on_terminal or _cells(task) <= room:
        return task
    while _cells(task) >= room:
        task = task[:-1]
    return f"{task.rstrip()}…"


def _status_label(run: RunSummary, status: RunStatus) -> str:
    """The status; for a run that has ended its verdict, for one that was undone how much of it was."""
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

"""The output of `surefoot list`: one line for each run."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from surefoot.cli.report import text as fmt
from surefoot.core.outcome import Verdict
from surefoot.history.status import RunStatus
from surefoot.journal.store.base import RunSummary

_STYLES: dict[RunStatus, str] = {"running": "cyan", "plan": "green"}


def run_table(
    runs: Sequence[RunSummary], statuses: Sequence[RunStatus], costs: Sequence[str], *, with_folders: bool
) -> Iterator[Text]:
    """One line for each run; `costs` are what they cost, in words."""
    rows = [
        (run.run_id, fmt.timestamp(run.updated_at), _word(run, status), fmt.folder(run.workspace), run, status)
        for run, status in zip(runs, statuses, strict=True)
    ]
    widths = [max(cell_len(str(row[column])) for row in rows) for column in range(4)]
    widest_cost = max(map(len, costs))
    for (run_id, updated, word, folder, run, status), cost in zip(rows, costs, strict=True):
        style = {Verdict.VERIFIED: "green", Verdict.FAILED: "red"}.get(run.verdict or Verdict.WAITING, "yellow")
        style = "yellow" if status == "undone" else _STYLES.get(status, style)
        yield Text.assemble(
            (f"{run_id:<{widths[0]}}  ", "bold"),
            (f"{updated}  ", "dim"),
            (f"{word:<{widths[2]}}  ", style),
            (f"{cost:>{widest_cost}}  " if widest_cost else "", "dim"),
            (set_cell_size(fmt.shorten_start(folder, 32), min(widths[3], 32)) + "  " if with_folders else "", "dim"),
            fmt.line(run.task, 80),
        )


def _word(run: RunSummary, status: RunStatus) -> str:
    """The status, or what says more: the verdict on a run that has ended, and how much was undone."""
    if status == "undone" and run.undone:
        return run.undone
    return str(run.verdict) if status in ("done", "failed") and run.verdict else status

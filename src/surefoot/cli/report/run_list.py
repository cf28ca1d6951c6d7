"""The output of `surefoot list`: one line for each run."""

from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from surefoot.cli.report import text as fmt
from surefoot.core.outcome import Verdict
from surefoot.core.transitions import Stage
from surefoot.journal.store.base import RunSummary


def run_table(
    runs: Sequence[RunSummary], costs: Sequence[str], continues: Mapping[str, str], *, with_folders: bool
) -> Iterator[Text]:
    """One line for each run; `costs` are what they cost, in words; `continues` has the runs that they continue."""
    rows = [(run.run_id, fmt.timestamp(run.updated_at), _status(run), fmt.folder(run.workspace), run) for run in runs]
    widths = [max(cell_len(str(row[column])) for row in rows) for column in range(4)]
    widest_cost = max(map(len, costs))
    for (run_id, updated, status, folder, run), cost in zip(rows, costs, strict=True):
        style = {Verdict.VERIFIED: "green", Verdict.FAILED: "red"}.get(run.verdict or Verdict.WAITING, "yellow")
        style = "yellow" if run.undone else style
        yield Text.assemble(
            (f"{run_id:<{widths[0]}}  ", "bold"),
            (f"{updated}  ", "dim"),
            (f"{status:<{widths[2]}}  ", style),
            (f"{cost:>{widest_cost}}  " if widest_cost else "", "dim"),
            (set_cell_size(fmt.shorten_start(folder, 32), min(widths[3], 32)) + "  " if with_folders else "", "dim"),
            fmt.line(run.task, 80),
            (f"  continues {earlier}" if (earlier := continues.get(run_id)) else "", "dim"),
        )


def _status(run: RunSummary) -> str:
    if run.undone:
        return run.undone
    if run.stage is Stage.WAITING:
        return str(Verdict.WAITING)
    return str(run.verdict or f"in {run.stage}")

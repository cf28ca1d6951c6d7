"""`report`: one run as a file that can be kept, sent, or pasted into a pull request."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from surefoot.cli.options import all_option
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.report.write import Format


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("-o", "--output", metavar="FILE", help="Where to write it; - is standard output.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["html", "md", "json"]),
    help="The format. The default is that of the file's name, or else html.",
)
@all_option
def report(run_id: str, output: str | None, kind: str | None, all_folders: bool) -> int:
    """Write a report of a run to one file: outcome, proof, plan, changes, recoveries, costs, conversation.

    RUN is the beginning of its id; the default is the newest run of the current folder. The HTML file opens from disk
    and needs no network. Secrets are removed.
    """
    import sys

    from surefoot.cli.report.hiding import redactor
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import find_run
    from surefoot.cli.session.status import current_status
    from surefoot.config import paths
    from surefoot.journal.reducers import fold
    from surefoot.report.build import Source
    from surefoot.report.write import file_name, render, report_format

    chosen = report_format(kind or _suffix(output))
    journal = open_journal(read_only=True)
    try:
        found_run = find_run(journal, run_id, all_folders=all_folders)
        records = list(journal.read(found_run.run_id))
        state, home = fold(records), paths.state_home()
        live = current_status(state).live
        source = Source(records=records, blob=journal.get_blob, home=home, redactor=redactor(), live=live)
        data = render(source, chosen)
    finally:
        journal.close()
    if output == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return 0
    path = Path(output or file_name(found_run.run_id, chosen))
    _write(path, data)
    click.echo(f"wrote {path} ({_size(len(data))})")
    if state.outcome is None:
        click.echo("the run has not ended: the report shows it as it is now", err=True)
    return 0


def _suffix(output: str | None) -> "Format":
    match Path(output or "").suffix.lower():
        case ".md" | ".markdown":
            return "md"
        case ".json":
            return "json"
    return "html"


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise SurefootError(
            f"cannot write {path}: {error.strerror}", remedy="name another file with -o, or - for standard output"
        ) from error


def _size(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB" if size >= 1_000_000 else f"{max(size // 1_000, 1)} KB"

"""`run --worktree`: the place of the copy, and the offer to apply its changes when the run has ended."""

from pathlib import Path

import click

from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.diff import SHORT, print_diff, stat_lines
from surefoot.cli.report.stdout import print_lines
from surefoot.cli.session.runs import load_run
from surefoot.config import paths
from surefoot.history.timeline import diff_of


def worktree_path(folder: Path, run_id: str) -> Path:
    """The path of the copy of `folder` for this run.

    It ends with the folder's own name, which prompts and tests may show. It is not inside Surefoot's state, because
    commands must not see that.
    """
    return (paths.cache_home() / "worktrees" / run_id / (folder.name or "copy")).absolute()


def offer_changes(run_id: str, folder: Path) -> None:
    """Print the changes, or only their statistics if they are long, and how to apply them."""
    text, folder_text = diff_of(load_run(run_id).records, paths.state_home()), fmt.folder(folder)
    if not text:
        click.echo(f"\nno changes; {folder_text} is as it was")
        return
    click.echo()
    if text.count("\n") <= SHORT:
        print_diff(text)
    else:
        print_lines(stat_lines(text))
    click.echo(
        f"\n{folder_text} is unchanged. To apply these changes to it:\n"
        f"  surefoot apply {run_id}\n"
        f"or as a patch: surefoot diff {run_id} | git -C {folder_text} apply"
    )

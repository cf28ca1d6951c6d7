"""`run --worktree`: where the copy goes, and what is offered when the run has ended."""

from pathlib import Path


def copy_place(folder: Path, run_id: str) -> Path:
    """Under the folder's own name, which prompts and tests may show. Not with Surefoot's state: commands must not see
    that."""
    from surefoot import paths

    return (paths.cache_home() / "worktrees" / run_id / (folder.name or "copy")).absolute()


def offer_changes(run_id: str, folder: Path) -> None:
    """The changes, if they are not too long to read, and how to take them over."""
    import click

    from surefoot import paths
    from surefoot.cli.differing import SHORT, print_diff, stat_lines
    from surefoot.cli.places import open_journal
    from surefoot.cli.stdout import print_lines
    from surefoot.cli.words import folder as shown
    from surefoot.trail import diff_of

    journal = open_journal(read_only=True)
    text = diff_of(list(journal.read(run_id)), paths.state_home())
    journal.close()
    if not text:
        click.echo(f"\nnothing was changed; {shown(folder)} is as it was")
        return
    click.echo()
    if text.count("\n") <= SHORT:
        print_diff(text)
    else:
        print_lines(stat_lines(text))
    click.echo(
        f"\n{shown(folder)} is as it was. To do the same there:\n"
        f"  surefoot apply {run_id}\n"
        f"or as a patch: surefoot diff {run_id} | git -C {shown(folder)} apply"
    )

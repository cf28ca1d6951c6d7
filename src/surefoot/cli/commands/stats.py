"""`stats`: figures over many runs. It reads the journal and changes nothing."""

import click


@click.command()
@click.option("--since", metavar="TIME", help="Only runs that began since then: 24h, 7d, 4w, or a date as 2026-11-01.")
@click.option("--all", "all_folders", is_flag=True, help="The runs of all folders, not only of the current one.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object; `surefoot schema stats` describes it.")
def stats(since: str | None, all_folders: bool, as_json: bool) -> int:
    """Show figures over the runs of the current folder.

    Results by level of proof, durations, retries and recoveries, tokens and cost, slow checks, frequent failures,
    models. A run that was undone is no success. A run that cannot be read is named and left out.
    """
    from surefoot.cli.session.runs import current_folder, open_run_list
    from surefoot.history.stats.read import parse_since, read_statistics

    begin = parse_since(since) if since is not None else None
    journal = open_run_list()
    current = None if all_folders else current_folder(journal)
    found = read_statistics(
        journal,
        since=begin,
        workspaces=current.workspaces if current else None,
        folder=current.path if current else None,
    )
    journal.close()
    if as_json:
        import json

        from surefoot.cli.report.hiding import as_json as exported

        click.echo(json.dumps(exported(found)))
    else:
        from surefoot.cli.report.statistics import statistics_lines
        from surefoot.cli.report.stdout import print_lines

        print_lines(statistics_lines(found))
    for run in found.unreadable:
        click.echo(f"run {run.run_id} cannot be read and is not counted: {run.problem}", err=True)
    if current and current.other_runs:
        from surefoot.cli.report import text as fmt

        click.echo(f"{fmt.count(current.other_runs, 'run')} in other folders: surefoot stats --all", err=True)
    return 0

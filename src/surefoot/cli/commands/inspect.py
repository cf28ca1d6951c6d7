"""`list`, `show` and `stats`: all runs, everything about one run, and figures over many. They only read the journal."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from surefoot.cli.options import all_option
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.cli.report.details import Exchange
    from surefoot.cli.session.status import CurrentStatus
    from surefoot.core.transitions import RunStatus
    from surefoot.journal.events import Record
    from surefoot.journal.state import RunState
    from surefoot.journal.store.base import Reader, RunSummary


@click.command("list")
@click.option(
    "-n",
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="The number of runs to list.",
)
@click.option("--all", "all_folders", is_flag=True, help="The runs of all folders, not only of the current one.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def list_runs(limit: int, all_folders: bool, as_json: bool) -> int:
    """List the runs of the current folder, newest first.

    It is the folder around the working directory in which there were runs; runs in copies of it are among them.
    """
    from surefoot.cli.report import text as fmt
    from surefoot.cli.report.usage import usage_of
    from surefoot.cli.session.runs import continued_by, current_folder, open_run_list

    journal = open_run_list()
    current = current_folder(journal)
    runs = journal.summaries(limit, None if all_folders else current.workspaces)
    statuses = _statuses(runs, journal)
    usage = usage_of(journal, [run.run_id for run in runs])
    continues = continued_by(journal, [run.run_id for run in runs])
    journal.close()
    if as_json:
        import json

        from surefoot.cli.report.run_list import run_object

        for run, status in zip(runs, statuses, strict=True):
            current_fields = {"status": status, "continues": continues.get(run.run_id)}
            click.echo(json.dumps({**run_object(run), **current_fields, **usage[run.run_id].as_object()}))
        return 0
    if runs:
        from surefoot.cli.report.run_list import run_table

        costs = [usage[run.run_id].cost for run in runs]
        click.echo("\n".join(run_table(runs, statuses, costs, continues, with_folders=all_folders)))
    elif all_folders or not current.other_runs:
        click.echo('no runs yet; start one: surefoot run "describe the task"', err=True)
    else:
        click.echo(f"no runs in {fmt.folder(current.path)} yet", err=True)
    if current.other_runs and not all_folders:
        click.echo(f"{fmt.count(current.other_runs, 'run')} in other folders: surefoot list --all", err=True)
    return 0


def _statuses(runs: "list[RunSummary]", journal: "Reader") -> "list[RunStatus]":
    from surefoot.config import paths
    from surefoot.history.status import has_verdict, listed_statuses, live_runs

    live = live_runs({run.run_id: Path(run.workspace) for run in runs if not has_verdict(run)}, paths.state_home())
    return listed_statuses(runs, journal, live)


@click.command()
@click.option("--since", metavar="TIME", help="Only runs that began since then: 24h, 7d, 4w, or a date as 2026-11-01.")
@click.option("--all", "all_folders", is_flag=True, help="The runs of all folders, not only of the current one.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object; `surefoot schema stats` describes it.")
def stats(since: str | None, all_folders: bool, as_json: bool) -> int:
    """Show figures over the runs of the current folder.

    Results by level of proof, durations, retries and recoveries, tokens and cost, slow checks, frequent failures,
    models. A run that was undone does not count as a success. A run that cannot be read is named and left out.
    """
    from surefoot.cli.session.runs import current_folder, open_run_list
    from surefoot.history.stats.read import parse_since, read_statistics

    begin = parse_since(since) if since is not None else None
    journal = open_run_list()
    current = None if all_folders else current_folder(journal)
    statistics = read_statistics(
        journal,
        since=begin,
        workspaces=current.workspaces if current else None,
        folder=current.path if current else None,
    )
    journal.close()
    if as_json:
        import json

        from surefoot.cli.report.hiding import as_json as exported

        click.echo(json.dumps(exported(statistics)))
    else:
        from surefoot.cli.report.statistics import statistics_lines
        from surefoot.cli.report.stdout import print_lines

        print_lines(statistics_lines(statistics))
    for run in statistics.unreadable:
        click.echo(f"run {run.run_id} cannot be read and is not counted: {run.problem}", err=True)
    if current and current.other_runs:
        from surefoot.cli.report import text as fmt

        click.echo(f"{fmt.count(current.other_runs, 'run')} in other folders: surefoot stats --all", err=True)
    return 0


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("--events", is_flag=True, help="Every event, in order.")
@click.option("--answers", is_flag=True, help="The prompts and answers of the model.")
@click.option("--decisions", is_flag=True, help="Every decision inside the steps: reasoning, choice, result.")
@click.option("--proofs", is_flag=True, help="What each check result is based on, and what has changed since.")
@click.option("--diff", is_flag=True, help="The changes that the run made in the workspace.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; with the options above, one object per line.")
@click.option("--svg", "svg", metavar="FILE", help="Write the last frame of the live view to an SVG file.")
@click.option(
    "--width",
    metavar="N",
    type=click.IntRange(40, 300),
    default=100,
    show_default=True,
    help="The width of that frame in columns.",
)
@all_option
def show(
    run_id: str,
    events: bool,
    answers: bool,
    decisions: bool,
    proofs: bool,
    diff: bool,
    as_json: bool,
    svg: str | None,
    width: int,
    all_folders: bool,
) -> int:
    """Show a run: phases, plan, steps, checks, files, costs, diagnosis.

    RUN is the beginning of its id; the default is the newest run of the current folder.
    """
    if sum((events, answers, decisions, proofs, diff, svg is not None)) > 1:
        names = "--events, --answers, --decisions, --proofs, --diff and --svg"
        raise UsageError(f"{names} cannot be combined", remedy="give one of them")
    from surefoot.cli.report.details import exchanges
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import find_run
    from surefoot.journal.reducers import fold

    journal = open_journal(read_only=True)
    records = list(journal.read(find_run(journal, run_id, all_folders=all_folders).run_id))
    model_calls = list(exchanges(records, journal.get_blob)) if answers else []
    journal.close()
    state = fold(records)
    if svg is not None:
        _svg(records, Path(svg), width, as_json)
    elif events:
        _timeline(records, as_json)
    elif answers:
        _answers(model_calls, as_json)
    elif decisions:
        _decisions(records, state, as_json)
    elif proofs:
        _proofs(state, as_json)
    elif diff:
        _print_diff(state, records, as_json)
    else:
        from surefoot.cli.session.status import current_status

        current = current_status(state)
        if as_json:
            _as_json(state, current)
            return 0
        from surefoot.cli.report.details import details
        from surefoot.cli.report.stdout import print_lines, stdout_marks

        print_lines(details(state, stdout_marks(), status=current.status, by=current.words))
    return 0


def _svg(records: "list[Record]", path: Path, width: int, as_json: bool) -> None:
    import json

    from surefoot.cli.views.live import export_svg

    export_svg(records, path, width)
    click.echo(json.dumps({"wrote": str(path)}) if as_json else f"wrote {path}")


def _timeline(records: "list[Record]", as_json: bool) -> None:
    import json

    from surefoot.cli.views.jsonl import as_object

    if as_json:
        for record in records:
            click.echo(json.dumps(as_object(record)))
        return
    from surefoot.cli.report.details import timeline
    from surefoot.cli.report.stdout import print_lines

    print_lines(timeline(records))


def _answers(model_calls: "list[Exchange]", as_json: bool) -> None:
    import json

    if as_json:
        for exchange in model_calls:
            click.echo(json.dumps(exchange.as_object()))
        return
    from surefoot.cli.report.details import exchange_lines
    from surefoot.cli.report.stdout import print_lines

    print_lines(exchange_lines(model_calls))


def _decisions(records: "list[Record]", state: "RunState", as_json: bool) -> None:
    import json

    from surefoot.cli.report.decisions import decision_lines
    from surefoot.cli.report.hiding import as_json as exported
    from surefoot.cli.report.stdout import print_lines, stdout_marks
    from surefoot.history.decisions import decisions

    all_decisions = decisions(records)
    if as_json:
        for decision in all_decisions:
            click.echo(json.dumps(exported(decision)))
        return
    print_lines(decision_lines(all_decisions, state, stdout_marks()))


def _proofs(state: "RunState", as_json: bool) -> None:
    import json

    from surefoot.cli.report.proofs import proof_lines, proofs
    from surefoot.cli.report.stdout import print_lines, stdout_marks
    from surefoot.config import paths

    all_proofs = proofs(state, paths.state_home())
    if as_json:
        for proof in all_proofs:
            click.echo(json.dumps(proof.as_object()))
        return
    print_lines(proof_lines(all_proofs, stdout_marks()))


def _as_json(state: "RunState", current: "CurrentStatus") -> None:
    import json

    from surefoot.cli.report.hiding import as_json, redactor
    from surefoot.cli.report.usage import usage_of_state
    from surefoot.core.outcome import count_checks
    from surefoot.view.questions import open_points

    hide = redactor().redact_known
    fields = {
        **as_json(state.as_plan()),
        "model": state.model,
        "task": as_json(state.task) if state.task else None,
        "stage": state.stage,
        "state": state.orchestration,
        "status": current.status,
        "live": current.live,
        "based_on": state.based_on or None,
        "carried_out_by": current.carried_out_by,
        **usage_of_state(state).as_object(),
        "seconds": round(state.active_seconds, 3),
        "undone": state.undone.as_object() if state.undone else None,
        "continues": state.context.run if state.context else None,
        "applied_to": state.applied[-1].folder if state.applied else None,
        "check_count": count_checks(state.outcome.checks if state.outcome else ())._asdict(),
        "open_points": [point._replace(question=hide(point.question)).as_object() for point in open_points(state)],
        "branch": state.branch or None,
        "commits": [as_json(commit) for commit in state.commits],
        "pushes": [as_json(pushed) for pushed in state.pushes],
        "questions": [
            {"id": q.id, "kind": q.kind, "text": hide(q.text), "answer": hide(q.answer or "") or q.answer}
            for q in state.questions.values()
        ],
    }
    click.echo(json.dumps(fields, indent=2 if sys.stdout.isatty() else None))


def _print_diff(state: "RunState", records: "list[Record]", as_json: bool) -> None:
    from surefoot.cli.report.diff import print_left_out
    from surefoot.cli.report.formatting import block
    from surefoot.view.patches import without_tool_files

    text, others = without_tool_files(_diff(state, records))
    if as_json:
        import json

        click.echo(json.dumps({"run": state.run_id, "diff": text, "left_out": len(others)}))
        return
    if others:
        print_left_out(others, state.run_id)
    # Files may contain control characters: neutralised on a terminal, unchanged in a pipe.
    click.echo(block(text, len(text)) if sys.stdout.isatty() else text, nl=False)


def _diff(state: "RunState", records: "list[Record]") -> str:
    """The changes from before the run to after its last step. If the run did not end well, to the present workspace.

    After a review, only the changes that were kept. Of a run that has ended, only what it touched.
    """
    from surefoot.config import paths
    from surefoot.history.timeline import build_timeline, workspace_of

    if state.task is None or not state.snapshot or not state.task.folder.is_dir():
        raise UsageError(
            f"run {state.run_id} has no workspace to compare with", remedy="its files were moved or removed"
        )
    ended = [step_run for step_run in state.steps.values() if step_run.after]
    last = max(ended, key=lambda step_run: step_run.started_at, default=None)
    ended_well = state.outcome is not None and last is not None and state.outcome.diagnosis is None
    workspace = workspace_of(state, paths.state_home())
    after = last.after if ended_well and last else None
    if (timeline := build_timeline(records)).reviewed:
        after = timeline.end.resolve(workspace)
    counts = None if state.outcome is None or state.open_actions else timeline.touched_since(0)
    return workspace.unified_diff(state.snapshot, after, counts=counts)

"""`list` and `show`: what ran, and everything that is known about one run. Both only read the journal."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.cli.details import Exchange
    from surefoot.events import Record
    from surefoot.state import RunState


@click.command("list")
@click.option(
    "-n",
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many, newest first.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_runs(limit: int, as_json: bool) -> int:
    """List runs, newest first."""
    from surefoot.cli.places import open_journal

    journal = open_journal(read_only=True)
    runs = journal.summaries(limit)
    journal.close()
    if as_json:
        for run in runs:
            click.echo(run.model_dump_json())
        return 0
    if not runs:
        click.echo('no runs yet; start one: surefoot run "what is to be done"', err=True)
        return 0
    from surefoot.cli.details import run_table
    from surefoot.cli.stdout import print_lines, stdout_marks

    print_lines(run_table(runs, stdout_marks()))
    return 0


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("--events", is_flag=True, help="Every event, in order.")
@click.option("--answers", is_flag=True, help="What the model was asked, and what it answered.")
@click.option("--decisions", is_flag=True, help="Every decision inside the steps: thought, choice, result.")
@click.option("--proofs", is_flag=True, help="What each check was found on, and what of that has changed since.")
@click.option("--diff", is_flag=True, help="What the run changed in the workspace.")
@click.option("--json", "as_json", is_flag=True, help="As JSON; with the options above one object a line.")
@click.option("--svg", "svg", metavar="FILE", help="Write the live view's last picture to an SVG file.")
@click.option(
    "--width",
    metavar="N",
    type=click.IntRange(40, 300),
    default=100,
    show_default=True,
    help="Columns of that picture.",
)
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
) -> int:
    """Show a run: phases, plan, steps, checks, files, costs, diagnosis.

    RUN is the beginning of its id; without one it is the newest.
    """
    if sum((events, answers, decisions, proofs, diff, svg is not None)) > 1:
        names = "--events, --answers, --decisions, --proofs, --diff and --svg"
        raise UsageError(f"{names} show different things", remedy="give one of them")
    from surefoot.cli.details import exchanges
    from surefoot.cli.places import open_journal
    from surefoot.fold import fold

    journal = open_journal(read_only=True)
    records = list(journal.read(journal.find(run_id)))
    asked = list(exchanges(records, journal.get_blob)) if answers else []
    journal.close()
    state = fold(records)
    if svg is not None:
        _picture(records, Path(svg), width)
    elif events:
        _timeline(records, as_json)
    elif answers:
        _answers(asked, as_json)
    elif decisions:
        _decisions(records, state, as_json)
    elif proofs:
        _proofs(state, as_json)
    elif diff:
        click.echo(_diff(state), nl=False)
    elif as_json:
        _as_json(state)
    else:
        from surefoot.cli.details import details
        from surefoot.cli.stdout import print_lines, stdout_marks

        print_lines(details(state, stdout_marks()))
    return 0


def _picture(records: "list[Record]", path: Path, width: int) -> None:
    from surefoot.cli.view import export_svg

    export_svg(records, path, width)
    click.echo(f"wrote {path}")


def _timeline(records: "list[Record]", as_json: bool) -> None:
    import json

    from surefoot.cli.jsonl import as_object

    if as_json:
        for record in records:
            click.echo(json.dumps(as_object(record)))
        return
    from surefoot.cli.details import timeline
    from surefoot.cli.stdout import print_lines

    print_lines(timeline(records))


def _answers(asked: "list[Exchange]", as_json: bool) -> None:
    import json

    if as_json:
        for exchange in asked:
            click.echo(json.dumps(exchange._asdict()))
        return
    from surefoot.cli.details import conversation
    from surefoot.cli.stdout import print_lines

    print_lines(conversation(asked))


def _decisions(records: "list[Record]", state: "RunState", as_json: bool) -> None:
    from surefoot.cli.deciding import decision_lines
    from surefoot.cli.stdout import print_lines, stdout_marks
    from surefoot.decisions import decisions

    found = decisions(records)
    if as_json:
        for decision in found:
            click.echo(decision.model_dump_json())
        return
    print_lines(decision_lines(found, state, stdout_marks()))


def _proofs(state: "RunState", as_json: bool) -> None:
    import json

    from surefoot import paths
    from surefoot.cli.proofs import proof_lines, proofs
    from surefoot.cli.stdout import print_lines, stdout_marks

    found = proofs(state, paths.state_home())
    if as_json:
        for proof in found:
            click.echo(json.dumps(proof.as_object()))
        return
    print_lines(proof_lines(found, stdout_marks()))


def _as_json(state: "RunState") -> None:
    import json

    from surefoot.cli.words import cost_usd

    told = {
        **state.as_plan().model_dump(mode="json"),
        "model": state.model,
        "task": state.task.model_dump(mode="json") if state.task else None,
        "stage": state.stage,
        "tokens": {"prompt": state.prompt_tokens, "cached": state.cached_tokens, "output": state.output_tokens},
        "cost_usd": round(cost_usd(state), 6),
        "seconds": round(state.active_seconds, 3),
        "questions": [
            {"id": q.id, "kind": q.kind, "text": q.text, "answer": q.answer} for q in state.questions.values()
        ],
    }
    click.echo(json.dumps(told, indent=2 if sys.stdout.isatty() else None))


def _diff(state: "RunState") -> str:
    """From before the run to after its last step; where that is not known, to the workspace as it is now."""
    from surefoot import paths
    from surefoot.cli.words import block
    from surefoot.workspace.snapshot import Workspace

    if state.task is None or not state.snapshot or not state.task.folder.is_dir():
        raise UsageError(
            f"run {state.run_id} has no workspace to compare with", remedy="its files were moved or removed since"
        )
    last = max((run for run in state.steps.values() if run.after), key=lambda run: run.started_at, default=None)
    ended_well = state.outcome is not None and last is not None and state.outcome.diagnosis is None
    workspace = Workspace(state.task.folder, paths.state_home(), excludes=state.config.snapshot_excludes)
    text = workspace.unified_diff(state.snapshot, last.after if ended_well and last else None)
    # A file of the workspace may hold anything; a pipe gets it as it is, a terminal must not obey it.
    return block(text, len(text)) if sys.stdout.isatty() else text

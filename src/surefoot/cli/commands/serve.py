"""Commands that show runs elsewhere: `serve` on a page, `acp` in an editor, `watch` in another terminal.

`schema` prints the JSON schemas for programs.
"""

import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surefoot.cli.options import all_option, isolation_options, model_option, step_options
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.integrations.acp.agent import Opened
    from surefoot.integrations.acp.person import EditorPerson
    from surefoot.journal.store.base import Journal


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, metavar="HOST", help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 finds a free port.")
@click.option("--open/--no-open", "open_page", default=True, help="Whether to open the page in a browser.")
@click.option("--run", "run_id", default="", metavar="RUN", help="Begin with the page of this run.")
@click.option("--view-token", is_flag=True, help="Also print a read-only link.")
@click.option("--new-tokens", is_flag=True, help="Replace both tokens; the old ones no longer work.")
@model_option
@click.option("--allow-host", "allow_hosts", multiple=True, metavar="NAME", help="A name by which the page is reached.")
@click.option("--tls-cert", default="", metavar="FILE", help="The certificate, for an address that others reach.")
@click.option("--tls-key", default="", metavar="FILE", help="The key of the certificate.")
@click.option("--behind-proxy", is_flag=True, help="A proxy with TLS is in front; it is reached by --allow-host.")
def serve(
    host: str,
    port: int,
    open_page: bool,
    run_id: str,
    view_token: bool,
    new_tokens: bool,
    model: str | None,
    allow_hosts: tuple[str, ...],
    tls_cert: str,
    tls_key: str,
    behind_proxy: bool,
) -> int:
    """Show all runs in a browser, and start, answer, pause, skip, retry, edit, cancel, fork and undo them there.

    Runs are processes of their own: they continue when the server ends, and runs of terminals are shown too. The link
    holds a secret in its last part; whoever has it can do what you can.
    """
    import asyncio

    from surefoot.cli.session.prepare import load_settings
    from surefoot.config import paths
    from surefoot.server.app import Server, ServerOptions

    page = f"&run={_full_id(run_id)}" if run_id else ""
    settings = load_settings(Path.cwd())
    default = settings.model.model
    server = Server(
        ServerOptions(
            home=paths.state_home(),
            cwd=Path.cwd(),
            host=host,
            port=port,
            model=model or "",
            models=[name for name in (model, default) if name],
            allow_hosts=allow_hosts,
            tls_cert=tls_cert,
            tls_key=tls_key,
            behind_proxy=behind_proxy,
            new_tokens=new_tokens,
            redis=settings.integrations.redis,
        )
    )
    _show_links(server.url() + page, server.url("view") + page if view_token else "", open_page)
    asyncio.run(server.serve())
    return 0


def _show_links(link: str, view_link: str, open_page: bool) -> None:
    from surefoot.server.page import HOW_TO_BUILD, is_built

    if not is_built():
        click.echo(
            f"the page is not part of this installation; {HOW_TO_BUILD}. "
            "The HTTP interface works without it, and surefoot watch RUN shows a run in a terminal",
            err=True,
        )
    elif sys.stdout.isatty():
        click.echo("Open this in a browser:", err=True)
    click.echo(link)
    if view_link:
        click.echo(f"only to look: {view_link}")
    click.echo("Ctrl-C ends the server; runs continue", err=True)
    sys.stdout.flush()
    if open_page and is_built() and sys.stdout.isatty():
        import webbrowser

        webbrowser.open(link)


def _full_id(run_id: str) -> str:
    from surefoot.cli.session.runs import load_run

    return load_run(run_id).state.run_id


@click.command()
@model_option
@click.option("--check", "checks", multiple=True, metavar="CMD", help="A command that must succeed after every prompt.")
@step_options
@isolation_options
def acp(model: str | None, checks: tuple[str, ...], **options: Any) -> int:
    """Serve an editor over standard input and output, by the Agent Client Protocol.

    Each prompt is a run in the folder of the editor's session. The runs are in the journal, as all others.
    """
    import asyncio

    from surefoot.integrations.acp.agent import serve_stdio

    async def work() -> None:
        from surefoot.cli.session.resources import open_journal

        async with AsyncExitStack() as stack:
            journal = open_journal()
            stack.push_async_callback(journal.aclose)

            async def make_agent(folder: Path, person: "EditorPerson") -> "Opened":
                return await _open_session(folder, person, model, options, journal, stack)

            await serve_stdio(make_agent, checks)

    asyncio.run(work())
    return 0


async def _open_session(
    folder: Path,
    person: "EditorPerson",
    model: str | None,
    options: Mapping[str, Any],
    journal: "Journal",
    stack: AsyncExitStack,
) -> "Opened":
    """An agent for one session of an editor, with the settings of its folder. The stack closes its model."""
    from surefoot.api import Agent
    from surefoot.cli.session.prepare import load_settings
    from surefoot.cli.session.resources import resolve_workspace
    from surefoot.config import paths
    from surefoot.integrations.acp.agent import Opened
    from surefoot.integrations.attach import secrets_of
    from surefoot.models.select import choose_model

    workspace = resolve_workspace(str(folder))
    settings = load_settings(workspace, options)
    servers = tuple(settings.mcp_servers.values())
    chosen = await choose_model(model, settings.model)
    stack.push_async_callback(chosen.aclose)
    agent = Agent(
        chosen,
        settings.execution,
        journal,
        workspace=workspace,
        home=paths.state_home(),
        person=person,
        alerts=settings.alerts,
        secrets=secrets_of(servers),
    )
    return Opened(agent, settings.integrations, servers)


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@all_option
@click.option("--json", "as_json", is_flag=True, help="Print every event as a JSON object, one per line.")
@click.option(
    "--live/--plain",
    "live",
    default=None,
    help="Show the live view, or plain lines. The default is live on a terminal, plain elsewhere.",
)
def watch(run_id: str, all_folders: bool, as_json: bool, live: bool | None) -> int:
    """Show a run as it happens, from another terminal. The keys of the live view work too. Ctrl-C only stops watching.

    RUN is the beginning of its id; the default is the newest run of the current folder. Ends when the run ends or
    waits, with the exit code of the run.
    """
    import asyncio

    from surefoot.cli.session.attached import watch_run
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import find_run

    if as_json and live is not None:
        raise UsageError("--json cannot be combined with --live or --plain", remedy="leave out --live and --plain")
    journal = open_journal()
    try:
        found_run = find_run(journal, run_id, all_folders=all_folders)
        return asyncio.run(watch_run(journal, found_run.run_id, live=live, as_json=as_json))
    finally:
        journal.close()


@click.group()
def schema() -> None:
    """Print JSON schemas of what Surefoot writes for programs."""


@schema.command()
def report() -> int:
    """Print the JSON schema of `surefoot report --format json`, with its version."""
    import json

    from surefoot.report.document import report_schema

    click.echo(json.dumps(report_schema(), indent=2))
    return 0


@schema.command()
def events() -> int:
    """Print the JSON schema of one line of `--json`, with its version."""
    import json

    from surefoot.cli.views.jsonl import line_schema

    click.echo(json.dumps(line_schema(), indent=2))
    return 0


@schema.command("error")
def error_schema() -> int:
    """Print the JSON schema of the object with which a command with `--json` fails."""
    import json

    from surefoot.cli.views.error_line import error_schema as described

    click.echo(json.dumps(described(), indent=2))
    return 0


@schema.command()
def alert() -> int:
    """Print the JSON schema of the document that an alert sends, with its version."""
    import json

    from surefoot.engine.alerts.document import alert_schema

    click.echo(json.dumps(alert_schema(), indent=2))
    return 0


@schema.command("stats")
def stats_schema() -> int:
    """Print the JSON schema of `surefoot stats --json`, with its version."""
    import json

    from surefoot.history.stats.values import stats_schema as described

    click.echo(json.dumps(described(), indent=2))
    return 0

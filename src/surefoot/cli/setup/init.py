"""`init`: looks at a project, tries its commands, and writes its config file."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surefoot.cli.options import Duration, isolation_options, workspace_option

if TYPE_CHECKING:
    from surefoot.cli.setup.config_file import ConfigFile
    from surefoot.cli.setup.trying import TriedCommand
    from surefoot.config.model import ExecutionConfig
    from surefoot.engine.verifier.suite.project_commands import ProjectCommand


NO_CHECK = (
    "none of them works now, so no check is saved: runs use --check, or the project's own tests; "
    "run surefoot init --force again when they work"
)


@click.command()
@workspace_option
@isolation_options
@click.option("--time-limit", type=Duration(), help="How long each command may take. The default is 2 minutes.")
@click.option(
    "--force",
    is_flag=True,
    help="Add the checks that work to a config file that exists. Nothing else in it is changed.",
)
@click.option("--trust", is_flag=True, help="Trust the file, so that runs use it.")
@click.option("-y", "--yes", is_flag=True, help="The same as --trust: answer that question with yes.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def init(
    workspace: str, time_limit: float | None, force: bool, trust: bool, yes: bool, as_json: bool, **options: Any
) -> int:
    """Look at the project, try its commands, and write a commented surefoot.toml.

    Commands that test, lint and build are found by the project's files. Each is tried in the sandbox, on a copy of the
    folder. Those that work become the checks of every run without --check.
    """
    import json

    from surefoot.cli.session.prepare import load_settings
    from surefoot.cli.session.resources import resolve_workspace
    from surefoot.cli.setup.config_file import ConfigFile
    from surefoot.config.paths import PROJECT_CONFIGS

    root = resolve_workspace(workspace)
    path = next((root / name for name in PROJECT_CONFIGS if (root / name).is_file()), root / PROJECT_CONFIGS[0])
    file = ConfigFile(path, root)
    before = file.read()
    if before is not None:
        file.settings(before)
    config = load_settings(root, options).execution
    results = _try_all(root, config, time_limit or config.command_timeout_seconds, quiet=as_json)
    content = _proposal(before, results, network=bool(options["network"]))
    written = _write(file, before, content, force=force, as_json=as_json)
    kept = before is not None and before != content and not written
    trusted = file.is_trusted(before if kept and before is not None else content)
    if not trusted and not kept:
        trusted = _trust(file, content, agreed=trust or yes, may_ask=not as_json)
    if as_json:
        commands = [each.as_object() for each in results]
        click.echo(json.dumps({"file": str(file.path), "written": written, "trusted": trusted, "commands": commands}))
    return 1 if kept else 0


def _try_all(root: Path, config: "ExecutionConfig", seconds: float, *, quiet: bool) -> "list[TriedCommand]":
    """Find the commands of the project and try each. Prints the results, unless `quiet`."""
    import asyncio
    from contextlib import aclosing

    from surefoot.cli.report import formatting as fmt
    from surefoot.cli.setup.trying import try_commands
    from surefoot.engine.verifier.suite.project_commands import project_commands
    from surefoot.project.folder import list_files

    def on_start(command: "ProjectCommand") -> None:
        click.echo(f"trying {fmt.line(command.command)} ...", err=True)

    async def collect(commands: "Sequence[ProjectCommand]") -> "list[TriedCommand]":
        results = []
        async with aclosing(try_commands(root, commands, config, seconds, on_start)) as trying:
            async for each in trying:
                results.append(each)
                if not quiet:
                    _print_tried(each)
        return results

    commands = list(project_commands(root, list_files(root)))
    if not commands and not quiet:
        click.echo("no command that tests, lints or builds this project was found")
    results = asyncio.run(collect(commands))
    if results and not quiet and not any(each.result == "works" for each in results):
        click.echo(NO_CHECK)
    return results


def _print_tried(result: "TriedCommand") -> None:
    from rich.text import Text

    from surefoot.cli.report import formatting as fmt
    from surefoot.cli.report.stdout import print_lines, stdout_marks

    marks = stdout_marks()
    styles = {"works": (marks.done, "green"), "fails": (marks.failed, "red"), "skipped": (marks.skipped, "dim")}
    mark, style = styles[result.result]
    took = f"{result.seconds:.1f} s  " if result.result != "skipped" else ""
    row = f"{result.command.kind:<5}  {fmt.line(result.command.command):<38}  {took}{fmt.line(result.reason)}"
    print_lines([Text.assemble((f"{mark} ", style), row)])


def _proposal(before: bytes | None, results: "Sequence[TriedCommand]", *, network: bool) -> bytes:
    from surefoot.cli.setup.project_file import changed_text, new_text

    return new_text(results, network=network).encode() if before is None else changed_text(before, results)


def _write(file: "ConfigFile", before: bytes | None, content: bytes, *, force: bool, as_json: bool) -> bool:
    """Write the file. An existing one is changed only with `force` or if the user agrees.

    Returns whether it was written.
    """
    if content == before:
        click.echo(f"{file.path} is as it would be written", err=True)
        return False
    if before is not None and not force:
        if not as_json:
            _print_diff(file, before, content)
        asks = not as_json and _is_terminal()
        if not asks or not click.confirm(f"\nChange {file.path} like this?", default=False, err=True):
            click.echo(f"{file.path} exists and was not changed; --force adds these checks", err=True)
            return False
    # The commands come from the project, so a new file is trusted only if the user says so.
    file.write(content, before, trust_new=False)
    click.echo(f"wrote {file.path}", err=True)
    return True


def _print_diff(file: "ConfigFile", before: bytes, after: bytes) -> None:
    import difflib

    from surefoot.cli.report import formatting as fmt

    old, new = (content.decode(errors="replace").splitlines(keepends=True) for content in (before, after))
    name = file.path.name
    text = "".join(difflib.unified_diff(old, new, f"{name} (as it is)", f"{name} (with --force)"))
    click.echo(fmt.block(text, 20_000).rstrip())


def _trust(file: "ConfigFile", content: bytes, *, agreed: bool, may_ask: bool) -> bool:
    """Trust the file if the user agrees; otherwise print how to. Returns whether it is trusted now."""
    if not agreed and may_ask and _is_terminal():
        agreed = click.confirm("Trust it, so that runs here use it?", default=True, err=True)
    if agreed:
        file.trust(content)
        click.echo(f"trusted: {file.path}", err=True)
    else:
        click.echo(f"it is not trusted and has no effect yet; to use it: surefoot trust {file.folder}", err=True)
    return agreed


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()

"""The lines at the start of a session: the folder, the model and how it is asked, the sandbox, the checks, git."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.text import Text

from surefoot._version import __version__
from surefoot.cli.git.session import describe_changes
from surefoot.cli.report import text as fmt
from surefoot.cli.session.prepare import describe_isolation
from surefoot.config.layers import Settings, load
from surefoot.engine.verifier.suite.project_commands import project_checks
from surefoot.errors import NoModel, SurefootError
from surefoot.models.select import choose_model
from surefoot.project.folder import is_test, list_files
from surefoot.prompting.choose import how_asked

NO_MODEL = (
    ("export OPENAI_API_KEY=...", "or ANTHROPIC_API_KEY ...; then start surefoot again"),
    ("/model ollama/NAME", "or /model http://127.0.0.1:8000/v1#NAME"),
    ("surefoot model pull", "the embedded model: 1.1 GB, no key, extra `local`"),
)


def ways_to_a_model() -> list[str]:
    """The quickest ways to get a model, from inside a session."""
    width = max(len(way) for way, _ in NO_MODEL)
    return [f"{way:<{width}}  {note}" for way, note in NO_MODEL]


class DescribedModel(NamedTuple):
    name: str
    how: str
    """How the model is asked, in words."""


def describe_model(folder: Path, spec: str | None, settings: Settings | None = None) -> DescribedModel:
    """The model that a run would use now. Raises SurefootError if it cannot be used."""
    settings = settings or load(folder)

    async def described() -> DescribedModel:
        model = await choose_model(spec, settings.model)
        try:
            return DescribedModel(model.name, how_asked(model.traits))
        finally:
            await model.aclose()

    return asyncio.run(described())


def default_checks(folder: Path, settings: Settings | None = None) -> tuple[str, ...]:
    """The checks of a run to which none are given: those of the settings, else the commands of the project's tests."""
    settings = settings or load(folder)
    if settings.execution.checks:
        return settings.execution.checks
    tests = [path for path in list_files(folder, gitignore=True) if is_test(path)]
    return tuple(check.command for check in project_checks(folder, tests))


class Welcome(NamedTuple):
    model_name: str
    checks: tuple[str, ...]
    lines: list[Text]


def welcome(folder: Path) -> Welcome:
    settings = load(folder)
    name, lines = "", [Text.assemble(("surefoot ", "bold"), (__version__, "dim"), f"  {fmt.folder(folder)}")]
    lines += [Text(fmt.line(notice, 400), style="yellow") for notice in settings.notices]
    try:
        name, how = describe_model(folder, None, settings)
        lines += [_row("model", fmt.line(name)), _row("", fmt.line(_without_reason(how), 300), "dim")]
    except NoModel:
        lines += list(_no_model())
    except SurefootError as error:
        lines += [_row("model", fmt.line(str(error), 300), "yellow"), _row("", fmt.line(error.remedy, 300), "dim")]
    try:
        lines.append(_row("sandbox", describe_isolation(settings.execution, folder).removeprefix("sandbox ")))
    except SurefootError as error:
        lines.append(_row("sandbox", fmt.line(f"{error}; {error.remedy}", 300), "yellow"))
    checks = default_checks(folder, settings)
    listed = ", ".join(map(fmt.line, checks)) or "none found; /check COMMAND gives one that proves the work"
    lines += [_row("checks", listed, "" if checks else "dim")]
    if changes := describe_changes(folder):
        lines.append(_row("git", changes))
    lines.append(Text())
    lines.append(Text("Type a task. /help lists the commands, Ctrl-D ends the session.", style="dim"))
    return Welcome(name, checks, lines)


def _without_reason(how: str) -> str:
    """How a model is asked, without the reason, which `/model` shows."""
    return re.sub(r", because [^;]*", "", how)


def _no_model() -> Iterator[Text]:
    yield _row("model", "none is configured and none was found; the quickest ways to get one:", "yellow")
    yield from (_row("", way, "cyan") for way in ways_to_a_model())


def _row(title: str, content: str, style: str = "") -> Text:
    return Text.assemble("  ", (f"{title:<8}", "dim"), (content, style))

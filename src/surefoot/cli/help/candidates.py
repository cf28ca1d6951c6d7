"""The completions of parameters: runs, steps, models, files.

The shell waits for them, so only the list of runs is read, and for steps the plan of one run.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.journal.store.base import Reader, RunSummary

MAX_RUNS = 50
_HELP_CHARS = 60
_HARMLESS = re.compile(r"[\w./:@#+-]+", re.ASCII)
"""Text that means itself in a shell. Anything else is not offered, because bash expands the words of a completion."""


class Candidate(NamedTuple):
    value: str
    help: str = ""


class AnyText(click.ParamType[str]):
    """A parameter type that accepts any text. It is used only for completion."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)


class Completed(AnyText, ABC):
    """A parameter type with candidates."""

    @abstractmethod
    def candidates(self, ctx: click.Context, incomplete: str) -> Iterator[Candidate]: ...

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from surefoot.cli.report.text import line

        candidates: dict[str, str] = {}
        for candidate in self.candidates(ctx, incomplete):
            candidates.setdefault(*candidate)
        return [
            # The script for fish splits at commas.
            CompletionItem(value, help=line(text, _HELP_CHARS).replace(",", "") or None)
            for value, text in candidates.items()
            if value.startswith(incomplete) and _HARMLESS.fullmatch(value)
        ]


class RunName(Completed):
    """The runs of the current folder, newest first; those of other folders if none fits."""

    def candidates(self, ctx: click.Context, incomplete: str) -> Iterator[Candidate]:
        from surefoot.cli.session.runs import current_folder, open_run_list

        journal = open_run_list()
        try:
            workspaces = None if ctx.params.get("all_folders") else current_folder(journal).workspaces
            runs = journal.summaries(MAX_RUNS, workspaces)
            if not any(run.run_id.startswith(incomplete) for run in runs):
                runs = journal.summaries(MAX_RUNS)
        finally:
            journal.close()
        for run in runs:
            yield Candidate(run.run_id, f"{_status(run)}: {run.task}")
        if runs:
            yield Candidate("last", "the newest run of the current folder")


def _status(run: "RunSummary") -> str:
    return run.undone or str(run.verdict or f"in {run.stage}")


class StepName(Completed):
    """The steps of the run that the command line names, or of the newest one."""

    def candidates(self, ctx: click.Context, incomplete: str) -> Iterator[Candidate]:
        from surefoot.cli.session.runs import current_folder, open_run_list

        name = str(ctx.params.get("run_id") or "last")
        journal = open_run_list()
        try:
            if name != "last":
                run_id = journal.find(name)
            else:
                workspaces = None if ctx.params.get("all_folders") else current_folder(journal).workspaces
                run_id = journal.summaries(1, workspaces)[0].run_id
            steps = _steps(journal, run_id)
        finally:
            journal.close()
        for number, (step_id, title) in enumerate(steps.items(), 1):
            yield Candidate(step_id, f"{number}. {title}")


def _steps(journal: "Reader", run_id: str) -> dict[str, str]:
    """The names of the steps in a run's current plan, by their ids."""
    steps: dict[str, str] = {}
    for _, kind, body in journal.bodies([run_id], ["plan_made", "plan_revised"]):
        event = json.loads(body)
        if kind == "plan_made":
            planned = (event["result"].get("output") or {}).get("steps", [])
            steps = {step["id"]: step["name"] for step in planned} or steps
            continue
        steps |= {step["id"]: step["name"] for step in (*event.get("added", ()), *event.get("changed", ()))}
        for step_id in event.get("removed", ()):
            steps.pop(step_id, None)
    return steps


class ModelName(Completed):
    """The embedded model, the models of earlier runs, the defaults of the providers, and models with a known price."""

    def candidates(self, ctx: click.Context, incomplete: str) -> Iterator[Candidate]:
        import tomllib
        from importlib.resources import files

        from surefoot.models.providers.catalog import PROVIDERS

        yield Candidate("local", "the embedded model")
        for name in _used_models():
            yield Candidate(name, "used before")
        for provider, defaults in PROVIDERS.items():
            where = f"needs {defaults.key_variable}" if defaults.key_variable else f"a server at {defaults.base_url}"
            yield Candidate(f"{provider}/{defaults.default_model}", where)
        families = tomllib.loads(files("surefoot.models").joinpath("prices.toml").read_text("utf-8"))
        for family in families.values():
            for model, price in family["models"].items() if family["names"] else ():
                cost = f"${price['input']:g} in, ${price['output']:g} out, for a million tokens"
                yield Candidate(f"{family['names'][0]}{model}", cost)


def _used_models() -> list[str]:
    """The models of the newest runs that can be named with -m again. Empty if the journal cannot be read."""
    from surefoot.cli.session.runs import open_run_list
    from surefoot.models.providers.catalog import PROVIDERS

    runs: list[RunSummary] = []
    with suppress(SurefootError), closing(open_run_list()) as journal:
        runs = journal.summaries(MAX_RUNS)
    return list(dict.fromkeys(run.model for run in runs if run.model.partition("/")[0] in (*PROVIDERS, "local")))


class Place(AnyText):
    """A file or a folder, which the shell itself completes."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type=self._kind)]


TYPES: dict[str, AnyText] = {
    "RUN": RunName(),
    "STEP": StepName(),
    "MODEL": ModelName(),
    "DIR": Place("dir"),
    "NEWDIR": Place("dir"),
    "FILE": Place("file"),
}
"""The type of a parameter, by its metavar."""


def add_candidates(command: click.Command) -> None:
    """Let the shell complete the parameters of a command and its subcommands."""
    for parameter in command.params:
        if completed_type := TYPES.get((parameter.metavar or "").strip("[].")):
            parameter.type = completed_type
    for sub in command.commands.values() if isinstance(command, click.Group) else ():
        add_candidates(sub)

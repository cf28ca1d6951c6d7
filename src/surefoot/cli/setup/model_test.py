"""`model test`: tries a model with three small tasks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surefoot.cli.commands.model import model as model_group
from surefoot.cli.options import limit_options, model_option

if TYPE_CHECKING:
    from surefoot.cli.setup.model_trial import Limits, TaskResult
    from surefoot.config.layers import Settings
    from surefoot.config.model import ExecutionConfig
    from surefoot.models.base import LanguageModel


@model_group.command("test")
@model_option
@limit_options
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def model_test(model: str | None, as_json: bool, **limits: Any) -> int:
    """Let the model do three small tasks, and report quality, speed and cost.

    It writes a function, fixes a bug in two files, and makes a change with a test; each is proven by a check. The work
    is done in a temporary folder and is not listed among your runs. The exit code is 0 if all three are verified.
    """
    import asyncio
    import json
    import tempfile

    from surefoot.cli.report.hiding import redactor
    from surefoot.cli.setup.model_tasks import TASKS
    from surefoot.config.layers import load

    settings = load(Path.cwd())
    # The folder is removed after the event loop has waited for its threads: after Ctrl-C, one of them may still be
    # storing a snapshot.
    with tempfile.TemporaryDirectory(prefix="surefoot-model-test-") as scratch:
        trial = asyncio.run(_test(model, settings, limits, Path(scratch)))
    if as_json:
        click.echo(redactor().redact(json.dumps(trial.as_object())))
    else:
        trial.print()
    if trial.interrupted:
        return 130
    if any(result.unasked for result in trial.results):
        return 1
    return 0 if len(trial.results) == len(TASKS) and all(result.verified for result in trial.results) else 3


class Trial:
    """A model, and its results so far."""

    def __init__(self, model: "LanguageModel", limits: "Limits") -> None:
        from surefoot.prompting.choose import how_asked, strategy_name

        self.model, self.limits = model.name, limits
        self.strategy, self.how = strategy_name(model.traits), how_asked(model.traits)
        self.context_tokens = model.traits.context_tokens
        self.results: list[TaskResult] = []
        self.interrupted = False

    def as_object(self) -> dict[str, Any]:
        from surefoot.cli.setup.model_trial import speed

        unpriced = sum(result.unpriced_calls for result in self.results)
        cost = sum(result.cost_usd for result in self.results)
        return {
            "model": self.model,
            "strategy": self.strategy,
            "context_tokens": self.context_tokens,
            "tasks": [result.as_object() for result in self.results],
            "verified": sum(result.verified for result in self.results),
            "seconds": round(sum(result.seconds for result in self.results), 2),
            "tokens_per_second": speed(self.results),
            "cost_usd": None if unpriced else round(cost, 6),
            "interrupted": self.interrupted,
            "conclusion": conclusion(self.results),
        }

    def print(self) -> None:
        from rich.text import Text

        from surefoot.cli.report import formatting as fmt
        from surefoot.cli.report.stdout import print_lines, stdout_marks
        from surefoot.view.labels import VERDICT_LABELS

        marks = stdout_marks()
        head = f"  {'task':<24} {'result':<20} {'time':>7} {'tokens/s':>9} {'calls':>6} {'tokens':>9}  cost"
        rows = [Text(head, style="dim")]
        for result in self.results:
            mark, style = marks.of_verdict(result.verdict)
            label = VERDICT_LABELS[result.verdict]
            rows.append(Text.assemble((f"{mark} ", style), _row(result.task.name, label, [result])))
            if result.why:
                rows.append(Text(f"  {'':<24} {fmt.line(result.why, 300)}", style="dim"))
        verified = f"{sum(result.verified for result in self.results)} verified"
        rows.append(Text(f"  {_row('together', verified, self.results)}"))
        print_lines([*rows, Text(), Text(fmt.line(f"{self.model} is {self.how}.", 400))])
        ended = "Interrupted: only what was done until then counts. " if self.interrupted else ""
        print_lines([Text(ended + conclusion(self.results))])


def _row(name: str, result: str, results: "Sequence[TaskResult]") -> str:
    from surefoot.cli.setup.model_trial import speed
    from surefoot.view.figures import duration, format_cost

    calls = sum(each.calls for each in results)
    tokens = sum(each.prompt_tokens + each.output_tokens for each in results)
    cost = format_cost(sum(each.cost_usd for each in results), sum(each.unpriced_calls for each in results))
    took = duration(sum(each.seconds for each in results))
    rate = f"{tokens_per_second:g}" if (tokens_per_second := speed(results)) else "-"
    return f"{name:<24} {result:<20} {took:>7} {rate:>9} {calls:>6,} {tokens:>9,}  {cost if calls else '-'}"


def conclusion(results: "Sequence[TaskResult]") -> str:
    """One line that says what the model is good for, and claims no more than the results show."""
    from surefoot.cli.setup.model_tasks import TASKS

    if any(result.unasked for result in results):
        return "The model could not be asked, so this says nothing about it; `surefoot doctor` examines the setup."
    good = [result.task.good_for for result in results if result.verified]
    bad = [result.task.good_for for result in results if not result.verified and not result.cut_short]
    if len(good) == len(TASKS):
        return f"It did {', '.join(good)}. Larger tasks were not tried: three small ones prove little about them."
    open_ones = [task.good_for for task in TASKS if task.good_for not in (*good, *bad)]
    if not good and not bad:
        return "No task was finished, so this says nothing about the model."
    failed = f"; {', '.join(bad)} failed" if bad else ""
    unfinished = f"; {', '.join(open_ones)}: not finished, so nothing is known" if open_ones else ""
    fit = f"it is good for {', '.join(good)}" if good else "do not rely on it for tasks of this kind"
    return f"On the evidence of one try each, {fit}{failed}{unfinished}."


async def _test(spec: str | None, settings: "Settings", options: Mapping[str, Any], scratch: Path) -> Trial:
    """Test the model until the tasks are done, a limit is reached, or a signal arrives."""
    import asyncio
    import os

    from surefoot.cli.report.hiding import hide_with
    from surefoot.cli.session.signals import on_stop_signals
    from surefoot.cli.setup.model_trial import Limits
    from surefoot.config.model import ExecutionConfig
    from surefoot.journal.redact import Redactor
    from surefoot.models.base import secrets_of
    from surefoot.models.select import choose_model

    model = await choose_model(spec, settings.model)
    try:
        hide_with(Redactor.from_environment(os.environ, secrets_of(model)))
        own = settings.execution
        config = ExecutionConfig(prices=own.prices, sandbox=own.sandbox, ask_questions=False, budget=own.budget)
        trial = Trial(model, Limits.of(model.name, config, options))
        _say(f"{model.name} gets three small tasks. {trial.limits} Ctrl-C stops it.")
        work = asyncio.create_task(_work(trial, model, config, scratch))
        with on_stop_signals(lambda _: work.cancel()):
            try:
                await work
            except asyncio.CancelledError:
                trial.interrupted = True
        return trial
    finally:
        await model.aclose()


async def _work(trial: Trial, model: "LanguageModel", config: "ExecutionConfig", scratch: Path) -> None:
    from contextlib import aclosing

    from surefoot.cli.setup.model_tasks import TASKS
    from surefoot.cli.setup.model_trial import TaskResult, try_tasks
    from surefoot.view.figures import duration
    from surefoot.view.labels import VERDICT_LABELS

    async with aclosing(try_tasks(model, TASKS, config, trial.limits, scratch)) as steps:
        async for step in steps:
            if isinstance(step, TaskResult):
                trial.results.append(step)
                _say(f"        {VERDICT_LABELS[step.verdict]} after {duration(step.seconds)}")
            else:
                _say(f"{len(trial.results) + 1} of {len(TASKS)}: {step.name} ...")


def _say(text: str) -> None:
    from surefoot.cli.report.hiding import safe

    click.echo(safe(text), err=True)

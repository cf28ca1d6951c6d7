"""Options that several commands share, and the kinds of values people type for them."""

import re
from collections.abc import Callable
from typing import Any

import click

PHASE_NAMES = ("understanding", "approach", "planning", "execution", "validation")


class Duration(click.ParamType[float]):
    """`90`, `90s`, `10m`, `1h30m`, `14d`: seconds as a float."""

    name = "time"
    _PATTERN = re.compile("".join(rf"(?:(\d+(?:\.\d+)?){unit})?" for unit in ("d", "h", "m", "s?")))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        match = self._PATTERN.fullmatch(value.strip().lower())
        if not match or not any(match.groups()):
            self.fail(f"{value!r} is no length of time; say 90s, 10m or 1h30m", param, ctx)
        days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
        total = days * 86400 + hours * 3600 + minutes * 60 + seconds
        if total <= 0:
            self.fail("it must be above 0", param, ctx)
        return total


class Amount(click.ParamType[int]):
    """`50000`, `50k`, `2m`: a whole number."""

    name = "number"
    _PATTERN = re.compile(r"(\d+(?:\.\d+)?)([km]?)")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = self._PATTERN.fullmatch(value.strip().lower().replace(",", "").replace("_", ""))
        if not match:
            self.fail(f"{value!r} is no amount; say 50000, 50k or 2m", param, ctx)
        total = int(float(match[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[match[2]])
        if total < 1:
            self.fail("it must be at least 1", param, ctx)
        return total


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def together(*decorators: Decorator) -> Decorator:
    """Several options as one decorator, in the order in which they are to be listed."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


workspace_option = click.option(
    "-C",
    "--workspace",
    metavar="DIR",
    default=".",
    show_default="the current folder",
    help="The folder to work in. Nothing outside of it is written.",
)
model_option = click.option(
    "-m",
    "--model",
    metavar="MODEL",
    help="Which model to ask: local, openai/NAME, ollama/NAME, http://HOST/v1#NAME, ...",
)

watching_options = together(
    click.option("--json", "as_json", is_flag=True, help="One JSON object a line on standard output, one an event."),
    click.option(
        "--live/--plain",
        "live",
        default=None,
        help="The live view, or plain lines. Without either: live on a terminal, plain lines elsewhere.",
    ),
    click.option("-y", "--yes", is_flag=True, help="Answer every confirmation with yes."),
    click.option("--record", "cassette", metavar="FILE", help="Record every exchange with the model to a cassette."),
)

limit_options = together(
    click.option("--max-time", type=Duration(), help="Stop after this time, such as 90s, 10m or 1h30m."),
    click.option("--max-tokens", type=Amount(), help="Stop after so many tokens, such as 50k."),
    click.option("--max-cost", type=float, metavar="USD", help="Stop after so much money; see [budget] for prices."),
)

phases_option = click.option(
    "--phases",
    type=click.Choice(("auto", "full", "plan")),
    help="auto skips what a simple task does not need, full skips nothing, plan stops when the plan is made.",
)
worktree_option = click.option(
    "--worktree", is_flag=True, help="Work in a copy of the folder; the changes are applied to it when you say so."
)
isolation_options = together(
    click.option(
        "--sandbox",
        type=click.Choice(("auto", "strict", "off")),
        help="How commands are kept in: what there is, or refuse without full isolation, or not at all.",
    ),
    click.option("--network/--no-network", default=None, help="Whether commands may reach the network."),
)
step_options = together(
    click.option(
        "--static/--dynamic", "static", default=None, help="Follow the plan as it was made, one action a step."
    ),
    click.option("--rollback/--no-rollback", default=None, help="Whether a failed step is undone."),
    click.option(
        "--approve",
        type=click.Choice(("ask", "auto-edit", "auto", "never")),
        help="What needs your word: every write and command, only commands, only what reaches beyond the workspace.",
    ),
)
telling_options = together(
    click.option("--confirm/--no-confirm", default=None, help="Ask at the end of every phase."),
    click.option(
        "--question-timeout",
        type=Duration(),
        help="How long a question waits, such as 30m or 2d; after that it counts as no. Without it: for ever.",
    ),
    click.option("-v", "--verbose", is_flag=True, default=None, help="Tell more: thoughts, answers, tokens."),
)

phase_options = together(
    click.option("--from-phase", type=click.Choice(PHASE_NAMES), help="Begin here, with the rest from --based-on."),
    click.option("--until-phase", type=click.Choice(PHASE_NAMES), help="Stop when this phase is done."),
    click.option("--based-on", metavar="RUN", help="Take over the task and the earlier phases of another run."),
)

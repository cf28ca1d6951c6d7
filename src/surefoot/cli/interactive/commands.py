"""The slash commands of a session."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

import click
from rich.text import Text

from surefoot.cli.interactive.session import Session
from surefoot.cli.interactive.welcome import describe_model
from surefoot.cli.report import text as fmt
from surefoot.cli.report.stdout import print_lines
from surefoot.errors import UsageError


class Quit(Exception):
    """Ends the session."""


@dataclass(frozen=True, slots=True)
class Slash:
    name: str
    argument: str
    help: str
    carry_out: Callable[[Session, str], None]


def dispatch(session: Session, line: str) -> None:
    """Carry out a line that begins with a slash. A name can be shortened as long as it fits only one command."""
    name, _, argument = line[1:].strip().partition(" ")
    names = [command.name for command in COMMANDS]
    matching = [known for known in names if known == name] or [known for known in names if known.startswith(name)]
    if len(matching) != 1 or not name:
        nearest = get_close_matches(name, names, n=1)
        hint = f"did you mean /{nearest[0]}?" if nearest and len(matching) < 2 else "/help lists the commands"
        several = f"several commands begin with /{name}: {', '.join(f'/{each}' for each in matching)}"
        raise UsageError(several if name and len(matching) > 1 else f"there is no command /{name}", remedy=hint)
    command = next(command for command in COMMANDS if command.name == matching[0])
    command.carry_out(session, argument.strip())


def help_lines() -> Iterator[Text]:
    width = max(len(f"{command.name} {command.argument}") for command in COMMANDS)
    for command in COMMANDS:
        title = f"/{command.name} {command.argument}".rstrip()
        yield Text.assemble((f"  {title:<{width + 2}}", "cyan"), command.help)
    yield Text()
    yield Text("  Anything else is a task. It continues the last run of the session until /new.")
    yield Text("  Enter sends it; Alt-Enter, or a backslash at the end, begins a new line.")
    yield Text("  Ctrl-C stops a run, not the session. Ctrl-D ends the session.")


# -- runs ----------------------------------------------------------------------------------------------------------


def _shell_command(name: str) -> Callable[[Session, str], None]:
    """A slash command that calls the shell command of this name with a run."""
    return lambda session, argument: session.invoke(name, *_run_arguments(session, argument))


def _run_arguments(session: Session, argument: str) -> list[str]:
    """The arguments of a command about a run. If they name no run, it is the last one."""
    try:
        words = shlex.split(argument)
    except ValueError as error:
        raise UsageError(f"{argument!r} cannot be read: {error}", remedy="close the quotes") from None
    if words and not words[0].startswith("-"):
        return words
    return [session.stored().run_id, *words]


def _plan(session: Session, argument: str) -> None:
    if argument:
        session.run_task(argument, only_plan=True)
        return
    from surefoot.cli.report.stdout import stdout_marks
    from surefoot.cli.report.summary import plan_lines

    plan = session.stored().state.plan
    if plan is None:
        raise UsageError("the last run has no plan", remedy="make one: /plan TASK")
    print_lines(plan_lines(plan, stdout_marks()))


def _go(session: Session, _argument: str) -> None:
    session.carry_out_plan()


def _resume(session: Session, _argument: str) -> None:
    session.resume()


def _continue(session: Session, argument: str) -> None:
    state = session.go_on_from(argument or "last").state
    task = fmt.line(state.task.text if state.task else "", 80)
    click.echo(f"the next task continues {state.run_id}: {task}")


def _new(session: Session, _argument: str) -> None:
    session.last = ""
    click.echo("the next task begins without context")


# -- settings of the session ---------------------------------------------------------------------------------------


def _model(session: Session, argument: str) -> None:
    """Show the model, or use another one. If that one cannot be used, the model stays the same."""
    described = describe_model(session.folder, argument or session.model)
    if argument:
        session.model = argument
    session.model_name = described.name
    click.echo(f"{described.name}: {described.how}")


def _check(session: Session, argument: str) -> None:
    if argument == "clear":
        session.checks.clear()
    elif argument and argument not in session.checks:
        session.checks.append(argument)
    if session.checks:
        print_lines(Text(f"  {fmt.line(check)}") for check in session.checks)
    else:
        session.look_for_checks()
        commands = ", ".join(map(fmt.line, session.found_checks))
        click.echo(
            f"no checks of yours{f'; the project has: {commands}' if commands else ''}. To add one: /check COMMAND"
        )


def _cost(session: Session, _argument: str) -> None:
    if not session.usage:
        click.echo("nothing was used in this session yet")
        return
    for run_id, usage in session.usage.items():
        click.echo(f"  {run_id}  {usage}")
    if len(session.usage) > 1:
        click.echo(f"  in all: {session.total}")


def _help(_session: Session, _argument: str) -> None:
    print_lines(help_lines())


def _quit(_session: Session, _argument: str) -> None:
    raise Quit


COMMANDS = (
    Slash("diff", "[RUN]", "Show what the last run changed.", _shell_command("diff")),
    Slash("review", "[RUN]", "Keep, edit or undo parts of what the last run changed.", _shell_command("review")),
    Slash("commit", "[RUN]", "Commit what the last run changed, if it is verified.", _shell_command("commit")),
    Slash("undo", "[RUN]", "Put the files back as they were before the last run.", _shell_command("undo")),
    Slash("show", "[RUN]", "Show the last run: plan, steps, checks, costs.", _shell_command("show")),
    Slash("plan", "[TASK]", "Plan a task without changing anything; without a task, show the last plan.", _plan),
    Slash("go", "", "Carry out the plan that was made last.", _go),
    Slash("resume", "", "Continue a run that was stopped or waits.", _resume),
    Slash("continue", "[RUN]", "Take up an earlier run of this folder, by default the newest.", _continue),
    Slash("new", "", "Forget the context: the next task begins afresh.", _new),
    Slash("check", "[CMD|clear]", "Add a command that must succeed, list them, or remove all.", _check),
    Slash("model", "[NAME]", "Show the model, or use another one.", _model),
    Slash("cost", "", "Show tokens and cost of this session.", _cost),
    Slash("help", "", "List the commands.", _help),
    Slash("quit", "", "End the session; Ctrl-D does the same.", _quit),
)

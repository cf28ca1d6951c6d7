"""`help`: the help of a command, and topics that belong to no single command."""

import click

EXIT_CODES = """\b
Exit codes:
  0    verified: checks that failed before pass now;
       with --accept own-tests also proven by the run's own tests
  1    failed, or an error
  2    usage error: arguments, settings, no model
  3    finished, but not verified: proven only by the run's own tests, or not at all
  4    waiting for a person
  5    budget exhausted
  6    stopped: no progress, or a step used up its actions
  124  time limit reached
  130  interrupted; can be resumed
"""

_EXIT_CODES_MORE = """
`surefoot plan` ends with 0 when it has made a plan. `surefoot watch` ends with the code of the run. With --json, the
field exit_code of the last line is the same number. A script that wants only proven work asks for 0:

    surefoot run "fix the failing test" --check "pytest -q" && git commit -am "Fix it"
"""

_MODELS = """\
A run uses the first of these that is available:

  -m MODEL               for one command
  SUREFOOT_MODEL         a variable of the environment
  [model] model = "..."  in a config file, see: surefoot config
  a key                  OPENAI_API_KEY, ANTHROPIC_API_KEY, DEEPSEEK_API_KEY, ...
  a server               an Ollama or llama.cpp server on this machine
  the embedded model     after: surefoot model pull

How a model is named:

  local                  the embedded model; no key, no network
  openai/NAME            also anthropic/, deepseek/, openrouter/, qwen/
  ollama/NAME            also llamacpp/, vllm/: a server on this machine
  http://HOST/v1#NAME    any server that speaks the protocol of OpenAI
  cassette:FILE          answers that --record has recorded

Is it the right one, and does it answer?

    surefoot doctor
    surefoot run -m openai/gpt-5.4-mini "..." --max-cost 0.50
"""

_CHECKS = """\
A check is a command that must end with 0. The engine runs it, never the model.

  Given by you           --check "pytest -q", as often as you like. It proves the task, and the run cannot change it.
  Of the project         without --check: the checks of the trusted surefoot.toml, or else
                         the project's Python tests.
  Of the plan            what the model adds. They are shown, and decide only if there are no others.

A check proves the task if it failed before the run and passes after it. One that also passed before can detect a
regression, but cannot prove the task. The same check given twice is one check.

  A  a check of yours or of the project failed before and passes now: exit code 0
  B  a test that the run wrote fails on the old files and passes now: exit code 3, or 0 with --accept own-tests
  C  nothing proves it: exit code 3

See what the result of each check is based on:

    surefoot show --proofs
"""

_RUNS = """\
Name a run by the beginning of its id, which must match only one run.

`last` is the newest run of the current folder: the innermost folder around the working directory in which there were
runs, up to the root of the git repository. Commands that only show something, and `resume`, use it without an id too.
--all means the runs of all folders.

Commands that change files name the folder first. If it is not the current one, they ask, unless you gave the id and
--yes. A step is named by its id, or by its number in `surefoot show`.
"""

_JSON = """\
With --json, standard output is JSON and nothing else; progress and errors for people go to standard error.

  run, plan, resume, ...  one object per line: every event, and last {"type": "outcome", "exit_code": ...}
  list, doctor            one object per line
  show, stats, config     one object

A command that fails, for whatever reason, ends with

    {"type": "error", "error": {"message": "...", "remedy": "...", "kind": "usage_error", "exit_code": 2}}

The schemas:

    surefoot schema events
    surefoot schema error
"""

TOPICS: dict[str, tuple[str, str]] = {
    "exit-codes": ("what the exit code of a command means", EXIT_CODES.removeprefix("\b\n") + _EXIT_CODES_MORE),
    "models": ("which model is used, and how models are named", _MODELS),
    "checks": ("what proves that a task is done", _CHECKS),
    "runs": ("how runs and steps are named", _RUNS),
    "json": ("the output for programs", _JSON),
}


class _TopicName(click.ParamType[str]):
    """A topic or a command. Any text is accepted here: the command itself refuses an unknown one."""

    name = "text"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[click.shell_completion.CompletionItem]":
        from click.shell_completion import CompletionItem

        items = [CompletionItem(name, help=text) for name, (text, _) in TOPICS.items()]
        root = ctx.find_root().command
        for name, command in root.commands.items() if isinstance(root, click.Group) else ():
            items.append(CompletionItem(name, help=command.get_short_help_str()))
        return [item for item in items if item.value.startswith(incomplete)]


@click.command("help")
@click.argument("words", metavar="[TOPIC|COMMAND]...", nargs=-1, type=_TopicName())
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...]) -> int:
    """Show the help of a command, or of a topic: exit-codes, models, checks, runs, json."""
    root = ctx.find_root()
    if not words:
        click.echo(root.command.get_help(root))
        click.echo("\nTopics, as in `surefoot help exit-codes`:")
        for name, (text, _) in TOPICS.items():
            click.echo(f"  {name:<12}{text}")
        return 0
    if len(words) == 1 and words[0] in TOPICS:
        click.echo(TOPICS[words[0]][1].strip("\n"))
        return 0
    click.echo(_help_of(root, words))
    return 0


def _help_of(root: click.Context, words: tuple[str, ...]) -> str:
    """The help of a command or a subcommand. Raises UsageError if there is no such command."""
    context, command = root, root.command
    for word in words:
        subcommand = command.get_command(context, word) if isinstance(command, click.Group) else None
        if subcommand is None:
            from surefoot.errors import UsageError

            raise UsageError(
                f"there is no help on {' '.join(words)!r}",
                remedy=f"topics: {', '.join(TOPICS)}; commands: see `surefoot --help`",
            )
        context, command = click.Context(subcommand, info_name=word, parent=context), subcommand
    return command.get_help(context)

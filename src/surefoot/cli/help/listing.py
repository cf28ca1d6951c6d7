"""The list of commands in `surefoot --help`, grouped by purpose."""

import click

GROUPS: dict[str, dict[str, str]] = {
    "Start": {
        "run": "carry out a task",
        "plan": "make a plan and print it, without changing anything",
        "resume": "continue a run where it stopped",
        "demo": "see a whole run without a model",
    },
    "Look": {
        "list": "the runs of this folder, newest first",
        "show": "everything about a run",
        "diff": "what a run, or a step of it, changed",
        "watch": "follow a run of another terminal",
        "serve": "all runs in a browser",
        "report": "write a run to one file, to keep or to send",
        "stats": "figures over many runs",
        "replay": "play a run once more from its journal",
    },
    "Steer": {
        "answer": "answer the questions of a run",
        "pause": "stop a run, to be continued later",
        "skip": "continue without a step",
        "retry": "repeat a step, and continue from there",
        "edit": "change a plan, or the steps that have not started",
        "cancel": "end a run; its changes stay",
    },
    "Take over, take back": {
        "review": "keep, edit or undo parts of what a run changed",
        "commit": "commit what a run changed",
        "push": "push what a remote run made of a clone",
        "pr": "the text of a pull request",
        "undo": "restore the files as they were before a run or a step",
        "apply": "apply the changes that a run made in its copy",
        "fork": "a new run that starts in the middle of another one",
        "recover": "get a run back from Redis",
        "gc": "remove the snapshots of old runs",
    },
    "Set up": {
        "doctor": "check the installation, and say how to fix it",
        "init": "look at a project, and write its config file",
        "config": "show and change settings",
        "trust": "use the settings of a project",
        "untrust": "ignore them again",
        "model": "test a model; the embedded one: list, pull, serve",
        "completion": "complete commands in bash, zsh and fish",
        "help": "the help of a command or a topic",
    },
    "Integrate": {
        "acp": "serve an editor by the Agent Client Protocol",
        "mcp": "serve an MCP client; the MCP servers that runs use",
        "worker": "drive runs that were started with run --remote",
        "schema": "JSON schemas for programs",
    },
}
"""The commands under their titles, with short descriptions. Commands that are missing here are listed last, with the
first sentence of their own help."""
_OTHERS = "More"


def write_commands(group: click.Group, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    named = {name for commands in GROUPS.values() for name in commands}
    others = {name: "" for name in group.list_commands(ctx) if name not in named}
    widest = max(map(len, group.commands), default=0)
    for title, commands in {**GROUPS, _OTHERS: others}.items():
        rows = [
            (f"{name:<{widest}}", text or command.get_short_help_str(formatter.width - 6 - widest))
            for name, text in commands.items()
            if (command := group.get_command(ctx, name)) and not command.hidden
        ]
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)

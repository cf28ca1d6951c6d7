"""`completion`: the script with which a shell completes commands, options, runs, steps and models."""

import contextlib
import os

import click

VARIABLE = "_SUREFOOT_COMPLETE"
"""The environment variable by which the script asks for candidates, with a value such as `bash_complete`."""

_INSTALL = {
    "bash": """\
# Completion of surefoot for bash 4.4 and newer. For this terminal:
#     eval "$(surefoot completion bash)"
# For every terminal, once:
#     mkdir -p ~/.local/share/bash-completion/completions
#     surefoot completion bash > ~/.local/share/bash-completion/completions/surefoot
""",
    "zsh": """\
# Completion of surefoot for zsh. For this terminal, after compinit:
#     eval "$(surefoot completion zsh)"
# For every terminal, once (the folder must be in $fpath before compinit runs):
#     surefoot completion zsh > ~/.zfunc/_surefoot
""",
    "fish": """\
# Completion of surefoot for fish. For this terminal:
#     surefoot completion fish | source
# For every terminal, once:
#     surefoot completion fish > ~/.config/fish/completions/surefoot.fish
""",
}


@click.command()
@click.argument("shell", type=click.Choice(tuple(_INSTALL)))
def completion(shell: str) -> int:
    """Print the script that completes commands in a shell: options, runs, steps, models and phases.

    The script says how to install it. Nothing of yours is changed.
    """
    click.echo(script(shell), nl=False)
    return 0


def script(shell: str) -> str:
    from click.shell_completion import ShellComplete, get_completion_class

    completion_class = get_completion_class(shell)
    assert completion_class is not None
    # The subclass for bash would start the first bash in the PATH to ask for its version.
    text = ShellComplete.source(completion_class(click.Group("surefoot"), {}, "surefoot", VARIABLE))
    # Keeps runs in the order of their time, as in the other shells.
    text = text.replace("complete --no-files ", "complete --no-files --keep-order ")
    # A file in $fpath is loaded at the first completion. From the second on it is a function, which would do nothing.
    text = text.replace("== loadautofunc ]]", "== (loadautofunc|shfunc) ]]")
    first, _, rest = text.partition("\n")
    # zsh reads the purpose of a file from its first line.
    return f"{first}\n{_INSTALL[shell]}{rest}" if first.startswith("#compdef") else _INSTALL[shell] + text


def answer_shell(cli: click.Command) -> int:
    """Print the candidates that the script asks for; after any error, nothing at all. Returns the exit code."""
    from click.shell_completion import shell_complete

    from surefoot.cli.help.candidates import add_candidates

    with contextlib.suppress(Exception), open(os.devnull, "w") as silence, contextlib.redirect_stderr(silence):  # noqa: PTH123
        add_candidates(cli)
        return shell_complete(cli, {}, "surefoot", VARIABLE, os.environ[VARIABLE])
    return 0

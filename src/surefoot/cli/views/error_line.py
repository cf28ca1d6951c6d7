"""An error as one JSON object on standard output, if JSON was asked for. The lines for people go to standard error."""

import contextlib
import json
import re
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from surefoot.cli.report.hiding import safe


class Problem(NamedTuple):
    """Why a command ended without its result."""

    message: str
    remedy: str
    kind: str
    """For programs: the name of the error in docs/reference/errors, in snake case."""
    exit_code: int

    def as_object(self) -> dict[str, Any]:
        texts = {"message": " ".join(safe(self.message).split()), "remedy": safe(self.remedy)}
        return {"type": "error", "error": {**texts, "kind": self.kind, "exit_code": self.exit_code}}


INTERRUPTED = Problem("interrupted", "", "interrupted", 130)


def write_problem(problem: Problem) -> None:
    """Write the problem as JSON. A closed pipe is ignored."""
    with contextlib.suppress(OSError, ValueError):
        print(json.dumps(problem.as_object()), flush=True)


def kind_of(error: BaseException) -> str:
    """The cause that the error names, or else the name of its class in snake case: `NoModel` is `no_model`."""
    return getattr(error, "cause", "") or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).lower()


def problem_schema() -> dict[str, Any]:
    """The JSON schema of a problem."""
    fields = {
        "message": {"type": "string", "description": "what happened, on one line"},
        "remedy": {"type": "string", "description": "what to do about it; may be empty or have several lines"},
        "kind": {"type": "string", "description": "usage_error, config_error, no_model, interrupted, ..."},
        "exit_code": {"type": "integer", "description": "the exit code of the command"},
    }
    return {
        "type": "object",
        "properties": {
            "type": {"const": "error"},
            "error": {"type": "object", "properties": fields, "required": [*fields]},
        },
        "required": ["type", "error"],
    }


def wants_json(words: Sequence[str], group: click.Group) -> bool:
    """Whether a command line asks for JSON, even if it is not valid.

    A `--json` that is the value of another option, or comes after `--`, does not count.
    """
    command: click.Command = group
    at = 0
    while at < len(words) and words[at] != "--":
        word = words[at]
        at += 1
        if word.partition("=")[0] == "--json":
            return True
        if word.startswith("-") and len(word) > 1:
            at += _takes_next_word(word, command)
        elif isinstance(command, click.Group):
            command = command.commands.get(word, command)
    return False


def _takes_next_word(word: str, command: click.Command) -> bool:
    """Whether the next word is the value of this option, or of the last of several short options."""
    options = {name: option for option in command.params if isinstance(option, click.Option) for name in option.opts}
    if word.startswith("--"):
        return word in options and not options[word].is_flag
    for at, letter in enumerate(word[1:], 1):
        option = options.get(f"-{letter}")
        if option is None:
            return False
        if not option.is_flag:
            return at == len(word) - 1
    return False


def error_schema() -> dict[str, Any]:
    """The JSON schema of a problem as a document of its own."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The error that ends a command with --json",
        "version": 1,
        **problem_schema(),
    }


def stop_with(problem: Problem, *, as_json: bool) -> int:
    """Print an error: on standard error and, with `as_json`, also as a JSON object. Returns the exit code."""
    print(safe(problem.message), file=sys.stderr)
    if as_json:
        write_problem(problem)
    return problem.exit_code

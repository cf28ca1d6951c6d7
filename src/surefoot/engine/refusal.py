"""Refuses tasks that contain a secret, or a check that cannot be run.

The journal stores the inputs of a run verbatim, so they must hold no secret. A check that no shell can start fails
before and after any work, whatever a model does.
"""

import re
from collections.abc import Sequence

from surefoot.core.outcome import CheckResult
from surefoot.core.plan import CommandCheck
from surefoot.core.task import Task
from surefoot.errors import CommandNotFound, UsageError
from surefoot.journal import events as e
from surefoot.journal.redact import Redactor
from surefoot.project.folder import list_files
from surefoot.workspace.process.missing_commands import NOT_FOUND, MissingCommand, find_missing, named_by_shell
from surefoot.workspace.process.missing_modules import find_missing_module

_VALUE_REMEDY = "write the variable's name instead of its value; if it is not a secret, give the variable another name"
_FORMAT_REMEDY = "keep it in a file or in a variable of the environment, and name that instead"


def refuse_secrets(redactor: Redactor, task: Task, events: Sequence[e.Event]) -> None:
    """Raise if the task, a check, the workspace's path or a given plan contains a secret.

    Text that looks like a token is accepted as part of a path, and in a given plan.
    """
    folder = task.folder
    redactor = redactor.sparing(lambda: "\n".join([str(folder), *list_files(folder)]))
    parts = {"the task": task.text, "the path of the workspace": task.workspace}
    parts |= {f"check {number}": check.model_dump_json() for number, check in enumerate(task.checks, 1)}
    parts |= {f"the given {event.type.replace('_', ' ')}": e.encode(event).decode() for event in events}
    for what, text in parts.items():
        if finding := redactor.find_known(text):
            raise _refused(what, finding, _VALUE_REMEDY)
    for what, text in (("the task", task.text), *((f"the check {c.label!r}", c.label) for c in task.checks)):
        if finding := redactor.find_format(text):
            raise _refused(redactor.redact(what), finding, _FORMAT_REMEDY)


def refuse_secret_answer(redactor: Redactor, answer: str, what: str = "the answer") -> None:
    """Raise if an answer to a question, or other text from a person, contains a known secret: it would be stored."""
    if finding := redactor.find_known(answer):
        raise _refused(what, finding, _VALUE_REMEDY)


def refuse_missing_commands(task: Task) -> None:
    """Raise if a check names a command that is not on this machine, or a file that may not be executed."""
    for check in task.checks:
        if not isinstance(check, CommandCheck) or check.expect_exit in _CANNOT_RUN:
            continue
        if missing := find_missing(check.command, task.folder):
            raise _not_found(missing)


def refuse_unstarted(task: Task, result: CheckResult) -> None:
    """Raise if the shell could not parse a check of the user when it ran it, or start its command.

    A script that does not exist yet is not refused, because the task may be to write it.
    """
    if result.passed or result.check.origin != "user":
        return
    if result.exit_code == _NOT_PARSED and (problem := _SYNTAX_ERROR.search(result.detail)):
        raise CommandNotFound(
            f"the check cannot be run: the shell does not understand it ({problem.group('problem')})",
            remedy="correct the quotes and brackets of the command",
        )
    if result.exit_code not in _CANNOT_RUN:
        return
    if missing := named_by_shell(result.detail, task.folder):
        raise _not_found(missing)
    if result.exit_code == _NOT_EXECUTABLE:
        raise CommandNotFound(
            f"the check {result.check.label!r} cannot be run: {result.detail}",
            remedy="correct the command; a check has to be able to fail and to pass",
        )


def warn_of_missing_module(task: Task, result: CheckResult) -> str:
    """Return a warning if a check of the user names a module that nothing provides; empty otherwise.

    The check is not refused, because the task may be to write the module.
    """
    check = result.check
    if result.passed or check.origin != "user" or not isinstance(check, CommandCheck):
        return ""
    missing = find_missing_module(check.command, result.detail, task.folder)
    if missing is None:
        return ""
    meant = f"; did you mean {missing.instead}?" if missing.instead else ""
    return (
        f"before the run neither this Python nor the project had the module {missing.name}, which the check "
        f"{check.label!r} runs{meant}"
    )


_NOT_PARSED = 2
_SYNTAX_ERROR = re.compile(
    r"^(?:\S*/)?(?:ba)?sh: (?:-c: )?(?:line )?(?:\d+: )?(?P<problem>(?:unexpected EOF|syntax error).*)", re.MULTILINE
)
"""What a shell says about its own command line. About a script it names the script."""
_NOT_EXECUTABLE = 126
_CANNOT_RUN = (_NOT_EXECUTABLE, 127)
"""The exit codes of a shell that could not start a command."""


def _not_found(missing: MissingCommand) -> CommandNotFound:
    """Name the command alone: the rest of the check may hold a secret that is not known yet."""
    name = missing.name
    if missing.problem != NOT_FOUND:
        remedy = f"allow it: {missing.instead}" if missing.instead else "name a program in it"
    else:
        meant = f"did you mean {missing.instead}? Otherwise " if missing.instead else ""
        remedy = f"{meant}install {name}, or if the task is to make it, write: command -v {name} && {name} ..."
    return CommandNotFound(f"the check cannot be run: {name} {missing.problem}", remedy=remedy)


def _refused(what: str, finding: str, remedy: str) -> UsageError:
    return UsageError(f"{what} contains {finding}, which must not be stored or sent to a model", remedy=remedy)

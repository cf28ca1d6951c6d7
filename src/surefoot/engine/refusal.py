"""Refuses a task with a secret in it. The journal stores what the engine acts on as it is, so it must hold none."""

from collections.abc import Sequence

from surefoot.core.task import Task
from surefoot.errors import UsageError
from surefoot.journal import events as e
from surefoot.journal.redact import Redactor
from surefoot.prompting.project.folder import list_files

_VALUE_REMEDY = "write the variable's name instead of its value; if it is no secret, give the variable another name"
_FORMAT_REMEDY = "keep it in a file or in a variable of the environment, and name that instead"


def refuse_secrets(redactor: Redactor, task: Task, given: Sequence[e.Event]) -> None:
    """Raise if the task, a check, the workspace's path or a given plan contains a secret.

    What looks like a token is accepted as part of a path, and in a given plan.
    """
    folder = task.folder
    redactor = redactor.sparing(lambda: "\n".join([str(folder), *list_files(folder)]))
    parts = {"the task": task.text, "the path of the workspace": task.workspace}
    parts |= {f"check {number}": check.model_dump_json() for number, check in enumerate(task.checks, 1)}
    parts |= {f"the given {event.type.replace('_', ' ')}": e.encode(event).decode() for event in given}
    for what, text in parts.items():
        if found := redactor.find_known(text):
            raise _refused(what, found, _VALUE_REMEDY)
    for what, text in (("the task", task.text), *((f"the check {c.label!r}", c.label) for c in task.checks)):
        if found := redactor.find_format(text):
            raise _refused(redactor.redact(what), found, _FORMAT_REMEDY)


def refuse_secret_answer(redactor: Redactor, answer: str, what: str = "the answer") -> None:
    """Raise if an answer to a question, or other words of a person, contain a known secret: they would be stored."""
    if found := redactor.find_known(answer):
        raise _refused(what, found, _VALUE_REMEDY)


def _refused(what: str, found: str, remedy: str) -> UsageError:
    return UsageError(f"{what} contains {found}, which must not be stored or sent to a model", remedy=remedy)

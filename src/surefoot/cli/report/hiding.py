"""Hides secrets in everything that the command line prints, logs or exports.

Free text is redacted when it is recorded, see `engine/runtime/recorder.py`. Here it is redacted again, and known
secrets are removed from everything else except paths, ids, checks and the workspace.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.journal.redact import Redactor, neutralise

if TYPE_CHECKING:
    # A list of runs needs none of the values, and importing them takes longer than the listing.
    from surefoot.core.values import Value

_in_use: list[Redactor] = []


def hide_with(redactor: Redactor) -> None:
    """Use this redactor from now on. The redactor of a run also knows the key of its model."""
    _in_use[:] = [redactor.sparing(_folder)]


def redactor() -> Redactor:
    if not _in_use:
        hide_with(Redactor.from_environment(os.environ))
    return _in_use[0]


def safe(text: str) -> str:
    """Text without known secrets and control characters."""
    return neutralise(redactor().redact_known(text))


def as_json(value: "Value") -> dict[str, Any]:
    """The fields of a value for JSON, redacted."""
    from surefoot.journal.redacted_values import exported

    return exported(value, redactor())


def _folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return ""

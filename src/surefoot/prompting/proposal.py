"""A proposed action of a step, before the engine has allowed it."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Literal

from surefoot.prompting.drafts.full import Revision


@dataclass(frozen=True, slots=True)
class Proposal:
    decision: Literal["act", "done", "replan", "check", "revise", "cannot", "invalid"]
    """`check`: run the checks; `revise`: change the plan; `cannot`: the task cannot be done; `invalid`: a call that
    cannot be carried out, with the problem as `thought`."""
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    body: str = ""
    """File content or code that came outside the arguments."""
    thought: str = ""
    call_id: str = ""
    """The call of the model, in a conversation."""
    revision: Revision | None = None
    edited: bool = False
    """True if a person changed the action before it was carried out."""

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.tool, self.arguments, self.body)


def fingerprint(tool: str, arguments: dict[str, Any], body: str) -> str:
    """Identify an action by its content. Equal actions have equal fingerprints, whatever the order of arguments."""
    # Equal to the JSON of a list of the three, but faster: most have no arguments or no body.
    canonical = f"[{_CANONICAL(tool)}, {_CANONICAL(arguments) if arguments else '{}'}, {_CANONICAL(body.strip())}]"
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, default=str).encode

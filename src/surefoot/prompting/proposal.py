"""A proposed action of a step, before the engine has allowed it."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Literal

from surefoot.prompting.conversation.submissions import Revision


@dataclass(frozen=True, slots=True)
class Proposal:
    decision: Literal["act", "done", "replan", "check", "revise", "cannot", "invalid"]
    """`check`: run the checks; `revise`: change the plan; `cannot`: it cannot be done; `invalid`: a call that cannot
    be carried out, with the problem as `thought`."""
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    body: str = ""
    """File content or code that came outside the arguments."""
    thought: str = ""
    call_id: str = ""
    """The call of the model, in a conversation."""
    revision: Revision | None = None
    edited: bool = False
    """A person has changed it before it is done."""

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.tool, self.arguments, self.body)


def fingerprint(tool: str, arguments: dict[str, Any], body: str) -> str:
    """Identify an action by its content. Equal actions have equal fingerprints, whatever the order of arguments."""
    # The JSON of a list of the three. Most have no arguments or no body, and the encoder is fast for plain text.
    canonical = f"[{_CANONICAL(tool)}, {_CANONICAL(arguments) if arguments else '{}'}, {_CANONICAL(body.strip())}]"
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, default=str).encode

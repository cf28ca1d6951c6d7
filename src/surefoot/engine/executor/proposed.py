"""Stores the proposals of a model with the question about them.

After a pause exactly these proposals are carried out or refused. The model is not asked again, because its answer might
differ from the one that a person has approved.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.engine.runtime.run import Run
from surefoot.journal.state import StepRun
from surefoot.prompting.proposal import Proposal


@dataclass(frozen=True, slots=True)
class Proposed:
    """The part of a model's answer that is not carried out yet, and the state of the attempt."""

    proposals: Sequence[Proposal]
    """The question is about the first one; the others are the parts of the answer that follow."""
    checked_after: int
    """The number of actions after which the checks last ran."""
    has_new_parts: bool


def store(run: Run, proposed: Proposed) -> str:
    """Store an answer and return its hash. If it contains a secret it is not stored, and the hash is empty."""
    parts = [(p.decision, p.tool, p.arguments, p.body, p.thought) for p in proposed.proposals]
    text = json.dumps([parts, proposed.checked_after, proposed.has_new_parts], ensure_ascii=False)
    return run.journal.put_blob(text.encode()) if run.redactor.redact_known(text) == text else ""


def load(run: Run, step_run: StepRun) -> Proposed | None:
    """Return the answer that a person was asked about before the pause; None if there is none, or it was handled."""
    if not step_run.proposed:
        return None
    parts, checked_after, has_new_parts = json.loads(run.journal.get_blob(step_run.proposed))
    return Proposed([Proposal(*part) for part in parts], checked_after, has_new_parts)

"""Keeps what a model has proposed with the question about it. After a pause exactly that is carried out or refused, and
the model is not asked again: it might say something else than what a person has approved."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.engine.runtime.run import Run
from surefoot.journal.state import StepRun
from surefoot.prompting.proposal import Proposal


@dataclass(frozen=True, slots=True)
class Proposed:
    """An answer of the model as far as it is not done yet, and where the attempt stood."""

    proposals: Sequence[Proposal]
    """The first one is asked about; others are the parts of the answer that follow."""
    checked_after: int
    """The number of actions after which the checks last ran."""
    has_new_parts: bool


def store(run: Run, proposed: Proposed) -> str:
    """Return the hash of the stored answer. One with a secret in it is not stored, and is asked for anew."""
    parts = [(p.decision, p.tool, p.arguments, p.body, p.thought) for p in proposed.proposals]
    text = json.dumps([parts, proposed.checked_after, proposed.has_new_parts], ensure_ascii=False)
    return run.journal.put_blob(text.encode()) if run.redactor.redact_known(text) == text else ""


def load(run: Run, step_run: StepRun) -> Proposed | None:
    """Return the answer that a person was asked about before the pause; None if there is none, or it was dealt with."""
    if not step_run.proposed:
        return None
    parts, checked_after, has_new_parts = json.loads(run.journal.get_blob(step_run.proposed))
    return Proposed([Proposal(*part) for part in parts], checked_after, has_new_parts)

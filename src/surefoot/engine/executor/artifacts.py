"""Artifacts: the results that steps hand on to their dependants.

An artifact is immutable once recorded. Small ones are in the journal with the step, large ones are blobs, of which the
last few used stay in memory. An expired artifact is no longer handed on, and its blob is deleted.
"""

import copy
import json
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import to_json

from surefoot.core.phases import Artifact
from surefoot.core.plan import ExecutionStep
from surefoot.core.transitions import HAS_RESULT
from surefoot.errors import MissingArtifact
from surefoot.journal.state import RunState, StepRun
from surefoot.journal.store.base import Journal
from surefoot.prompting.context import summarise_outputs

INLINE_BYTES = 4_096
"""Outputs up to this size stay in the event itself."""
IN_MEMORY = 10


class Artifacts(Mapping[str, Any]):
    """A mapping from the id of a step to the outputs that it ended with."""

    def __init__(self, state: RunState, journal: Journal) -> None:
        self._state = state
        self._journal = journal
        self._recent: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def keep(self, step_run: StepRun, outputs: dict[str, Any]) -> tuple[Artifact | None, dict[str, Any]]:
        """Return the artifact of a finished step, and the outputs to record with the step's end."""
        if not outputs:
            return None, outputs
        step = step_run.step
        content = to_json(outputs, fallback=str)
        until = self.expiry(step)
        artifact = Artifact(id=f"{step.id}@{step_run.attempt}", producer=step.id, size=len(content), expires_at=until)
        if len(content) <= INLINE_BYTES:
            # The results of actions are in their own events; the reducers join them again.
            return artifact, {}
        self._remember(artifact.id, outputs)
        # The ids make the blob unique to this artifact, so that it can be deleted when the artifact expires.
        blob = to_json({"run": self._state.run_id, "artifact": artifact.id, "outputs": outputs}, fallback=str)
        return (
            artifact.with_(hash=self._journal.put_blob(blob), summary=summarise_outputs(outputs)),
            {"artifact": artifact.id},
        )

    def is_inline(self, outputs: dict[str, Any]) -> bool:
        """Whether outputs are small enough to be read from the events of the actions."""
        return len(to_json(outputs, fallback=str)) <= INLINE_BYTES

    def expiry(self, step: ExecutionStep) -> float | None:
        return None if step.pinned else time.time() + self._state.config.artifact_ttl_hours * 3600

    def of(self, step_id: str) -> dict[str, Any]:
        """Return a copy of the outputs of a step. Raises MissingArtifact if they have expired or cannot be read."""
        step_run = self._state.steps[step_id]
        self._require(step_id, step_run)
        if step_run.recorded_artifact is None or not step_run.recorded_artifact.hash:
            return copy.deepcopy(step_run.outputs)
        self._recent.move_to_end(step_run.recorded_artifact.id)
        return copy.deepcopy(self._recent[step_run.recorded_artifact.id])

    def sweep(self) -> None:
        """Delete the content of every artifact that has expired."""
        for step_run in self._state.steps.values():
            if _has_expired(step_run):
                self._delete(step_run)

    def _delete(self, step_run: StepRun) -> None:
        artifact = step_run.recorded_artifact
        if artifact is not None and artifact.hash:
            self._recent.pop(artifact.id, None)
            self._journal.drop_blob(artifact.hash)

    def _require(self, step_id: str, step_run: StepRun) -> None:
        if _has_expired(step_run):
            self._delete(step_run)
            raise MissingArtifact(
                f"the result of step {step_id} has expired",
                remedy=f"do it again: surefoot retry {self._state.run_id} {step_id}; artifact_ttl_hours says when",
            )
        artifact = step_run.recorded_artifact
        if artifact is not None and artifact.hash and artifact.id not in self._recent:
            self._remember(artifact.id, self._load(step_id, artifact))

    def __getitem__(self, step_id: str) -> dict[str, Any]:
        if not self._state.steps[step_id].ended:
            raise KeyError(step_id)
        return self.of(step_id)

    def __iter__(self) -> Iterator[str]:
        return (step_id for step_id, step_run in self._state.steps.items() if step_run.ended)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def needed_by(self, step_id: str) -> list[StepRun]:
        """Return the dependencies of a step that hand a result on. Raises MissingArtifact if a result is missing."""
        needed = []
        for dependency in self._state.depends_on.get(step_id, ()):
            step_run = self._state.steps[dependency]
            if step_run.status in HAS_RESULT:
                self._require(dependency, step_run)
                needed.append(step_run)
        return needed

    def missing_for(self, step_id: str) -> dict[str, MissingArtifact]:
        """Return the dependencies of a step whose result has expired or cannot be read, with the reason."""
        missing = {}
        for dependency in self._state.depends_on.get(step_id, ()):
            step_run = self._state.steps[dependency]
            try:
                if step_run.status in HAS_RESULT:
                    self._require(dependency, step_run)
            except MissingArtifact as error:
                missing[dependency] = error
        return missing

    def _load(self, step_id: str, artifact: Artifact) -> dict[str, Any]:
        try:
            content = json.loads(self._journal.get_blob(artifact.hash))
        except Exception as error:
            raise MissingArtifact(
                f"the result of step {step_id} cannot be read: {error}",
                remedy=f"do it again: surefoot retry {self._state.run_id} {step_id}",
            ) from error
        assert isinstance(content, dict)
        # Older journals have the outputs alone.
        outputs = content["outputs"] if content.keys() == {"run", "artifact", "outputs"} else content
        assert isinstance(outputs, dict)
        return outputs

    def _remember(self, artifact_id: str, content: dict[str, Any]) -> None:
        self._recent[artifact_id] = content
        while len(self._recent) > IN_MEMORY:
            self._recent.popitem(last=False)


def _has_expired(step_run: StepRun) -> bool:
    return step_run.expires_at is not None and step_run.expires_at < time.time()

"""What steps hand on to those that depend on them. An artifact is what a step ended with, unchangeable once recorded:
small ones are in the journal with the step, large ones beside it under their hash. The newest few stay in memory."""

import json
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import to_json

from surefoot.errors import MissingArtifact
from surefoot.machine import StepStatus
from surefoot.outcome import Artifact
from surefoot.plan import ExecutionStep
from surefoot.run import Run
from surefoot.state import StepRun
from surefoot.tools.results import summarise

INLINE_BYTES = 4_096
"""Up to here the outputs stay in the event itself."""
IN_MEMORY = 10
SUMMARY_CHARS = 300
LINE_CHARS = 160

_HAND_ON = frozenset({StepStatus.SUCCEEDED, StepStatus.PARTIAL, StepStatus.DEGRADED})


class Artifacts(Mapping[str, Any]):
    """By the id of the step that made them."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._recent: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def keep(self, mine: StepRun, outputs: dict[str, Any]) -> tuple[Artifact | None, dict[str, Any]]:
        """The artifact of a step that is done, and what of it goes into the journal with the step's end."""
        if not outputs:
            return None, outputs
        step = mine.step
        content = to_json(outputs, fallback=str)
        until = self.expiry(step)
        made = Artifact(id=f"{step.id}@{mine.attempt}", producer=step.id, size=len(content), expires_at=until)
        if len(content) <= INLINE_BYTES:
            # What the actions gave is in their own events; the fold puts it together again.
            return made, {}
        self._remember(made.id, outputs)
        return (
            made.with_(hash=self._run.services.journal.put_blob(content), summary=_summary(outputs)),
            {"artifact": made.id},
        )

    def stays(self, outputs: dict[str, Any]) -> bool:
        """Small enough to be found with the actions that gave it."""
        return len(to_json(outputs, fallback=str)) <= INLINE_BYTES

    def expiry(self, step: ExecutionStep) -> float | None:
        return None if step.pinned else time.time() + self._run.config.artifact_ttl_hours * 3600

    def of(self, step_id: str) -> dict[str, Any]:
        """What a step handed on; raises where it should be there and is not."""
        mine = self._run.state.steps[step_id]
        self._must_be_there(step_id, mine)
        if mine.filed is None or not mine.filed.hash:
            return mine.outputs
        self._recent.move_to_end(mine.filed.id)
        return self._recent[mine.filed.id]

    def _must_be_there(self, step_id: str, mine: StepRun) -> None:
        if mine.expires_at is not None and mine.expires_at < time.time():
            raise MissingArtifact(
                f"the result of step {step_id} has expired",
                remedy=f"do it again: surefoot retry {self._run.state.run_id} {step_id}; artifact_ttl_hours says when",
            )
        filed = mine.filed
        if filed is not None and filed.hash and filed.id not in self._recent:
            self._remember(filed.id, self._load(step_id, filed))

    def __getitem__(self, step_id: str) -> dict[str, Any]:
        if not self._run.state.steps[step_id].ended:
            raise KeyError(step_id)
        return self.of(step_id)

    def __iter__(self) -> Iterator[str]:
        return (step_id for step_id, mine in self._run.state.steps.items() if mine.ended)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def needed_by(self, step_id: str) -> list[StepRun]:
        """The steps it depends on that hand something on, each looked at: what is missing is told now, not found out
        later."""
        needed = []
        for other in self._run.state.needs.get(step_id, ()):
            mine = self._run.state.steps[other]
            if mine.status in _HAND_ON:
                self._must_be_there(other, mine)
                needed.append(mine)
        return needed

    def _load(self, step_id: str, artifact: Artifact) -> dict[str, Any]:
        try:
            content = json.loads(self._run.services.journal.get_blob(artifact.hash))
        except Exception as error:
            raise MissingArtifact(
                f"the result of step {step_id} cannot be read: {error}",
                remedy=f"do it again: surefoot retry {self._run.state.run_id} {step_id}",
            ) from error
        assert isinstance(content, dict)
        return content

    def _remember(self, artifact_id: str, content: dict[str, Any]) -> None:
        self._recent[artifact_id] = content
        while len(self._recent) > IN_MEMORY:
            self._recent.popitem(last=False)


def handed_on(run: Run, step_id: str) -> str:
    """For the prompt: what the steps before this one found, in a few lines, and how to see all of it."""
    lines = []
    for mine in run.artifacts.needed_by(step_id):
        other, artifact = mine.step.id, mine.artifact
        if artifact is None:
            continue
        mark = " (a stand-in, not the real result)" if artifact.degraded else ""
        summary = artifact.summary or _summary(mine.outputs)
        more = f' read_result("{other}") shows all of it.' if artifact.hash else ""
        lines.append(f"- {mine.step.name}{mark}: {summary}{more}")
    return "\n# From earlier steps\n" + "\n".join(lines) + "\n" if lines else ""


def _summary(outputs: dict[str, Any]) -> str:
    result = outputs.get("result", outputs)
    shown = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
    # A whole document on one line has its telling part in front.
    rows = [row if len(row) <= LINE_CHARS else row[:LINE_CHARS] + " ..." for row in shown.splitlines()]
    return summarise("\n".join(rows), limit=SUMMARY_CHARS, failed=False)

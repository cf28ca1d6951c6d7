"""A run whose effects come from the journal: results of checks and tests, and controls."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from surefoot.core.outcome import CheckResult
from surefoot.core.plan import Check, CommandCheck
from surefoot.core.proof import SuiteEvidence
from surefoot.engine.runtime.recorder import Recorder
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.services import Services
from surefoot.engine.verifier.scratch import Place
from surefoot.engine.verifier.suite.running import SuiteRunner
from surefoot.engine.verifier.verifier import Verifier
from surefoot.history.replay.recorded_parts import Files, RecordedModel, RecordedPerson, ReplayJournal
from surefoot.history.replay.recorded_tools import MARK, step_of_copy
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.workspace.sandbox.bubblewrap import Bubblewrap
from surefoot.workspace.sandbox.landlock import Landlock
from surefoot.workspace.sandbox.sandbox import Sandbox


class RecordedVerifier(Verifier):
    """Returns recorded results. The choice of checks is a decision, so it is compared."""

    journal: ReplayJournal
    files: Files

    async def check(self, checks: Sequence[Check], when: e.CheckTime, step_id: str = "") -> tuple[CheckResult, ...]:
        if not checks:
            return ()
        recording = self.journal.recording
        record = recording.peek(step_id)
        labels = sorted({check.key: check.label for check in checks}.values())
        if record is None or not isinstance(record.event, e.ChecksRan) or record.event.when != when:
            raise recording.end(step_id, f"runs the checks {labels} ({when})")
        by_key = {result.check.key: result for result in record.event.results}
        if by_key.keys() != {check.key for check in checks}:
            raise recording.end(step_id, f"runs the checks {labels} ({when})")
        self.files.change(record.event.changed, record.seq)
        await self._recorder.record(record.event)
        return record.event.results

    async def check_at(self, checks: Sequence[Check], place: Place) -> tuple[CheckResult, ...]:
        recording, purpose = self.journal.recording, step_of_copy(place.root)
        if purpose in self._recorder.state.steps and place.root != self._place.root:
            recorded = (place.root / MARK).read_text() if (place.root / MARK).exists() else ""
            if recorded:
                results: tuple[CheckResult, ...] = recording.find(purpose, e.CandidateTried).results
                return results
            # A combination of candidates is recorded only if it was better than each of them.
            return tuple(CheckResult(check=check, passed=False) for check in checks)
        output = recording.find("", e.Validated).result.output
        passed = set(output.hollow) if purpose == "hollow" else {c.key for c in checks}
        if purpose != "hollow" and output.view is not None:
            passed -= {result.check.key for result in output.view.red}
        return tuple(CheckResult(check=check, passed=check.key in passed) for check in checks)

    def may_run(self, check: Check) -> bool:
        """Whether a check may run. A recorded check of the plan may, whether or not this machine could confine it."""
        if isinstance(check, CommandCheck) and check.origin == "plan" and self._was_run(check):
            return True
        return super().may_run(check)

    def _was_run(self, check: Check) -> bool:
        ran = (r.event for r in self.journal.recording.records if isinstance(r.event, e.ChecksRan))
        return any(result.check.key == check.key for event in ran for result in event.results)


class RecordedSuite(SuiteRunner):
    journal: ReplayJournal

    def recorded_evidence(self) -> SuiteEvidence | None:
        output = self.journal.recording.find("", e.Validated).result.output
        return output.tests if output and output.tests else SuiteEvidence()


class _ReplayRecorder(Recorder):
    """Records each control as soon as all recorded decisions before it were made."""

    async def record(self, *events: e.Event) -> None:
        await super().record(*events)
        assert isinstance(self.journal, ReplayJournal)
        for control in self.journal.recording.due_controls():
            await super().record(control)


class ReplayedRun(Run):
    """A run whose effects come from the journal. Its decisions are made by the current engine."""

    def __init__(self, services: Services, state: RunState, journal: ReplayJournal, began: e.Event) -> None:
        self._replay, self._began = journal, began
        model, person = services.model, services.person
        super().__init__(services, state)
        if isinstance(model, RecordedModel):
            model.recording, model.lane = (lambda: journal.recording), self._lane
        if isinstance(person, RecordedPerson):
            person.recording = lambda: journal.recording

    @property
    def shown_folder(self) -> str:
        """The folder of the recorded run: the answer to a request is found only if the wording is the same."""
        return self._replay.folder

    def _lane(self) -> str:
        """The step whose task is running now; empty if it is none of them."""
        task = asyncio.current_task()
        return next((step for step in self.state.running if self.active_steps.task_of(step) is task), "")

    def _make_sandbox(self) -> Sandbox | None:
        """A sandbox of the kind that the run had. Nothing is run in it."""
        match getattr(self._began, "isolation", ""):
            case "bubblewrap":
                return Bubblewrap(Path("bwrap"), "", self.root)
            case "landlock":
                return Landlock(self.root)
        return None

    def _make_recorder(self) -> Recorder:
        return _ReplayRecorder(self.journal, self.bus, self.state, self.redactor)

    def _make_verifier(self) -> Verifier:
        verifier = RecordedVerifier(
            self.recorder, self.workspace, Place(self.root, self.sandbox), self.artifacts, self.scratch
        )
        verifier.journal, verifier.files = self._replay, self._replay.files
        return verifier

    def _make_suite(self) -> SuiteRunner:
        suite = RecordedSuite(self.scratch, self.sandbox, self.state)
        suite.journal = self._replay
        return suite

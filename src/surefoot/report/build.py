"""Builds the document of a report from the journal and the snapshots of a run."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from surefoot._version import __version__
from surefoot.errors import JournalError, SurefootError
from surefoot.history.timeline import Timeline, build_timeline, diff_between
from surefoot.journal import events as e
from surefoot.journal.redact import Redactor
from surefoot.journal.redacted_values import redacted_for_display
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.report import facts
from surefoot.report.document import REPORT_VERSION, Report, StepDocument
from surefoot.report.limits import LIMITS, MAX_ACTIONS, OPTIONAL_CHARS, Budget, Cleaner, Omissions
from surefoot.view.conversation import Transcript
from surefoot.view.details import step_artifacts, step_log, step_proofs
from surefoot.view.documents import FileDiff, Message
from surefoot.view.fold import snapshot, view_of
from surefoot.view.patches import file_diffs, without_tool_files
from surefoot.view.state import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A run, and access to its stored content."""

    records: Sequence[e.Record]
    blob: Callable[[str], bytes]
    home: Path
    redactor: Redactor
    live: bool = False
    """Whether a process is working on the run."""
    locale: str | None = None


def build_report(source: Source, room: int = OPTIONAL_CHARS) -> Report:
    """Build the document of a run in its current state. `room` limits the diffs, the outputs and the conversation."""
    return _Builder(source, Budget(room)).build()


@dataclass(slots=True)
class _Builder:
    source: Source
    budget: Budget
    omissions: Omissions = field(default_factory=Omissions)
    cleaner: Cleaner = field(init=False)
    view: RunView = field(init=False)
    shown: list[e.Record] = field(init=False)
    original: RunState = field(init=False)
    """Folded from the original events: redaction must not alter paths before their files are looked up."""
    timeline: Timeline = field(init=False)

    def __post_init__(self) -> None:
        redactor = self.source.redactor
        self.original, self.timeline = fold(self.source.records), build_timeline(self.source.records)
        # As elsewhere, secrets are removed before anything is made from the events.
        self.shown = [e.Record(r.seq, r.at, redacted_for_display(r.event, redactor)) for r in self.source.records]
        self.view = view_of(self.shown)
        self.view.live = self.source.live
        # A text that looks like a token but is part of the run's own paths is not a secret.
        own = "\n".join([self.original.task.workspace if self.original.task else "", *self.timeline.touched])
        self.cleaner = Cleaner(redactor.sparing(lambda: own), self.omissions)

    def build(self) -> Report:
        view, state, clean = self.view, self.view.state, self.cleaner
        self.omissions.add("actions", count=max(len(view.actions) - MAX_ACTIONS, 0))
        diff, problem = self._diff()
        checks = clean.value(facts.final_checks(state, clean.redactor))
        steps = clean.value({step_id: document for step_id, document in self._steps() if any(document.values())})
        step_diffs = dict(self._step_diffs()) if not problem else {}
        files = facts.changed_files(state.outcome)
        self.omissions.add("tool_files", count=files["tool_files"])
        blobs = self._outputs((row["output_hash"] for row in checks), steps)
        return {
            "v": REPORT_VERSION,
            "run": state.run_id,
            "seq": state.seq,
            "generated_at": time.time(),
            "version": __version__,
            "locale": self.source.locale,
            "ended": state.outcome is not None,
            "rows": clean.value(snapshot(view, MAX_ACTIONS)),
            "checks": checks,
            "tests": clean.value(facts.suite(state)),
            "files": files,
            "notes": clean.value(facts.notes(state)),
            "unproven_steps": list(state.outcome.unproven_steps) if state.outcome else [],
            "undone": clean.value(state.undone.as_object()) if state.undone else None,
            "branch": state.branch,
            "commits": [commit.commit for commit in state.commits],
            "pushes": clean.value(facts.pushes(state)),
            "recoveries": clean.value(facts.recoveries(view)),
            "usage": facts.usage(self.shown),
            "environment": clean.value(facts.environment(state, self.shown)),
            "diff": diff,
            "diff_problem": problem,
            "step_diffs": step_diffs,
            "steps": steps,
            "conversation": self._conversation(),
            "blobs": blobs,
            "omitted": self.omissions.listed(),
            "limits": LIMITS,
        }

    # -- diffs ------------------------------------------------------------------------------------------------------

    def _diff(self) -> tuple[list[FileDiff], str]:
        """The changes of the run, and why they are not known if so, such as because snapshots were removed."""
        try:
            return self._fitting(self._files("")), ""
        except (SurefootError, OSError) as error:
            return [], self.cleaner.text(str(error))

    def _step_diffs(self) -> Iterable[tuple[str, list[FileDiff]]]:
        for step_id in self.timeline.steps:
            try:
                files = self._fitting(self._files(step_id))
            except (SurefootError, OSError):
                self.omissions.add("diffs")
                continue
            if files:
                yield step_id, files

    def _files(self, step_id: str) -> list[FileDiff]:
        text, _ = without_tool_files(diff_between(self.original, self.timeline, self.source.home, step_id))
        return self.cleaner.patches(file_diffs(self.cleaner.redactor.redact(text)))

    def _fitting(self, files: list[FileDiff]) -> list[FileDiff]:
        fitting = [file for file in files if self.budget.takes(file)]
        self.omissions.add("diffs", count=len(files) - len(fitting))
        return fitting

    # -- steps, outputs, conversation -------------------------------------------------------------------------------

    def _steps(self) -> Iterable[tuple[str, StepDocument]]:
        redactor = self.cleaner.redactor
        for step_id, step_run in self.view.state.steps.items():
            yield (
                step_id,
                {
                    "proofs": step_proofs(step_run, redactor),
                    "artifacts": step_artifacts(step_run, redactor),
                    "log": step_log(step_run),
                },
            )

    def _outputs(self, final: Iterable[str], steps: dict[str, StepDocument]) -> dict[str, str]:
        """The outputs of checks, actions and steps by hash, as far as they fit. The most useful come first: those of
        checks, of failed actions, then of the newest actions."""
        hashes = [*final, *(proof["output_hash"] for step in steps.values() for proof in step["proofs"])]
        newest = [row for row in reversed(self.view.actions.values()) if row["output_blob"]]
        hashes += [row["output_blob"] or "" for row in newest if row["status"] != "ok"]
        hashes += [row["output_blob"] or "" for row in newest]
        hashes += [artifact["hash"] for step in steps.values() for artifact in step["artifacts"]]
        outputs: dict[str, str] = {}
        for digest in dict.fromkeys(filter(None, hashes)):
            try:
                text = self.source.blob(digest).decode("utf-8")
            except JournalError:
                self.omissions.add("lost_outputs")
            except UnicodeDecodeError:
                self.omissions.add("binary_outputs")
            else:
                text = self.cleaner.text(text, "output_middles")
                if self.budget.takes(text):
                    outputs[digest] = text
                else:
                    self.omissions.add("outputs", len(text))
        return outputs

    def _conversation(self) -> list[Message]:
        transcript = Transcript(self.source.blob, self.cleaner.redactor.redact)
        messages: list[Message] = []
        for record in self.source.records:
            for message in transcript.messages(record):
                message = self.cleaner.value(message)
                if self.budget.takes(message):
                    self.omissions.add("message_ends", message["truncated"], count=bool(message["truncated"]))
                    messages.append(message)
                else:
                    self.omissions.add("messages", len(message["text"]) + message["truncated"])
        return messages

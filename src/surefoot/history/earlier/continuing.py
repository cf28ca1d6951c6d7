"""The context of a run that continues an earlier one: facts that the engine writes, and the conversation.

The context is recorded with the new run, so the earlier run is not read again later. Its size is bounded, even in a
chain of runs: the facts describe the continued run in full, and a few runs before it in one line each.
"""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from surefoot.config.model import ExecutionConfig
from surefoot.core.outcome import NOTHING_DONE, Verdict
from surefoot.core.task import Task
from surefoot.core.transitions import Stage, StepStatus
from surefoot.core.values import join_limited
from surefoot.engine.loop import start_run
from surefoot.engine.runtime.services import Services
from surefoot.errors import SurefootError
from surefoot.history.earlier.conversation import conversation_of
from surefoot.history.git.message import said_at_end
from surefoot.history.timeline import build_timeline, snapshot_storage, workspace_of
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState, StepRun
from surefoot.journal.store.base import first_line
from surefoot.models.items import dump_item
from surefoot.project.folder import list_files
from surefoot.tools.fs.tool_files import is_listed
from surefoot.workspace.errors import as_text

MAX_BEFORE = 6
"""How many runs before the continued one are mentioned."""
TASK_CHARS, TEXT_CHARS, LINE_CHARS = 4_000, 1_200, 240
MAX_FILES, MAX_STEPS, MAX_LINES = 40, 20, 8
BRIEF_TASK_CHARS, BRIEF_FILES = 300, 8

_ENDED = {
    Verdict.VERIFIED: "done and verified: a check that failed before it passes now",
    Verdict.UNVERIFIED: "done, but not verified by a given check",
    Verdict.FAILED: "failed",
    Verdict.BLOCKED: "not done: it could not be done as asked",
    Verdict.BUDGET: "stopped: its budget was spent",
    Verdict.LOOP: "stopped: there was no progress",
    Verdict.TIME: "stopped: its time limit was reached",
    Verdict.CANCELLED: "cancelled by the user",
}
_STEP_WORDS = {StepStatus.SUCCEEDED: "done", StepStatus.PENDING: "not begun", StepStatus.RUNNING: "not finished"}


async def start_continuing(
    services: Services, task: Task, config: ExecutionConfig, *, earlier: Sequence[e.Record], folder: Path, **kwargs: Any
) -> RunState:
    """Start a run with an earlier run as its context. `folder` is the user's folder; `kwargs` go to `start_run`."""
    state = fold(earlier)
    changed = await asyncio.to_thread(_changed_since, earlier, state, services.home, folder)
    events = [*kwargs.pop("given", ()), context_of(services, state, earlier, folder, changed)]
    return await start_run(services, task, config, given=events, **kwargs)


def context_of(
    services: Services, state: RunState, records: Iterable[e.Record], folder: Path, changed: Sequence[str]
) -> e.ContextGiven:
    """Store the context that a run gives to its successor as blobs, without secrets.

    Returns the event that refers to the blobs.
    """
    # As in a run, the names of the user's own files are not redacted.
    redactor = services.redactor.sparing(lambda: "\n".join([str(folder), *list_files(folder)]))
    journal = services.journal

    def store(text: str) -> str:
        return journal.put_blob(redactor.redact(text).encode())

    known = state.context
    before = (*known.before, known.title)[-MAX_BEFORE:] if known else ()
    items = conversation_of(state, journal, redactor)
    return e.ContextGiven(
        run=state.run_id,
        session=known.session if known else state.run_id,
        title=first_line(_text(state)),
        facts=store(facts(state, records, folder, changed, before)),
        brief=store(brief(state, folder)),
        items=tuple(journal.put_blob(dump_item(item)) for item in items),
        before=before,
    )


def _text(state: RunState) -> str:
    return state.task.text if state.task else ""


# -- texts ---------------------------------------------------------------------------------------------------------


def facts(
    state: RunState, records: Iterable[e.Record], folder: Path, changed: Sequence[str] = (), before: Sequence[str] = ()
) -> str:
    """The description of an earlier run for a model that calls tools: its task, its result and what it left behind."""
    parts = [
        f"# The run before this one ({state.run_id})",
        "The user goes on from it. It is over: its plan and its steps do not count any more, and the task above needs "
        f"an understanding and a plan of its own. Its task was:\n{_quoted(_shortened(_text(state), TASK_CHARS))}",
        f"How it ended: {_end(state)}",
        *_where(state, folder),
        *_listed("Decided in it", _decisions(state)),
        *_listed("Its steps", _steps(state, records)),
        *_listed("Files it changed", _files(state), MAX_FILES, mark=""),
        *_listed("Its checks at the end", _checks(state)),
        *_listed("The user answered", _answers(state)),
        *_listed("Noted in it", _notes(state)),
        *_listed("Changed since then by somebody else; read these again", changed, MAX_FILES),
        *_listed("Tasks before that one, oldest first", before),
    ]
    return "\n\n".join(parts)


def brief(state: RunState, folder: Path) -> str:
    """The description of an earlier run in a few lines, for a small model."""
    files = _files(state)
    changed = [f"It changed: {join_limited(files, BRIEF_FILES)}"] if files else []
    text = _shortened(" ".join(_text(state).split()), BRIEF_TASK_CHARS)
    rows = [f"The task before was: {text}", f"It is {_end(state)}"]
    return "\n".join(["# Done before", *rows, *changed, *_where(state, folder)])


def _end(state: RunState) -> str:
    """How a run ended, and whether it was undone."""
    outcome, undone = state.outcome, state.undone
    if outcome is None:
        where = state.before_waiting if state.stage is Stage.WAITING else state.stage
        ended = f"stopped in {where}, before its end; what it had changed until then is still there"
    else:
        summary = _shortened(outcome.summary, TEXT_CHARS)
        nothing = outcome.summary.startswith(NOTHING_DONE)
        how = "" if nothing else f"{_ENDED.get(outcome.verdict, outcome.verdict.value)}. "
        ended = f"{how}{summary}".strip()
    if undone is None:
        return ended
    if not undone.is_partial:
        return f"{ended}\nAFTERWARDS THE USER UNDID IT: its changes are gone, and the files are as before it."
    extent = f"from step {undone.step} on" if undone.step else "in part"
    return f"{ended}\nAFTERWARDS THE USER UNDID IT {extent}: look at the files before you rely on its changes."


def _where(state: RunState, folder: Path) -> list[str]:
    """Whether the changes of a run in a copy were applied to the folder. Empty for a run in the folder itself."""
    if state.task is None or (state.task.folder == folder and not state.remote):
        return []
    if state.applied:
        return ["It worked in a copy of this folder. Its changes were applied here."]
    return ["It worked in a copy of this folder. Its changes were not applied: they are not in the files here."]


def _decisions(state: RunState) -> list[str]:
    output = state.approach.output if state.approach else None
    if output is None:
        return []
    return [output.approach, *(f"{d.decision}: {d.rationale}" for d in output.key_decisions)]


def _steps(state: RunState, records: Iterable[e.Record]) -> list[str]:
    remarks = said_at_end(records)
    return [_step(step_run, remarks.get(step_id, "")) for step_id, step_run in list(state.steps.items())[:MAX_STEPS]]


def _step(step_run: StepRun, remark: str) -> str:
    status = _STEP_WORDS.get(step_run.status, step_run.status.value)
    failed = f": {step_run.failures[-1].message}" if step_run.status is StepStatus.FAILED and step_run.failures else ""
    return f"{step_run.step.name} [{status}]{failed}{f' - {remark}' if remark else ''}"


def _files(state: RunState) -> list[str]:
    """The files that a run changed. Files of version control and of tools are left out."""
    if (outcome := state.outcome) is not None:
        signs = (("+", outcome.generated_files), ("~", outcome.modified_files), ("-", outcome.deleted_files))
        return [f"{sign} {path}" for sign, paths in signs for path in paths if is_listed(path)]
    touched = {path for step_run in state.steps.values() for path in step_run.touched if is_listed(path)}
    return [f"~ {path}" for path in sorted(touched)]


def _checks(state: RunState) -> list[str]:
    results = state.outcome.checks if state.outcome else ()
    return [f"{result.check.label} ({'passed' if result.passed else 'failed'})" for result in results]


def _answers(state: RunState) -> list[str]:
    asked = [q for q in state.questions.values() if q.kind == "clarification" and q.answer and not q.timed_out]
    return [f"{q.text} -> {q.answer}" for q in asked]


def _notes(state: RunState) -> list[str]:
    outcome = state.outcome
    if outcome is None:
        return list(state.warnings)
    causes = [outcome.diagnosis.root_cause or outcome.diagnosis.what_failed] if outcome.diagnosis else []
    learnt = [note for step_run in state.steps.values() for note in step_run.notes[-2:]]
    return list(dict.fromkeys([*causes, *outcome.warnings, *learnt]))


def _listed(title: str, rows: Sequence[str], limit: int = MAX_LINES, mark: str = "- ") -> list[str]:
    if not rows:
        return []
    lines = [f"{mark}{_shortened(' '.join(row.split()), LINE_CHARS)}" for row in rows[:limit]]
    more = [f"{mark}and {len(rows) - limit} more"] if len(rows) > limit else []
    return ["\n".join([f"{title}:", *lines, *more])]


def _quoted(text: str) -> str:
    return "\n".join(f"> {row}" for row in text.splitlines())


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} [...]"


# -- the folder ----------------------------------------------------------------------------------------------------


def _changed_since(records: Sequence[e.Record], state: RunState, home: Path, folder: Path) -> list[str]:
    """The files that changed since the run, or since the undo after it. Empty if the files of then are not known."""
    if state.task is None or state.task.folder != folder or state.remote:
        return []
    timeline = build_timeline(records)
    if not timeline.possible_ends:
        return []
    try:
        end = timeline.possible_ends[-1].resolve(snapshot_storage(home))
        changes = workspace_of(state, home).changes(end)
    except SurefootError:
        return []
    # Files that checks and tools leave behind, such as caches, do not count as changes.
    visible = {*list_files(folder, gitignore=True)}
    files = [change for change in changes if not change.is_folder]
    return [as_text(change.path) for change in files if change.path in visible or change.kind == "removed"]

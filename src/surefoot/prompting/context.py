"""Render the parts of a prompt that show the workspace, the plan and earlier failures.

They are short and in a stable order: a small model loses track in long prompts, and a server reuses its cache only for
an unchanged beginning.
"""

import json
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from surefoot.core.outcome import CheckResult, FailureKind
from surefoot.core.phases import UnderstandingOutput
from surefoot.core.plan import ExecutionStep
from surefoot.core.transitions import StepStatus
from surefoot.errors import ToolError
from surefoot.journal.state import RunState, StepRun
from surefoot.project.asked_changes import asks_to_change
from surefoot.project.data_preview import data_preview, is_data
from surefoot.project.folder import MAX_FILES, is_test, list_files
from surefoot.project.instructions import instructions
from surefoot.project.sqlite_preview import tables_in
from surefoot.project.task_text import files_named_in, is_named_in
from surefoot.prompting.run_context import RunContext
from surefoot.prompting.templates import render
from surefoot.tools.fs.fileio import read_bytes
from surefoot.tools.fs.paths import resolve
from surefoot.tools.text.summary import summarise

_DOCUMENTS = (".md", ".txt", ".rst")
_MAX_LISTED = 60
_CHARS_PER_TOKEN = 3
_INSTRUCTION_CHARS = 8_000
"""How many characters of all AGENTS.md are quoted outside of conversations: for small models and JSON actions."""
_SUMMARY_CHARS = 300
_LINE_CHARS = 160
_PREVIEW_CHARS = 2_500
"""How much of a long data file is shown."""


def briefing(run: RunContext) -> str:
    """Render the part of a prompt that does not change during a run: task, folder listing, relevant files, checks."""
    files = visible_files(run)
    return render(
        "briefing",
        task=run.task.text,
        earlier=earlier_facts(run, brief=True),
        listing=listing(files),
        instructions=project_instructions(run, files),
        files=quoted_files(run.root, files_to_show(run, files), budget_chars(run) // 2),
        checks=_checks(run),
    )


def budget_chars(run: RunContext) -> int:
    """Return how many characters of files fit: the profile's share of the window, at 3 characters per token."""
    return int(run.model.traits.context_tokens * _CHARS_PER_TOKEN * run.profile.file_share)


def missing_sources(run: RunContext) -> set[str]:
    """Return files that the task names and no step of the plan writes, if they did not exist before the run, and nobody
    added them while it had stopped."""
    existing = {*run.files_before(), *run.state.by_others}
    written = {path for other in run.state.steps.values() for path in other.step.writes}
    return {name for name in files_named_in(run.task.text) if name not in existing and name not in written}


def fits_in_prompt(run: RunContext, files: Sequence[str]) -> bool:
    """Whether all files can be shown at once, so that nothing has to be searched or planned. A preview of a long data
    file is enough, unless the task asks to change the file."""
    budget, total = budget_chars(run) // 2, 0
    for path in files:
        size = (run.root / path).lstat().st_size
        previewed = size > budget and is_data(path) and not asks_to_change(path, run.task.text)
        total += _PREVIEW_CHARS if previewed else size
    return total <= budget


def visible_files(run: RunContext, limit: int = MAX_FILES) -> list[str]:
    """List the files that a prompt may show: those that git would track, and those that the task names."""
    tracked = set(list_files(run.root, gitignore=True, limit=limit))
    return [path for path in list_files(run.root, limit=limit) if path in tracked or is_named_in(path, run.task.text)]


def listing(files: Sequence[str]) -> str:
    """List files for a prompt; of many, the first ones and how many more there are."""
    if not files:
        return "(empty)"
    rows = [f"- {path}" for path in files[:_MAX_LISTED]]
    if len(files) > _MAX_LISTED:
        rows.append(f"- and {len(files) - _MAX_LISTED} more (list_files shows them)")
    return "\n".join(rows)


def project_instructions(run: RunContext, files: Sequence[str]) -> str:
    """Quote AGENTS.md, nearest first, for a model that is asked single questions."""
    return instructions(run.root, _named(run, files), _INSTRUCTION_CHARS)


def files_to_show(run: RunContext, files: Sequence[str]) -> list[str]:
    """Return the files worth quoting, in order: those that the task names, documents, tests. In a small folder, all."""
    named = _named(run, files)
    tests = [f for f in files if is_test(f)]
    documents = [f for f in files if f.endswith(_DOCUMENTS) and f != "AGENTS.md" and "LICENSE" not in f]
    rest = list(files) if len(files) <= 12 else []
    return list(dict.fromkeys([*named, *documents, *tests, *rest]))


def _named(run: RunContext, files: Sequence[str]) -> list[str]:
    """The files that the task names, by their path or by their name alone."""
    named = files_named_in(run.task.text)
    return [path for path in files if path in named or path.rsplit("/", 1)[-1] in run.task.text]


def quoted_files(root: Path, paths: Iterable[str], budget: int) -> str:
    """Quote the files that fit into the budget, in order; of SQLite databases their tables, of long data files a
    preview."""
    parts = []
    for path in paths:
        title, text = path, read_text(root, path, budget)
        if text is None and (text := tables_in(root, path, budget)) is not None:
            title = f"{path} (an SQLite database: its tables, with their first rows)"
        if (text is None or len(text) > budget) and (preview := data_preview(root, path, min(budget, _PREVIEW_CHARS))):
            title, text = f"{path} (too long to be shown: what is in it)", preview
        if text is None or len(text) > budget:
            continue
        budget -= len(text) + len(title) + 20
        parts.append(quoted(title, text))
    return "".join(parts)


def quoted(title: str, text: str) -> str:
    return f"\n# {title}\n```\n{text.rstrip()}\n```\n"


def read_text(root: Path, path: str, limit: int) -> str | None:
    """Read a text file of the workspace. Except for previews, prompts read files only with this function.

    Returns None if it is missing, outside the workspace, a link or a pipe, not text, or much larger than `limit`.
    """
    try:
        status = (root / path).lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit * 4:
            return None
        text = read_bytes(root, resolve(root, path, for_writing=False)).decode()
    except (OSError, ValueError, ToolError):
        return None
    return None if "\0" in text else text


def _checks(run: RunContext) -> str:
    if not run.task.checks:
        return ""
    return "\n# Checked at the end\n" + "\n".join(f"- {check.label}" for check in run.task.checks) + "\n"


def earlier_facts(run: RunContext, *, brief: bool = False) -> str:
    """Return what is known about the run that this one continues; empty if it continues none."""
    context = run.state.context
    if context is None:
        return ""
    return f"\n{run.journal.get_blob(context.brief if brief else context.facts).decode()}\n"


# -- phases --------------------------------------------------------------------------------------------------------


def feedback(messages: Sequence[str]) -> str:
    """Tell the model why its last output was refused."""
    if not messages:
        return ""
    return "\nYour last answer was refused, because:\n" + "\n".join(f"- {m}" for m in messages) + "\nMend exactly that."


def understood(state: RunState) -> UnderstandingOutput:
    """Return the output of the understanding phase. A run that skipped it has only the text of the task."""
    result = state.understanding
    if result is not None and result.output is not None:
        return result.output
    assert state.task is not None
    return UnderstandingOutput(understanding=state.task.text, key_requirements=(state.task.text,))


def understanding_text(state: RunState) -> str:
    """Describe the understanding of the task, and the answers to questions about it."""
    output = understood(state)
    lines = [output.understanding, *(f"- {r}" for r in output.key_requirements if r != output.understanding)]
    lines += [f"- {q.text} Answer: {q.answer}" for q in state.questions.values() if q.kind == "clarification"]
    return "\n".join(lines)


def approach_text(state: RunState) -> str:
    """Describe the approach in use: the chosen one, or the alternative that recovery switched to."""
    output = state.approach.output if state.approach else None
    if output is None:
        return ""
    index = state.approach_index
    if index == 0:
        return f"\n# Approach\n{output.approach}\n"
    alternative = output.alternatives[min(index, len(output.alternatives)) - 1]
    return (
        f"\n# Approach\n{alternative.name}: {alternative.description}\n(Tried before and failed: {output.approach})\n"
    )


def step_to_replan(state: RunState) -> StepRun | None:
    """Return the failed step that made a new plan necessary. Once that plan is made, the step is no longer in it."""
    return state.failed_step


def progress_text(state: RunState) -> str:
    """For a new plan: describe what is done and kept, and what failed and must be avoided."""
    failed = step_to_replan(state)
    if failed is None:
        return ""
    done_rows = [f"- {r.step.name}" for r in state.steps.values() if r.status is StepStatus.SUCCEEDED]
    lines = ["\n# Already done (do not plan it again)", *done_rows] if done_rows else []
    last = failed.failures[-1]
    lines += [f"\n# What failed\n{failed.step.name}: {last.message}", last.evidence[:600]]
    if failed.reflections:
        lines.append(f"Cause: {failed.reflections[-1].root_cause}")
    return "\n".join(lines) + "\n"


# -- steps ---------------------------------------------------------------------------------------------------------

_STATUS_WORDS = {StepStatus.SUCCEEDED: "done", StepStatus.RUNNING: "now", StepStatus.PENDING: "to do"}


def plan_text(state: RunState) -> str:
    return "\n".join(
        f"- {step_run.step.id} [{_STATUS_WORDS.get(step_run.status, step_run.status.value)}] {step_run.step.name}"
        for step_run in state.steps.values()
    )


def step_text(step: ExecutionStep) -> str:
    lines = [step.name]
    if step.description and step.description != step.name:
        lines.append(step.description)
    if step.tool:
        lines.append(f"Tool: {step.tool}({', '.join(f'{k}={v!r}' for k, v in step.parameters.items())})")
    if step.writes:
        lines.append("Files to write: " + ", ".join(step.writes))
    lines += [f"Must hold: {check.label}" for check in step.checks if check.origin != "engine"]
    lines += [f"Criterion: {criterion}" for criterion in step.validation_criteria]
    lines += [f"It should hold before it starts: {condition}" for condition in step.preconditions]
    lines += [f"Expected tools: {', '.join(step.expected_tools)}"] if step.expected_tools else []
    return "\n".join(lines)


def failures_and_lessons(step_run: StepRun, results: Sequence[CheckResult], *, exists: bool = False) -> str:
    """Describe what fails now, and the lessons from earlier attempts."""
    failing = failures(step_run, results, exists=exists)
    if not step_run.notes:
        return failing
    lessons = "\n".join(f"- {note}" for note in dict.fromkeys(step_run.notes[-3:]))
    return f"{failing}\n# Learnt from earlier attempts\n{lessons}\n"


def failures(step_run: StepRun, results: Sequence[CheckResult], *, exists: bool) -> str:
    """Describe the failing checks, and why actions were refused. `exists`: the file to change exists, so its failures
    are shown from the first attempt on."""
    lines: list[str] = []
    red = [r for r in results if not r.passed]
    refuted = bool(step_run.failures) and step_run.failures[-1].kind is FailureKind.REFUTED
    if red and (exists or step_run.actions or refuted or step_run.work_kept):
        lines.append("\n# It fails now")
        lines += [f"{r.check.label}\n{r.detail.strip()}" for r in red[:2]]
    if step_run.refused:
        lines.append("\n# Refused, do something else")
        lines += [f"- {reason}" for reason in dict.fromkeys(step_run.refused[-2:])]
    return "\n".join(lines) + "\n" if lines else ""


def results_of_dependencies(run: RunContext, step_id: str) -> str:
    """Summarise the results of the step's dependencies, and say how to read them in full."""
    lines = []
    for step_run in run.artifacts.needed_by(step_id):
        artifact = step_run.artifact
        if artifact is None:
            continue
        mark = " (a stand-in, not the real result)" if artifact.degraded else ""
        summary = artifact.summary or summarise_outputs(step_run.outputs)
        more = f' read_result("{step_run.step.id}") shows all of it.' if artifact.hash else ""
        lines.append(f"- {step_run.step.name}{mark}: {summary}{more}")
    return "\n# From earlier steps\n" + "\n".join(lines) + "\n" if lines else ""


def stand_ins_for(run: RunContext, step_id: str) -> str:
    """Say which results that a step builds on are stand-ins for steps that failed; empty if none is."""
    lines = [
        f"- {step_run.step.name}: {summarise_outputs(step_run.outputs)}"
        for step_run in run.artifacts.needed_by(step_id)
        if step_run.status is StepStatus.DEGRADED
    ]
    return "# Stand-ins, not real results: say so where you use them\n" + "\n".join(lines) if lines else ""


def summarise_outputs(outputs: dict[str, Any]) -> str:
    """Summarise a step's result in a few short lines."""
    result = outputs.get("result", outputs)
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
    # If a whole document is one line, its beginning is the important part.
    rows = [row if len(row) <= _LINE_CHARS else row[:_LINE_CHARS] + " ..." for row in text.splitlines()]
    return summarise("\n".join(rows), limit=_SUMMARY_CHARS, failed=False)


def files_of_other_steps(run: RunContext, step_run: StepRun, path: str = "") -> str:
    """Quote the files that other steps wrote, which are newer than the briefing."""
    written = [
        name
        for other in run.state.steps.values()
        if other.recorded_output and other is not step_run
        for name in (*other.recorded_output.generated_files, *other.recorded_output.modified_files)
    ]
    return quoted_files(run.root, [p for p in dict.fromkeys(written) if p != path], budget_chars(run) // 4)

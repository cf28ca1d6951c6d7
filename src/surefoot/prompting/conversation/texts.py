"""The texts of a conversation: its beginning, the start of a step, and the progress for a new conversation."""

import json
from collections.abc import Sequence

from surefoot.core.outcome import CheckResult
from surefoot.core.transitions import StepStatus
from surefoot.journal.state import StepRun
from surefoot.models.items import Item, Message
from surefoot.prompting.context import earlier_facts, plan_text, quoted_files, read_text, stand_ins_for, visible_files
from surefoot.prompting.fit import shorten
from surefoot.prompting.project.folder import is_test
from surefoot.prompting.project.instructions import instructions, nested_instructions
from surefoot.prompting.project.ranking import code_words
from surefoot.prompting.project.repo_map import (
    BEGINNING_LINES,
    MAX_LISTED,
    MAX_SOURCE_CHARS,
    beginning,
    ending,
    relevant_part,
    repo_map,
)
from surefoot.prompting.project.symbols import symbols
from surefoot.prompting.project.task_text import files_named_in
from surefoot.prompting.templates import render
from surefoot.prompting.view import RunView
from surefoot.tools.fs.fileio import reader

SUBMIT = (
    "Look at what you need, then submit understanding and plan in one reply, with the work of the first step behind "
    "them if you are sure. An approach is needed only where there is something to choose."
)
INSTRUCTION_CHARS = 32_768
NAMED_FILE_CHARS = 24_000
"""How much of the files that the task names is shown at the beginning."""
WHOLE_TESTS_CHARS = 6_000
"""A longer file of tests is shown in parts: its imports, what has to do with the task, and its end."""
DOCUMENT_CHARS = 2_000
"""How much of a long document is shown around the names of the task, besides its beginning."""
FIRST_CHECK_CHARS = 2_500
"""How many characters of a failing check's output are shown before the plan is made."""
MAX_CALLS, CALL_CHARS = 12, 600
"""How much of what another candidate did is shown."""
OPENING_SHARE = 0.3
"""How much of the window the opening may take: the tools, the answers and the work need the rest."""
CHECK_CHARS = 6_000
"""How much of a failing check's output is shown."""


def opening(run: RunView, *, planned: bool = False) -> list[Item]:
    """Return the items that every conversation of a run begins with. They never change, so servers can cache them.

    `planned`: the plan was given, so there is no survey.
    """
    files = visible_files(run, MAX_LISTED)
    words = set(files_named_in(run.task.text))
    named = [path for path in files if path in words or _is_changelog(path, run.task.text)]
    text = render(
        "survey",
        task=run.task.text,
        earlier=earlier_facts(run),
        checks=_given_checks(run),
        instructions=instructions(run.root, named, INSTRUCTION_CHARS) + nested_instructions(files, named),
        map=repo_map(files, run.task.text, reader(run.root, MAX_SOURCE_CHARS)),
        start="The plan was given." if planned else SUBMIT,
        files=_named_files(run, named) + _missing_files(files, run.task.text),
    )
    system = Message(
        role="system", content=render("conversation", network="with" if run.commands_have_network else "without")
    )
    room = run.model.traits.context_tokens * OPENING_SHARE
    return [system, Message(role="user", content=shorten(text, room))]


def _named_files(run: RunView, named: Sequence[str]) -> str:
    """Quote the files that the task names; of a long document the beginning, of long code the lines around
    the names of the task. Definitions that the task names are quoted by the map."""
    room, parts = NAMED_FILE_CHARS, []
    for path in named:
        text = _long_tests(run, path) or quoted_files(run.root, [path], room)
        if not text and (content := read_text(run.root, path, MAX_SOURCE_CHARS)):
            text = _part_of(path, content, run.task.text)
        room -= len(text)
        parts.append(text)
    return "".join(parts)


def _is_changelog(path: str, task: str) -> bool:
    """Whether a file in the root is the list of changes that the task speaks of, as `the changelog` or by its name."""
    stem = path.partition(".")[0].lower()
    return stem in ("changelog", "changes", "news", "history") and stem in task.lower()


def _missing_files(files: Sequence[str], task: str) -> str:
    """Name the paths in the task that do not exist: they are to be made, or they are missing."""
    missing = [path for path in files_named_in(task) if "/" in path and path not in files]
    return f"\nNamed in the task and not in the folder: {', '.join(missing)}\n" if missing and files else ""


def _long_tests(run: RunView, path: str) -> str:
    content = read_text(run.root, path, MAX_SOURCE_CHARS) if is_test(path) else None
    if content is None or len(content) <= WHOLE_TESTS_CHARS:
        return ""
    around = relevant_part(path, content, run.task.text, after=BEGINNING_LINES)
    return beginning(path, content) + around + ending(path, content)


def _part_of(path: str, text: str, task: str) -> str:
    defined = symbols(path, text)
    if not defined:
        return beginning(path, text) + relevant_part(path, text, task, DOCUMENT_CHARS, after=BEGINNING_LINES)
    quoted_by_map = {symbol.name for symbol in defined} & code_words(task)
    return "" if quoted_by_map else relevant_part(path, text, task)


def _given_checks(run: RunView) -> str:
    """List the checks of the user and of the project, which are run in any case, with what they show now."""
    before = run.state.checks_before
    ran = {result.check.key for result in before}
    rows = [*map(_check_line, before), *(f"- {check.label}" for check in run.task.checks if check.key not in ran)]
    if not rows:
        return ""
    failing = failing_part(before, FIRST_CHECK_CHARS)
    shown = f"\nWhat fails now:\n{failing}\n" if failing else ""
    return "\n# Checked at the end\n" + "\n".join(rows) + f"\n{shown}"


def step_start(run: RunView, step_run: StepRun, shown: Sequence[str] = ()) -> str:
    """Tell the model which step is next, what must hold, and what fails now, unless `shown` says it already."""
    step, state = step_run.step, run.state
    lines = [f"# Step {step.id}: {step.name}"]
    if len(state.steps) > 1:
        lines.append(f"The plan:\n{plan_text(state)}")
    if step.description and step.description != step.name:
        lines.append(step.description)
    lines += [f"It should hold before you start: {condition}" for condition in step.preconditions]
    lines += [f"Expected tools: {', '.join(step.expected_tools)}"] if step.expected_tools else []
    lines += [stand_ins] if (stand_ins := stand_ins_for(run, step.id)) else []
    lines += [f"Planned results: {', '.join(step.expected_outputs)}"] if step.expected_outputs else []
    lines += [f"Criterion: {criterion}" for criterion in step.validation_criteria]
    if results := step_run.checks or step_run.baseline:
        lines.append("finish_step runs these checks:\n" + "\n".join(map(_check_line, results)))
    else:
        lines.append("There is no check for this step. Show by a command that it works before you finish it.")
    failing = failing_part(results)
    if failing and not any(failing in text for text in shown):
        lines.append(f"This fails now:\n{failing}")
    return "\n\n".join(lines)


def step_done(step_id: str) -> str:
    """The beginning of the answer to a finish_step that ended the step."""
    return f"Step {step_id} is done."


def _check_line(result: CheckResult) -> str:
    return f"- {result.check.label} ({'passes' if result.passed else 'fails'} now)"


def failing_part(results: Sequence[CheckResult], limit: int = CHECK_CHARS) -> str:
    """Quote the output of the checks that fail, at most two."""
    red = [result for result in results if not result.passed]
    parts = [f"$ {result.check.label}\n{_shortened(result.detail.strip(), limit)}" for result in red[:2]]
    more = f"\nand {len(red) - 2} more: {', '.join(r.check.label for r in red[2:])}" if len(red) > 2 else ""
    return "\n\n".join(parts) + more


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit // 3]}\n[...]\n{text[-2 * limit // 3 :]}"


def facts(run: RunView, step_run: StepRun) -> str:
    """Tell a fresh conversation what the engine knows: finished steps with their files, and earlier failures."""
    lines: list[str] = []
    for other in run.state.steps.values():
        if other is step_run or other.status not in (StepStatus.SUCCEEDED, StepStatus.PARTIAL, StepStatus.DEGRADED):
            continue
        changed = _changed(other)
        files = f": {', '.join(changed[:30])}" if changed else ""
        ended = "failed; a stand-in replaces its result" if other.status is StepStatus.DEGRADED else "is done"
        lines.append(f"- {other.step.id} {other.step.name} {ended}{files}")
    parts = ["# Done so far\n" + "\n".join(lines)] if lines else []
    if step_run.failures:
        undone = ", ".join(_changed(step_run)[:30])
        put_back = f"All files are as before that attempt{f', also {undone}, which it had changed' if undone else ''}"
        kept = "What it changed is still there" if step_run.work_kept else put_back
        last = step_run.failures[-1]
        tried = "\n".join(f"- {note}" for note in dict.fromkeys(step_run.notes[-4:]))
        parts.append(
            f"# An earlier attempt at this step failed\n{last.message}\n{last.evidence[:CHECK_CHARS]}\n{kept}."
            + (f"\nLearnt from it:\n{tried}\nDo it differently this time." if tried else "")
        )
    return "\n\n".join(parts)


def _changed(step_run: StepRun) -> tuple[str, ...]:
    """Return the files that the newest finished attempt changed."""
    output = step_run.recorded_output
    return (*output.generated_files, *output.modified_files, *output.deleted_files) if output else ()


def candidate_start(run: RunView, step_run: StepRun, number: int, of: int) -> str:
    """Tell a candidate what the others did, so that it does something else."""
    tried = []
    for other in step_run.candidates:
        if other.attempt == step_run.attempt:
            red = failing_part(other.results, FIRST_CHECK_CHARS) or other.unusable
            tried.append(f"Candidate {other.number} did this, and failed:\n{_calls(run, other.body)}\n{red}")
    here = (
        f"# Candidate {number} of {of}\nYou work in a copy of the folder. Every candidate starts from the same files; "
        "the first one whose checks pass is used."
    )
    others = ["Do it in another way than these:", *tried] if tried else []
    return "\n\n".join(filter(None, [facts(run, step_run), here, *others, step_start(run, step_run)]))


def _calls(run: RunView, body: str) -> str:
    """List the calls of a candidate, shortened."""
    rows = [
        f"- {tool} {json.dumps(arguments, ensure_ascii=False)} {text}"
        for tool, arguments, text in json.loads(run.journal.get_blob(body))
    ]
    return "\n".join(_shortened(row, CALL_CHARS) for row in rows[:MAX_CALLS]) or "- nothing"


def what_failed(step_run: StepRun) -> str:
    """For a new plan: say which step failed and why."""
    last = step_run.failures[-1]
    cause = f"\nCause: {step_run.reflections[-1].root_cause}" if step_run.reflections else ""
    return f"{step_run.step.id} {step_run.step.name}: {last.message}\n{last.evidence[:CHECK_CHARS]}{cause}"

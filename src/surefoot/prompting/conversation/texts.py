"""The texts of a conversation: its beginning, the start of a step, and the progress for a new conversation."""

from collections.abc import Sequence

from surefoot.core.outcome import CheckResult
from surefoot.core.transitions import StepStatus
from surefoot.journal.state import StepRun
from surefoot.models.items import Item, Message
from surefoot.prompting.context import plan_text, quoted_files, read_text, stand_ins_for, visible_files
from surefoot.prompting.project.repo_map import beginning, repo_map
from surefoot.prompting.project.symbols import symbols
from surefoot.prompting.project.task_text import files_named_in
from surefoot.prompting.templates import render
from surefoot.prompting.view import RunView

SUBMIT = "Look at what you need, then submit understanding, approach and plan in one reply."
INSTRUCTION_CHARS = 32_768
NAMED_FILE_CHARS = 24_000
"""How much of the files that the task names is shown at the beginning."""
MAX_SOURCE_CHARS = 400_000
"""A longer file is not read for the map."""
FIRST_CHECK_CHARS = 2_500
"""How many characters of a failing check's output are shown before the plan is made."""
CHECK_CHARS = 6_000
"""How much of a failing check's output is shown."""


def opening(run: RunView, *, planned: bool = False) -> list[Item]:
    """Return the items that every conversation of a run begins with. They never change, so servers can cache them.

    `planned`: the plan was given, so there is no survey.
    """
    sandbox = "without access to the network" if not run.config.network else "with access to the network"
    files = visible_files(run)
    named = [path for path in files if path in set(files_named_in(run.task.text))]
    text = render(
        "survey",
        task=run.task.text,
        checks=_given_checks(run),
        instructions=_instructions(run, named),
        map=repo_map(files, run.task.text, lambda path: read_text(run.root, path, MAX_SOURCE_CHARS)),
        start="The plan was given." if planned else SUBMIT,
        files=_named_files(run, named),
    )
    system = Message(role="system", content=render("conversation", sandbox=sandbox))
    return [system, Message(role="user", content=text)]


def _named_files(run: RunView, named: Sequence[str]) -> str:
    """Quote the files that the task names; of a long document the beginning. The map quotes the code that it names."""
    room, parts = NAMED_FILE_CHARS, []
    for path in named:
        text = quoted_files(run.root, [path], room)
        if not text and (content := read_text(run.root, path, MAX_SOURCE_CHARS)) and not symbols(path, content):
            text = beginning(path, content)
        room -= len(text)
        parts.append(text)
    return "".join(parts)


def _given_checks(run: RunView) -> str:
    if not run.task.checks:
        return ""
    red = run.state.red_at_start
    rows = [
        f"- {check.label}"
        + (" (fails now)" if check.key in red else " (passes now)" if run.state.baseline_taken else "")
        for check in run.task.checks
    ]
    failing = failing_part(run.state.checks_before, FIRST_CHECK_CHARS)
    shown = f"\nWhat fails now:\n{failing}\n" if failing else ""
    return "\n# Checked at the end\n" + "\n".join(rows) + f"\n{shown}"


def _instructions(run: RunView, named: Sequence[str]) -> str:
    """Quote AGENTS.md: those of the folders of the files that the task names, nearest first, then the root's."""
    folders = [""]
    for path in named:
        parts = path.split("/")[:-1]
        folders += ["/".join(parts[: depth + 1]) + "/" for depth in range(len(parts))]
    room, quoted = INSTRUCTION_CHARS, ""
    for folder in sorted(set(folders), key=lambda name: (-name.count("/"), name)):
        text = read_text(run.root, f"{folder}AGENTS.md", 1_000_000)
        if text is None or room <= 0:
            continue
        shown = text if len(text) <= room else f"{text[:room]}\n(the first {room:,} of {len(text):,} characters)"
        room -= len(shown)
        quoted += f"\n# {folder}AGENTS.md says\n{shown.strip()}\n"
    return quoted


def step_start(run: RunView, step_run: StepRun) -> str:
    """Tell the model which step is next, what must hold, and what fails now."""
    step, state = step_run.step, run.state
    lines = [f"# Step {step.id}: {step.name}"]
    if len(state.steps) > 1:
        lines.append(f"The plan:\n{plan_text(state)}")
    if step.description and step.description != step.name:
        lines.append(step.description)
    lines += [stand_ins] if (stand_ins := stand_ins_for(run, step.id)) else []
    lines += [f"Planned results: {', '.join(step.expected_outputs)}"] if step.expected_outputs else []
    lines += [f"Criterion: {criterion}" for criterion in step.validation_criteria]
    if results := step_run.checks or step_run.baseline:
        lines.append("finish_step runs these checks:\n" + "\n".join(map(_check_line, results)))
    else:
        lines.append("There is no check for this step. Show by a command that it works before you finish it.")
    lines += [f"This fails now:\n{failing}" for failing in [failing_part(results)] if failing]
    return "\n\n".join(lines)


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
        output = other.recorded_output
        changed = (*output.generated_files, *output.modified_files, *output.deleted_files) if output else ()
        files = f": {', '.join(changed[:30])}" if changed else ""
        ended = "failed; a stand-in replaces its result" if other.status is StepStatus.DEGRADED else "is done"
        lines.append(f"- {other.step.id} {other.step.name} {ended}{files}")
    parts = ["# Done so far\n" + "\n".join(lines)] if lines else []
    if step_run.failures:
        kept = "What it changed is still there" if step_run.work_kept else "All files are as before that attempt"
        last = step_run.failures[-1]
        tried = "\n".join(f"- {note}" for note in dict.fromkeys(step_run.notes[-4:]))
        parts.append(
            f"# An earlier attempt at this step failed\n{last.message}\n{last.evidence[:CHECK_CHARS]}\n{kept}."
            + (f"\nLearnt from it:\n{tried}\nDo it differently this time." if tried else "")
        )
    return "\n\n".join(parts)


def what_failed(step_run: StepRun) -> str:
    """For a new plan: say which step failed and why."""
    last = step_run.failures[-1]
    cause = f"\nCause: {step_run.reflections[-1].root_cause}" if step_run.reflections else ""
    return f"{step_run.step.id} {step_run.step.name}: {last.message}\n{last.evidence[:CHECK_CHARS]}{cause}"

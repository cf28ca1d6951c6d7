"""The texts of a conversation: its beginning, the start of a step, and the progress so far for a new conversation."""

import json
from collections.abc import Sequence

from surefoot.config.model import PhasePolicy
from surefoot.core.outcome import CheckResult
from surefoot.core.phases import ExecutionStatus
from surefoot.core.transitions import HAS_RESULT, StepStatus
from surefoot.journal.state import StepRun
from surefoot.models.items import Item, Message
from surefoot.project.code.quotes import first_lines, last_lines, quote_document, quote_spans, relevant_lines
from surefoot.project.code.ranking import code_words
from surefoot.project.code.repo_map import MAX_LISTED, MAX_SOURCE_CHARS, repo_map
from surefoot.project.code.symbols import symbols
from surefoot.project.folder import is_test
from surefoot.project.instructions import instructions, nested_instructions
from surefoot.project.task_text import files_named_in
from surefoot.prompting.context import earlier_facts, plan_text, quoted_files, read_text, stand_ins_for, visible_files
from surefoot.prompting.fit import shorten
from surefoot.prompting.results import CHECK_CHARS, failing_part, shortened
from surefoot.prompting.run_context import RunContext
from surefoot.prompting.templates import render
from surefoot.tools.fs.fileio import reader
from surefoot.tools.text.summary import stable

_APPROACH = "An approach is needed only where there is something to choose."
SUBMIT = (
    "Look at what you need, then submit understanding and plan in one reply, with the work of the first step after "
    f"them if you are sure. {_APPROACH}"
)
SUBMIT_ONLY = (
    "Only a plan is asked for: nothing is carried out now. Look at what you need, then submit understanding and plan "
    f"in one reply, without any work after them. {_APPROACH}"
)
WORK_AFTER_PLAN = " If you are sure already, put the work of the first step after the plan in the same reply."
ONLY_PLAN = " Only a plan is asked for: nothing is carried out now, so the plan is the end of your work."
INSTRUCTION_CHARS = 32_768
"""How many characters of all AGENTS.md are quoted in a conversation. Other strategies quote fewer (`context.py`)."""
NAMED_FILE_CHARS = 24_000
"""How much of the files that the task names is shown at the beginning."""
WHOLE_TESTS_CHARS = 6_000
"""A longer file of tests is shown in parts: its imports, what has to do with the task, and its end."""
CHANGELOGS = ("changelog", "changes", "news", "history")
WHOLE_CHANGELOG_CHARS = 2_000
"""Of a longer list of changes the beginning is shown."""
DOCUMENT_CHARS = 2_000
"""How much of a long document is shown around the names of the task, besides its beginning."""
FIRST_CHECK_CHARS = 2_500
"""How many characters of a failing check's output are shown before the plan is made."""
MAX_CALLS, CALL_CHARS = 12, 600
"""How many calls of another candidate are shown, and how much of each."""
OPENING_SHARE = 0.3
"""How much of the window the opening may take: the tools, the answers and the work need the rest."""
BEFORE_STEP = "before the step"
NOT_RUN = (
    "finish_step does not run these checks of the plan, because a rule forbids it or the folder is too large to be "
    "copied for them. Run them yourself before you finish the step:\n"
)


def opening(run: RunContext, *, planned: bool = False) -> list[Item]:
    """Return the items that every conversation of a run begins with. They never change, so servers can cache them.

    `planned`: the plan was given, so there is no survey.
    """
    files = visible_files(run, MAX_LISTED)
    only_plan = run.config.phases is PhasePolicy.PLAN
    words = set(files_named_in(run.task.text))
    named = [path for path in files if path in words or _is_changelog(path, run.task.text)]
    quotes, whole = _named_files(run, named)
    failing = "\n".join(result.detail for result in run.state.results_before if not result.passed)
    text = render(
        "survey",
        task=run.task.text,
        earlier=earlier_facts(run),
        checks=_given_checks(run) + run.state.newest_changes,
        instructions=instructions(run.root, named, INSTRUCTION_CHARS) + nested_instructions(files, named),
        map=repo_map(files, run.task.text, reader(run.root, MAX_SOURCE_CHARS), failing=failing, shown_elsewhere=whole),
        start=_given_plan(run) if planned else SUBMIT_ONLY if only_plan else SUBMIT,
        files=quotes + _missing_files(files, run.task.text),
    )
    system = render(
        "system_conversation",
        network="with" if run.commands_have_network else "without",
        edit=run.model.traits.edit_format,
        after_plan=ONLY_PLAN if only_plan else WORK_AFTER_PLAN,
    )
    room = run.model.traits.context_tokens * OPENING_SHARE
    return [Message(role="system", content=system), Message(role="user", content=shorten(text, room))]


def _given_plan(run: RunContext) -> str:
    """Tell the model what was understood and noted when the given plan was made."""
    state = run.state
    parts: list[str] = []
    understanding = state.understanding.output if state.understanding else None
    if understanding is not None and understanding.understanding != run.task.text:
        parts.append(f"# What was found out for the plan\n{understanding.understanding}")
        parts += _listed("Requirements", understanding.key_requirements)
        parts += _listed("Risks", understanding.potential_risks)
    if state.approach is not None and state.approach.output is not None:
        parts.append(f"Approach: {state.approach.output.approach}")
    parts += _listed("Done when", state.plan.success_criteria if state.plan else ())
    notes = state.planning.validation.warnings if state.planning and state.planning.validation else ()
    parts += _listed("Notes on the plan", notes)
    return "\n\n".join([*parts, "The plan was given."])


def _listed(title: str, texts: Sequence[str]) -> list[str]:
    return [f"{title}:\n" + "\n".join(f"- {text}" for text in texts)] if texts else []


def _named_files(run: RunContext, named: Sequence[str]) -> tuple[str, set[str]]:
    """Quote the files that the task names, and return which of them are quoted whole. Of a long document the beginning
    is quoted, of long code the lines around names from the task. Definitions that the task names are in the map."""
    room, parts, whole = NAMED_FILE_CHARS, list[str](), set[str]()
    for path in named:
        text = _long_tests(run, path) or _newest_changes(run, path)
        if not text and (text := quoted_files(run.root, [path], room)):
            whole.add(path)
        if not text and (content := read_text(run.root, path, MAX_SOURCE_CHARS)):
            text = _part_of(path, content, run.task.text)
        room -= len(text)
        parts.append(text)
    return "".join(parts), whole


def _is_changelog(path: str, task: str) -> bool:
    """Whether a file in the root is the changelog that the task mentions, as `the changelog` or by its name."""
    return "/" not in path and _stem(path) in CHANGELOGS and _stem(path) in task.lower()


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0].lower()


def _newest_changes(run: RunContext, path: str) -> str:
    """Quote the newest entries of a long changelog, where new ones are added; empty for other files."""
    content = read_text(run.root, path, MAX_SOURCE_CHARS) if _stem(path) in CHANGELOGS else None
    if content is None or len(content) <= WHOLE_CHANGELOG_CHARS:
        return ""
    return quote_spans(path, content, first_lines(content))


def _missing_files(files: Sequence[str], task: str) -> str:
    """Name the paths in the task that do not exist: files to be made, or missing ones."""
    missing = [path for path in files_named_in(task) if "/" in path and path not in files]
    return f"\nNamed in the task and not in the folder: {', '.join(missing)}\n" if missing and files else ""


def _long_tests(run: RunContext, path: str) -> str:
    content = read_text(run.root, path, MAX_SOURCE_CHARS) if is_test(path) else None
    if content is None or len(content) <= WHOLE_TESTS_CHARS:
        return ""
    spans = [*first_lines(content), *relevant_lines(content, run.task.text), *last_lines(content)]
    return quote_spans(path, content, spans)


def _part_of(path: str, text: str, task: str) -> str:
    defined = symbols(path, text)
    if not defined:
        return quote_document(path, text, task, DOCUMENT_CHARS)
    quoted_by_map = {symbol.name for symbol in defined} & code_words(task)
    return "" if quoted_by_map else quote_spans(path, text, relevant_lines(text, task))


def _given_checks(run: RunContext) -> str:
    """List the checks of the user and of the project, which are run in any case, with their results before the run."""
    before = run.state.results_before
    ran = {result.check.key for result in before}
    rows = [
        *(_check_line(result, "before the run") for result in before),
        *(f"- {check.label}" for check in run.task.checks if check.key not in ran),
    ]
    if not rows:
        return ""
    failing = failing_part(before, FIRST_CHECK_CHARS)
    failures = f"\nWhat failed:\n{failing}\n" if failing else ""
    return "\n# Checked at the end\n" + "\n".join(rows) + f"\n{failures}"


def step_start(run: RunContext, step_run: StepRun, seen: Sequence[str] = ()) -> str:
    """Tell the model which step is next, what must hold, and what failed. Failures in `seen` are not repeated."""
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
    if results := step_run.newest_results:
        rows = [_step_check_line(step_run, result) for result in results]
        lines.append("finish_step runs these checks:\n" + "\n".join(rows))
    else:
        lines.append("There is no check for this step. Show by a command that it works before you finish it.")
    run_by_engine = {result.check.key for result in results}
    if not_run := [f"- {check.label}" for check in step.checks if check.key not in run_by_engine]:
        lines.append(NOT_RUN + "\n".join(not_run))
    # Failures that are the same as before the run are in the first message.
    known = {stable(result.detail) for result in state.results_before if not result.passed}
    failing = failing_part([result for result in results if stable(result.detail) not in known])
    if failing and not any(failing in text for text in seen):
        lines.append(f"This failed {_newest_run(step_run) or BEFORE_STEP}:\n{failing}")
    return "\n\n".join(lines)


def _step_check_line(step_run: StepRun, newest: CheckResult) -> str:
    """Give the result of a check before the step, and the newest one if it ran since."""
    before = [result for result in step_run.results_before if result.check.key == newest.check.key]
    told = [f"{_word(result)} {BEFORE_STEP}" for result in before]
    told += [f"{_word(newest)} {when}"] if (when := _newest_run(step_run)) else []
    return f"- {newest.check.label} ({', '.join(told)})"


def _newest_run(step_run: StepRun) -> str:
    """Say when the newest results of a step's checks are from; empty if they are from before the step."""
    if not step_run.results:
        return ""
    finished = bool(step_run.failed_checks) and step_run.failed_checks[-1][1] == step_run.results
    return "at your last finish_step" if finished else "when they last ran"


def _word(result: CheckResult) -> str:
    return "passed" if result.passed else "failed"


def _check_line(result: CheckResult, when: str) -> str:
    return f"- {result.check.label} ({_word(result)} {when})"


def facts(run: RunContext, step_run: StepRun, *, failure_told: bool = False) -> str:
    """Tell a fresh conversation what the engine knows: finished steps with their files, and earlier failures.

    `failure_told`: the message and the evidence of the newest failure are told elsewhere.
    """
    lines: list[str] = []
    for other in run.state.steps.values():
        if other is step_run or other.status not in HAS_RESULT:
            continue
        changed = _changed(other)
        files = f": {', '.join(changed[:30])}" if changed else ""
        ended = "failed; a stand-in replaces its result" if other.status is StepStatus.DEGRADED else "is done"
        lines.append(f"- {other.step.id} {other.step.name} {ended}{files}")
    parts = ["# Done so far\n" + "\n".join(lines)] if lines else []
    if step_run.failures:
        last = step_run.failures[-1]
        told = "" if failure_told else f"{last.message}\n{last.evidence[:CHECK_CHARS]}\n"
        notes = dict.fromkeys(_without_message(note, last.message) for note in step_run.notes[-4:])
        tried = "".join(f"\n- {note}" for note in notes if note)
        learnt = f"\nLearnt from it:{tried}" if tried else ""
        again = "\nDo it differently this time." if step_run.notes else ""
        parts.append(f"# An earlier attempt at this step failed\n{told}{_left_of(step_run)}.{learnt}{again}")
    return "\n\n".join(parts)


def _without_message(note: str, message: str) -> str:
    """Return a note without the message of the failure, which many begin with."""
    message = message.rstrip(".")[:300]
    return note[len(message) :].lstrip(". ") if note.startswith(message) else note


def _left_of(step_run: StepRun) -> str:
    """Say what is left of the work of a failed attempt. Files that others changed meanwhile are not named: a rollback
    does not touch them."""
    if step_run.restored:
        return f"All files that it had changed are as before that attempt: {', '.join(step_run.restored[:30])}"
    output = step_run.recorded_output
    undone = output is None or output.status is ExecutionStatus.ROLLED_BACK
    if step_run.work_kept or (not undone and _changed(step_run)):
        return "What it changed is still there"
    return "It changed no file"


def _changed(step_run: StepRun) -> tuple[str, ...]:
    """Return the files that the newest finished attempt changed."""
    output = step_run.recorded_output
    return (*output.generated_files, *output.modified_files, *output.deleted_files) if output else ()


def candidate_start(run: RunContext, step_run: StepRun, number: int, of: int) -> str:
    """Tell a candidate what the others did, so that it does something else."""
    tried = []
    for other in step_run.candidates:
        if other.attempt == step_run.attempt:
            red = failing_part(other.results, FIRST_CHECK_CHARS) or other.unusable
            tried.append(f"Candidate {other.number} did this, and failed:\n{_calls(run, other.body)}\n{red}")
    intro = (
        f"# Candidate {number} of {of}\nYou work in a copy of the folder. Every candidate starts from the same files; "
        "the first one whose checks pass is used."
    )
    others = ["Do it in another way than these:", *tried] if tried else []
    return "\n\n".join(filter(None, [facts(run, step_run), intro, *others, step_start(run, step_run)]))


def _calls(run: RunContext, body: str) -> str:
    """List the calls of a candidate, shortened."""
    rows = [
        f"- {tool} {json.dumps(arguments, ensure_ascii=False)} {text}"
        for tool, arguments, text in json.loads(run.journal.get_blob(body))
    ]
    return "\n".join(shortened(row, CALL_CHARS) for row in rows[:MAX_CALLS]) or "- nothing"


def what_failed(step_run: StepRun) -> str:
    """For a new plan: say which step failed and why."""
    last = step_run.failures[-1]
    cause = step_run.reflections[-1].root_cause if step_run.reflections else ""
    # Causes that rules find are often the message itself.
    cause = f"\nCause: {cause}" if cause and cause not in last.message and last.message not in cause else ""
    return f"{step_run.step.id} {step_run.step.name}: {last.message}\n{last.evidence[:CHECK_CHARS]}{cause}"

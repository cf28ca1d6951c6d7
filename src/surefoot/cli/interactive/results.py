"""The short result that a session prints when a run has ended."""

import shutil
import textwrap
from collections.abc import Iterator

from rich.text import Text

from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.stdout import stdout_marks
from surefoot.cli.report.usage import usage_of_state
from surefoot.core.outcome import Outcome, Verdict
from surefoot.journal.state import RunState
from surefoot.workspace.git.repository import is_in_repository

MAX_NEXT = 3
MAX_FILES = 6


def short_result(state: RunState, verdict: Verdict) -> list[Text]:
    # A Ctrl-C that interrupts a question leaves the cursor on the line of the question.
    line_break = [Text()] if verdict is Verdict.INTERRUPTED and state.open_questions else []
    return [
        *line_break,
        _headline(state, verdict),
        *_reason_lines(state.outcome, verdict),
        *_checks(state.outcome),
        *_files(state.outcome),
        *_questions(state),
        Text(f"  {_hint(state, verdict)}", style="dim"),
    ]


def _headline(state: RunState, verdict: Verdict) -> Text:
    mark, style = stdout_marks().of_verdict(verdict)
    title = fmt.verdict_label(verdict, state.outcome)
    if _only_planned(state):
        title, mark, style = "Plan made", stdout_marks().done, "green"
    usage = usage_of_state(state)
    spent = [fmt.duration(state.active_seconds), f"{usage.prompt_tokens + usage.output_tokens:,} tokens"]
    spent += [usage.cost] if usage.cost else []
    return Text.assemble((f"{mark} {title}", f"bold {style}"), (f"  {', '.join(spent)}  {state.run_id}", "dim"))


def _only_planned(state: RunState) -> bool:
    return state.outcome is not None and state.plan is not None and not state.history


def _reason_lines(outcome: Outcome | None, verdict: Verdict) -> Iterator[Text]:
    if outcome is None or verdict is Verdict.VERIFIED:
        return
    diagnosis = outcome.diagnosis
    if diagnosis is None:
        yield from _wrapped(outcome.summary)
        return
    yield from _wrapped(diagnosis.what_failed)
    if diagnosis.root_cause and diagnosis.root_cause != diagnosis.what_failed:
        yield from _wrapped(f"because: {diagnosis.root_cause}")
    for step in diagnosis.next_steps[:MAX_NEXT]:
        yield from _wrapped(f"- {step}")


def _wrapped(text: str) -> Iterator[Text]:
    """A paragraph, wrapped at words."""
    columns = max(shutil.get_terminal_size().columns, 40)
    rows = textwrap.wrap(fmt.line(text, 400), columns - 1, initial_indent="  ", subsequent_indent="  ")
    yield from (Text(row) for row in rows)


def _checks(outcome: Outcome | None) -> Iterator[Text]:
    for result in outcome.checks if outcome else ():
        mark, style = stdout_marks().of_check(result.passed)
        yield Text.assemble("  ", (f"{mark} ", style), fmt.line(result.check.label))


def _files(outcome: Outcome | None) -> Iterator[Text]:
    listed, hidden = fmt.changed_files(outcome) if outcome else ((), "")
    styles = {"+": "green", "~": "yellow", "-": "red"}
    for sign, path in listed[:MAX_FILES]:
        yield Text.assemble("  ", (f"{sign} ", styles[sign]), path)
    if len(listed) > MAX_FILES:
        yield Text(f"  and {fmt.count(len(listed) - MAX_FILES, 'more file')}", style="dim")
    if hidden:
        yield Text(f"  {'and ' if listed else ''}{hidden}", style="dim")


def _questions(state: RunState) -> Iterator[Text]:
    for question in state.open_questions:
        # Shortened, because it was asked in full a moment ago.
        yield Text(f"  ? {fmt.line(question.text.partition(chr(10))[0], 100)}")


def _hint(state: RunState, verdict: Verdict) -> str:
    if verdict is Verdict.WAITING and state.open_questions:
        return "/resume asks it again"
    if state.outcome is None:
        return "/resume goes on; or type what to do instead"
    if _only_planned(state):
        return "/go carries it out; or type what should be different"
    if state.outcome.changed_files:
        commit = "  /commit" if verdict is Verdict.VERIFIED and _is_in_git(state) else ""
        return f"/diff  /review  /undo{commit}  /show; or type what to do next"
    return "/show has the details"


def _is_in_git(state: RunState) -> bool:
    return state.task is not None and is_in_repository(state.task.folder)

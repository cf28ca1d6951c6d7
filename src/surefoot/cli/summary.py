"""What stays on the screen when a run has ended: outcome, checks, files, cost, and what to do next."""

from collections.abc import Iterator

from rich.text import Text

from surefoot.cli import words
from surefoot.cli.marks import Marks
from surefoot.machine import Stage
from surefoot.outcome import CheckResult, Outcome, Verdict
from surefoot.plan import DetailedPlan
from surefoot.questions import times_out_at
from surefoot.state import RunState

_DIAGNOSIS_TITLES = (
    "What failed",
    "Root cause",
    "Evidence",
    "Tried, in order",
    "Left in the workspace",
    "Left outside the workspace",
    "What to do next",
)
_MOST_FILES = 12
_MOST_CHECKS = 10


def summary(state: RunState, marks: Marks, *, verdict: Verdict | None = None, until: str = "") -> list[Text]:
    """`verdict` is for a run without an outcome: interrupted, or waiting. `until` is the phase it was to stop after."""
    outcome = state.outcome
    verdict = outcome.verdict if outcome else verdict or standing(state)
    return [
        _headline(state, verdict, marks, until),
        *_said(outcome),
        Text(),
        *(_checks(outcome.checks, marks) if outcome else ()),
        *(_files(outcome) if outcome else ()),
        *(_not_captured(outcome) if outcome else ()),
        _row("spent", Text(f"{words.duration(state.active_seconds)}, {words.spent(state)}")),
        *(_row("note", Text(words.line(warning, 400), style="yellow")) for warning in _warnings(outcome)),
        *_questions(state),
        *_diagnosis(outcome),
        *_next(state, verdict),
    ]


def standing(state: RunState) -> Verdict:
    """How a run without an outcome is to be called."""
    return Verdict.WAITING if state.stage is Stage.WAITING else Verdict.INTERRUPTED


def plan_lines(plan: DetailedPlan, marks: Marks) -> Iterator[Text]:
    """A plan as a list: steps with what they need, write and are checked by."""
    names = {step.id: number for number, step in enumerate(plan.steps, 1)}
    for number, step in enumerate(plan.steps, 1):
        yield Text.assemble((f"  {number}. ", "dim"), (words.line(step.name), "bold"), (f"  {step.step_type}", "dim"))
        if step.description and step.description != step.name:
            yield Text(f"     {words.line(step.description, 300)}")
        needs = [str(names[d.depends_on]) for d in plan.dependencies if d.step_id == step.id]
        for title, said in (("after", ", ".join(needs)), ("writes", words.few([words.line(w) for w in step.writes]))):
            if said:
                yield Text.assemble("     ", (f"{title} ", "dim"), said)
        for check in step.checks:
            yield Text.assemble("     ", ("check ", "dim"), words.line(check.label))
    for criterion in plan.success_criteria:
        yield Text.assemble("  ", (f"{marks.dot} ", "dim"), words.line(criterion, 300))
    for check in plan.checks:
        yield Text.assemble("  ", ("at the end ", "dim"), words.line(check.label))


def _headline(state: RunState, verdict: Verdict, marks: Marks, until: str) -> Text:
    mark, style = marks.of_verdict(verdict)
    title = words.VERDICTS[verdict]
    if verdict is Verdict.UNVERIFIED and _only_planned(state):
        title, mark, style = "Plan made", marks.done, "green"
    elif verdict is Verdict.UNVERIFIED and until and state.outcome is None:
        title = f"Stopped after {until}, as asked"
    task = words.line(state.task.text if state.task else "", 100)
    return Text.assemble((f"{mark} {title}", f"bold {style}"), "  ", task, (f"  {state.run_id}", "dim"))


def _only_planned(state: RunState) -> bool:
    return state.outcome is not None and state.plan is not None and not state.history


def _said(outcome: Outcome | None) -> Iterator[Text]:
    """The summary, unless the diagnosis below begins with the same words."""
    told_below = outcome and outcome.diagnosis and outcome.diagnosis.what_failed == outcome.summary
    if outcome and outcome.summary and not told_below:
        yield Text(f"  {words.line(outcome.summary, 600)}")


def _checks(results: tuple[CheckResult, ...], marks: Marks) -> Iterator[Text]:
    # What is red must not be hidden behind what is green.
    ordered = sorted(results, key=lambda result: result.passed)
    for index, result in enumerate(ordered[:_MOST_CHECKS]):
        mark, style = marks.of_check(result.passed)
        said = Text.assemble((f"{mark} ", style), words.line(result.check.label))
        yield _row("checks" if index == 0 else "", said)
        if not result.passed and result.detail:
            for part in words.telling(result.detail):
                yield _row("", Text(f"    {part}", style="dim"))
    if rest := ordered[_MOST_CHECKS:]:
        red = sum(not result.passed for result in rest)
        more = f"{len(rest)} more" + (f", {red} of them fail" if red else " pass")
        yield _row("", Text(f"{marks.more} {more}", style="red" if red else "dim"))


def _files(outcome: Outcome) -> Iterator[Text]:
    changed = words.files(outcome.generated_files, outcome.modified_files, outcome.deleted_files)
    styles = {"+": "green", "~": "yellow", "-": "red"}
    for index, (sign, path) in enumerate(changed[:_MOST_FILES]):
        yield _row("files" if index == 0 else "", Text.assemble((f"{sign} ", styles[sign]), path))
    if len(changed) > _MOST_FILES:
        yield _row("", Text(f"and {len(changed) - _MOST_FILES} more", style="dim"))


def _not_captured(outcome: Outcome) -> Iterator[Text]:
    if outcome.not_captured:
        yield _row("not kept", Text(f"{words.few(outcome.not_captured)}: no undo brings these back", style="dim"))


def _warnings(outcome: Outcome | None) -> list[str]:
    if outcome is None:
        return []
    touched = [f"was to stay as it is, and has changed: {path}" for path in outcome.protected_changes]
    # The diagnosis tells it where there is one.
    outside = [] if outcome.diagnosis else [f"left outside the workspace: {what}" for what in outcome.left_outside]
    return [*touched, *outside, *outcome.warnings]


def _questions(state: RunState) -> Iterator[Text]:
    for question in state.open_questions:
        rows = words.block(question.text).splitlines()
        yield _row("asks", Text(rows[0] if rows else ""))
        yield from (_row("", Text(row)) for row in rows[1:])
        if until := times_out_at(question, state.config.question_timeout_seconds):
            yield _row("", Text(f"without an answer until {words.moment(until)} it counts as no", style="dim"))


def _diagnosis(outcome: Outcome | None) -> Iterator[Text]:
    if outcome is None or outcome.diagnosis is None:
        return
    yield Text()
    text = outcome.diagnosis.as_text()
    # Whole: what to do next stands at its end.
    for row in words.block(text, len(text)).splitlines():
        title, colon, rest = row.partition(":")
        is_title = title in _DIAGNOSIS_TITLES
        yield Text.assemble("  ", (title + colon, "bold" if is_title else ""), rest)


def _next(state: RunState, verdict: Verdict) -> Iterator[Text]:
    run_id, outcome = state.run_id, state.outcome
    hints: list[tuple[str, str]] = []
    if verdict is Verdict.WAITING and state.open_questions:
        hints.append(("answer", f"surefoot answer {run_id}"))
    elif outcome is None:
        hints.append(("go on", f"surefoot resume {run_id}"))
    elif _only_planned(state) and state.stage is Stage.COMPLETED:
        hints.append(("run it", f"surefoot run --based-on {run_id}"))
    if outcome and outcome.changed_files:
        hints.append(("diff", f"surefoot show {run_id} --diff"))
    if hints:
        yield Text()
        yield from (_row(title, Text(command, style="cyan")) for title, command in hints)


def _row(title: str, said: Text) -> Text:
    return Text.assemble("  ", (f"{title:<8}", "dim"), said)

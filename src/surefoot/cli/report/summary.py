"""The summary of a run, which stays on the screen: outcome, checks, files, cost, next steps."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.symbols import Marks
from surefoot.cli.report.usage import usage_of_state
from surefoot.core.outcome import CheckResult, Outcome, distinct_checks
from surefoot.core.plan import DetailedPlan
from surefoot.core.questions import times_out_at
from surefoot.core.transitions import RunStatus
from surefoot.journal.run_status import status_of
from surefoot.journal.state import RunState
from surefoot.models.spec import to_name_again
from surefoot.tools.fs.tool_files import is_listed
from surefoot.view.labels import STATUS_LABELS, proof_label
from surefoot.view.questions import open_points, other_warnings

_DIAGNOSIS_TITLES = (
    "What failed",
    "Root cause",
    "Evidence",
    "Tried, in order",
    "Left in the workspace",
    "Left outside the workspace",
    "What to do next",
)
_MAX_FILES = 12
_MAX_CHECKS = 10


def summary(
    state: RunState, marks: Marks, *, status: RunStatus | None = None, by: Sequence[str] = (), hints: bool = True
) -> list[Text]:
    """The lines of the summary; with `hints`, including the commands for the next steps.

    `status` is needed if another process may drive the run; the default assumes that none does. `by` says in words who
    drives the run, or who carried out the plan.
    """
    outcome = state.outcome
    status = status or status_of(state, live=False)
    return [
        _headline(state, status, marks),
        *(_undone(state) if status == "undone" else ()),
        *(() if _took_review_back(state) else _text(outcome, "before that: " if state.is_outdated else "")),
        *_reason(state, status),
        *(Text(f"  {line}") for line in by),
        Text(),
        *(_result(state, outcome, marks) if outcome else ()),
        *_unproven(state, outcome),
        *(_files(outcome, outdated=state.is_outdated) if outcome else _files_so_far(state, status)),
        *(_not_captured(outcome) if outcome else ()),
        *_git(state),
        _row("spent", Text(f"{fmt.duration(state.active_seconds)}, {usage_of_state(state)}")),
        *_open_points(state),
        *(_row("note", Text(fmt.line(warning, 400), style="yellow")) for warning in _warnings(state, outcome)),
        *(_questions(state) if status == "waiting" else ()),
        *_diagnosis(state, outcome),
        *(_next(state, status) if hints else ()),
    ]


def verdict_lines(state: RunState, marks: Marks) -> list[Text]:
    """Only the verdict and the checks, for a person who is about to review the result."""
    outcome = state.outcome
    rows = [*_text(outcome, ""), *(_result(state, outcome, marks) if outcome else ())]
    return [_headline(state, status_of(state, live=False), marks), *rows, Text()]


def plan_lines(plan: DetailedPlan, marks: Marks) -> Iterator[Text]:
    """The steps of a plan with their dependencies, files and checks."""
    numbers = {step.id: number for number, step in enumerate(plan.steps, 1)}
    for number, step in enumerate(plan.steps, 1):
        yield Text.assemble(
            (f"  {number}. ", "dim"), (fmt.line(step.name), "bold"), (f"  {fmt.step_type(step)}", "dim")
        )
        if step.description and step.description != step.name:
            yield Text(f"     {fmt.line(step.description, 300)}")
        needs = [str(numbers[d.depends_on]) for d in plan.dependencies if d.step_id == step.id]
        writes = fmt.join_limited([fmt.line(name) for name in step.writes])
        for title, text in (("after", ", ".join(needs)), ("writes", writes)):
            if text:
                yield Text.assemble("     ", (f"{title} ", "dim"), text)
        for check in step.checks:
            yield Text.assemble("     ", ("check ", "dim"), fmt.line(check.label))
    for criterion in plan.success_criteria:
        yield Text.assemble("  ", (f"{marks.dot} ", "dim"), fmt.line(criterion, 300))
    for check in plan.checks:
        yield Text.assemble("  ", ("at the end ", "dim"), fmt.line(check.label))


def _headline(state: RunState, status: RunStatus, marks: Marks) -> Text:
    title, (mark, style) = STATUS_LABELS[status], marks.of_status(status)
    if status == "undone":
        title = "Partly undone" if state.undone is not None and state.undone.is_partial else title
        title = "Review taken back" if _took_review_back(state) else title
    elif state.outcome is not None and status != "plan":
        title = fmt.verdict_label(state.outcome.verdict, state.outcome)
        mark, style = marks.of_verdict(state.outcome.verdict)
    elif status == "paused" and state.interruption is not None:
        title = fmt.line(state.interruption.reason[:1].upper() + state.interruption.reason[1:])
    task = fmt.line(state.task.text if state.task else "", 100)
    return Text.assemble((f"{mark} {title}", f"bold {style}"), "  ", task, (f"  {state.run_id}", "dim"))


def _took_review_back(state: RunState) -> bool:
    """Whether the outcome is that of a review that was taken back."""
    return state.undone is not None and state.undone.review_taken_back


def _undone(state: RunState) -> Iterator[Text]:
    """When, by whom and how far the run was undone."""
    undone = state.undone
    if undone is None:
        return
    by = f" by {fmt.line(undone.by, 200)}" if undone.by else ""
    label = "undone"
    if undone.review_taken_back:
        label, extent = "review taken back", ": the result is as it was before it, and not checked since"
    elif undone.step:
        extent = f", from step {fmt.line(undone.step)} on"
    elif undone.snapshot:
        extent = f", back to snapshot {undone.snapshot[:12]}"
    else:
        extent = f", in {fmt.folder(undone.folder)}" if undone.folder else ""
    yield Text(f"  {label} on {fmt.timestamp(undone.at)}{by}{extent}", style="yellow")
    if undone.missing:
        listed = fmt.join_limited([fmt.line(path) for path in undone.missing])
        yield Text(f"  not restored for lack of room: {listed}; free some space and undo it again", style="yellow")


def _text(outcome: Outcome | None, prefix: str) -> Iterator[Text]:
    """The outcome's own summary, unless the diagnosis repeats it."""
    repeated = outcome and outcome.diagnosis and outcome.diagnosis.what_failed == outcome.summary
    if outcome and outcome.summary and not repeated:
        yield Text(f"  {prefix}{fmt.line(outcome.summary, 600)}")


def _reason(state: RunState, status: RunStatus) -> Iterator[Text]:
    """Who paused a run, or what interrupted it."""
    if status == "paused" and state.open_questions:
        yield Text("  answered; it reads the answer when it is resumed")
    elif status == "paused" and state.interruption is None:
        yield Text(f"  {fmt.line(state.stage_reason, 600)}")
    elif status == "interrupted" and state.interruption is not None:
        yield Text(f"  {fmt.line(state.interruption.reason, 600)}")


def _result(state: RunState, outcome: Outcome, marks: Marks) -> Iterator[Text]:
    """The checks and the proof. Checks that were not run on the present files are listed without a result."""
    if not state.is_outdated:
        yield from _checks(outcome.checks, marks)
        yield from _tests(outcome)
    elif outcome.checks:
        labels = [fmt.line(result.check.label) for result in distinct_checks(outcome.checks)]
        yield _row("checks", Text(f"not run since it was undone: {fmt.join_limited(labels)}", style="dim"))


def _checks(results: tuple[CheckResult, ...], marks: Marks) -> Iterator[Text]:
    # Failures first, so that the limit never hides one behind checks that pass.
    ordered = sorted(distinct_checks(results), key=lambda result: result.passed)
    failing = fmt.failing_rows(ordered)
    for index, result in enumerate(ordered[:_MAX_CHECKS]):
        mark, style = marks.of_check(result.passed)
        yield _row("checks" if index == 0 else "", Text.assemble((f"{mark} ", style), fmt.line(result.check.label)))
        for row in failing.get(result.check.key, ()):
            yield _row("", Text(f"    {row}", style="dim"))
    if rest := ordered[_MAX_CHECKS:]:
        failed = sum(not result.passed for result in rest)
        more = f"{len(rest)} more" + (f", {failed} of them fail" if failed else " pass")
        yield _row("", Text(f"{marks.more} {more}", style="red" if failed else "dim"))


def _tests(outcome: Outcome) -> Iterator[Text]:
    """The level of proof, and the project's tests before and after the run."""
    tests = outcome.tests
    if tests is None:
        return
    origins = (result.check.origin for result in outcome.checks)
    yield _row("proof", Text(f"{outcome.proof.letter}: {proof_label(outcome.proof, origins)}"))
    if tests.before or tests.after:
        before, after = (counts.as_text() if counts else "unknown" for counts in (tests.before, tests.after))
        yield _row("tests", Text(f"before: {before}; now: {after}{tests.counted}"))
    asked = [test.as_text() for test in tests.altered if test.asked]
    if asked:
        yield _row("", Text(f"as the task asks: {fmt.join_limited([fmt.line(text) for text in asked])}", style="dim"))


def _unproven(state: RunState, outcome: Outcome | None) -> Iterator[Text]:
    """The steps that no check could prove."""
    names = [fmt.line(state.step(s).name) for s in (outcome.unproven_steps if outcome else ()) if s in state.steps]
    if names:
        yield _row("steps", Text(f"{fmt.UNPROVEN}: {fmt.join_limited(names)}", style="yellow"))


def _files(outcome: Outcome, *, outdated: bool) -> Iterator[Text]:
    if outdated:
        if names := fmt.changed_files_line(outcome):
            yield _row("files", Text(f"before that: {names}", style="dim"))
        return
    listed, hidden = fmt.changed_files(outcome)
    styles = {"+": "green", "~": "yellow", "-": "red"}
    for index, (sign, path) in enumerate(listed[:_MAX_FILES]):
        yield _row("files" if index == 0 else "", Text.assemble((f"{sign} ", styles[sign]), path))
    more = [f"{len(listed) - _MAX_FILES} more"] if len(listed) > _MAX_FILES else []
    if rest := " and ".join([*more, *([hidden] if hidden else [])]):
        yield _row("", Text(f"and {rest}", style="dim")) if listed else _row("files", Text(rest, style="dim"))


def _files_so_far(state: RunState, status: RunStatus) -> Iterator[Text]:
    """The files that the steps of a run touched before it was interrupted or paused."""
    touched = {
        path for step_run in state.steps.values() for path in step_run.touched if path != "." and is_listed(path)
    }
    if touched and status in ("interrupted", "paused"):
        names = fmt.join_limited([fmt.path(path) for path in touched], _MAX_FILES)
        yield _row("files", Text(f"changed so far: {names}"))


def _not_captured(outcome: Outcome) -> Iterator[Text]:
    if outcome.not_captured:
        yield _row("no undo", Text(f"not in snapshots: {fmt.join_limited(outcome.not_captured)}", style="dim"))


def _git(state: RunState) -> Iterator[Text]:
    """The repository that was cloned, the branch that was made for the run, its commits, and where they were pushed."""
    if (cloned := state.cloned) is not None:
        where = f"{fmt.line(cloned.address)}, {fmt.line(cloned.ref or 'default branch')} at {cloned.commit[:10]}"
        yield _row("cloned", Text(where))
    if state.branch:
        yield _row("branch", Text(f"{fmt.line(state.branch)}, made from {fmt.line(state.branched_from)}"))
    for index, commit in enumerate(state.commits[:_MAX_CHECKS]):
        step = f"  {fmt.line(commit.step)}" if commit.step else ""
        text = f"{commit.commit[:10]} on {fmt.line(commit.branch)}, {fmt.count(len(commit.paths), 'file')}{step}"
        yield _row("commit" if index == 0 else "", Text(text))
    if len(state.commits) > _MAX_CHECKS:
        yield _row("", Text(f"and {len(state.commits) - _MAX_CHECKS} more", style="dim"))
    for pushed in state.pushes:
        text = f"{pushed.commit[:10]} to {fmt.line(pushed.branch)} of {fmt.line(pushed.address)}"
        yield _row("pushed", Text(text))


def _warnings(state: RunState, outcome: Outcome | None) -> list[str]:
    if outcome is None:
        return []
    # Warnings recorded after the end, such as an alert that could not be delivered.
    later = [warning for warning in state.warnings if warning not in outcome.warnings]
    protected = [f"protected file was modified: {path}" for path in outcome.protected_changes]
    # A diagnosis lists these itself.
    outside = [] if outcome.diagnosis else [f"left outside the workspace: {item}" for item in outcome.left_outside]
    return other_warnings(state, [*protected, *outside, *outcome.warnings, *later])


def _open_points(state: RunState) -> Iterator[Text]:
    """Questions of the model about the task that nobody has answered. Those that it asks now are shown elsewhere."""
    asked = {question.text for question in state.open_questions}
    points = [point for point in open_points(state) if point.answer is None and point.question not in asked]
    for index, point in enumerate(points):
        yield _row("open" if index == 0 else "", Text(fmt.line(str(point), 400), style="yellow"))


def _questions(state: RunState) -> Iterator[Text]:
    for question in state.open_questions:
        rows = fmt.block(question.text).splitlines()
        yield _row("asks", Text(rows[0] if rows else ""))
        yield from (_row("", Text(row)) for row in rows[1:])
        if until := times_out_at(question, state.config.question_timeout_seconds):
            yield _row("", Text(f"if there is no answer by {fmt.timestamp(until)}, it counts as no", style="dim"))


def _diagnosis(state: RunState, outcome: Outcome | None) -> Iterator[Text]:
    if outcome is None or outcome.diagnosis is None or _took_review_back(state):
        return
    yield Text()
    diagnosis = outcome.diagnosis
    if state.is_outdated and state.undone is not None:
        left = "what was not undone since" if state.undone.is_partial else "nothing: it was undone since"
        diagnosis = diagnosis.with_(left_behind=(left,))
    text = diagnosis.as_text()
    # Not shortened, because the next steps come last.
    for row in fmt.block(text, len(text)).splitlines():
        title, colon, rest = row.partition(":")
        is_title = title in _DIAGNOSIS_TITLES
        yield Text.assemble("  ", (title + colon, "bold" if is_title else ""), rest)


_NEXT: dict[RunStatus, tuple[tuple[str, str], ...]] = {
    "running": (("watch", "surefoot watch {}"), ("pause", "surefoot pause {}")),
    "queued": (("watch", "surefoot watch {}"),),
    "waiting": (("answer", "surefoot answer {}"),),
    "paused": (("resume", "surefoot resume {}{}"),),
    "interrupted": (("resume", "surefoot resume {}{}"),),
    "plan": (("edit", "surefoot edit {}"), ("run it", "surefoot run --plan {}")),
}


def _next(state: RunState, status: RunStatus) -> Iterator[Text]:
    run_id, outcome = state.run_id, state.outcome
    hints = [(title, command.format(run_id, to_name_again(state.model))) for title, command in _NEXT.get(status, ())]
    if status == "undone" and state.undone is not None and state.undone.redo:
        again = f"surefoot undo {run_id} --to {state.undone.redo[:12]}"
        hints.append(("redo", f"surefoot apply {run_id}" if state.undone.folder else again))
    if outcome and outcome.changed_files:
        hints.append(("diff", f"surefoot show {run_id} --diff"))
    if hints:
        yield Text()
        yield from (_row(title, Text(command, style="cyan")) for title, command in hints)


def _row(title: str, content: Text) -> Text:
    return Text.assemble("  ", (f"{title:<8}", "dim"), content)

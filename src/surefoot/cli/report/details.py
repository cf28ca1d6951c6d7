"""The output of `surefoot show`: a run in detail, its events, its model calls."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from rich.text import Text

from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.hiding import redactor
from surefoot.cli.report.summary import summary
from surefoot.cli.report.symbols import Marks
from surefoot.core.outcome import count_checks
from surefoot.core.phases import ExecutionStatus, PhaseResult, PhaseStatus
from surefoot.core.transitions import READY, Rung, RunStatus, StepStatus
from surefoot.errors import JournalError
from surefoot.journal import events as e
from surefoot.journal.redacted_values import redacted_for_display
from surefoot.journal.run_status import status_of
from surefoot.journal.state import RunState, StepRun
from surefoot.view.questions import open_points

_PHASE_STYLES = {PhaseStatus.SUCCESS: "green", PhaseStatus.FAILED: "red", PhaseStatus.SKIPPED: "dim"}

_ENDED_LABELS = {**fmt.STEP_LABELS, StepStatus.RUNNING: "interrupted", StepStatus.PENDING: "not done"}


# -- one run -------------------------------------------------------------------------------------------------------


def details(
    state: RunState, marks: Marks, *, status: RunStatus | None = None, by: Sequence[str] = ()
) -> Iterator[Text]:
    """Everything about a run. `status` and `by` are as for `summary`."""
    status = status or status_of(state, live=False)
    yield from _heading(state)
    yield Text()
    yield from _phases(state, marks)
    if state.steps:
        yield Text()
        ready = state.ready_steps()
        for number, step_run in enumerate(state.steps.values(), 1):
            yield from _step(number, step_run, state, marks, ready=step_run.step.id in ready, status=status)
        if counters := fmt.counters(state):
            yield Text(counters, style="dim")
    yield Text()
    yield from summary(state, marks, status=status, by=by)


def _heading(state: RunState) -> Iterator[Text]:
    text = state.task.text if state.task else ""
    for row in fmt.block(text).splitlines():
        yield Text(row, style="bold")
    where = fmt.folder(state.task.workspace) if state.task else ""
    yield Text(f"{state.run_id}  {fmt.timestamp(state.started_at)}  {fmt.line(state.model)}  {where}", style="dim")
    if state.based_on:
        yield Text(f"based on run {state.based_on}", style="dim")
    if state.context is not None:
        yield Text(f"continues {state.context.run}: {fmt.line(state.context.title)}", style="dim")


def _phases(state: RunState, marks: Marks) -> Iterator[Text]:
    understood = state.failed_phases.get("understanding") or state.understanding
    understanding = understood and understood.output
    if understood:
        yield from _phase("understanding", understood, understanding.understanding if understanding else "", marks)
    if understanding:
        yield from (Text(f"    {marks.dot} {fmt.line(r, 300)}") for r in understanding.key_requirements)
        yield from (Text(f"    risk: {fmt.line(r, 300)}", style="yellow") for r in understanding.potential_risks)
        yield from (Text(f"    open: {fmt.line(str(point), 400)}", style="yellow") for point in open_points(state))
    chosen = state.failed_phases.get("approach") or state.approach
    approach = chosen and chosen.output
    if chosen:
        yield from _phase("approach", chosen, approach.approach if approach else "", marks)
    if approach:
        yield from (
            Text(f"    {marks.dot} {fmt.line(d.decision)}: {fmt.line(d.rationale)}") for d in approach.key_decisions
        )
        yield from (Text(f"    else: {fmt.line(a.name)}", style="dim") for a in approach.alternatives)
    if planned := state.failed_phases.get("planning") or state.planning:
        yield from _phase("planning", planned, fmt.count(len(state.steps), "step"), marks)
    yield from (Text(f"    {line}", style="dim") for line in fmt.plan_facts(state))
    if state.validation:
        checks = state.validation.output.checks if state.validation.output else ()
        yield from _phase("validation", state.validation, str(count_checks(checks)), marks)
        for criterion in state.validation.output.criteria if state.validation.output else ():
            mark = marks.unknown if criterion.met is None else marks.of_check(criterion.met)[0]
            reason = f" ({fmt.line(criterion.because)})" if criterion.because else ""
            yield Text(f"    {mark} {fmt.line(criterion.criterion, 300)}{reason}")


def _phase(name: str, result: PhaseResult[Any], text: str, marks: Marks) -> Iterator[Text]:
    yield _phase_head(name, result, text, marks)
    if result.validation is None:
        return
    for warning in result.validation.warnings:
        yield Text(f"    {fmt.line(warning, 300)}", style="yellow")
    if result.status is not PhaseStatus.SUCCESS or result.validation.confidence < 1:
        for suggestion in result.validation.suggestions:
            yield Text(f"    to be surer: {fmt.line(suggestion, 300)}", style="dim")


def _phase_head(name: str, result: PhaseResult[Any], text: str, marks: Marks) -> Text:
    style = _PHASE_STYLES.get(result.status, "yellow")
    mark = {"green": marks.done, "red": marks.failed, "dim": marks.skipped}.get(style, marks.active)
    facts = [fmt.duration(result.duration_ms / 1000)] if result.duration_ms else []
    if result.validation and result.status is not PhaseStatus.SKIPPED:
        facts.append(f"confidence {result.validation.confidence:.2f}")
    if result.retry_count:
        facts.append(f"after {fmt.count(result.retry_count, 'refusal')}")
    if result.status is PhaseStatus.SKIPPED:
        text = f"skipped: {fmt.skip_reason(result)}"
    elif result.error:
        text = result.error
    line = Text.assemble((f"{mark} ", style), (f"{name}  ", "bold"), fmt.line(text, 400))
    return line.append(f"  {', '.join(facts)}", style="dim") if facts else line


def _label(step_run: StepRun, ended: bool) -> str:
    if step_run.status is StepStatus.SUCCEEDED:
        return fmt.step_label(step_run.status, step_run.recorded_output)
    return (_ENDED_LABELS if ended else fmt.STEP_LABELS)[step_run.status]


def _step(
    number: int, step_run: StepRun, state: RunState, marks: Marks, *, ready: bool, status: RunStatus
) -> Iterator[Text]:
    # In a run that has ended, no step is running or waiting. In a run that no process drives, none is running.
    ended = state.outcome is not None and state.outcome.diagnosis is not None
    interrupted = step_run.status is StepStatus.RUNNING and (ended or status in ("paused", "interrupted", "queued"))
    mark, style = marks.of_step(StepStatus.FAILED if interrupted else step_run.status)
    head = Text.assemble((f"{mark} ", style), (f"{number}. ", "dim"), (fmt.line(step_run.step.name), "bold"))
    label = READY if ready and not ended else _label(step_run, ended or interrupted)
    facts = [fmt.step_type(step_run.step), label]
    if step_run.attempt > 1:
        facts.append(f"{step_run.attempt} attempts")
    facts += fmt.step_counters(step_run)
    yield head.append(f"  {', '.join(facts)}", style="dim")
    assert state.plan is not None
    needs = [fmt.line(state.step(d.depends_on).name) for d in state.plan.dependencies if d.step_id == step_run.step.id]
    if needs:
        yield Text(f"     after {fmt.join_limited(needs)}", style="dim")
    yield from (Text(f"     {line}", style="dim") for line in fmt.step_facts(step_run))
    # A check that passed when it was repeated leaves a failure without a reflection. Then they cannot be paired.
    reflections = step_run.reflections if len(step_run.reflections) == len(step_run.failures) else ()
    for failure, reflection, rung in zip_longest(step_run.failures, reflections, step_run.rungs):
        if failure is None:
            continue
        response = f"  {marks.arrow} {fmt.RUNG_LABELS[Rung(rung)]}" if rung else ""
        yield Text(f"     {marks.failed} {fmt.line(failure.message, 200)}{response}", style="yellow")
        if reflection is not None:
            yield Text(f"       why: {fmt.reflection(reflection)}", style="dim")
    for candidate in step_run.candidates:
        yield Text(f"     {fmt.candidate(candidate, marks.of_check(candidate.passed)[0])}", style="dim")
    for result in step_run.results:
        check_mark, check_style = marks.of_check(result.passed)
        yield Text.assemble("     ", (f"{check_mark} ", check_style), fmt.line(result.check.label))
    if step_run.output:
        if changed := fmt.changed_files_line(step_run.output, 10):
            undone = "undone: " if step_run.output.status is ExecutionStatus.ROLLED_BACK else ""
            yield Text(f"     {undone}{changed}")
        for command in step_run.output.executed_commands[:10]:
            yield Text(f"     $ {fmt.line(command)}", style="dim")


# -- events --------------------------------------------------------------------------------------------------------


def timeline(records: Iterable[e.Record]) -> Iterator[Text]:
    """One event per line: sequence number, seconds since the start, type, and the fields that are not defaults."""
    started: float | None = None
    for record in records:
        started = record.at if started is None else started
        body = json.loads(e.encode(redacted_for_display(record.event, redactor())))
        yield Text.assemble(
            (f"{record.seq:>5} {record.at - started:>9.3f}  ", "dim"),
            (f"{record.event.type:<18} ", "cyan"),
            fmt.line(json.dumps(body, ensure_ascii=False), 400),
        )


# -- model calls ---------------------------------------------------------------------------------------------------


class Exchange(NamedTuple):
    """A prompt and its answer, in full."""

    seq: int
    purpose: str
    step_id: str
    prompt: str
    answer: str
    unreadable: str

    def as_object(self) -> dict[str, Any]:
        hide = redactor().redact_known
        texts = {name: hide(getattr(self, name)) for name in ("prompt", "answer", "unreadable")}
        return {**self._asdict(), **texts}


def exchanges(records: Iterable[e.Record], blob: Callable[[str], bytes]) -> Iterator[Exchange]:
    for record in records:
        if isinstance(event := record.event, e.ModelAnswered):
            prompt, answer = (_content(digest, blob) for digest in (event.prompt, event.answer))
            yield Exchange(record.seq, event.purpose, event.step_id, prompt, answer, event.unreadable)


def exchange_lines(listed: Iterable[Exchange]) -> Iterator[Text]:
    """Prompts and answers in full, safe to print."""
    for number, exchange in enumerate(listed, 1):
        if number > 1:
            yield Text()
        step = f" for step {fmt.line(exchange.step_id)}" if exchange.step_id else ""
        yield Text(f"{number}. {fmt.line(exchange.purpose)}{step}", style="bold")
        for title, content in (("prompt", exchange.prompt), ("answer", exchange.answer)):
            yield Text(f"  {title}:", style="cyan")
            yield from (Text(f"    {row}") for row in fmt.block(content, len(content)).splitlines())
        if exchange.unreadable:
            yield Text(f"  not usable: {fmt.line(exchange.unreadable, 400)}", style="yellow")


def _content(digest: str, blob: Callable[[str], bytes]) -> str:
    try:
        return blob(digest).decode(errors="replace")
    except JournalError:
        return "(no longer stored)"

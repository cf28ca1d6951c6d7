"""Everything that is known about a run, as lines: for `show`, for its timeline, and for the list of runs."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from surefoot import events as e
from surefoot.cli import words
from surefoot.cli.marks import Marks
from surefoot.cli.summary import summary
from surefoot.errors import JournalError
from surefoot.machine import Stage, StepStatus
from surefoot.outcome import ExecutionStatus, PhaseResult, PhaseStatus, Verdict
from surefoot.state import RunState, StepRun
from surefoot.store.base import RunSummary

_PHASE_STYLES = {PhaseStatus.SUCCESS: "green", PhaseStatus.FAILED: "red", PhaseStatus.SKIPPED: "dim"}

_GIVEN_UP = {**words.STEP_WORDS, StepStatus.RUNNING: "cut off", StepStatus.PENDING: "not done"}


def run_table(runs: Sequence[RunSummary], marks: Marks) -> Iterator[Text]:
    rows = [
        (run.run_id, words.moment(run.updated_at), _standing(run), words.folder(run.workspace), run) for run in runs
    ]
    widths = [max(cell_len(str(row[column])) for row in rows) for column in range(4)]
    for run_id, day, standing, folder, run in rows:
        style = {Verdict.VERIFIED: "green", Verdict.FAILED: "red"}.get(run.verdict or Verdict.WAITING, "yellow")
        yield Text.assemble(
            (f"{run_id:<{widths[0]}}  ", "bold"),
            (f"{day}  ", "dim"),
            (f"{standing:<{widths[2]}}  ", style),
            (set_cell_size(folder, min(widths[3], 32)) + "  ", "dim"),
            words.line(run.task, 80),
        )


def _standing(run: RunSummary) -> str:
    if run.stage is Stage.WAITING:
        return str(Verdict.WAITING)
    return str(run.verdict or f"in {run.stage}")


# -- one run -------------------------------------------------------------------------------------------------------


def details(state: RunState, marks: Marks) -> Iterator[Text]:
    yield from _heading(state)
    yield Text()
    yield from _phases(state, marks)
    if state.steps:
        yield Text()
        for number, run in enumerate(state.steps.values(), 1):
            yield from _step(number, run, state, marks)
    yield Text()
    yield from summary(state, marks)


def _heading(state: RunState) -> Iterator[Text]:
    text = state.task.text if state.task else ""
    for row in words.block(text).splitlines():
        yield Text(row, style="bold")
    where = words.folder(state.task.workspace) if state.task else ""
    yield Text(f"{state.run_id}  {words.moment(state.started_at)}  {words.line(state.model)}  {where}", style="dim")


def _phases(state: RunState, marks: Marks) -> Iterator[Text]:
    understanding = state.understanding and state.understanding.output
    if state.understanding:
        yield _phase("understanding", state.understanding, understanding.understanding if understanding else "", marks)
    if understanding:
        yield from (Text(f"    {marks.dot} {words.line(r, 300)}") for r in understanding.key_requirements)
        yield from (Text(f"    risk: {words.line(r, 300)}", style="yellow") for r in understanding.potential_risks)
    approach = state.approach and state.approach.output
    if state.approach:
        yield _phase("approach", state.approach, approach.approach if approach else "", marks)
    if approach:
        yield from (
            Text(f"    {marks.dot} {words.line(d.decision)}: {words.line(d.rationale)}") for d in approach.key_decisions
        )
        yield from (Text(f"    else: {words.line(a.name)}", style="dim") for a in approach.alternatives)
    if state.planning:
        yield _phase("planning", state.planning, words.count(len(state.steps), "step"), marks)
    if state.validation:
        checks = state.validation.output.checks if state.validation.output else ()
        good = sum(result.passed for result in checks)
        yield _phase("validation", state.validation, words.passing(good, len(checks)), marks)
        for criterion in state.validation.output.criteria if state.validation.output else ():
            mark = marks.unknown if criterion.met is None else marks.of_check(criterion.met)[0]
            because = f" ({words.line(criterion.because)})" if criterion.because else ""
            yield Text(f"    {mark} {words.line(criterion.criterion, 300)}{because}")


def _phase(name: str, result: PhaseResult[Any], said: str, marks: Marks) -> Text:
    style = _PHASE_STYLES.get(result.status, "yellow")
    mark = {"green": marks.done, "red": marks.failed, "dim": marks.skipped}.get(style, marks.active)
    facts = [words.duration(result.duration_ms / 1000)] if result.duration_ms else []
    if result.validation and result.status is not PhaseStatus.SKIPPED:
        facts.append(f"confidence {result.validation.confidence:.2f}")
    if result.retry_count:
        facts.append(f"after {words.count(result.retry_count, 'refusal')}")
    if result.status is PhaseStatus.SKIPPED:
        said = f"skipped: {words.why_skipped(result)}"
    elif result.error:
        said = result.error
    line = Text.assemble((f"{mark} ", style), (f"{name}  ", "bold"), words.line(said, 400))
    return line.append(f"  {', '.join(facts)}", style="dim") if facts else line


def _step(number: int, run: StepRun, state: RunState, marks: Marks) -> Iterator[Text]:
    # A run that was given up runs nothing, and none of its steps waits for its turn.
    given_up = state.outcome is not None and state.outcome.diagnosis is not None
    cut_off = given_up and run.status is StepStatus.RUNNING
    mark, style = marks.of_step(StepStatus.FAILED if cut_off else run.status)
    head = Text.assemble((f"{mark} ", style), (f"{number}. ", "dim"), (words.line(run.step.name), "bold"))
    facts = [str(run.step.step_type), (_GIVEN_UP if given_up else words.STEP_WORDS)[run.status]]
    if run.attempt > 1:
        facts.append(f"{run.attempt} tries")
    yield head.append(f"  {', '.join(facts)}", style="dim")
    assert state.plan is not None
    needs = [words.line(state.step(d.depends_on).name) for d in state.plan.dependencies if d.step_id == run.step.id]
    if needs:
        yield Text(f"     after {words.few(needs)}", style="dim")
    # A failure that passed when it was looked at again was never reflected on.
    found_all = run.reflections if len(run.reflections) == len(run.failures) else ()
    for failure, found, rung in zip_longest(run.failures, found_all, run.rungs):
        if failure is None:
            continue
        then = f"  {marks.arrow} {rung.replace('_', ' ')}" if rung else ""
        yield Text(f"     {marks.failed} {words.line(failure.message, 200)}{then}", style="yellow")
        if found is not None:
            yield Text(f"       why: {words.reflection(found)}", style="dim")
    for tried in run.candidates:
        yield Text(f"     {words.candidate(tried, marks.of_check(words.is_green(tried))[0])}", style="dim")
    for result in run.checks:
        check_mark, check_style = marks.of_check(result.passed)
        yield Text.assemble("     ", (f"{check_mark} ", check_style), words.line(result.check.label))
    if run.output:
        changed = words.files(run.output.generated_files, run.output.modified_files, run.output.deleted_files)
        if changed:
            undone = "undone: " if run.output.status is ExecutionStatus.ROLLED_BACK else ""
            yield Text("     " + undone + words.few([f"{sign} {path}" for sign, path in changed], 10))
        for command in run.output.executed_commands[:10]:
            yield Text(f"     $ {words.line(command)}", style="dim")


# -- events --------------------------------------------------------------------------------------------------------


def timeline(records: Iterable[e.Record]) -> Iterator[Text]:
    """Raw, one event a line: place, seconds since the beginning, kind, and what is not a default in it."""
    started: float | None = None
    for record in records:
        started = record.at if started is None else started
        body = json.loads(e.encode(record.event))
        yield Text.assemble(
            (f"{record.seq:>5} {record.at - started:>9.3f}  ", "dim"),
            (f"{record.event.type:<18} ", "cyan"),
            words.line(json.dumps(body, ensure_ascii=False), 400),
        )


# -- what the model was asked and said -----------------------------------------------------------------------------


class Exchange(NamedTuple):
    """One call of the model, with its text."""

    seq: int
    purpose: str
    step_id: str
    prompt: str
    answer: str
    unreadable: str


def exchanges(records: Iterable[e.Record], blob: Callable[[str], bytes]) -> Iterator[Exchange]:
    for record in records:
        if isinstance(said := record.event, e.ModelAnswered):
            prompt, answer = (_kept(digest, blob) for digest in (said.prompt, said.answer))
            yield Exchange(record.seq, said.purpose, said.step_id, prompt, answer, said.unreadable)


def conversation(asked: Iterable[Exchange]) -> Iterator[Text]:
    """Prompts and answers in full, with nothing in them that a terminal would obey."""
    for number, exchange in enumerate(asked, 1):
        if number > 1:
            yield Text()
        about = f" for step {words.line(exchange.step_id)}" if exchange.step_id else ""
        yield Text(f"{number}. {words.line(exchange.purpose)}{about}", style="bold")
        for title, content in (("asked", exchange.prompt), ("answered", exchange.answer)):
            yield Text(f"  {title}:", style="cyan")
            yield from (Text(f"    {row}") for row in words.block(content, len(content)).splitlines())
        if exchange.unreadable:
            yield Text(f"  not usable: {words.line(exchange.unreadable, 400)}", style="yellow")


def _kept(digest: str, blob: Callable[[str], bytes]) -> str:
    try:
        return blob(digest).decode(errors="replace")
    except JournalError:
        return "(no longer kept)"

"""A run as plain lines for pipes, logs and simple terminals: one line for each notable event."""

import contextlib
from collections.abc import Callable
from typing import Any, TextIO

from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.symbols import Marks
from surefoot.cli.views.watcher import LineWatcher
from surefoot.core.outcome import count_checks
from surefoot.core.phases import PhaseResult, PhaseStatus
from surefoot.core.plan import ExecutionStep
from surefoot.core.transitions import ORCHESTRATION, Rung, StepStatus
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.view.figures import format_cost

_SUMMARY_ROWS = 40
"""The number of rows of an action's summary that are shown."""


class PlainLines(LineWatcher):
    """Prints events as they are recorded. Answers that are still being written are not shown.

    With `asking`, questions are asked in full on this terminal, so only their first line is printed here.
    """

    def __init__(
        self, stream: TextIO, marks: Marks, *, verbose: bool = False, isolation: str = "", asking: bool = False
    ) -> None:
        super().__init__()
        self._asking = asking
        self._stream = stream
        self._marks = marks
        self._verbose = verbose
        self._isolation = isolation

    def on_record(self, record: e.Record) -> None:
        self.follower.on_record(record)
        state = self.follower.state
        lines = event_lines(record.event, state, self._marks)
        if self._asking and isinstance(record.event, e.QuestionAsked):
            lines = lines[:1]
        if self._verbose:
            lines += verbose_lines(record.event, state)
        if isinstance(record.event, e.RunCreated | e.RunResumed) and self._isolation:
            lines.append(self._isolation)
        clock = fmt.elapsed(state.active_seconds)
        for index, line in enumerate(lines):
            self._print((f"[{clock:>5}] " if index == 0 else " " * 8) + line)

    def on_check(self, label: str) -> None:
        """Name the check when it starts, because it may take long."""
        self._print(f"{'':8}  checking {fmt.line(label)} ...")

    def _print(self, line: str) -> None:
        # The run continues when nobody reads the output; the journal has everything.
        with contextlib.suppress(OSError):
            print(line, file=self._stream, flush=True)


def event_lines(event: e.Event, state: RunState, marks: Marks) -> list[str]:
    """The lines for an event, safe to print. Empty for events that are not notable."""
    formatter = _FORMATTERS.get(type(event))
    return formatter(event, state, marks) if formatter else []


def verbose_lines(event: e.Event, state: RunState) -> list[str]:
    """The additional lines with --verbose."""
    match event:
        case e.RunCreated():
            return [f"prompts and answers of the model: surefoot show {event.run_id} --answers"]
        case e.Decided() if event.thought:
            return [f"  thinks: {fmt.line(event.thought, 400)} ({event.decision})"]
        case e.ModelAnswered():
            known = state.cost_of(event)
            cost = format_cost(known or 0.0, known is None)
            size = f"{event.prompt_tokens:,} tokens in, {event.output_tokens:,} out, {cost}"
            return [f"  model answered ({event.purpose}): {size}, {fmt.duration(event.duration_ms / 1000)}"]
        case e.ActionFinished(ok=True):
            return [f"      {row}" for row in fmt.rows_of(event.summary, _SUMMARY_ROWS)]
        case e.StageEntered():
            return [
                f"now {event.stage}, state {ORCHESTRATION[event.stage]}"
                + (f": {fmt.line(event.reason)}" if event.reason else "")
            ]
    return []


def _created(event: e.RunCreated, state: RunState, marks: Marks) -> list[str]:
    where = f"model {fmt.line(event.model)}, workspace {fmt.folder(event.task.workspace)}"
    return [f"run {event.run_id}: {fmt.line(event.task.text)}", where]


def _resumed(event: e.RunResumed, state: RunState, marks: Marks) -> list[str]:
    return [f"run {state.run_id} continues with model {fmt.line(event.model)}"]


def _interrupted(event: e.RunInterrupted, state: RunState, marks: Marks) -> list[str]:
    return [fmt.line(event.reason) if event.as_asked else f"interrupted: {fmt.line(event.reason)}"]


def _phase_started(event: e.PhaseStarted, state: RunState, marks: Marks) -> list[str]:
    return [f"{event.phase}: attempt {event.attempt + 1}"] if event.attempt else [f"{event.phase} ..."]


def _gate_refused(event: e.GateRefused, state: RunState, marks: Marks) -> list[str]:
    head = f"{marks.failed} {event.phase}: refused by the gate (confidence {event.confidence:.2f})"
    return [head, *(f"  {fmt.line(message)}" for message in event.messages)]


def _phase_end(name: str, result: PhaseResult[Any], text: str, marks: Marks) -> str:
    if result.status is PhaseStatus.SKIPPED:
        return f"{marks.skipped} {name} skipped: {fmt.skip_reason(result)}"
    if result.status is PhaseStatus.FAILED:
        return f"{marks.failed} {name}: {fmt.line(result.error or text)}"
    return f"{marks.done} {name}: {fmt.line(text)}"


def _understood(event: e.Understood, state: RunState, marks: Marks) -> list[str]:
    output = event.result.output
    head = _phase_end("understanding", event.result, output.understanding if output else "", marks)
    open_questions = output.clarification_needed if output else ()
    return [head, *(f"  open: {fmt.line(question, 300)}" for question in open_questions)]


def _approach(event: e.ApproachChosen, state: RunState, marks: Marks) -> list[str]:
    output = event.result.output
    return [_phase_end("approach", event.result, output.approach if output else "", marks)]


def _planned(event: e.PlanMade, state: RunState, marks: Marks) -> list[str]:
    steps = event.result.output.steps if event.result.output else ()
    head = _phase_end("plan", event.result, fmt.count(len(steps), "step"), marks)
    corrections = [f"  corrected: {fmt.line(note)}" for note in event.mended]
    facts = [f"  {line}" for line in fmt.plan_facts(state)] if event.result.status is not PhaseStatus.FAILED else []
    if event.dropped:
        return [head, *corrections, *fmt.plan_difference(event, state), *facts]
    return [head, *corrections, *(f"  {i}. {_planned_step(step)}" for i, step in enumerate(steps, 1)), *facts]


def _planned_step(step: ExecutionStep) -> str:
    duration = f" (about {step.estimated_duration} min)" if step.estimated_duration else ""
    return fmt.line(step.name) + duration


def _revised(event: e.PlanRevised, state: RunState, marks: Marks) -> list[str]:
    lines = [f"plan changed by {event.by}: {fmt.line(event.reason)}"]
    lines += [f"  + {fmt.line(step.name)}" for step in event.added]
    lines += [f"  ~ {fmt.line(step.name)}" for step in event.changed]
    return [*lines, *(f"  - {fmt.line(step_id)}" for step_id in event.removed)]


def _validated(event: e.Validated, state: RunState, marks: Marks) -> list[str]:
    checks = event.result.output.checks if event.result.output else ()
    return [_phase_end("validation", event.result, str(count_checks(checks)), marks)]


def _step_started(event: e.StepStarted, state: RunState, marks: Marks) -> list[str]:
    attempt = f" (attempt {event.attempt})" if event.attempt > 1 else ""
    return [f"{marks.active} {_step(state, event.step_id)}{attempt}"]


def _checks(event: e.ChecksRan, state: RunState, marks: Marks) -> list[str]:
    if event.when == "before":
        return _baseline(event, marks)
    if event.when == "criteria":
        return []  # their results are part of the end of the step or run
    lines, failing = [], fmt.failing_rows(event.results)
    for result in event.results:
        lines.append(f"  {marks.of_check(result.passed)[0]} {fmt.line(result.check.label)}")
        lines += [f"      {row}" for row in failing.get(result.check.key, ())]
    return lines


def _baseline(event: e.ChecksRan, marks: Marks) -> list[str]:
    """The results of the task's checks before the run: only a check that fails now can prove the task later."""
    return [] if event.step_id else fmt.before_lines(event.results, marks)


def _model_retried(event: e.ModelRetried, state: RunState, marks: Marks) -> list[str]:
    wait = fmt.duration(event.wait_seconds)
    return [f"  model: {fmt.line(event.error)}; retry in {wait} ({event.attempt} of {event.of})"]


def _unreadable(event: e.ModelAnswered, state: RunState, marks: Marks) -> list[str]:
    return [f"  model: the answer was not usable: {fmt.line(event.unreadable)}"] if event.unreadable else []


def _action_finished(event: e.ActionFinished, state: RunState, marks: Marks) -> list[str]:
    actions = reversed(state.steps[event.step_id].actions)
    name = next((fmt.action(item.tool, item.arguments) for item in actions if item.id == event.action_id), "action")
    if event.ok:
        return [f"  {name}"]
    return [f"  {marks.failed} {name}", *(f"      {row}" for row in fmt.rows_of(event.summary, _SUMMARY_ROWS))]


def _action_refused(event: e.ActionRefused, state: RunState, marks: Marks) -> list[str]:
    return [f"  refused: {fmt.action(event.tool, event.arguments)}: {fmt.line(event.reason)}"]


def _step_finished(event: e.StepFinished, state: RunState, marks: Marks) -> list[str]:
    mark = marks.of_step(event.status)[0]
    head = f"{mark} {_step(state, event.step_id)}: {fmt.step_label(event.status, event.output)}"
    if event.duration_ms:
        head += f" in {fmt.duration(event.duration_ms / 1000)}"
    if event.failure is not None:
        return [head, f"  {fmt.line(event.failure.message)}"]
    changed = fmt.changed_files_line(event.output) if event.output else ""
    lines = [head, f"  {changed}"] if changed else [head]
    if event.status in (StepStatus.SKIPPED, StepStatus.BLOCKED) and event.output and event.output.logs:
        lines.append(f"  {fmt.line(event.output.logs[0], 300)}")
    lines += [f"  {fmt.criterion(result)}" for result in (event.output.criteria if event.output else ())]
    milestones = state.plan.milestones if state.plan else ()
    reached = [m for m in milestones if event.step_id in m.step_ids and fmt.is_reached(m, state)]
    return [*lines, *(f"  milestone reached: {fmt.line(milestone.name)}" for milestone in reached)]


def _reflected(event: e.Reflected, state: RunState, marks: Marks) -> list[str]:
    return [f"  why: {fmt.reflection(event.reflection)}"]


def _rung(event: e.RungChosen, state: RunState, marks: Marks) -> list[str]:
    mark = marks.failed if event.rung is Rung.GIVE_UP else marks.arrow
    return [f"{mark} {fmt.recovery(event, state)}"]


def _rolled_back(event: e.RolledBack, state: RunState, marks: Marks) -> list[str]:
    # A folder that was added or removed with its files is not listed: the files are enough.
    paths = [path for path in event.paths if not any(other.startswith(f"{path}/") for other in event.paths)]
    return [f"  undone: {fmt.join_limited([fmt.path(path) for path in paths])}"] if paths else []


def _work_kept(event: e.WorkKept, state: RunState, marks: Marks) -> list[str]:
    return [f"  kept: {fmt.line(event.why)}"]


def _candidate(event: e.CandidateTried, state: RunState, marks: Marks) -> list[str]:
    return [f"  {fmt.candidate(event, marks.of_check(event.passed)[0])}"]


def _compensated(event: e.CompensationFinished, state: RunState, marks: Marks) -> list[str]:
    compensation = next(c for c in state.steps[event.step_id].compensations if c.id == event.compensation_id)
    action = fmt.action(compensation.tool, compensation.arguments)
    text = fmt.line(f"{action}, which undoes {compensation.undoes}")
    return [f"  {text}"] if event.ok else [f"  {marks.failed} {text}", f"      {fmt.line(event.summary)}"]


def _left_outside(event: e.LeftOutside, state: RunState, marks: Marks) -> list[str]:
    return [f"  {marks.failed} left outside the workspace: {fmt.line(event.what, 300)}"]


def _asked(event: e.QuestionAsked, state: RunState, marks: Marks) -> list[str]:
    first, *others = fmt.rows_of(event.text) or [""]
    return [f"{marks.unknown} {first}", *(f"  {row}" for row in others)]


def _answered(event: e.QuestionAnswered, state: RunState, marks: Marks) -> list[str]:
    if event.timed_out:
        return ["  not answered in time, which counts as no"]
    first, *others = fmt.rows_of(event.answer) or [""]
    return [f"  answered by {fmt.line(event.by)}: {first}", *(f"    {row}" for row in others)]


def _control(event: e.ControlReceived, state: RunState, marks: Marks) -> list[str]:
    request = f"{event.command} {event.step_id}".rstrip()
    return [f"{fmt.line(event.by)} requests: {request}" + (f" ({fmt.line(event.why)})" if event.why else "")]


def _control_refused(event: e.ControlRefused, state: RunState, marks: Marks) -> list[str]:
    request = f"{event.command} {event.step_id}".rstrip()
    return [f"request of {fmt.line(event.by)} refused: {request}: {fmt.line(event.reason, 400)}"]


def _warned(event: e.Warned, state: RunState, marks: Marks) -> list[str]:
    return [f"warning: {fmt.line(event.message, 400)}"]


def _alert_started(event: e.AlertStarted, state: RunState, marks: Marks) -> list[str]:
    return [f"alert on {event.on} to {fmt.line(event.target)} ..."]


def _alert_finished(event: e.AlertFinished, state: RunState, marks: Marks) -> list[str]:
    return ["alert delivered"] if event.ok else [f"warning: {fmt.line(event.warning, 400)}"]


def _step(state: RunState, step_id: str) -> str:
    number = list(state.steps).index(step_id) + 1
    return f"step {number}/{len(state.steps)} {fmt.line(state.step(step_id).name)}"


_Formatter = Callable[..., list[str]]
_FORMATTERS: dict[type[object], _Formatter] = {
    e.RunCreated: _created,
    e.RunResumed: _resumed,
    e.RunInterrupted: _interrupted,
    e.PhaseStarted: _phase_started,
    e.GateRefused: _gate_refused,
    e.Understood: _understood,
    e.ApproachChosen: _approach,
    e.PlanMade: _planned,
    e.PlanRevised: _revised,
    e.Validated: _validated,
    e.StepStarted: _step_started,
    e.ChecksRan: _checks,
    e.ModelRetried: _model_retried,
    e.ModelAnswered: _unreadable,
    e.ActionFinished: _action_finished,
    e.ActionRefused: _action_refused,
    e.StepFinished: _step_finished,
    e.Reflected: _reflected,
    e.RungChosen: _rung,
    e.RolledBack: _rolled_back,
    e.WorkKept: _work_kept,
    e.CandidateTried: _candidate,
    e.CompensationFinished: _compensated,
    e.LeftOutside: _left_outside,
    e.QuestionAsked: _asked,
    e.QuestionAnswered: _answered,
    e.ControlReceived: _control,
    e.ControlRefused: _control_refused,
    e.Warned: _warned,
    e.AlertStarted: _alert_started,
    e.AlertFinished: _alert_finished,
}

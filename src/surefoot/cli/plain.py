"""A run as plain lines, for pipes, logs and terminals without cursor control: one line a notable event."""

import contextlib
from collections.abc import Callable
from typing import Any, TextIO

from surefoot import events as e
from surefoot.cli import words
from surefoot.cli.marks import Marks
from surefoot.cli.watch import LineWatcher
from surefoot.machine import Rung
from surefoot.outcome import PhaseResult, PhaseStatus
from surefoot.state import RunState


class PlainLines(LineWatcher):
    """Prints as events come. Text that is still being written is not shown."""

    def __init__(self, stream: TextIO, marks: Marks, *, verbose: bool = False, isolation: str = "") -> None:
        super().__init__()
        self._stream = stream
        self._marks = marks
        self._verbose = verbose
        self._isolation = isolation

    def on_record(self, record: e.Record) -> None:
        self.follower.on_record(record)
        state = self.follower.state
        lines = told(record.event, state, self._marks)
        if self._verbose:
            lines += told_more(record.event, state)
        if isinstance(record.event, e.RunCreated | e.RunResumed) and self._isolation:
            lines.append(self._isolation)
        clock = words.elapsed(state.active_seconds)
        for index, line in enumerate(lines):
            self._print((f"[{clock:>5}] " if index == 0 else " " * 8) + line)

    def _print(self, line: str) -> None:
        # When nobody reads any more, the run goes on and the journal has everything.
        with contextlib.suppress(OSError):
            print(line, file=self._stream, flush=True)


def told(event: e.Event, state: RunState, marks: Marks) -> list[str]:
    """The lines for an event, safe to print; none for what is only of interest to the journal."""
    tell = _TELLERS.get(type(event))
    return tell(event, state, marks) if tell else []


def told_more(event: e.Event, state: RunState) -> list[str]:
    """What is of interest only to those who want to look closely."""
    match event:
        case e.RunCreated():
            return [f"what the model is asked and answers: surefoot show {event.run_id} --answers"]
        case e.Decided() if event.thought:
            return [f"  thinks: {words.line(event.thought, 400)} ({event.decision})"]
        case e.ModelAnswered():
            size = f"{event.prompt_tokens:,} tokens in, {event.output_tokens:,} out"
            return [f"  model answered ({event.purpose}): {size}, {words.duration(event.duration_ms / 1000)}"]
        case e.ActionFinished(ok=True):
            return [f"      {words.line(event.summary, 400)}"]
        case e.StageEntered():
            return [f"now {event.stage}" + (f": {words.line(event.reason)}" if event.reason else "")]
    return []


def _created(event: e.RunCreated, state: RunState, marks: Marks) -> list[str]:
    where = f"model {words.line(event.model)}, workspace {words.folder(event.task.workspace)}"
    return [f"run {event.run_id}: {words.line(event.task.text)}", where]


def _resumed(event: e.RunResumed, state: RunState, marks: Marks) -> list[str]:
    return [f"run {state.run_id} goes on with model {words.line(event.model)}"]


def _interrupted(event: e.RunInterrupted, state: RunState, marks: Marks) -> list[str]:
    return [f"interrupted: {words.line(event.reason)}"]


def _phase_started(event: e.PhaseStarted, state: RunState, marks: Marks) -> list[str]:
    return [f"{event.phase}: try {event.attempt + 1}"] if event.attempt else [f"{event.phase} ..."]


def _gate_refused(event: e.GateRefused, state: RunState, marks: Marks) -> list[str]:
    head = f"{marks.failed} {event.phase}: the gate says no (confidence {event.confidence:.2f})"
    return [head, *(f"  {words.line(message)}" for message in event.messages)]


def _phase_end(name: str, result: PhaseResult[Any], said: str, marks: Marks) -> str:
    if result.status is PhaseStatus.SKIPPED:
        return f"{marks.skipped} {name} skipped: {words.why_skipped(result)}"
    if result.status is PhaseStatus.FAILED:
        return f"{marks.failed} {name}: {words.line(result.error or said)}"
    return f"{marks.done} {name}: {words.line(said)}"


def _understood(event: e.Understood, state: RunState, marks: Marks) -> list[str]:
    output = event.result.output
    return [_phase_end("understanding", event.result, output.understanding if output else "", marks)]


def _approach(event: e.ApproachChosen, state: RunState, marks: Marks) -> list[str]:
    output = event.result.output
    return [_phase_end("approach", event.result, output.approach if output else "", marks)]


def _planned(event: e.PlanMade, state: RunState, marks: Marks) -> list[str]:
    steps = event.result.output.steps if event.result.output else ()
    head = _phase_end("plan", event.result, words.count(len(steps), "step"), marks)
    mended = [f"  put right: {words.line(note)}" for note in event.mended]
    if event.dropped:
        return [head, *mended, *words.plan_difference(event, state)]
    return [head, *mended, *(f"  {i}. {words.line(step.name)}" for i, step in enumerate(steps, 1))]


def _revised(event: e.PlanRevised, state: RunState, marks: Marks) -> list[str]:
    lines = [f"plan changed by {event.by}: {words.line(event.reason)}"]
    lines += [f"  + {words.line(step.name)}" for step in event.added]
    lines += [f"  ~ {words.line(step.name)}" for step in event.changed]
    return [*lines, *(f"  - {words.line(step_id)}" for step_id in event.removed)]


def _validated(event: e.Validated, state: RunState, marks: Marks) -> list[str]:
    checks = event.result.output.checks if event.result.output else ()
    good = sum(result.passed for result in checks)
    return [_phase_end("validation", event.result, words.passing(good, len(checks)), marks)]


def _step_started(event: e.StepStarted, state: RunState, marks: Marks) -> list[str]:
    again = f" (try {event.attempt})" if event.attempt > 1 else ""
    return [f"{marks.active} {_step(state, event.step_id)}{again}"]


def _checks(event: e.ChecksRan, state: RunState, marks: Marks) -> list[str]:
    if event.when == "before":
        return _baseline(event, marks)
    lines = []
    for result in event.results:
        lines.append(f"  {marks.of_check(result.passed)[0]} {words.line(result.check.label)}")
        if not result.passed and result.detail:
            lines += [f"      {part}" for part in words.telling(result.detail)]
    return lines


def _baseline(event: e.ChecksRan, marks: Marks) -> list[str]:
    """What the task's checks say before anything is done: only one that is red now can prove the task later."""
    if event.step_id:
        return []
    red, green = "fails now: that is what has to change", "passes already: it will guard, and prove nothing"
    return [
        f"{marks.of_check(result.passed)[0]} {words.line(result.check.label)} {green if result.passed else red}"
        for result in event.results
    ]


def _retried(event: e.ModelRetried, state: RunState, marks: Marks) -> list[str]:
    wait = words.duration(event.wait_seconds)
    return [f"  model: {words.line(event.error)}; again in {wait} ({event.attempt} of {event.of})"]


def _unreadable(event: e.ModelAnswered, state: RunState, marks: Marks) -> list[str]:
    return [f"  model: the answer was not usable: {words.line(event.unreadable)}"] if event.unreadable else []


def _acted(event: e.ActionFinished, state: RunState, marks: Marks) -> list[str]:
    run = state.steps[event.step_id]
    done = next((words.action_of(item) for item in reversed(run.actions) if item.id == event.action_id), "action")
    if event.ok:
        return [f"  {done}"]
    return [f"  {marks.failed} {done}", f"      {words.line(event.summary)}"]


def _refused(event: e.ActionRefused, state: RunState, marks: Marks) -> list[str]:
    return [f"  refused: {words.action(event.tool, event.arguments)}: {words.line(event.reason)}"]


def _step_finished(event: e.StepFinished, state: RunState, marks: Marks) -> list[str]:
    mark = marks.of_step(event.status)[0]
    head = f"{mark} {_step(state, event.step_id)}: {words.STEP_WORDS[event.status]}"
    if event.duration_ms:
        head += f" in {words.duration(event.duration_ms / 1000)}"
    if event.failure is not None:
        return [head, f"  {words.line(event.failure.message)}"]
    output = event.output
    changed = output and words.files(output.generated_files, output.modified_files, output.deleted_files)
    return [head, *([f"  {words.few([f'{sign} {path}' for sign, path in changed])}"] if changed else [])]


def _reflected(event: e.Reflected, state: RunState, marks: Marks) -> list[str]:
    return [f"  why: {words.reflection(event.reflection)}"]


def _rung(event: e.RungChosen, state: RunState, marks: Marks) -> list[str]:
    mark = marks.failed if event.rung is Rung.GIVE_UP else marks.arrow
    return [f"{mark} {words.rung(event, state)}"]


def _rolled_back(event: e.RolledBack, state: RunState, marks: Marks) -> list[str]:
    return [f"  undone: {words.few([words.place(path) for path in event.paths])}"] if event.paths else []


def _kept(event: e.WorkKept, state: RunState, marks: Marks) -> list[str]:
    return [f"  kept: {words.line(event.why)}"]


def _candidate(event: e.CandidateTried, state: RunState, marks: Marks) -> list[str]:
    return [f"  {words.candidate(event, marks.of_check(words.is_green(event))[0])}"]


def _compensated(event: e.CompensationFinished, state: RunState, marks: Marks) -> list[str]:
    done = next(c for c in state.steps[event.step_id].compensations if c.id == event.compensation_id)
    said = words.line(f"{words.action(done.tool, done.arguments)}, which undoes {done.undoes}")
    return [f"  {said}"] if event.ok else [f"  {marks.failed} {said}", f"      {words.line(event.summary)}"]


def _left_outside(event: e.LeftOutside, state: RunState, marks: Marks) -> list[str]:
    return [f"  {marks.failed} left outside the workspace: {words.line(event.what, 300)}"]


def _asked(event: e.QuestionAsked, state: RunState, marks: Marks) -> list[str]:
    return [f"{marks.unknown} {words.line(event.text)}"]


def _answered(event: e.QuestionAnswered, state: RunState, marks: Marks) -> list[str]:
    if event.timed_out:
        return ["  nobody answered in time, which counts as no"]
    return [f"  answered by {words.line(event.by)}: {words.line(event.answer)}"]


def _control(event: e.ControlReceived, state: RunState, marks: Marks) -> list[str]:
    what = f"{event.command} {event.step_id}".rstrip()
    return [f"{words.line(event.by)} says: {what}" + (f" ({words.line(event.why)})" if event.why else "")]


def _not_heeded(event: e.ControlRefused, state: RunState, marks: Marks) -> list[str]:
    what = f"{event.command} {event.step_id}".rstrip()
    return [f"what {words.line(event.by)} asked for ({what}) was not done: {words.line(event.reason, 400)}"]


def _warned(event: e.Warned, state: RunState, marks: Marks) -> list[str]:
    return [f"warning: {words.line(event.message, 400)}"]


def _step(state: RunState, step_id: str) -> str:
    place = list(state.steps).index(step_id) + 1
    return f"step {place}/{len(state.steps)} {words.line(state.step(step_id).name)}"


_Teller = Callable[..., list[str]]
_TELLERS: dict[type[object], _Teller] = {
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
    e.ModelRetried: _retried,
    e.ModelAnswered: _unreadable,
    e.ActionFinished: _acted,
    e.ActionRefused: _refused,
    e.StepFinished: _step_finished,
    e.Reflected: _reflected,
    e.RungChosen: _rung,
    e.RolledBack: _rolled_back,
    e.WorkKept: _kept,
    e.CandidateTried: _candidate,
    e.CompensationFinished: _compensated,
    e.LeftOutside: _left_outside,
    e.QuestionAsked: _asked,
    e.QuestionAnswered: _answered,
    e.ControlReceived: _control,
    e.ControlRefused: _not_heeded,
    e.Warned: _warned,
}

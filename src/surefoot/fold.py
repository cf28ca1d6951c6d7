"""RunState is the fold of a run's events: one function an event. Nothing else changes a state.

`apply` depends on nothing but the state and the record it is given, and refuses records that the transition tables do
not allow.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

from surefoot import events as e
from surefoot.machine import RUN_TRANSITIONS, SETTLED, STEP_TRANSITIONS, Rung, Stage, StepStatus, check_transition
from surefoot.outcome import ExecutionStatus, StepExecutionOutput
from surefoot.plan import DetailedPlan, ExecutionStep, StepDependency
from surefoot.questions import asked_again_on_resume
from surefoot.state import Action, Compensation, Question, RunState, Settled, StepRun


def fold(records: Iterable[e.Record]) -> RunState:
    state = RunState()
    with _not_collecting():
        for record in records:
            apply(state, record)
    return state


@contextmanager
def _not_collecting() -> Iterator[None]:
    """Nothing that is built here is garbage: looking for some meanwhile takes as long as the folding itself, and so it
    does afterwards unless what was built counts as old."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.freeze()
            gc.unfreeze()
            gc.enable()


def apply(state: RunState, record: e.Record) -> None:
    seq, at, event = record
    kind = type(event)
    if state.updated_at and kind not in _AFTER_WAITING and at > state.updated_at:
        # Time between the end of one process and the start of the next is nobody's work, nor is what a person takes.
        state.active_seconds += at - state.updated_at
    state.updated_at, state.seq = at, seq
    if handler := _HANDLERS.get(kind):
        handler(state, event, at)


# -- one function an event, in the order in which they happen ------------------------------------------------------


def _created(state: RunState, event: e.RunCreated, at: float) -> None:
    state.run_id, state.task, state.config, state.model = event.run_id, event.task, event.config, event.model
    state.snapshot, state.protected, state.stage = event.snapshot, event.protected, event.starts_at
    state.started_at = at


def _resumed(state: RunState, event: e.RunResumed, at: float) -> None:
    state.model = event.model
    state.config = event.config or state.config
    state.controls = [control for control in state.controls if control.command not in ("pause", "cancel")]
    if state.outcome is not None:
        # Somebody asks again after the end: phases get all their tries back, and steps by `_step_reset`.
        state.outcome = None
        state.questions = {key: q for key, q in state.questions.items() if not asked_again_on_resume(q)}
        state.refusals.clear()
        state.phase_attempts.clear()


def _entered(state: RunState, event: e.StageEntered, at: float) -> None:
    check_transition(RUN_TRANSITIONS, state.stage, event.stage)
    if event.stage is Stage.WAITING:
        state.before_waiting = state.stage
    if event.stage is Stage.FAILED:
        state.failed_at = state.before_waiting if state.stage is Stage.WAITING else state.stage
    state.stage, state.stage_reason = event.stage, event.reason


def _phase_started(state: RunState, event: e.PhaseStarted, at: float) -> None:
    state.phase_attempts[event.phase] = event.attempt


def _refused(state: RunState, event: e.GateRefused, at: float) -> None:
    state.refusals[event.phase] = list(event.messages)


def _understood(state: RunState, event: e.Understood, at: float) -> None:
    state.understanding = event.result
    state.refusals.pop("understanding", None)


def _approach_chosen(state: RunState, event: e.ApproachChosen, at: float) -> None:
    state.approach = event.result
    state.refusals.pop("approach", None)


def _plan_made(state: RunState, event: e.PlanMade, at: float) -> None:
    state.planning = event.result
    state.refusals.pop("planning", None)
    if event.result.output is None:
        return
    state.plan = event.result.output
    old, state.steps, state.failed = state.steps, {}, []
    learnt = _learnt(old.get(state.recovering))
    for step in state.plan.steps:
        # A new plan keeps what is done and still in it; everything else starts afresh, with what the failure taught.
        before = old.get(step.id)
        kept = before is not None and before.status in SETTLED and before.step == step
        state.steps[step.id] = before if before and kept else StepRun(step, notes=learnt)
    _count_steps(state)


def _learnt(failed: StepRun | None) -> tuple[str, ...]:
    if failed is None or failed.status is not StepStatus.FAILED:
        return ()
    causes = [reflection.root_cause for reflection in failed.reflections[-1:]]
    return (*failed.notes, *(f"{failed.step.name} failed before: {cause}" for cause in causes))


def _plan_revised(state: RunState, event: e.PlanRevised, at: float) -> None:
    assert state.plan is not None
    if event.by == "user":
        _heeded(state, "edit")
    state.plan = revised(state.plan, event)
    state.revisions += 1
    for step_id in event.removed:
        state.steps.pop(step_id, None)
    for step in event.added:
        state.steps[step.id] = StepRun(step)
    for step in event.changed:
        mine = state.steps[step.id]
        # What earlier tries changed about the call, and what failed by other checks, is about another step now.
        mine.parameters, mine.tool = {}, ""
        if mine.step.checks != step.checks:
            mine.failed_fingerprints = frozenset()
    state.steps = {step.id: state.steps[step.id] for step in state.plan.steps}
    for step in state.plan.steps:
        state.steps[step.id].step = step
    _count_steps(state)


def _count_steps(state: RunState) -> None:
    assert state.plan is not None
    state.needs = {}
    for dependency in state.plan.dependencies:
        state.needs.setdefault(dependency.step_id, []).append(dependency.depends_on)
    state.begun = sum(run.attempt > 0 for run in state.steps.values())
    state.unsettled = sum(run.status not in SETTLED for run in state.steps.values())


def revised(plan: DetailedPlan, event: e.PlanRevised) -> DetailedPlan:
    """The plan with a revision carried out; pydantic refuses one that does not hang together."""
    changed = {step.id: step for step in event.changed}
    steps: list[ExecutionStep] = [changed.get(s.id, s) for s in plan.steps if s.id not in event.removed]
    place = next((i + 1 for i, s in enumerate(steps) if s.id == event.after), len(steps))
    steps[place:place] = event.added
    if event.order:
        # What has begun keeps its place in front; the rest follows as a person wants it.
        rank = {step_id: place for place, step_id in enumerate(event.order)}
        steps.sort(key=lambda step: rank.get(step.id, -1))
    rewired = {*event.depends_on, *(d.step_id for d in event.waits_for)}
    dependencies = [
        d
        for d in plan.dependencies
        if d.step_id not in event.removed and d.depends_on not in event.removed and d.step_id not in rewired
    ]
    before = {(d.step_id, d.depends_on): d for d in plan.dependencies}
    dependencies += [
        before.get((s, d)) or StepDependency(step_id=s, depends_on=d) for s, ds in event.depends_on.items() for d in ds
    ]
    dependencies += event.waits_for
    renumbered = tuple(s if s.sequence == i else s.with_(sequence=i) for i, s in enumerate(steps))
    return plan.with_(steps=renumbered, dependencies=tuple(dependencies))


def _validated(state: RunState, event: e.Validated, at: float) -> None:
    state.validation = event.result


def _set_status(state: RunState, run: StepRun, status: StepStatus) -> None:
    check_transition(STEP_TRANSITIONS, run.status, status)
    state.unsettled += (status not in SETTLED) - (run.status not in SETTLED)
    run.status = status


def _step_started(state: RunState, event: e.StepStarted, at: float) -> None:
    step_id = event.step_id
    run = state.steps[step_id]
    _set_status(state, run, StepStatus.RUNNING)
    if run.attempt or run.ended:
        _afresh(run)
    state.begun += run.attempt == 0
    run.attempt, run.started_at = event.attempt, at
    run.shared = bool(state.running)
    if len(state.running) == 1:
        # Where more are running, they share already.
        (other,) = state.running
        state.steps[other].shared = True
    state.running.add(step_id)


def _afresh(run: StepRun) -> None:
    """Another try begins: what belongs to the one before goes, but for work that was kept."""
    if run.ended:
        # What its actions said of its end goes with them.
        run.written, run.filed = run.output, run.artifact
    if not run.kept:
        run.snapshot, run.touched = "", _NOTHING
    run.actions, run.baseline, run.checks, run.red_looks = [], (), (), ()
    run.refusals, run.refused, run.compensations = 0, (), ()


def _checks_ran(state: RunState, event: e.ChecksRan, at: float) -> None:
    run = state.steps.get(event.step_id)
    if run is None:
        if event.when == "before":
            state.looked_first = state.looked_first or not event.step_id
            state.red_at_start.update(result.check.key for result in event.results if not result.passed)
        return
    run.touched = run.touched.union(event.changed if event.when != "before" else ())
    if event.when == "before":
        run.baseline = event.results
    else:
        run.checks = event.results
        if event.when == "after" and not all(result.passed for result in event.results):
            run.red_looks = (*run.red_looks, (len(run.actions), event.results))


def _answered_by_model(state: RunState, event: e.ModelAnswered, at: float) -> None:
    state.model_calls += 1
    state.prompt_tokens += event.prompt_tokens
    state.output_tokens += event.output_tokens
    state.cached_tokens += event.cached_tokens
    if event.key and not event.unreadable and event.finish_reason != "length":
        state.answers[event.key] = event.answer
        state.last_question[event.step_id] = event.key


def _action_started(state: RunState, event: e.ActionStarted, at: float) -> None:
    state.tool_calls += 1
    state.looked_first = True
    action = Action(*_as_begun(vars(event)))
    state.open_actions[action.id] = action
    run = state.steps[action.step_id]
    run.actions.append(action)
    run.snapshot = run.snapshot or action.snapshot


def _action_finished(state: RunState, event: e.ActionFinished, at: float) -> None:
    action_id, step_id, changed, *result = _as_ended(vars(event))
    state.open_actions.pop(action_id, None)
    run = state.steps[step_id]
    if changed:
        run.touched = run.touched.union(changed)
    for action in reversed(run.actions):
        if action.id == action_id:
            action.ok, action.summary, action.output, action.command, action.data, action.temporary = result
            return


def _action_refused(state: RunState, event: e.ActionRefused, at: float) -> None:
    run = state.steps[event.step_id]
    run.refusals += 1
    run.refused = (*run.refused, f"{event.tool}: {event.reason}")


def _action_interrupted(state: RunState, event: e.ActionInterrupted, at: float) -> None:
    action = state.open_actions.pop(event.action_id, None)
    run = state.steps[event.step_id]
    if action is not None and action.tool == "ask_user":
        # It waited for its answer, and is gone on with: as it was decided, and counted once.
        state.tool_calls -= 1
    else:
        # Somebody or something stopped what was decided there: it may be decided differently now.
        state.answers.pop(state.last_question.pop(event.step_id, ""), None)
    # It is undone, so it does not count: neither as a try nor as something already done.
    run.actions = [action for action in run.actions if action.id != event.action_id]


def _candidate_tried(state: RunState, event: e.CandidateTried, at: float) -> None:
    run = state.steps[event.step_id]
    run.candidates = (*run.candidates, event)


def _step_finished(state: RunState, event: e.StepFinished, at: float) -> None:
    step_id, status, attempt, output, artifact, expires_at, failure, checks, snapshot, took = _as_settled(vars(event))
    run = state.steps[step_id]
    _set_status(state, run, status)
    state.running.discard(step_id)
    if state.controls:
        state.controls = [c for c in state.controls if c.step_id != step_id or c.command != "skip"]
    run.ended, run.written, run.filed, run.after = True, output, artifact, snapshot
    run.expires_at = expires_at if artifact is None else artifact.expires_at
    run.checks, run.red_looks = checks or run.checks, ()
    run.kept = False
    if failure is not None:
        run.failures = (*run.failures, failure)
        if run.step.tool or not failure.temporary:
            # A model that was away says nothing against what was done before it went.
            done, judged = (a.fingerprint for a in run.actions), (c.fingerprint for c in run.candidates)
            run.failed_fingerprints = run.failed_fingerprints.union(done, judged) - {""}
        if status is StepStatus.FAILED:
            state.failed.append(step_id)
            state.recovering = step_id
    else:
        state.consecutive_failures = 0
    state.history.add(
        Settled(
            step_id,
            status,
            output,
            artifact,
            run.actions,
            took,
            checks,
            run.started_at or at,
            failure.message if failure else None,
            max(attempt - 1, 0),
            state.begun,
            len(state.steps),
        )
    )


def _step_reset(state: RunState, event: e.StepReset, at: float) -> None:
    state.resets += 1
    run = state.steps[event.step_id]
    _set_status(state, run, StepStatus.PENDING)
    state.running.discard(event.step_id)
    state.controls = [c for c in state.controls if c.step_id != event.step_id or c.command != "retry"]
    if event.by == "user":
        run.retries = run.repairs = run.temporary_retries = 0
        state.replans = state.consecutive_failures = 0
    if event.note:
        run.notes = (*run.notes, event.note)
    run.parameters = {**run.parameters, **event.parameters}
    run.tool = event.tool or run.tool


def _reflected(state: RunState, event: e.Reflected, at: float) -> None:
    run = state.steps[event.step_id]
    run.reflections = (*run.reflections, event.reflection)


def _rung_chosen(state: RunState, event: e.RungChosen, at: float) -> None:
    run = state.steps.get(event.step_id)
    if run is None:
        return
    run.rungs.append(event.rung)
    state.failed = [step_id for step_id in state.failed if step_id != event.step_id]
    state.recovering = event.step_id
    failed = run.failures[-1].message[:160] if run.failures else ""
    cause = run.reflections[-1].root_cause[:160] if run.reflections else ""
    failed += f" ({cause})" if cause and cause not in failed else ""
    state.tried.append(f"{event.step_id} try {run.attempt}: {failed} -> {event.rung.replace('_', ' ')}")
    match event.rung:
        case Rung.RETRY_LATER:
            run.temporary_retries += 1
        case Rung.ADJUST_PARAMETERS | Rung.ALTERNATIVE_TOOL | Rung.CANDIDATES:
            run.retries += 1
        case Rung.REPAIR_STEP:
            run.repairs += 1
            state.consecutive_failures += 1
        case Rung.REPLAN_TASK:
            state.replans += 1
            state.consecutive_failures += 1
        case Rung.NEXT_APPROACH:
            state.approach_index += 1
            state.consecutive_failures += 1


def _rolled_back(state: RunState, event: e.RolledBack, at: float) -> None:
    run = state.steps.get(event.step_id)
    if run is None:
        return
    run.kept = False
    if run.output is not None and run.output.status is ExecutionStatus.FAILED:
        _revise_output(state, run, run.output.with_(status=ExecutionStatus.ROLLED_BACK))


def _revise_output(state: RunState, run: StepRun, output: StepExecutionOutput) -> None:
    run.written = output
    state.history.revise(output)


def _work_kept(state: RunState, event: e.WorkKept, at: float) -> None:
    run = state.steps[event.step_id]
    assert run.output is not None
    run.kept = True
    logs = (*run.output.logs, f"kept: {event.why}")
    _revise_output(state, run, run.output.with_(status=ExecutionStatus.PARTIAL_SUCCESS, logs=logs))


def _compensation_started(state: RunState, event: e.CompensationStarted, at: float) -> None:
    state.tool_calls += 1
    run = state.steps[event.step_id]
    begun = Compensation(event.compensation_id, event.undoes, event.tool, event.arguments)
    for earlier in [c for c in run.compensations if c.undoes == event.undoes]:
        # It was cut off, and a person wants it done again.
        state.left_outside.pop(earlier.id, None)
    run.compensations = (*run.compensations, begun)
    # Until its end is known, it may or may not have been done.
    said = f"{event.undoes} was being undone by {event.tool} when that was cut off"
    state.left_outside[event.compensation_id] = said


def _compensation_finished(state: RunState, event: e.CompensationFinished, at: float) -> None:
    run = state.steps[event.step_id]
    mine = next(c for c in run.compensations if c.id == event.compensation_id)
    mine.ok = event.ok
    run.touched, run.after = run.touched.union(event.changed), event.after or run.after
    if event.ok:
        state.left_outside.pop(event.compensation_id, None)
    else:
        said = event.summary.strip().splitlines()
        state.left_outside[event.compensation_id] = f"{mine.undoes}: {mine.tool} failed ({said[0] if said else ''})"


def _left_outside(state: RunState, event: e.LeftOutside, at: float) -> None:
    run = state.steps[event.step_id]
    done = Compensation(f"{event.step_id}.{run.attempt}.{event.undoes}", event.undoes, "", {}, ok=False)
    run.compensations = (*run.compensations, done)
    state.left_outside[done.id] = event.what


def _asked(state: RunState, event: e.QuestionAsked, at: float) -> None:
    state.questions[event.question_id] = Question(
        event.question_id, event.kind, event.text, event.options, event.step_id, event.subject, at
    )


def _answered(state: RunState, event: e.QuestionAnswered, at: float) -> None:
    question = state.questions[event.question_id]
    question.answer, question.by, question.timed_out = event.answer, event.by, event.timed_out
    if question.kind == "approval" and event.answer.startswith("always "):
        state.allowed.append(event.answer.removeprefix("always ").strip())


def _control(state: RunState, event: e.ControlReceived, at: float) -> None:
    if event.command != "resume":
        state.controls.append(event)


def _control_refused(state: RunState, event: e.ControlRefused, at: float) -> None:
    _heeded(state, event.command, event.step_id)


def _heeded(state: RunState, command: str, step_id: str = "") -> None:
    """The first of them: they are heeded in the order in which they came."""
    asked = next((c for c in state.controls if c.command == command and c.step_id == step_id), None)
    state.controls = [control for control in state.controls if control is not asked]


def _warned(state: RunState, event: e.Warned, at: float) -> None:
    state.warnings.append(event.message)


def _ended(state: RunState, event: e.RunEnded, at: float) -> None:
    state.outcome = event.outcome


# Of what happens at every step the fields are read at once: one by one, those of a value cost as much as the rest.
_as_begun = itemgetter("action_id", "step_id", "tool", "arguments", "fingerprint", "body", "snapshot", "external")
_as_ended = itemgetter(
    *("action_id", "step_id", "changed"), *("ok", "summary", "output", "command", "data", "temporary")
)
_as_settled = itemgetter(
    *("step_id", "status", "attempt", "output", "artifact", "expires_at"),
    *("failure", "checks", "snapshot", "duration_ms"),
)
_NOTHING: frozenset[str] = frozenset()
_AFTER_WAITING = (e.RunResumed, e.QuestionAnswered)
_HANDLERS: dict[type[Any], Callable[[RunState, Any, float], None]] = {
    e.RunCreated: _created,
    e.RunResumed: _resumed,
    e.StageEntered: _entered,
    e.PhaseStarted: _phase_started,
    e.GateRefused: _refused,
    e.Understood: _understood,
    e.ApproachChosen: _approach_chosen,
    e.PlanMade: _plan_made,
    e.PlanRevised: _plan_revised,
    e.Validated: _validated,
    e.StepStarted: _step_started,
    e.ChecksRan: _checks_ran,
    e.ModelAnswered: _answered_by_model,
    e.ActionStarted: _action_started,
    e.ActionFinished: _action_finished,
    e.ActionRefused: _action_refused,
    e.ActionInterrupted: _action_interrupted,
    e.CandidateTried: _candidate_tried,
    e.StepFinished: _step_finished,
    e.StepReset: _step_reset,
    e.Reflected: _reflected,
    e.RungChosen: _rung_chosen,
    e.RolledBack: _rolled_back,
    e.WorkKept: _work_kept,
    e.CompensationStarted: _compensation_started,
    e.CompensationFinished: _compensation_finished,
    e.LeftOutside: _left_outside,
    e.QuestionAsked: _asked,
    e.QuestionAnswered: _answered,
    e.ControlReceived: _control,
    e.ControlRefused: _control_refused,
    e.Warned: _warned,
    e.RunEnded: _ended,
}

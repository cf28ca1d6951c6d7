"""The spans of one run, made from its events: run > phase > step > action or model call."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surefoot._version import __version__
from surefoot.config.flat_price import recorded_cost
from surefoot.config.model import ExecutionConfig
from surefoot.core.outcome import Verdict
from surefoot.core.transitions import WORKING, Stage, StepStatus
from surefoot.integrations.otel import names as n
from surefoot.integrations.otel.attributes import call_attributes, error_attributes, split_model, tool_attributes
from surefoot.integrations.otel.content import Content
from surefoot.integrations.otel.ids import Ids, run_span_id, trace_id_of
from surefoot.integrations.otel.metrics import Metrics
from surefoot.integrations.otel.moments import moment_of
from surefoot.integrations.otel.parents import as_parent, nanoseconds
from surefoot.journal import events as e

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.sampling import Sampler
    from opentelemetry.trace import Span, SpanContext, Tracer

_BAD = frozenset({Verdict.FAILED, Verdict.BLOCKED, Verdict.BUDGET, Verdict.LOOP, Verdict.TIME})
"""Verdicts that make the span of a run an error."""


@dataclass(frozen=True, slots=True)
class Kit:
    """The objects that all runs of a process share."""

    tracer: "Tracer"
    sampler: "Sampler"
    ids: Ids
    metrics: Metrics
    content: Content


@dataclass(slots=True)
class Open:
    """A span that has not ended."""

    span: "Span"
    since: float


class RunTrace:
    """The spans of a run in one process."""

    def __init__(self, kit: Kit, run_id: str, record: e.Record, earlier: Iterable[e.Record] = ()) -> None:
        """`record` creates the run, or resumes it after the `earlier` records."""
        event = record.event
        assert isinstance(event, e.RunCreated | e.RunResumed)
        self._kit, self._run_id = kit, run_id
        self._at = record.at
        self._model, self._provider = split_model(event.model)
        self._steps: dict[str, Open] = {}
        self._actions: dict[str, Open] = {}
        self._rungs: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._phase: Open | None = None
        self._phase_name = ""
        self._usage = [0, 0]
        self._cost = 0.0
        stage, resumed, config = _before(earlier, record.seq)
        config = event.config or config
        self._flat_price = config.budget.flat_rates if config is not None else None
        self._run = self._start_run(event, resumed)
        if isinstance(event, e.RunCreated):
            stage = event.starts_at
        if stage in WORKING:
            self._enter(stage)

    @property
    def is_open(self) -> bool:
        return self._run is not None

    def on_record(self, record: e.Record) -> None:
        self._at = record.at
        event = record.event
        if self._run is None:
            return
        if (handler := _HANDLERS.get(type(event))) is not None:
            handler(self, event)
        if (moment := moment_of(event, self._kit.content)) is not None:
            self._add(*moment)
        if isinstance(event, e.RungChosen):
            self._kit.metrics.rung(str(event.rung))
        elif isinstance(event, e.ModelRetried):
            self._kit.metrics.model_retry()

    def close(self) -> None:
        """End every span that is still open, at the time of the last event."""
        self._end_run({})

    # -- the run -----------------------------------------------------------------------------------------------------

    def _start_run(self, event: e.RunCreated | e.RunResumed, resumed: int) -> Open | None:
        from opentelemetry.trace import Link, SpanKind, get_current_span

        kit, text = self._kit, self._kit.content
        attributes: dict[str, Any] = {
            n.OPERATION: n.INVOKE_AGENT,
            n.AGENT_NAME: n.AGENT,
            n.AGENT_VERSION: __version__,
            n.CONVERSATION: self._run_id,
            n.PROVIDER: self._provider,
            n.MODEL: self._model,
            n.RUN: self._run_id,
            n.RESUMED: resumed,
            n.ISOLATION: event.isolation or "none",
        }
        links: list[Link] = []
        parent = None
        if isinstance(event, e.RunCreated):
            attributes |= {n.BASED_ON: event.based_on} if event.based_on else {}
            attributes |= text.text(n.TASK, event.task.text)
            kit.ids.next_trace = trace_id_of(self._run_id)
        else:
            parent = self._context_of(0)
            links.append(Link(self._context_of(resumed - 1), {n.LINK: "resumes"}))
        # The program that started the run may have a trace of its own.
        around = get_current_span().get_span_context()
        if around.is_valid:
            links.append(Link(around, {n.LINK: "started by"}))
        kit.ids.next_span = run_span_id(self._run_id, resumed)
        span = kit.tracer.start_span(
            f"{n.INVOKE_AGENT} {n.AGENT}",
            context=as_parent(parent),
            kind=SpanKind.INTERNAL,
            attributes=attributes,
            links=links,
            start_time=nanoseconds(self._at),
        )
        return Open(span, self._at)

    def _context_of(self, resumed: int) -> "SpanContext":
        """The context of the span of another process of this run. It is sampled if the trace is."""
        from opentelemetry.trace import SpanContext, TraceFlags

        trace = trace_id_of(self._run_id)
        decision: Any = self._kit.sampler.should_sample(None, trace, n.INVOKE_AGENT).decision
        sampled = decision.is_sampled()
        flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
        return SpanContext(trace, run_span_id(self._run_id, resumed), is_remote=True, trace_flags=flags)

    def _on_ended(self, event: e.RunEnded) -> None:
        outcome = event.outcome
        attributes = {n.VERDICT: str(outcome.verdict), n.PROOF: str(outcome.proof)}
        message = self._kit.content.text(n.MESSAGE, outcome.summary)
        self._end_run({**attributes, **message}, str(outcome.verdict) if outcome.verdict in _BAD else "")

    def _on_interrupted(self, event: e.RunInterrupted) -> None:
        message = self._kit.content.text(n.MESSAGE, event.reason)
        if event.as_asked:
            self._end_run(message)
            return
        self._end_run({n.VERDICT: str(Verdict.INTERRUPTED), **message}, "interrupted")

    def _end_run(self, attributes: dict[str, Any], error: str = "") -> None:
        run = self._run
        if run is None:
            return
        for opened in (*self._actions.values(), *self._steps.values()):
            self._end(opened, {}, error)
        self._actions.clear()
        self._steps.clear()
        self._leave(error)
        prompt, output = self._usage
        totals = {n.INPUT_TOKENS: prompt, n.OUTPUT_TOKENS: output, n.COST: self._cost}
        self._end(run, {**totals, **attributes}, error)
        verdict = str(attributes.get(n.VERDICT, "open"))
        self._kit.metrics.run(self._at - run.since, {n.VERDICT: verdict, **error_attributes(error)})
        self._run = None

    # -- phases ------------------------------------------------------------------------------------------------------

    def _on_stage(self, event: e.StageEntered) -> None:
        # Only a phase that gives up ends with an error. If a step fails, the error is in the span of the step.
        self._leave(str(event.stage) if event.stage is Stage.FAILED else "")
        if event.stage in WORKING:
            self._enter(event.stage, event.reason)
        elif event.stage is Stage.WAITING:
            message = self._kit.content.text(n.MESSAGE, event.reason)
            self._end_run({n.VERDICT: str(Verdict.WAITING), **message})

    def _enter(self, stage: Stage, reason: str = "") -> None:
        attributes = {n.PHASE: str(stage), **self._kit.content.text(n.MESSAGE, reason)}
        self._phase = self._start(f"phase {stage}", self._run, attributes)
        self._phase_name = str(stage)

    def _leave(self, error: str = "") -> None:
        if self._phase is not None:
            self._end(self._phase, {}, error)
            self._kit.metrics.phase(self._at - self._phase.since, self._phase_name)
        self._phase = None

    # -- steps -------------------------------------------------------------------------------------------------------

    def _on_step_started(self, event: e.StepStarted) -> None:
        if event.step_id in self._steps:
            self._end(self._steps.pop(event.step_id), {}, "interrupted")
        attributes: dict[str, Any] = {
            n.STEP: event.step_id,
            n.STEP_ATTEMPT: event.attempt,
            n.STEP_KIND: str(event.kind or "call"),
            **self._kit.content.text(n.STEP_NAME, self._names.get(event.step_id, "")),
        }
        if rung := self._rungs.pop(event.step_id, ""):
            attributes[n.RUNG] = rung
        self._steps[event.step_id] = self._start(f"step {event.step_id}", self._phase or self._run, attributes)

    def _on_step_finished(self, event: e.StepFinished) -> None:
        opened = self._steps.pop(event.step_id, None)
        if opened is None:
            return
        failure = event.failure if event.status is StepStatus.FAILED else None
        error = str(failure.kind) if failure else ("failed" if event.status is StepStatus.FAILED else "")
        message = self._kit.content.text(n.MESSAGE, failure.message) if failure else {}
        self._end(opened, {n.STEP_STATUS: str(event.status), **message}, error)
        self._kit.metrics.step(self._at - opened.since, {n.STEP_STATUS: str(event.status), **error_attributes(error)})

    def _on_reset(self, event: e.StepReset) -> None:
        self._rungs[event.step_id] = str(event.rung)

    def _on_plan(self, event: e.PlanMade | e.PlanRevised) -> None:
        if isinstance(event, e.PlanMade):
            steps = event.result.output.steps if event.result.output else ()
        else:
            steps = (*event.added, *event.changed)
        if self._kit.content.enabled:
            self._names |= {step.id: step.name for step in steps}

    # -- inside a step -----------------------------------------------------------------------------------------------

    def _on_action_started(self, event: e.ActionStarted) -> None:
        attributes = tool_attributes(event.tool, event.action_id, event.arguments, self._kit.content)
        attributes |= {n.STEP: event.step_id, n.EXTERNAL: event.external}
        attributes |= {n.TOOL_CALL: event.call_id} if event.call_id else {}
        opened = self._start(f"{n.EXECUTE_TOOL} {event.tool}", self._around(event.step_id), attributes)
        self._actions[event.action_id] = opened

    def _on_action_finished(self, event: e.ActionFinished) -> None:
        error = "" if event.ok else ("temporary_tool_error" if event.temporary else "tool_error")
        self._end_action(event.action_id, self._kit.content.text(n.TOOL_RESULT, event.summary), error)

    def _on_action_interrupted(self, event: e.ActionInterrupted) -> None:
        self._end_action(event.action_id, {}, "interrupted")

    def _on_compensation_started(self, event: e.CompensationStarted) -> None:
        attributes = tool_attributes(event.tool, event.compensation_id, event.arguments, self._kit.content)
        attributes[n.STEP] = event.step_id
        opened = self._start(f"{n.EXECUTE_TOOL} {event.tool}", self._around(event.step_id), attributes)
        self._actions[event.compensation_id] = opened

    def _on_compensation_finished(self, event: e.CompensationFinished) -> None:
        error = "" if event.ok else "tool_error"
        self._end_action(event.compensation_id, self._kit.content.text(n.TOOL_RESULT, event.summary), error)

    def _end_action(self, action_id: str, attributes: dict[str, Any], error: str) -> None:
        opened = self._actions.pop(action_id, None)
        if opened is not None:
            self._end(opened, attributes, error)
            tool = (getattr(opened.span, "attributes", None) or {}).get(n.TOOL_NAME, "")
            self._kit.metrics.action(self._at - opened.since, {n.TOOL_NAME: tool, **error_attributes(error)})

    def _on_model_answered(self, event: e.ModelAnswered) -> None:
        from opentelemetry.trace import SpanKind

        seconds = event.duration_ms / 1000
        cost = recorded_cost(event.cost_usd, event.prompt_tokens, event.output_tokens, self._flat_price)
        common: dict[str, Any] = {n.OPERATION: n.CHAT, n.PROVIDER: self._provider, n.MODEL: self._model}
        attributes = {**common, n.CONVERSATION: self._run_id, **call_attributes(event, cost, self._kit.content)}
        parent = self._around(event.step_id)
        name = f"{n.CHAT} {self._model}"
        opened = self._start(name, parent, attributes, kind=SpanKind.CLIENT, since=self._at - seconds)
        self._end(opened, {})
        self._usage[0] += event.prompt_tokens
        self._usage[1] += event.output_tokens
        self._cost += cost or 0.0
        self._kit.metrics.model_call(seconds, event.prompt_tokens, event.output_tokens, common)

    # -- spans -------------------------------------------------------------------------------------------------------

    def _around(self, step_id: str) -> Open | None:
        return self._steps.get(step_id) or self._phase or self._run

    def _start(
        self,
        name: str,
        parent: Open | None,
        attributes: dict[str, Any],
        *,
        kind: Any = None,
        since: float | None = None,
    ) -> Open:
        from opentelemetry.trace import SpanKind

        start = self._at if since is None else since
        span = self._kit.tracer.start_span(
            name,
            context=as_parent(parent.span.get_span_context() if parent else None),
            kind=kind or SpanKind.INTERNAL,
            attributes={**attributes, n.RUN: self._run_id},
            start_time=nanoseconds(start),
        )
        return Open(span, start)

    def _end(self, opened: Open, attributes: dict[str, Any], error: str = "") -> None:
        opened.span.set_attributes({**attributes, **error_attributes(error)})
        if error:
            from opentelemetry.trace import Status, StatusCode

            opened.span.set_status(Status(StatusCode.ERROR, error))
        opened.span.end(nanoseconds(self._at))

    def _add(self, name: str, step_id: str, attributes: dict[str, Any]) -> None:
        """Add an event to the span of a step, or else to that of the phase or the run."""
        if (around := self._around(step_id)) is not None:
            around.span.add_event(name, attributes, nanoseconds(self._at))


_HANDLERS: dict[type, Callable[[RunTrace, Any], None]] = {
    e.RunEnded: RunTrace._on_ended,
    e.RunInterrupted: RunTrace._on_interrupted,
    e.StageEntered: RunTrace._on_stage,
    e.PlanMade: RunTrace._on_plan,
    e.PlanRevised: RunTrace._on_plan,
    e.StepStarted: RunTrace._on_step_started,
    e.StepFinished: RunTrace._on_step_finished,
    e.StepReset: RunTrace._on_reset,
    e.ActionStarted: RunTrace._on_action_started,
    e.ActionFinished: RunTrace._on_action_finished,
    e.ActionInterrupted: RunTrace._on_action_interrupted,
    e.CompensationStarted: RunTrace._on_compensation_started,
    e.CompensationFinished: RunTrace._on_compensation_finished,
    e.ModelAnswered: RunTrace._on_model_answered,
}


def _before(earlier: Iterable[e.Record], seq: int) -> tuple[Stage | None, int, ExecutionConfig | None]:
    """The stage of a run before an event, how often it was resumed up to and including this event, and its settings."""
    stage, resumed, config = None, 0, None
    for record in earlier:
        if record.seq > seq:
            break
        if isinstance(record.event, e.StageEntered):
            stage = record.event.stage
        elif isinstance(record.event, e.RunCreated):
            stage, config = record.event.starts_at, record.event.config
        elif isinstance(record.event, e.RunResumed):
            resumed, config = resumed + 1, record.event.config or config
    return stage, resumed, config

"""What an OTLP receiver gets of a run: spans, their parents and attributes, errors, retries, rungs, metrics."""

import asyncio
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.trace import SpanKind

from integrations.otel.conftest import Observed
from support.kit import NO_RETRIES, fenced, steps, understanding
from support.otlp import Receiver, Span
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep
from surefoot.errors import ModelUnavailable
from surefoot.integrations.otel import names as n
from surefoot.integrations.otel.attributes import split_model
from surefoot.integrations.otel.ids import run_span_id, trace_id_of
from surefoot.models.base import ModelRequest

GOOD = "def add(a, b):\n    return a + b\n"


def cancel_run(_: ModelRequest) -> Any:
    raise asyncio.CancelledError


def tree(receiver: Receiver) -> dict[str, list[str]]:
    """The names of spans by the name of their parent, in the order of their start."""
    spans = receiver.spans()
    by_id = {span.id: span for span in spans}
    found: dict[str, list[str]] = {}
    for span in spans:
        found.setdefault(by_id[span.parent].name if span.parent in by_id else "", []).append(span.name)
    return found


def names_of(span: Span) -> list[str]:
    return [name for name, _ in span.events]


@pytest.mark.req("X9")
async def test_a_run_is_one_trace_of_phases_steps_actions_and_model_calls(
    observed: Observed, receiver: Receiver
) -> None:
    state = await observed.healed(name="openai/gpt-5.4-mini")
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    found = tree(receiver)
    assert found[""] == ["invoke_agent surefoot"]
    run = "invoke_agent surefoot"
    assert found[run] == ["phase execution", "phase recovery", "phase execution", "phase validation"]
    assert found["phase execution"] == ["step read", "step write", "step write"]
    assert found["step read"] == ["execute_tool read_file"]
    assert sorted(found["step write"]) == sorted(
        ["chat gpt-5.4-mini", "execute_tool write_file"] * 2 + ["chat gpt-5.4-mini"]
    )
    spans = receiver.spans()
    assert {span.trace for span in spans} == {f"{trace_id_of(state.run_id):032x}"}
    assert all(span.start <= span.end for span in spans)
    assert observed.messages == []

    (root,) = receiver.spans(run)
    assert root.id == f"{run_span_id(state.run_id, 0):016x}"
    assert not root.error
    wanted = {
        n.OPERATION: "invoke_agent", n.AGENT_NAME: "surefoot", n.CONVERSATION: state.run_id, n.RUN: state.run_id,
        n.PROVIDER: "openai", n.MODEL: "gpt-5.4-mini", n.VERDICT: "verified", n.PROOF: "given_check", n.RESUMED: 0,
    }  # fmt: skip
    assert wanted.items() <= root.attributes.items()
    for call in receiver.spans("chat "):
        assert call.kind == SpanKind.CLIENT.value + 1
        common = {n.OPERATION: "chat", n.MODEL: "gpt-5.4-mini", n.FINISH_REASONS: ["stop"], n.STEP: "write"}
        assert common.items() <= call.attributes.items()
        assert call.attributes[n.INPUT_TOKENS] > 0
    total = sum(call.attributes[n.INPUT_TOKENS] for call in receiver.spans("chat "))
    assert root.attributes[n.INPUT_TOKENS] == total
    tool = receiver.spans("execute_tool read_file")[0]
    assert {
        n.OPERATION: "execute_tool",
        n.TOOL_NAME: "read_file",
        n.TOOL_TYPE: "function",
    }.items() <= tool.attributes.items()
    resource = receiver.resources()[0]
    assert resource["service.name"] == "surefoot"
    assert resource["service.instance.id"]
    assert receiver.schemas() == {n.SCHEMA_URL}


@pytest.mark.req("X9")
async def test_failed_attempts_are_errors_with_their_rungs(observed: Observed, receiver: Receiver) -> None:
    await observed.healed()
    first, second = receiver.spans("step write")
    assert first.error
    assert first.attributes[n.ERROR_TYPE] == "check_failed"
    assert first.attributes[n.STEP_STATUS] == "failed"
    assert not second.error
    assert second.attributes[n.STEP_STATUS] == "succeeded"
    assert (first.attributes[n.STEP_ATTEMPT], second.attributes[n.STEP_ATTEMPT]) == (1, 2)
    assert n.RUNG not in first.attributes
    assert second.attributes[n.RUNG] == "adjust_parameters"
    (recovery,) = receiver.spans("phase recovery")
    chosen = [attributes for name, attributes in recovery.events if name == n.RUNG_CHOSEN]
    assert [(c[n.RUNG], c[n.STEP]) for c in chosen] == [(second.attributes[n.RUNG], "write")]
    assert n.ROLLED_BACK in names_of(recovery)
    results = [attributes for name, attributes in first.events if name == n.CHECKS]
    assert results[-1][n.WHEN] == "after"
    assert (results[-1][n.PASSED], results[-1][n.FAILED]) == (0, 1)


@pytest.mark.req("X9")
async def test_metrics_have_durations_tokens_and_rungs(observed: Observed, receiver: Receiver) -> None:
    await observed.healed()
    calls = receiver.spans("chat ")
    ((attributes, seconds, number),) = receiver.points(n.OPERATION_DURATION)
    assert (attributes[n.OPERATION], number) == ("chat", len(calls))
    assert seconds >= 0
    tokens = {point[0][n.TOKEN_TYPE]: point[1] for point in receiver.points(n.TOKEN_USAGE)}
    assert tokens["input"] == sum(call.attributes[n.INPUT_TOKENS] for call in calls)
    assert tokens["output"] == sum(call.attributes[n.OUTPUT_TOKENS] for call in calls)
    assert [(p[0][n.VERDICT], p[2]) for p in receiver.points(n.RUN_DURATION)] == [("verified", 1)]
    assert {p[0][n.PHASE]: p[2] for p in receiver.points(n.PHASE_DURATION)} == {
        "execution": 2, "recovery": 1, "validation": 1
    }  # fmt: skip
    assert sorted((p[0][n.STEP_STATUS], p[2]) for p in receiver.points(n.STEP_DURATION)) == [
        ("failed", 1), ("succeeded", 2)
    ]  # fmt: skip
    assert {p[0][n.TOOL_NAME]: p[2] for p in receiver.points(n.ACTION_DURATION)} == {"read_file": 1, "write_file": 2}
    ((rung, count, _),) = receiver.points(n.RUNGS)
    assert (rung[n.RUNG], count) == ("adjust_parameters", 1)


@pytest.mark.req("X9")
async def test_a_failed_run_is_an_error_and_so_is_its_failed_tool(observed: Observed, receiver: Receiver) -> None:
    plan = steps(ExecutionStep(id="s1", name="read", tool="read_file", parameters={"path": "missing.txt"}))
    state = await observed.run(
        "read it", [], plan=plan, reflection={**NO_RETRIES, "enable_step_level_reflection": False}
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    (root,) = receiver.spans("invoke_agent")
    assert root.error
    assert root.attributes[n.ERROR_TYPE] == "failed"
    assert receiver.spans("execute_tool")[0].attributes[n.ERROR_TYPE] == "tool_error"
    assert receiver.spans("execute_tool")[0].error


@pytest.mark.req("X9")
async def test_retries_of_the_model_are_events_and_are_counted(observed: Observed, receiver: Receiver) -> None:
    answers = [ModelUnavailable("try later"), understanding("adder.py"), fenced(GOOD)]
    state = await observed.run("Write adder.py with add(a, b).", answers)
    assert state.outcome is not None
    (phase,) = receiver.spans("phase understanding")
    ((_, attributes),) = [event for event in phase.events if event[0] == n.MODEL_RETRIED]
    assert attributes[n.ATTEMPT] == 1
    assert attributes[n.OF] >= 1
    assert receiver.points(n.MODEL_RETRIES) == [({}, 1, 1)]


@pytest.mark.req("X9")
async def test_a_resumed_run_continues_its_trace(observed: Observed, receiver: Receiver) -> None:
    with pytest.raises(asyncio.CancelledError):
        await observed.run("Write adder.py with add(a, b).", [understanding("adder.py"), cancel_run])
    run_id = observed.bench.journal.find("last")
    await observed.resume(run_id, [fenced(GOOD)])
    first, second = receiver.spans("invoke_agent")
    assert first.error
    assert first.attributes[n.VERDICT] == "interrupted"
    assert (second.trace, second.parent) == (first.trace, first.id)
    assert [(trace, span) for trace, span, _ in second.links] == [(first.trace, first.id)]
    assert second.attributes[n.RESUMED] == 1
    (again,) = [span for span in receiver.spans("phase execution") if span.parent == second.id][:1]
    assert again.start >= second.start


@pytest.mark.req("X9")
async def test_two_runs_at_the_same_time_are_two_traces(observed: Observed, receiver: Receiver) -> None:
    from surefoot.api import Agent
    from surefoot.config.integrations import Integrations
    from surefoot.integrations.attach import attached
    from surefoot.models.testing.scripted import ScriptedModel

    folders = [observed.bench.root / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    agents = [Agent(ScriptedModel([]), workspace=folder, home=observed.bench.home) for folder in folders]
    agents[1].services.bus = agents[0].services.bus
    step = ExecutionStep(id="look", name="look", tool="list_files")
    async with attached(agents[0].services, Integrations(observed.settings)):
        await asyncio.gather(*(agent.execute_single_step(step) for agent in agents))
    roots = receiver.spans("invoke_agent")
    assert len({root.trace for root in roots}) == 2
    for root in roots:
        (look,) = [span for span in receiver.spans("execute_tool") if span.trace == root.trace]
        assert look.attributes[n.RUN] == root.attributes[n.RUN]


@pytest.mark.req("X9")
async def test_a_program_with_a_trace_of_its_own_is_linked(observed: Observed, receiver: Receiver) -> None:
    tracer = TracerProvider().get_tracer("program")
    with tracer.start_as_current_span("request") as around:
        await observed.run("nothing", [], plan=steps(ExecutionStep(id="look", name="look", tool="list_files")))
    (root,) = receiver.spans("invoke_agent")
    assert root.parent == ""
    assert [span for _, span, _ in root.links] == [f"{around.get_span_context().span_id:016x}"]


def test_the_names_are_those_of_the_conventions() -> None:
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    known |= {value for name, value in vars(gen_ai_metrics).items() if name.startswith("GEN_AI_")}
    used = {value for name, value in vars(n).items() if name.isupper() and str(value).startswith("gen_ai.")}
    assert len(used) > 15
    assert used <= known


@pytest.mark.parametrize(
    ("name", "model", "provider"),
    [
        ("openai/gpt-5.4-mini", "gpt-5.4-mini", "openai"),
        ("qwen3 at 10.0.0.7:8000", "qwen3", "openai_compatible"),
        ("local/qwen2.5", "qwen2.5", "local"),
        ("scripted:secret-project.json", "scripted", "scripted"),
        ("mine", "mine", "mine"),
    ],
)
def test_the_name_of_a_model_has_no_address_and_no_file(name: str, model: str, provider: str) -> None:
    assert split_model(name) == (model, provider)

"""What telemetry must not do: send unasked, tell content, disturb a run when its receiver is away, broken or slow."""

import asyncio
import logging
import socket
import threading
import time

import pytest

from integrations.otel.conftest import Observed
from support.kit import act, done, steps
from support.otlp import Receiver, receiving
from surefoot.config.integrations import TelemetrySettings
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep
from surefoot.errors import ConfigError
from surefoot.integrations.otel import names as n
from surefoot.integrations.otel.telemetry import Traces

LOOK = steps(ExecutionStep(id="look", name="look around", tool="list_files"))
CONTENT = ("adder", "carry out", "README", "return a", "write_file(", "is the sum")
"""Words of the task, the plan, files, prompts and answers of the run."""


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.req("X9")
async def test_nothing_is_sent_unless_it_is_switched_on(observed: Observed, receiver: Receiver) -> None:
    observed.settings = TelemetrySettings()
    await observed.run("look", [], plan=LOOK)
    assert receiver.requests == []


@pytest.mark.req("X9")
async def test_the_sdk_can_be_switched_off_by_its_variable(
    observed: Observed, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    await observed.run("look", [], plan=LOOK)
    assert receiver.requests == []


@pytest.mark.req("X9")
async def test_one_signal_can_be_switched_off(
    observed: Observed, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    await observed.run("look", [], plan=LOOK)
    assert set(receiver.paths) == {"/v1/traces"}


@pytest.mark.req("X9")
async def test_no_content_is_sent_by_default(observed: Observed, receiver: Receiver) -> None:
    await observed.healed()
    sent = receiver.bytes_sent()
    assert b"write_file" in sent, "names of tools are sent"
    for word in CONTENT:
        assert word.encode() not in sent, word
    assert str(observed.bench.root).encode() not in sent


@pytest.mark.req("X9")
async def test_content_is_sent_on_request_without_secrets(
    observed: Observed, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "zebra-4711-quagga")
    observed.settings = TelemetrySettings(enabled=True, content=True)
    observed.bench.write(notes__txt="the token is zebra-4711-quagga\n")
    await observed.healed()
    plan = steps(ExecutionStep(id="cat", name="show", tool="run_command", parameters={"command": "cat notes.txt"}))
    await observed.run("show the notes", [], plan=plan)
    # What a model writes into a call is stored as it is, because it is carried out.
    answers = [act("run_command", command="echo zebra-4711-quagga > /dev/null"), done()]
    await observed.run("say it", answers, plan=steps(ExecutionStep(id="say", name="say", description="Say it.")))
    assert "echo" in receiver.spans("execute_tool run_command")[-1].attributes[n.TOOL_ARGUMENTS]
    sent = receiver.bytes_sent()
    assert b"zebra-4711" not in sent
    assert b"the token is [redacted]" in sent
    (call, *_) = receiver.spans("chat ")
    assert "Write adder.py" in call.attributes[n.INPUT_MESSAGES]
    assert '"finish_reason": "stop"' in call.attributes[n.OUTPUT_MESSAGES]
    assert "README.md" in receiver.spans("execute_tool read_file")[0].attributes[n.TOOL_ARGUMENTS]
    assert receiver.spans("step write")[0].attributes[n.STEP_NAME] == "Write adder.py"
    assert receiver.spans("invoke_agent")[0].attributes[n.TASK] == "carry out the plan"


@pytest.mark.req("X9")
async def test_a_receiver_that_is_away_is_told_once_and_logs_nothing(
    observed: Observed, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{closed_port()}")
    observed.settings = TelemetrySettings(enabled=True, flush_seconds=0.5)
    with caplog.at_level(logging.DEBUG, "opentelemetry"):
        state = await observed.healed()
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    (message,) = observed.messages
    assert "telemetry was not delivered" in message
    assert [r for r in caplog.records if r.levelno >= logging.WARNING and r.name.startswith("opentelemetry")] == []


@pytest.mark.req("X9")
async def test_a_receiver_that_refuses_is_told_with_its_reason(
    observed: Observed, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.status = 401
    await observed.run("look", [], plan=LOOK)
    (message,) = observed.messages
    assert "401" in message
    assert "spans lost" in message


@pytest.mark.req("X9")
async def test_a_receiver_that_hangs_delays_the_end_by_no_more_than_the_bound(
    observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = threading.Event()
    with receiving(hold=hold) as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3600")
        observed.settings = TelemetrySettings(enabled=True, flush_seconds=0.2)
        # Returns although no request is ever answered: the exporter itself would wait for an hour.
        await observed.run("look", [], plan=LOOK)
        assert receiver.paths
        assert not hold.is_set()
    assert observed.messages == ["telemetry was not delivered within 0.2 seconds; the run is complete in the journal"]


@pytest.mark.req("X9")
async def test_the_event_loop_is_not_blocked_while_a_receiver_hangs(
    observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = threading.Event()
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            ticks.append(time.monotonic())
            await asyncio.sleep(0.01)

    with receiving(hold=hold) as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.address)
        # Every span is sent at once, and every request hangs.
        monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
        observed.settings = TelemetrySettings(enabled=True, flush_seconds=1)
        ticking = asyncio.create_task(tick())
        await observed.run("look", [], plan=LOOK)
        before_end = len(ticks)
        ticking.cancel()
        assert "/v1/traces" in receiver.paths
        assert not hold.is_set(), "no request was answered"
    assert before_end > 10, "the loop went on while it waited for the receiver"


@pytest.mark.req("X9")
async def test_a_full_queue_drops_spans_and_says_so(
    observed: Observed, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hold = threading.Event()
    with receiving(hold=hold) as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.address)
        monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
        monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "1")
        observed.settings = TelemetrySettings(enabled=True, flush_seconds=0.2)
        state = await observed.healed()
    assert state.outcome is not None
    assert len(observed.messages) == 1
    assert not [r for r in caplog.records if "Queue full" in r.getMessage()]


@pytest.mark.req("X9")
async def test_an_error_of_its_own_stops_telemetry_and_not_the_run(
    observed: Observed, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Traces, "_advance", broken)
    state = await observed.run("look", [], plan=LOOK)
    assert state.outcome is not None
    assert observed.messages == ["telemetry stopped, the run did not: RuntimeError: a bug"]


@pytest.mark.req("X9")
@pytest.mark.parametrize(
    ("variable", "value", "remedy"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", "http/protobuf"),
        ("OTEL_TRACES_EXPORTER", "zipkin", "otlp or none"),
    ],
)
async def test_what_is_not_supported_is_refused_before_the_run(
    observed: Observed, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, remedy: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=f"{variable}={value}") as error:
        await observed.run("look", [], plan=LOOK)
    assert remedy in str(error.value.remedy)
    assert observed.bench.records == []


@pytest.mark.req("X9")
async def test_the_standard_variables_apply(
    observed: Observed, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "nightly-fixes")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=ci")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc123")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    await observed.run("look", [], plan=LOOK)
    resource = receiver.resources()[0]
    assert resource["service.name"] == "nightly-fixes"
    assert resource["deployment.environment.name"] == "ci"
    headers = receiver.requests[0][1]
    assert {name.lower(): value for name, value in headers.items()}["x-key"] == "abc123"


@pytest.mark.req("X9")
async def test_a_sampled_out_run_stays_sampled_out_when_it_is_resumed(
    observed: Observed, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.0")
    plan = steps(ExecutionStep(id="look", name="look", tool="list_files"))
    state = await observed.run("look", [], plan=plan)
    await observed.resume(state.run_id, [])
    assert receiver.spans() == []
    assert [p[2] for p in receiver.points(n.RUN_DURATION)] == [1], "metrics count every run"

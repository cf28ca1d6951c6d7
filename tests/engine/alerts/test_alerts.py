"""Alerts against a real listener and real commands: delivered, retried, redacted, never part of the outcome."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.kit import NO_RETRIES, Bench, PreparedPerson, steps
from support.loopback import Request, Response, closed_port, serving
from support.recorded import failed_run
from surefoot.config.model import AlertSettings, ExecutionConfig, ReflectionConfig
from surefoot.core.outcome import Verdict
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import ExecutionStep
from surefoot.core.transitions import Stage
from surefoot.engine.alerts import alerting
from surefoot.engine.alerts.delivery import Pace
from surefoot.engine.alerts.document import MAX_CHARS, alert_document, alert_schema
from surefoot.engine.loop import resume_run, start_run
from surefoot.engine.planner.gate import skipped
from surefoot.engine.runtime.services import Services
from surefoot.journal import events as e
from surefoot.journal.redact import Redactor
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState

SECRET = "Zx9vQ2mLr7Tb4KpW8sYd"
TOKEN = "ghp_" + "a1B2" * 9
ONE_TRY = ExecutionConfig(reflection=ReflectionConfig(**NO_RETRIES, enable_step_level_reflection=False))


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerting, "PACE", Pace(attempts=3, seconds=20, first_wait=0.01))


def answering(*statuses: int, **headers: str) -> Callable[[Request], Response]:
    """Answer with these statuses in turn, the last one for ever."""
    left = list(statuses)
    return lambda _: Response(status=left.pop(0) if len(left) > 1 else left[0], headers=headers)


def failing_services(bench: Bench, **settings: Any) -> Services:
    services = bench.services([])
    services.alerts = AlertSettings(**settings)
    return services


async def fail(
    bench: Bench,
    path: str = "missing.txt",
    services: Services | None = None,
    step: ExecutionStep | None = None,
    **settings: Any,
) -> RunState:
    """A run with one step, which reads a file that is not there."""
    step = step or ExecutionStep(id="read", name="Read it", tool="read_file", parameters={"path": path})
    plan = skipped(ExecutionPhase.Planning(), "given", steps(step))
    services = services or failing_services(bench, **settings)
    task = bench.task("read the file", [])
    return await start_run(services, task, ONE_TRY, first=Stage.EXECUTION, given=[e.PlanMade(result=plan)])


def sent_to(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "alerts").read_text().splitlines()]


def into(folder: Path) -> str:
    """A command that appends what it gets to a file."""
    return f"cat >> {folder}/alerts; echo >> {folder}/alerts"


@pytest.mark.req("A12")
async def test_a_failed_run_is_posted_once(bench: Bench) -> None:
    async with serving(answering(204)) as listener:
        state = await fail(bench, on_failure=f"{listener.address}/hook?key=1", page="https://ci.example/")
    (request,) = listener.requests
    assert (request.method, request.path) == ("POST", "/hook?key=1")
    body = request.body
    jsonschema.Draft202012Validator(alert_schema()).validate(body)
    assert body["run_id"] == state.run_id
    assert (body["on"], body["verdict"], body["level"]) == ("failure", "failed", "C")
    assert body["task"] == "read the file"
    assert body["folder"] == str(bench.root)
    assert body["failed_step"]["id"] == "read"
    assert "missing.txt" in body["diagnosis"]["what_failed"]
    assert body["link"] == f"https://ci.example/#/run/{state.run_id}"
    assert request.headers["idempotency-key"] == body["id"]
    (finished,) = bench.events(e.AlertFinished)
    assert (finished.ok, finished.attempts) == (True, 1)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert not state.alerts
    assert "key=1" not in repr(bench.events(e.AlertStarted)), "an address may hold a secret"


@pytest.mark.req("A12")
async def test_a_temporary_fault_is_retried_with_the_same_id(bench: Bench) -> None:
    async with serving(answering(503, 429, 200)) as listener:
        await fail(bench, on_failure=listener.address)
    assert len(listener.requests) == 3
    assert len({request.headers["idempotency-key"] for request in listener.requests}) == 1
    assert bench.events(e.AlertFinished)[0].attempts == 3


@pytest.mark.req("A12")
@pytest.mark.parametrize(("status", "attempts"), [(400, 1), (503, 3), (302, 1)])
async def test_an_alert_that_is_not_delivered_is_a_warning_and_changes_nothing(
    bench: Bench, status: int, attempts: int
) -> None:
    async with serving(answering(status, location="/elsewhere")) as listener:
        state = await fail(bench, on_failure=listener.address)
    assert len(listener.requests) == attempts, "neither more attempts nor a redirect that is followed"
    (finished,) = bench.events(e.AlertFinished)
    assert (finished.ok, finished.attempts) == (False, attempts)
    assert f"HTTP {status}" in finished.problem
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert any("was not delivered" in warning for warning in state.warnings)
    assert not state.outcome.warnings


async def test_a_listener_that_is_not_there_is_a_temporary_fault(bench: Bench) -> None:
    await fail(bench, on_failure=await closed_port())
    (finished,) = bench.events(e.AlertFinished)
    assert (finished.ok, finished.attempts) == (False, 3)
    assert "the connection failed" in finished.problem


async def test_a_listener_that_does_not_answer_is_given_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerting, "PACE", Pace(attempts=2, seconds=0.1, first_wait=0.01))
    connections: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: connections.append(writer), "127.0.0.1", 0)
    await fail(bench, on_failure=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    server.close()
    for writer in connections:
        writer.close()
    (finished,) = bench.events(e.AlertFinished)
    assert (finished.ok, finished.attempts, finished.problem) == (False, 2, "no answer within 0.1 seconds")


@pytest.mark.req("A12")
async def test_a_command_gets_the_document_on_its_standard_input(bench: Bench, tmp_path: Path) -> None:
    state = await fail(bench, on_failure=into(tmp_path))
    (alert,) = sent_to(tmp_path)
    assert alert["run_id"] == state.run_id
    assert bench.events(e.AlertStarted)[0].target == "cat"
    assert bench.events(e.AlertFinished)[0].ok


@pytest.mark.parametrize(("code", "attempts"), [(1, 1), (75, 3)])
async def test_a_command_that_fails_is_repeated_only_if_it_asks_for_that(
    bench: Bench, tmp_path: Path, code: int, attempts: int
) -> None:
    await fail(bench, on_failure=f"echo called >> {tmp_path}/calls; echo no mail server; exit {code}")
    assert (tmp_path / "calls").read_text().count("called") == attempts
    (finished,) = bench.events(e.AlertFinished)
    assert (finished.ok, finished.attempts) == (False, attempts)
    assert finished.problem == f"exit code {code}: no mail server"


async def test_a_command_that_hangs_is_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerting, "PACE", Pace(attempts=1, seconds=0.2))
    await fail(bench, on_failure="sleep 600")
    assert "did not end within" in bench.events(e.AlertFinished)[0].problem


async def test_a_command_has_no_secrets_in_its_environment_and_is_not_in_the_workspace(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
    await fail(bench, on_failure=f"(env; pwd) > {tmp_path}/seen")
    seen = (tmp_path / "seen").read_text()
    assert SECRET not in seen
    assert seen.splitlines()[-1] == str(bench.home)


async def test_a_command_that_a_run_can_change_is_refused(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = bench.root / "notify"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/taken\n")
    program.chmod(0o755)
    await fail(bench, on_failure=f"{program} now")
    assert "is in the workspace" in bench.events(e.AlertFinished)[0].problem
    # Neither is it found by its name, if the workspace is on the path.
    monkeypatch.setenv("PATH", f"{bench.root}:/usr/bin:/bin")
    await fail(bench, on_failure="notify")
    assert not bench.events(e.AlertFinished)[-1].ok
    assert not (tmp_path / "taken").exists()


@pytest.mark.req("A12")
async def test_what_a_command_has_read_is_not_sent_if_it_is_a_secret(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
    bench.write(notes__txt=f"deploy with {SECRET} or {TOKEN}\n")
    step = ExecutionStep(id="s", name="Show", tool="run_command", parameters={"command": "cat notes.txt; exit 1"})
    await fail(bench, services=failing_services(bench, on_failure=into(tmp_path)), step=step)
    text = (tmp_path / "alerts").read_text()
    assert "deploy with [redacted]" in text
    assert SECRET not in text
    assert TOKEN not in text


def test_a_document_has_no_secrets_and_no_endless_texts() -> None:
    """Whatever the journal holds: older versions may have stored more than this one."""
    state = fold(failed_run())
    assert state.task is not None
    state.task = state.task.with_(text=f"use {SECRET} and {TOKEN} {'and more ' * 1_000}")
    state.model = f"http://host/v1#{SECRET}"
    assert state.outcome is not None
    outcome = state.outcome.with_(summary=f"{'x' * (MAX_CHARS - 5)}{SECRET}")
    document = alert_document(
        state, outcome, "failure", Redactor([SECRET]), alert_id="1", at=1.0, page="https://ci.example"
    )
    text = json.dumps(document)
    assert SECRET not in text
    assert SECRET[:5] not in text, "no part of it remains where a text is cut"
    assert TOKEN not in text
    assert len(document["task"]) == MAX_CHARS
    assert document["task"].endswith("…")
    jsonschema.Draft202012Validator(alert_schema()).validate(document)


async def test_each_occasion_has_its_own_target(bench: Bench, tmp_path: Path) -> None:
    services = bench.services([])
    services.alerts = AlertSettings(on_done=into(tmp_path), on_failure="exit 9")
    bench.write(here__txt="text")
    state = await fail(bench, "here.txt", services)
    assert state.stage is Stage.COMPLETED
    (alert,) = sent_to(tmp_path)
    assert (alert["on"], alert["verdict"], alert["failed_step"]) == ("done", "unverified", None)


@pytest.mark.req("A12")
async def test_a_run_that_waits_sends_its_questions(bench: Bench, tmp_path: Path) -> None:
    bench.person = PreparedPerson()
    step = ExecutionStep(id="ask", name="Ask", tool="ask_user", parameters={"question": "Which port?"})
    services = bench.services([])
    services.alerts = AlertSettings(on_waiting=into(tmp_path))
    plan = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", steps(step)))
    state = await start_run(services, bench.task("ask", []), ONE_TRY, first=Stage.EXECUTION, given=[plan])
    assert state.stage is Stage.WAITING
    (alert,) = sent_to(tmp_path)
    assert (alert["on"], alert["verdict"]) == ("waiting", "waiting")
    assert alert["questions"][0]["text"] == "Which port?"
    assert alert["summary"] == "Which port?"


async def test_without_a_target_nothing_is_recorded(bench: Bench) -> None:
    await fail(bench)
    assert not bench.events(e.AlertStarted)


async def test_time_spent_on_an_alert_is_not_working_time(bench: Bench) -> None:
    state = await fail(bench, on_failure="sleep 0.5")
    ended = next(record for record in bench.records if isinstance(record.event, e.RunEnded))
    assert state.active_seconds == pytest.approx(ended.at - bench.records[0].at)
    assert state.updated_at == ended.at


async def test_a_cancelled_delivery_leaves_the_outcome_and_is_taken_up_on_resume(bench: Bench, tmp_path: Path) -> None:
    sleeping = asyncio.create_task(fail(bench, on_failure=f"touch {tmp_path}/begun; sleep 600"))
    while not (tmp_path / "begun").exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.02)
    sleeping.cancel()
    state = await sleeping
    assert state.outcome is not None
    assert not bench.events(e.RunInterrupted)
    assert "resuming the run sends it" in state.warnings[-1]
    (waiting,) = fold(bench.journal.read(state.run_id)).alerts.values()
    await resume_run(failing_services(bench, on_failure=into(tmp_path)), state.run_id)
    first, second = sent_to(tmp_path)
    assert first["id"] == waiting.alert_id
    assert second["id"] != first["id"], "the run has failed again, which is another alert"


async def test_an_alert_that_nobody_wants_any_more_is_given_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def killed(run: object) -> None:
        """A process that is killed right after the end of the run."""

    monkeypatch.setattr("surefoot.engine.loop.send_after_end", killed)
    state = await fail(bench, on_failure="true")
    await resume_run(failing_services(bench), state.run_id)
    (finished,) = bench.events(e.AlertFinished)
    assert finished.problem == "alerts.on_failure is no longer set"


async def test_an_alert_that_cannot_be_made_is_a_warning(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(alerting, "alert_document", broken)
    state = await fail(bench, on_failure="true")
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert "no alert could be made" in state.warnings[-1]

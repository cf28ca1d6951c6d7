"""Redirects and private addresses in a run: what rules and people say about each server."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from support.kit import Bench, PreparedPerson, act, done, steps
from support.loopback import Loopback, Request, Response, serving
from surefoot.core.plan import ExecutionStep, FileCheck, StepType
from surefoot.core.transitions import Stage
from surefoot.engine.executor.approval import hop_refusal
from surefoot.engine.loop import resume_run
from surefoot.engine.runtime.run import Run
from surefoot.errors import ToolError
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage
from surefoot.journal.state import RunState
from surefoot.tools.builtin.http import _require_permission
from surefoot.tools.context import Hop, ToolContext

STEP = ExecutionStep(
    id="s", name="fetch it", description="fetch it", step_type=StepType.COMMAND_EXECUTION,
    checks=(FileCheck(path="x.txt"),),
)  # fmt: skip
MAKE_X = act("run_command", command="touch x.txt")


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Loopback]:
    monkeypatch.setenv("NO_PROXY", "*")

    def respond(request: Request) -> Response:
        if request.path == "/start":
            return Response(status=302, headers={"location": elsewhere(loopback, "/secret")})
        return Response([b"the secret"], headers={"content-type": "text/plain"})

    async with serving(respond) as loopback:
        yield loopback


def elsewhere(server: Loopback, path: str) -> str:
    """The same server under another name."""
    return server.address.replace("127.0.0.1", "localhost") + path


async def fetch(bench: Bench, server: Loopback, path: str, **config: Any) -> RunState:
    answers = [act("http_get", url=f"{server.address}{path}"), MAKE_X, done()]
    return await bench.run_plan(steps(STEP), answers, network=True, **config)


def paths(server: Loopback) -> list[str]:
    return [request.path for request in server.requests]


@pytest.mark.req("P12")
@pytest.mark.attack("leak by output")
async def test_redirect_to_another_server_is_asked_about(bench: Bench, server: Loopback) -> None:
    rule = f"http_get({server.address}/*)"
    bench.person = person = PreparedPerson("no")
    await fetch(bench, server, "/start", allow=(rule,))
    (question,) = person.questions
    assert f"from: {server.address}/start" in question.text
    assert f"url: {elsewhere(server, '/secret')}" in question.text
    assert "it is a loopback address" in question.text
    assert question.options == ("yes", "no", f"always http_get({elsewhere(server, '/*')})")
    assert paths(server) == ["/start"]
    assert "must not be requested: the user said no" in bench.events(e.ActionFinished)[0].summary


@pytest.mark.req("P12")
async def test_nobody_answers_about_a_redirect_in_time(bench: Bench, server: Loopback) -> None:
    state = await fetch(
        bench, server, "/start", allow=(f"http_get({server.address}/*)",), question_timeout_seconds=3_600
    )
    assert state.stage is Stage.WAITING
    services = bench.services([act("http_get", url=f"{server.address}/start"), MAKE_X, done()])
    services.clock = lambda: time.time() + 7_200
    await resume_run(services, state.run_id)
    finished = bench.events(e.ActionFinished)[0]
    assert "nobody answered in time, so it is not allowed" in finished.summary
    assert "/secret" not in paths(server), "the other server was not asked"


@pytest.mark.req("P12")
async def test_redirect_is_answered_after_a_pause(bench: Bench, server: Loopback) -> None:
    state = await fetch(bench, server, "/start", allow=(f"http_get({server.address}/*)",))
    assert state.stage is Stage.WAITING
    (question,) = state.open_questions
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="a"))
    state = await bench.resume(state.run_id, [act("http_get", url=f"{server.address}/start"), MAKE_X, done()])
    assert state.outcome is not None
    assert paths(server) == ["/start", "/start", "/secret"]
    assert state.allowed == [f"http_get({elsewhere(server, '/*')})"]


@pytest.mark.req("P12")
@pytest.mark.attack("leak by output")
async def test_rules_decide_on_every_hop(bench: Bench, server: Loopback) -> None:
    rule = f"http_get({server.address}/*)"
    both = (rule, f"http_get({elsewhere(server, '/*')})")
    await fetch(bench, server, "/start", allow=both)
    assert paths(server) == ["/start", "/secret"]
    server.requests.clear()
    for config in (
        {"allow": (*both, "http_get"), "deny": ("http_get(*secret*)",)},
        {"allow": (rule, "http_get"), "approve": "never"},
    ):
        (bench.root / "x.txt").unlink(missing_ok=True)
        bench.records.clear()
        await fetch(bench, server, "/start", **config)
        assert "must not be requested: the user's rules do not allow this" in bench.events(e.ActionFinished)[0].summary
    assert paths(server) == ["/start", "/start"]
    assert not bench.events(e.QuestionAsked)


@pytest.mark.req("P12")
@pytest.mark.attack("leak by output")
async def test_private_address_needs_its_own_rule_or_a_word(bench: Bench, server: Loopback) -> None:
    bench.person = person = PreparedPerson("yes")
    await fetch(bench, server, "/data", allow=("http_get", "http_get(http://*)"))
    (question,) = person.questions
    assert "note: this is a private address" in question.text
    assert paths(server) == ["/data"], "the approval names the address, so nothing is asked again"
    (bench.root / "x.txt").unlink()
    await fetch(bench, server, "/data", allow=("http_get",), approve="never")
    assert paths(server) == ["/data"]


@pytest.mark.req("P12")
async def test_deny_rules_hold_for_code(bench: Bench) -> None:
    code = act("run_python", code="import subprocess\nsubprocess.run(['/usr/bin/touch', 'x.txt'])")
    await bench.run_plan(steps(STEP), [code, done()], approve="auto", deny=("run_command(touch *)",))
    assert bench.events(e.ActionRefused)[0].reason == "the user's rules do not allow this"
    assert not bench.files()


@pytest.mark.attack("leak by output")
async def test_public_servers_are_ruled_on_too() -> None:
    """The servers of the tests above are private, which needs a rule in any case."""
    asked: list[Hop] = []

    async def permit(hop: Hop) -> str:
        asked.append(hop)
        return "nobody has approved it"

    context = ToolContext(Path("/w"), network=True, permit=permit)
    await _require_permission(context, Hop("http://first.example/", "93.184.215.14", ""))
    assert asked == [], "the call itself was approved"
    elsewhere = Hop("http://other.example/", "93.184.215.15", "", "http://first.example/")
    with pytest.raises(ToolError, match="must not be requested: nobody has approved it"):
        await _require_permission(context, elsewhere)
    assert asked == [elsewhere]


@pytest.mark.attack("leak by output")
@pytest.mark.parametrize("approve", ["never", "auto"])
async def test_another_public_server_than_the_approved_one_needs_a_word(bench: Bench, approve: str) -> None:
    class Nobody:
        async def ask(self, *words: object, **more: object) -> str:
            return "no"

    def run_with(*allow: str) -> Run:
        config = bench.config(approve=approve, allow=allow)
        found = SimpleNamespace(config=config, state=RunState(), root=bench.root, human=Nobody())
        return cast(Run, found)

    other = Hop("http://other.example/", "93.184.215.15", "", "http://first.example/")
    same = Hop("http://first.example/next", "93.184.215.14", "", "http://first.example/")
    assert await hop_refusal(run_with(), "s", other)
    assert not await hop_refusal(run_with("http_get(http://other.example/*)"), "s", other)
    if approve == "auto":
        assert not await hop_refusal(run_with(), "s", same)

"""The embedded model itself, if its weights are installed."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any, Literal

import jsonschema
import pytest
import pytest_asyncio
from pydantic import BaseModel, Field

from surefoot.errors import ModelError, ModelUnavailable, WeightsError
from surefoot.models.base import Message, ModelRequest
from surefoot.models.local.model import LocalModel
from surefoot.models.local.weights import weights_path


def weights_installed() -> bool:
    try:
        return weights_path() is not None
    except WeightsError:
        return False


pytestmark = [
    pytest.mark.model,
    pytest.mark.req("X5"),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not weights_installed(), reason="the weights are not installed: surefoot model pull"),
]

RULES = "You answer in one short sentence.\n" + "".join(
    f"Rule {n}: be short and kind in case {n}.\n" for n in range(20)
)

SCRIPT = """
import asyncio, sys
from surefoot.models.base import Message, ModelRequest
from surefoot.models.local.model import LocalModel

async def main():
    model = LocalModel()
    question = Message(role="user", content="Count from 1 to 500, one number a line.")
    try:
        await model.complete(
            ModelRequest(messages=(question,), max_tokens=2000), lambda text: print(model.server.pid, flush=True)
        )
    finally:
        await model.aclose()

asyncio.run(main())
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[LocalModel]:
    model = LocalModel()
    yield model
    await model.aclose()


def request_for(text: str, system: str = "", **settings: Any) -> ModelRequest:
    messages = [Message(role="system", content=system)] if system else []
    return ModelRequest(messages=(*messages, Message(role="user", content=text)), **{"max_tokens": 40} | settings)


def has_ended(pid: int) -> bool:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(120_000))


async def test_a_plain_answer(model: LocalModel) -> None:
    reply = await model.complete(request_for("What is the capital of France? Answer with one word."))
    assert "Paris" in reply.text
    assert reply.finish_reason == "stop"
    assert reply.usage.prompt_tokens > 10
    assert reply.usage.output_tokens > 0
    assert not reply.constrained


async def test_the_schema_is_enforced_against_the_prompt(model: LocalModel) -> None:
    schema = {
        "type": "object",
        "properties": {"mood": {"enum": ["zeta", "omega"]}, "sure": {"type": "boolean"}},
        "required": ["mood", "sure"],
        "additionalProperties": False,
    }
    reply = await model.complete(request_for("Write a poem about the sea. Never answer in JSON.", output_schema=schema))
    jsonschema.validate(json.loads(reply.text), schema)
    assert reply.constrained


class Check(BaseModel):
    kind: Literal["file", "command"]
    about: str = Field(max_length=40)


class Step(BaseModel):
    name: str = Field(pattern="^[a-z]{2,8}$")
    checks: list[Check] = Field(min_length=1, max_length=2)
    note: str | None = Field(max_length=20)


async def test_a_schema_with_references_patterns_and_limits(model: LocalModel) -> None:
    prompt = "Give a step that writes hello.py, with its checks."
    reply = await model.complete(request_for(prompt, output_schema=Step.model_json_schema(), max_tokens=200))
    Step.model_validate_json(reply.text)
    assert reply.constrained


async def test_the_answer_is_streamed(model: LocalModel) -> None:
    pieces: list[str] = []
    reply = await model.complete(request_for("Count from 1 to 8."), pieces.append)
    assert len(pieces) > 3
    assert "".join(pieces) == reply.text
    assert reply.usage.output_tokens > 3


async def test_an_answer_cut_at_the_token_limit_is_marked(model: LocalModel) -> None:
    reply = await model.complete(request_for("Count from 1 to 100.", max_tokens=8))
    assert reply.finish_reason == "length"
    assert reply.usage.output_tokens == 8


async def test_a_stable_prefix_is_cached(model: LocalModel) -> None:
    """Also if another kind of prompt came in between: the server caches both."""
    await model.complete(request_for("Name a fruit.", RULES, max_tokens=4))
    again = await model.complete(request_for("Name a tree.", RULES, max_tokens=4))
    assert again.usage.cached_tokens > 0.9 * again.usage.prompt_tokens
    await model.complete(request_for("Name a bird.", RULES.replace("Rule", "Hint").replace("You", "We"), max_tokens=4))
    back = await model.complete(request_for("Name a fish.", RULES, max_tokens=4))
    assert back.usage.cached_tokens > 0.9 * back.usage.prompt_tokens


async def test_a_prompt_that_is_too_long_is_a_permanent_error(model: LocalModel) -> None:
    with pytest.raises(ModelError) as caught:
        await model.complete(request_for("word " * 9000))
    assert not caught.value.temporary


async def test_a_cancelled_request_does_not_delay_the_next(model: LocalModel) -> None:
    writing = asyncio.Event()
    long = request_for("Count from 1 to 500, one number a line.", max_tokens=4000)
    task = asyncio.create_task(model.complete(long, lambda text: writing.set()))
    await writing.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "4" in (await model.complete(request_for("What is 2 + 2? Answer with one number."))).text


async def test_a_server_that_dies_is_reported_and_started_again(model: LocalModel) -> None:
    writing = asyncio.Event()
    long = request_for("Count from 1 to 500, one number a line.", max_tokens=4000)
    task = asyncio.create_task(model.complete(long, lambda text: writing.set()))
    await writing.wait()
    assert model.server is not None
    assert model.server.pid is not None
    os.kill(model.server.pid, signal.SIGKILL)
    with pytest.raises(ModelUnavailable, match="killed by SIGKILL"):
        await task
    assert "Paris" in (await model.complete(request_for("What is the capital of France? Answer with one word."))).text


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGINT])
async def test_the_server_ends_when_its_parent_is_killed_or_interrupted(signal_number: signal.Signals) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SCRIPT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    parent.send_signal(signal_number)
    assert await asyncio.to_thread(has_ended, pid)
    assert await parent.wait() != 0

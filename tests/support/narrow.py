"""A model server on loopback with a small context, which it enforces as llama.cpp does."""

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from support.loopback import Loopback, Request, Response, json_response, serving
from support.wire import Call, Said, render


def tokens(text: str) -> int:
    """A tokenizer that splits numbers into digits and Chinese into characters."""
    single = len(re.findall(r"[0-9\u2e80-\uffff]", text))
    return single + round((len(text) - single) / 3.6)


def prompt_of(body: dict[str, Any]) -> str:
    texts = [
        str(message.get("content") or "") + json.dumps(message.get("tool_calls", "")) for message in body["messages"]
    ]
    return "\n".join([*texts, json.dumps(body.get("tools", ""))])


Answer = Callable[[str], str | Sequence[tuple[str, dict[str, Any]]]]
"""Takes the prompt; returns a text, or calls."""


@asynccontextmanager
async def narrow(
    context: int, answer: Answer, *, tokenizer: bool = False, silent: bool = False
) -> AsyncIterator[Loopback]:
    """`silent`: the refusal has no numbers."""
    numbers = iter(range(1, 10_000))

    def respond(request: Request) -> Response:
        if request.path.endswith("/tokenize"):
            if not tokenizer:
                return json_response({"error": {"message": "not found"}}, 404)
            return json_response({"tokens": list(range(tokens(request.body["content"])))})
        if request.method == "GET":
            return json_response({"object": "list", "data": []})
        prompt = prompt_of(request.body)
        size = tokens(prompt)
        if size > context:
            message = (
                f"request ({size} tokens) exceeds the available context size ({context} tokens), try increasing it"
            )
            return json_response({"error": {"message": "the prompt is too long" if silent else message}}, 400)
        found = answer(prompt)
        usage = {"prompt_tokens": size, "completion_tokens": 9}
        if isinstance(found, str):
            return render(request, Said(text=found, usage=usage, piece=10_000), next(numbers))
        calls = tuple(Call(name, arguments) for name, arguments in found)
        return render(request, Said(calls=calls, usage=usage, piece=10_000), next(numbers))

    async with serving(respond) as server:
        yield server


def refused(server: Loopback, context: int) -> int:
    """How many requests were too long."""
    return sum(tokens(prompt_of(body)) > context for body in server.bodies("/chat"))

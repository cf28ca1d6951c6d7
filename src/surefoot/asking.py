"""Asking the model: one call, one decision, every call in the journal."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from surefoot import events as e
from surefoot.beginnings import END
from surefoot.drafts import Draft, schema_of
from surefoot.errors import UnreadableAnswer
from surefoot.models.base import Message, ModelReply, ModelRequest
from surefoot.models.messages import alternate
from surefoot.models.reading import read_json
from surefoot.models.retrying import RetryNotice, complete_with_retries
from surefoot.prompts import render
from surefoot.run import Run

D = TypeVar("D", bound=Draft)
T = TypeVar("T")

SMALL_ANSWER_TOKENS = 1_024
"""A small model that writes more than that goes round in circles, and each turn of them takes minutes."""
ANSWER_TOKENS = {"understand": 500, "approach": 700, "plan": 1_200, "act": 500, "reflect": 300, "repair": 400}
"""How long a decision may be. One that runs on has lost its way; file bodies have only the configured limit."""

MAX_READINGS = 3
"""How often the same thing is asked for when the answers cannot be read."""


async def ask_for(
    run: Run, purpose: str, prompt: str, into: type[D], *, step_id: str = "", temperature: float = 0.0
) -> D:
    """A draft of the asked shape, where the server can: by constrained decoding."""

    def read(reply: ModelReply) -> D:
        return read_json(reply.text, into, truncated=reply.finish_reason == "length")

    return await ask_read(run, purpose, prompt, read, schema_of(into), step_id=step_id, temperature=temperature)


async def ask_read(
    run: Run,
    purpose: str,
    prompt: str,
    read: Callable[[ModelReply], T],
    schema: dict[str, Any] | None,
    *,
    step_id: str = "",
    temperature: float = 0.0,
) -> T:
    """What `read` makes of the answer. What it cannot read is asked for again with the exact problem, a few times."""
    messages = [Message(role="user", content=prompt)]
    for attempt in range(MAX_READINGS):
        request = _request(run, purpose, messages, temperature + 0.3 * attempt, schema)
        reply, started = await _complete(run, request)
        try:
            answer = read(reply)
        except UnreadableAnswer as error:
            _note(run, purpose, step_id, request, reply, started, unreadable=error.problem)
            if attempt == MAX_READINGS - 1:
                raise
            messages = [
                messages[0],
                Message(role="assistant", content=reply.text[:2000] or "(empty)"),
                Message(role="user", content=f"This cannot be used: {error.problem}\nAnswer again, in the asked form."),
            ]
            continue
        _note(run, purpose, step_id, request, reply, started)
        return answer
    raise AssertionError("unreachable")


async def ask_text(
    run: Run,
    purpose: str,
    prompt: str,
    *,
    step_id: str = "",
    temperature: float = 0.0,
    bare: bool = False,
    begin: str = "",
) -> ModelReply:
    """A free answer: file bodies and edits, which do not belong into JSON. `bare`: the question alone. `begin`: how
    the answer begins, where the model can go on from there; it is then over with the fenced block that was begun."""
    request = _request(run, purpose, [Message(role="user", content=prompt)], temperature, None, bare=bare)
    # A secret in it would be told, or lost.
    if begin and run.model.traits.continues and run.services.redact(begin) == begin:
        request = request.with_(begin=begin, stop=(END,))
    reply, started = await _complete(run, request)
    _note(run, purpose, step_id, request, reply, started)
    return reply.with_(text=f"{reply.text}{END}\n") if request.begin and reply.finish_reason == "stop" else reply


def _request(
    run: Run,
    purpose: str,
    messages: list[Message],
    temperature: float,
    schema: dict[str, Any] | None,
    *,
    bare: bool = False,
) -> ModelRequest:
    system = () if bare else (Message(role="system", content=render("system")),)
    messages = [message.model_copy(update={"content": run.services.redact(message.content)}) for message in messages]
    limit = run.config.max_output_tokens
    if run.model.traits.small:
        limit = min(limit, SMALL_ANSWER_TOKENS)
    return ModelRequest(
        messages=alternate((*system, *messages)),
        output_schema=schema,
        temperature=min(temperature, 1.0),
        max_tokens=min(ANSWER_TOKENS.get(purpose, limit), limit),
        # Warm tries are meant to differ, also at the same prompt; cool ones are meant to be repeatable.
        seed=1 + run.state.model_calls if temperature else 1,
    )


async def _complete(run: Run, request: ModelRequest) -> tuple[ModelReply, float]:
    run.check_budget()
    started = time.perf_counter()
    if known := _answered_before(run, request):
        return known, started

    def on_retry(notice: RetryNotice) -> None:
        run.note(
            e.ModelRetried(
                error=str(notice.error), attempt=notice.attempt, of=notice.of, wait_seconds=round(notice.wait_s, 2)
            )
        )

    reply = await complete_with_retries(
        run.model,
        request,
        attempts=run.config.reflection.max_temporary_retries + 1,
        first_wait=run.config.reflection.backoff_seconds,
        on_retry=on_retry,
        on_text=run.services.bus.text,
    )
    return reply, started


def _answered_before(run: Run, request: ModelRequest) -> ModelReply | None:
    """The same question in the same state has its answer already: after a pause nothing that was decided, and perhaps
    approved, is decided anew. Warm tries are asked again, because they are meant to differ."""
    answer = run.state.answers.get(request.fingerprint()[:16]) if request.temperature == 0 else None
    return ModelReply(text=run.services.journal.get_blob(answer).decode(), model=run.model.name) if answer else None


def _note(
    run: Run, purpose: str, step_id: str, request: ModelRequest, reply: ModelReply, started: float, unreadable: str = ""
) -> None:
    if not reply.usage.total and run.state.answers.get(request.fingerprint()[:16]):
        return
    journal = run.services.journal
    prompt = "\n\n".join(f"[{m.role}]\n{m.content}" for m in request.messages)
    if request.begin:
        prompt += f"\n\n[assistant begins]\n{request.begin}"
    run.note(
        e.ModelAnswered(
            purpose=purpose,
            step_id=step_id,
            prompt=journal.put_blob(prompt.encode()),
            answer=journal.put_blob(reply.text.encode()),
            prompt_tokens=reply.usage.prompt_tokens,
            output_tokens=reply.usage.output_tokens,
            cached_tokens=reply.usage.cached_tokens,
            duration_ms=round((time.perf_counter() - started) * 1000),
            finish_reason=reply.finish_reason,
            temperature=request.temperature,
            unreadable=unreadable,
            key=request.fingerprint()[:16] if request.temperature == 0 else "",
        )
    )

"""Ask the model one question, and again if the answer cannot be read. Every call is recorded in the journal."""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from surefoot.core.purpose import Purpose
from surefoot.errors import ContextOverflow, UnreadableAnswer
from surefoot.journal import events as e
from surefoot.journal.bus import Source
from surefoot.journal.redacted_stream import RedactedStream
from surefoot.models.base import Message, ModelReply, ModelRequest, OnText
from surefoot.models.parsing.answer import read_json
from surefoot.models.providers.messages import alternate
from surefoot.models.providers.retry import RetryNotice, retries
from surefoot.prompting.drafts.short import Draft, schema_of
from surefoot.prompting.fit import after_overflow, fitted
from surefoot.prompting.run_context import RunContext
from surefoot.prompting.templates import render

if TYPE_CHECKING:
    from tenacity import AsyncRetrying

D = TypeVar("D", bound=Draft)
T = TypeVar("T")

FENCE_END = "\n```"
"""Where a prefilled answer ends. Text after the file is not used."""

DECISION_TOKENS = {
    Purpose.UNDERSTAND: 500,
    Purpose.APPROACH: 700,
    Purpose.PLAN: 1_200,
    Purpose.ACT: 500,
    Purpose.REFLECT: 300,
    Purpose.REPAIR: 400,
}
"""How many tokens a decision may have: a longer one is never usable. Answers with files have only the configured
limit."""

DEFAULT_ANSWER_TOKENS = 2_048
MAX_ATTEMPTS = 3
"""How often a question is asked if the answers cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    purpose: Purpose
    text: str
    step_id: str = ""
    temperature: float = 0.0
    bare: bool = False
    """Send the text alone, without the system message."""
    prefill: str = ""
    """The beginning of the answer, for models that can continue one. The answer then ends with the fenced block."""


def ask_json(run: RunContext, prompt: Prompt, into: type[D]) -> Awaitable[D]:
    """Ask for a draft of the given shape, with constrained decoding where the server supports it."""

    def read(reply: ModelReply) -> D:
        return read_json(reply.text, into, truncated=reply.finish_reason == "length")

    return ask(run, prompt, read, schema_of(into))


def ask_text(run: RunContext, prompt: Prompt) -> Awaitable[ModelReply]:
    """Ask for a free answer: file contents and edits, which are not sent as JSON."""
    return ask(run, prompt, lambda reply: reply, None, attempts=1)


async def ask(
    run: RunContext,
    prompt: Prompt,
    read: Callable[[ModelReply], T],
    schema: dict[str, Any] | None,
    *,
    attempts: int = MAX_ATTEMPTS,
) -> T:
    """Return what `read` makes of the answer. If it raises `UnreadableAnswer`, ask again with the problem.

    A prompt that does not fit into the window is sent shorter.
    """
    messages = [Message(role="user", content=prompt.text)]
    for attempt in range(1, attempts + 1):
        request = _request(run, prompt, messages, prompt.temperature + 0.3 * (attempt - 1), schema)
        run.budget.check()
        await run.budget.confirm(prompt.step_id)
        started = time.perf_counter()
        request = await fitted(run.tokens, request)
        reply = _answered_before(run, request)
        while reply is None:
            try:
                async for call in retries_of(run):
                    with call, _shown(run, prompt.step_id) as on_text:
                        reply = await run.model.complete(request, on_text)
            except ContextOverflow as error:
                request = _shorter(run, request, error)
                reply = _answered_before(run, request)
            else:
                assert reply is not None
                run.tokens.learn(request, reply)
        try:
            answer = read(_with_closed_fence(request, reply))
        except UnreadableAnswer as error:
            _note(run, prompt, request, reply, started, unreadable=error.problem)
            if attempt == attempts:
                raise
            messages = [
                messages[0],
                Message(role="assistant", content=reply.text[:2000] or "(empty)"),
                Message(role="user", content=f"This cannot be used: {error.problem}\nAnswer again, in the asked form."),
            ]
            continue
        _note(run, prompt, request, reply, started)
        return answer
    raise AssertionError("unreachable")


def _shorter(run: RunContext, request: ModelRequest, error: ContextOverflow) -> ModelRequest:
    """Return a shorter request after one that was too long. Raises `error` if it cannot be shortened."""
    shorter = after_overflow(run.tokens, request, error)
    if shorter is None:
        raise error
    return shorter


@contextmanager
def _shown(run: RunContext, step_id: str) -> Iterator[OnText]:
    """Show watchers the answer while it is written, without secrets."""
    stream = RedactedStream(run.redactor, run.bus.writer(Source("text", step_id)), by_word=True)
    try:
        yield stream.feed
    finally:
        stream.flush()


def _with_closed_fence(request: ModelRequest, reply: ModelReply) -> ModelReply:
    ended = request.begin and reply.finish_reason == "stop"
    return reply.with_(text=f"{reply.text}{FENCE_END}\n") if ended else reply


def _request(
    run: RunContext, prompt: Prompt, messages: list[Message], temperature: float, schema: dict[str, Any] | None
) -> ModelRequest:
    system = () if prompt.bare else (Message(role="system", content=render("system_questions")),)
    messages = [message.model_copy(update={"content": run.redactor.redact(message.content)}) for message in messages]
    configured = run.config.max_output_tokens or DEFAULT_ANSWER_TOKENS
    limit = min(configured, run.profile.max_answer_tokens or configured)
    request = ModelRequest(
        messages=alternate((*system, *messages)),
        output_schema=schema,
        temperature=min(temperature, 1.0),
        max_tokens=min(DECISION_TOKENS.get(prompt.purpose, limit), limit),
        # At temperature 0 an answer is meant to be repeatable; above it, answers to one prompt are meant to differ.
        seed=1 + run.state.model_calls if temperature else 1,
    )
    # A prefill with a secret is not used: sent as it is, it would leak; redacted, it would end up in the file.
    if prompt.prefill and run.model.traits.continues and run.redactor.redact(prompt.prefill) == prompt.prefill:
        request = request.with_(begin=prompt.prefill, stop=(FENCE_END,))
    return request


def _answered_before(run: RunContext, request: ModelRequest) -> ModelReply | None:
    """Return the recorded answer to the same question, or None. Thus a decision that was made, and perhaps approved, is
    not made again after a pause. At temperatures above 0 there is none: these answers are meant to differ."""
    answer = run.state.answers.get(request.fingerprint()[:16]) if request.temperature == 0 else None
    return ModelReply(text=run.journal.get_blob(answer).decode(), model=run.model.name) if answer else None


def retries_of(run: RunContext) -> "AsyncRetrying":
    """Return the configured retry policy. Every retry is recorded."""

    def note(notice: RetryNotice) -> None:
        wait = round(notice.wait_seconds, 2)
        run.note(e.ModelRetried(error=str(notice.error), attempt=notice.attempt, of=notice.of, wait_seconds=wait))

    limits = run.config.reflection
    return retries(attempts=limits.max_temporary_retries + 1, first_wait=limits.backoff_seconds, on_retry=note)


def _note(
    run: RunContext, prompt: Prompt, request: ModelRequest, reply: ModelReply, started: float, unreadable: str = ""
) -> None:
    if not reply.usage.total and run.state.answers.get(request.fingerprint()[:16]):
        return
    text = "\n\n".join(f"[{m.role}]\n{m.content}" for m in request.messages)
    if request.begin:
        text += f"\n\n[assistant begins]\n{request.begin}"
    answer = run.redactor.redact_known(reply.text)
    # An answer with a secret is stored without it, so it cannot be reused and is asked for again.
    reusable = request.temperature == 0 and answer == reply.text
    run.note(
        e.ModelAnswered(
            purpose=prompt.purpose,
            step_id=prompt.step_id,
            prompt=run.journal.put_blob(text.encode()),
            answer=run.journal.put_blob(answer.encode()),
            prompt_tokens=reply.usage.prompt_tokens,
            output_tokens=reply.usage.output_tokens,
            cached_tokens=reply.usage.cached_tokens,
            cost_usd=run.budget.cost_of(reply.usage),
            duration_ms=round((time.perf_counter() - started) * 1000),
            finish_reason=reply.finish_reason,
            temperature=request.temperature,
            unreadable=unreadable,
            key=request.fingerprint()[:16] if reusable else "",
        )
    )

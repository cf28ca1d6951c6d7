"""Reducers for conversations with a model."""

from collections.abc import Callable
from typing import Any

from surefoot.journal import events as e
from surefoot.journal.state import CallResult, Conversation, RunState


def _context_given(state: RunState, event: e.ContextGiven, at: float) -> None:
    state.context = event


def _opened(state: RunState, event: e.ConversationOpened, at: float) -> None:
    parent = state.conversations.get(event.parent)
    inherited = parent.items[: event.keep] if parent else []
    conversation = Conversation(
        event.conversation,
        event.step_id,
        event.attempt,
        event.parent,
        event.tools,
        [*inherited, *event.items],
        prefix=min(parent.prefix, event.keep) if parent else len(event.items),
        candidate=event.candidate,
        earlier=event.earlier,
    )
    if parent is not None:
        conversation.earlier = parent.earlier if event.keep > parent.earlier else 0
        if event.keep == len(parent.items) and not event.items:
            conversation.results = dict(parent.results)
        conversation.masked = {position for position in parent.masked if position < event.keep}
        conversation.news = parent.news
        if event.keep >= parent.counted:
            conversation.prompt_tokens, conversation.counted = parent.prompt_tokens, parent.counted
    state.conversations[conversation.id] = conversation


def _grew(state: RunState, event: e.ConversationGrew, at: float) -> None:
    conversation = state.conversations[event.conversation]
    conversation.items.extend(event.items)
    conversation.news = ()


def _masked(state: RunState, event: e.ConversationMasked, at: float) -> None:
    conversation = state.conversations[event.conversation]
    conversation.masked.update(event.positions)
    conversation.window = event.window or conversation.window
    # The server's token count no longer applies.
    conversation.prompt_tokens = conversation.counted = 0


def _call_answered(state: RunState, event: e.CallAnswered, at: float) -> None:
    conversation = state.conversations[event.conversation]
    conversation.results[event.call_id] = CallResult(event.ok, event.result)
    if event.tool == "cannot":
        # Its result names them.
        conversation.news = ()


def model_turn(state: RunState, event: e.ModelAnswered) -> None:
    """Append the answer of the model to the conversation that it belongs to."""
    conversation = state.conversations.get(event.conversation)
    if conversation is None or not event.item:
        return
    conversation.items.append(event.item)
    conversation.prompt_tokens = event.prompt_tokens + event.output_tokens
    conversation.counted = len(conversation.items)
    conversation.turns += 1


def resumed(state: RunState, changed: tuple[str, ...]) -> None:
    """Record that the run goes on, and which files were changed meanwhile. The conversations of running steps are told
    of them; without one, the newest conversation, and the survey, after which a step starts afresh."""
    conversations = list(state.conversations.values())
    if state.outcome is not None:
        for conversation in conversations:
            conversation.resumed_after = conversation.turns
    if changed:
        working = [conversation for conversation in conversations if conversation.step_id in state.running]
        survey = [conversation for conversation in conversations if not conversation.step_id]
        for conversation in working or (*survey[-1:], *conversations[-1:]):
            conversation.news = tuple(dict.fromkeys((*conversation.news, *changed)))


def interrupted_call(state: RunState, step_id: str, call_id: str) -> None:
    """Record that the action of a call was interrupted and undone."""
    for conversation in state.conversations.values():
        if conversation.step_id == step_id:
            conversation.results.setdefault(call_id, CallResult(False, ""))


HANDLERS: dict[type[Any], Callable[[RunState, Any, float], None]] = {
    e.ContextGiven: _context_given,
    e.ConversationOpened: _opened,
    e.ConversationGrew: _grew,
    e.ConversationMasked: _masked,
    e.CallAnswered: _call_answered,
}

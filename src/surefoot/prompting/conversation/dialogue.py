"""Conversations as they are stored in the journal and sent to the model.

Every item is a blob, and the journal has the hashes in order. A process that resumes a run sends the next request byte
for byte as the killed one would have sent it.
"""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from surefoot.core.purpose import Purpose
from surefoot.journal import events as e
from surefoot.journal.bus import Source
from surefoot.journal.redacted_stream import RedactedStream
from surefoot.journal.state import Conversation
from surefoot.models.base import Live, ModelReply, ModelRequest
from surefoot.models.items import (
    AssistantTurn,
    Item,
    Message,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    dump_item,
    load_item,
)
from surefoot.prompting.ask import retries_of
from surefoot.prompting.conversation.writing import CallsInProgress
from surefoot.prompting.fit import without_middle
from surefoot.prompting.results import NOT_EXECUTED, known_result, mask_item
from surefoot.prompting.run_context import RunContext
from surefoot.workspace.errors import named

RESULT_SHARE = 6
CHANGED_MEANWHILE = "While the run had stopped, somebody else changed these files. Look at them again"
_MAX_NEWS = 30


class Dialogue:
    """Reads and continues the conversations of one run."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._items: dict[str, Item] = {}
        self._specifications: dict[str, tuple[ToolSpec, ...]] = {}

    def start(
        self,
        tools: Sequence[ToolSpec],
        items: Iterable[Item],
        *,
        step_id: str = "",
        attempt: int = 0,
        parent: Conversation | None = None,
        keep: int = 0,
        reason: str = "",
        candidate: int = 0,
        earlier: int = 0,
    ) -> Conversation:
        """Open a conversation; with `parent`, as a branch after its first `keep` items.

        `earlier`: how many items after the first are from the run that this one continues.
        """
        state = self._run.state
        conversation = f"c{len(state.conversations) + 1}"
        described = json.dumps([tool.model_dump(mode="json") for tool in tools], ensure_ascii=False)
        self._run.note(
            e.ConversationOpened(
                conversation=conversation,
                step_id=step_id,
                attempt=attempt,
                parent=parent.id if parent else "",
                keep=keep,
                items=tuple(map(self._put, items)),
                tools=self._run.journal.put_blob(described.encode()),
                reason=reason,
                candidate=candidate,
                earlier=earlier,
            )
        )
        return state.conversations[conversation]

    def start_like(self, parent: Conversation, items: Iterable[Item], reason: str, *, keep: int = 0) -> Conversation:
        """Open a conversation for the same attempt: after the first `keep` items of another, or without any."""
        return self.start(
            self.tools(parent),
            items,
            step_id=parent.step_id,
            attempt=parent.attempt,
            parent=parent if keep else None,
            keep=keep,
            reason=reason,
            candidate=parent.candidate,
        )

    @property
    def window(self) -> int:
        """The context window in tokens: that of the model's traits, or a smaller one that the server reported."""
        reported = [c.window for c in self._run.state.conversations.values() if c.window]
        return min([self._run.model.traits.context_tokens, *reported])

    def tools(self, conversation: Conversation) -> tuple[ToolSpec, ...]:
        if conversation.tools not in self._specifications:
            described = json.loads(self._run.journal.get_blob(conversation.tools))
            self._specifications[conversation.tools] = tuple(ToolSpec.model_validate(tool) for tool in described)
        return self._specifications[conversation.tools]

    def newest(self, step_id: str = "", attempt: int = 0) -> Conversation | None:
        """Return the newest conversation of an attempt of a step; without a step, of the survey."""
        conversations = [
            c for c in self._run.state.conversations.values() if (c.step_id, c.attempt) == (step_id, attempt)
        ]
        return conversations[-1] if conversations else None

    def items(self, conversation: Conversation) -> list[Item]:
        """Return the items as the model sees them, with old results masked."""
        items = [self._get(key) for key in conversation.items]
        if conversation.masked:
            ids = self._action_ids(conversation)
            for position in conversation.masked:
                items[position] = mask_item(items[position], ids)
        return items

    def _action_ids(self, conversation: Conversation) -> dict[str, str]:
        """Return the ids by which `read_result` finds the results of calls; empty if that tool is not offered."""
        if not any(tool.name == "read_result" for tool in self.tools(conversation)):
            return {}
        actions = [action for step_run in self._run.state.steps.values() for action in step_run.actions]
        times = Counter(action.call_id for action in actions)
        return {action.call_id: action.id for action in actions if times[action.call_id] == 1 and action.ok is not None}

    def head(self, conversation: Conversation) -> list[Item]:
        """Return the instructions and the task, which every window begins with."""
        items = self.items(conversation)
        return [*items[:1], *items[1 + conversation.earlier : conversation.prefix]]

    def own_turns(self, conversation: Conversation) -> list[AssistantTurn]:
        """Return the model's turns in this run, without those of a run that it continues."""
        items = map(self._get, conversation.items[1 + conversation.earlier :])
        return [item for item in items if isinstance(item, AssistantTurn)]

    def open_calls(self, conversation: Conversation) -> tuple[ToolCall, ...]:
        """Return the calls of the model's last turn, if their results are not yet part of the conversation."""
        last = self._get(conversation.items[-1]) if conversation.items else None
        return last.calls if isinstance(last, AssistantTurn) else ()

    def not_begun(self, conversation: Conversation) -> list[ToolCall]:
        """Return the open calls that were not begun before the process ended. If a call before them was interrupted,
        there are none: the model has to decide again."""
        calls = self.open_calls(conversation)
        known = [conversation.results.get(call.id) for call in calls]
        if any(result is not None and not result.text for result in known):
            return []
        return [call for call in calls if self.result_of(conversation, call) is None]

    def answered_calls(self, conversation: Conversation) -> list[ToolCall]:
        """Return the successful calls of a candidate's conversation, in order, from all its windows."""
        own = [c for c in self._run.state.conversations.values() if _is_same_work(c, conversation)]
        answered = {key: result.ok for c in own for key, result in c.results.items()}
        keys = dict.fromkeys(key for c in own for key in c.items[1 + c.earlier :])
        turns = [item for item in map(self._get, keys) if isinstance(item, AssistantTurn)]
        calls = [call for turn in turns for call in turn.calls]
        return [call for call in calls if answered.get(call.id)]

    def last_text(self, conversation: Conversation) -> str:
        last = self._get(conversation.items[-1]) if conversation.items else None
        return last.content if isinstance(last, AssistantTurn) else ""

    def result_of(self, conversation: Conversation, call: ToolCall) -> ToolResultMessage | None:
        """Return the result of a call: the recorded one, or that of its action; None if neither is known."""
        known = known_result(self._run.state, self._run.journal, self._run.redactor, conversation, call)
        return known and known.with_(text=self._fitting(known.text))

    def _fitting(self, text: str) -> str:
        """Shorten a result to at most a sixth of the window."""
        return without_middle(text, self.window / RESULT_SHARE)

    def results_of_open_calls(self, conversation: Conversation) -> list[Item]:
        """Return one result for each open call, in order. A call without a known result was not executed."""
        return [
            self.result_of(conversation, call) or ToolResultMessage(call_id=call.id, text=NOT_EXECUTED, ok=False)
            for call in self.open_calls(conversation)
        ]

    def answer(self, conversation: Conversation, call: ToolCall, text: str, *, ok: bool = True) -> None:
        """Record the result of a call that is not an action of a step."""
        self._run.note(
            e.CallAnswered(
                conversation=conversation.id,
                call_id=call.id,
                tool=call.name,
                arguments=call.arguments,
                ok=ok,
                result=self._run.journal.put_blob(self._run.redactor.redact(text).encode()),
            )
        )

    def hand_over(self, before: Conversation, after: Conversation) -> None:
        """Repeat the results of a step's actions in the conversation of the next step, which began in the same turn."""
        for call in self.open_calls(before):
            if call.id not in before.results and (result := self.result_of(before, call)) is not None:
                self.answer(after, call, result.text, ok=result.ok)

    def resumed(self, conversation: Conversation) -> str:
        """Return what the model is told that said that the task cannot be done, when a person resumes the run."""
        names = named(conversation.news, _MAX_NEWS)
        files = f" These files are new or changed since: {names}." if names else ""
        return f"The user resumed the run.{files} Look again."

    def append(self, conversation: Conversation, items: Iterable[Item]) -> None:
        """Add items after the model's last turn, and tell it of files that others changed while the run had stopped."""
        names = named(conversation.news, _MAX_NEWS)
        news = [Message(role="user", content=f"{CHANGED_MEANWHILE}: {names}")] if names else []
        if hashes := tuple(map(self._put, [*items, *news])):
            self._run.note(e.ConversationGrew(conversation=conversation.id, items=hashes))

    async def ask(self, conversation: Conversation, purpose: Purpose) -> AssistantTurn:
        """Ask for the model's next turn, and record it."""
        run = self._run
        request = self.request(conversation)
        run.budget.check()
        await run.budget.confirm(conversation.step_id)
        started = time.perf_counter()
        reply: ModelReply | None = None
        async for call in retries_of(run):
            with call, self._shown_to_watchers(conversation.step_id) as live:
                reply = await run.model.complete(request, live)
        assert reply is not None
        turn = reply.as_turn()
        run.tokens.learn(request, reply)
        # Recorded durably before it is used, so that an answer that was paid for is not requested again.
        await run.record(
            e.ModelAnswered(
                purpose=purpose,
                step_id=conversation.step_id,
                prompt=run.journal.put_blob(self._new_part(conversation).encode()),
                # For people only: the turn itself is stored as it is, because its calls are carried out.
                answer=run.journal.put_blob(run.redactor.redact_known(_readable(turn)).encode()),
                prompt_tokens=reply.usage.prompt_tokens,
                output_tokens=reply.usage.output_tokens,
                cached_tokens=reply.usage.cached_tokens,
                cost_usd=run.budget.cost_of(reply.usage),
                duration_ms=round((time.perf_counter() - started) * 1000),
                finish_reason=reply.finish_reason,
                conversation=conversation.id,
                item=self._put(turn),
                request=request.fingerprint(),
            )
        )
        return turn

    @contextmanager
    def _shown_to_watchers(self, step_id: str) -> Iterator[Live]:
        """Show watchers the answer while it is written, without secrets."""
        run = self._run
        stream = RedactedStream(run.redactor, run.bus.writer(Source("text", step_id)), by_word=True)
        calls = CallsInProgress(lambda tool, subject: run.bus.call(tool, run.redactor.redact(subject), step_id))
        try:
            yield Live(text=stream.feed, call=calls.feed)
        finally:
            stream.flush()

    def request(self, conversation: Conversation) -> ModelRequest:
        """Return the next request of a conversation. Apart from settings, it depends only on what is recorded."""
        run = self._run
        limit = run.model.traits.output_limit
        if run.config.max_output_tokens is not None:
            limit = min(limit, run.config.max_output_tokens)
        return ModelRequest(
            messages=tuple(self.items(conversation)),
            tools=self.tools(conversation),
            temperature=None,
            max_tokens=limit,
            effort=run.model.traits.effort,
            cache_key=run.state.context.session if run.state.context else run.state.run_id,
        )

    def _new_part(self, conversation: Conversation) -> str:
        """Return the items since the model's last turn as text, for people who look at the run later."""
        items = [self._get(key) for key in conversation.items]
        start = max((i + 1 for i, item in enumerate(items) if isinstance(item, AssistantTurn)), default=0)
        return "\n\n".join(f"[{item.role}]\n{item.content}" for item in items[start:])

    def _put(self, item: Item) -> str:
        if not isinstance(item, AssistantTurn):
            item = _redacted(item, self._run.redactor.redact(item.content))
        key = self._run.journal.put_blob(dump_item(item))
        self._items[key] = item
        return key

    def _get(self, key: str) -> Item:
        if key not in self._items:
            self._items[key] = load_item(self._run.journal.get_blob(key))
        return self._items[key]


def _is_same_work(one: Conversation, other: Conversation) -> bool:
    return (one.step_id, one.attempt, one.candidate) == (other.step_id, other.attempt, other.candidate)


def _redacted(item: Item, text: str) -> Item:
    if isinstance(item, ToolResultMessage):
        return item.with_(text=text)
    return item if isinstance(item, AssistantTurn) else item.with_(content=text)


def _readable(turn: AssistantTurn) -> str:
    calls = [f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)})" for call in turn.calls]
    return "\n".join(filter(None, [turn.content, *calls]))

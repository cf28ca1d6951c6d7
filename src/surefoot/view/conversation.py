"""The conversation with the model, from the events of a run and the stored contents."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from surefoot.errors import JournalError
from surefoot.journal import events as e
from surefoot.models.items import AssistantTurn, ToolResultMessage, load_item
from surefoot.view.documents import Message

MAX_TEXT = 20_000
"""How many characters of one message are kept."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """Turns events into messages: prompts and answers, or the items of a conversation, each once."""

    blob: Callable[[str], bytes]
    hide: Callable[[str], str]
    """Removes secrets."""

    def messages(self, record: e.Record) -> list[Message]:
        match record.event:
            case e.ModelAnswered(conversation="") as event:
                common = (record, str(event.purpose), event.step_id)
                prompt = self._message(*common, 0, "user", self._text(event.prompt))
                answer = self._message(*common, 1, "assistant", self._text(event.answer))
                return self._counted(event, [prompt, answer])
            case e.ModelAnswered() as event:
                return self._counted(event, self._items(record, (event.item,), event.step_id, str(event.purpose)))
            case e.ConversationOpened() as event:
                # The items of an earlier run belong to that run.
                own = (*event.items[:1], *event.items[1 + event.earlier :])
                return self._items(record, own, event.step_id, "")
            case e.ConversationGrew() as event:
                return self._items(record, event.items, "", "")
        return []

    @staticmethod
    def _counted(event: e.ModelAnswered, messages: list[Message]) -> list[Message]:
        """Add the tokens of a call to its answer, which is the last message."""
        for message in messages[-1:]:
            message["tokens"] = {
                "prompt": event.prompt_tokens,
                "output": event.output_tokens,
                "cached": event.cached_tokens,
            }
        return messages

    def _items(self, record: e.Record, hashes: tuple[str, ...], step_id: str, purpose: str) -> list[Message]:
        messages = []
        for number, digest in enumerate(filter(None, hashes)):
            try:
                item = load_item(self.blob(digest))
            except (JournalError, ValueError):
                continue
            message = self._message(record, purpose, step_id, number, item.role, item.content)
            if isinstance(item, AssistantTurn):
                for call in item.calls:
                    # Arguments that are not JSON are shown as the model wrote them.
                    arguments, cut = self._clean(call.raw if call.problem and call.raw else call.arguments)
                    message["calls"].append({"id": call.id, "name": call.name, "arguments": arguments})
                    message["truncated"] += cut
            elif isinstance(item, ToolResultMessage):
                message["result_of"] = item.call_id
            messages.append(message)
        return messages

    def _clean(self, value: Any) -> tuple[Any, int]:
        """A value without secrets and with its texts shortened, and the number of characters that are left out.

        Secrets are searched for in each text: in JSON they might be escaped, and would not be found.
        """
        if isinstance(value, str):
            text = self.hide(value)
            return text[:MAX_TEXT], max(len(text) - MAX_TEXT, 0)
        if isinstance(value, dict):
            parts = {self.hide(str(key)): self._clean(part) for key, part in value.items()}
            return {key: part for key, (part, _) in parts.items()}, sum(cut for _, cut in parts.values())
        if isinstance(value, list | tuple):
            items = [self._clean(part) for part in value]
            return [part for part, _ in items], sum(cut for _, cut in items)
        return value, 0

    def _message(self, record: e.Record, purpose: str, step_id: str, number: int, role: str, text: str) -> Message:
        text = self.hide(text)
        return {
            "id": f"{record.seq}.{number}",
            "role": role,
            "purpose": purpose,
            "step": step_id or None,
            "text": text[:MAX_TEXT],
            "calls": [],
            "result_of": None,
            "tokens": None,
            "at": record.at,
            "truncated": max(len(text) - MAX_TEXT, 0),
        }

    def _text(self, digest: str) -> str:
        try:
            return self.blob(digest).decode("utf-8", "replace")
        except JournalError:
            return "(no longer stored)"

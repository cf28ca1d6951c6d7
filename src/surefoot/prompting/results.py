"""The results of calls and checks as a model sees them. The engine, the conversation and a follow-up share them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from surefoot.core.outcome import CheckResult
from surefoot.journal.redact import Redactor
from surefoot.journal.state import Conversation, RunState
from surefoot.journal.store.base import Journal
from surefoot.models.items import Item, ToolCall, ToolResultMessage

INTERRUPTED = "This was interrupted. What it had changed in the workspace was undone."
NOT_EXECUTED = "This was not executed: the attempt ended or was interrupted before it."
CHECK_CHARS = 6_000
"""How much of a failing check's output is shown."""
SHOWN_CHARS = 160
"""How much of the first line of a masked result is shown."""


def step_done(step_id: str) -> str:
    """The beginning of the answer to a finish_step that ended the step."""
    return f"Step {step_id} is done."


def failing_part(results: Sequence[CheckResult], limit: int = CHECK_CHARS) -> str:
    """Quote the output of at most two failing checks, and name the others."""
    red = [result for result in results if not result.passed]
    parts = [f"$ {result.check.label}\n{shortened(result.detail.strip(), limit)}" for result in red[:2]]
    more = f"\nand {len(red) - 2} more: {', '.join(r.check.label for r in red[2:])}" if len(red) > 2 else ""
    return "\n\n".join(parts) + more


def shortened(text: str, limit: int) -> str:
    """Return a text, or about `limit` characters of its beginning and its end."""
    return text if len(text) <= limit else f"{text[: limit // 3]}\n[...]\n{text[-2 * limit // 3 :]}"


def known_result(
    state: RunState, journal: Journal, redactor: Redactor, conversation: Conversation, call: ToolCall
) -> ToolResultMessage | None:
    """Return the recorded result of a call, or the result of its action; None if nothing is known."""
    if (recorded := conversation.results.get(call.id)) is not None:
        text = journal.get_blob(recorded.text).decode() if recorded.text else INTERRUPTED
        return ToolResultMessage(call_id=call.id, text=text, ok=recorded.ok)
    step_run = state.steps.get(conversation.step_id)
    for action in step_run.actions if step_run else ():
        if action.call_id == call.id and action.ok is not None:
            text = redactor.redact(action.summary) or "(no output)"
            return ToolResultMessage(call_id=call.id, text=text, ok=action.ok)
    return None


def mask_item(item: Item, action_ids: Mapping[str, str] = MappingProxyType({})) -> Item:
    """Mask a result; return other items unchanged. `action_ids`: the ids of actions by the id of their call."""
    if not isinstance(item, ToolResultMessage):
        return item
    return item.with_(text=mask(item.text, action_ids.get(item.call_id, "")))


def mask(text: str, action_id: str = "") -> str:
    """Return the text that replaces a masked result: its first line, and how to see it again."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    shown = first if len(first) <= SHOWN_CHARS else f"{first[:SHOWN_CHARS]}..."
    again = f'; read_result("{action_id}") shows what it was' if action_id else ""
    gone = f"this old result of {len(text):,} characters is no longer shown; repeat the call to see it again"
    return f"{shown}\n[{gone}{again}]"

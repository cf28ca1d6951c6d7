"""The person at the editor. Questions with options are sent as permission requests; the next message answers others."""

from collections.abc import Callable
from typing import Any

from surefoot.core.questions import Question


class EditorPerson:
    def __init__(self, session_id: str, say: Callable[[str], None]) -> None:
        self._session_id = session_id
        self._say = say
        self.client: Any = None
        """The connection to the editor."""

    async def answer(self, question: Question) -> str | None:
        """Return the option that the user selects; None if there are no options, or if the user cancels."""
        from acp import text_block, tool_content
        from acp.schema import PermissionOption, ToolCallUpdate

        options = [
            PermissionOption(option_id=answer, name=name, kind=kind) for answer, name, kind in options_of(question)
        ]
        if not options:
            self._say(f"{question.text}\n")
            return None
        first, _, _ = question.text.partition("\n")
        call = ToolCallUpdate(
            tool_call_id=f"question:{question.id}",
            title=first[:200],
            kind="other",
            status="pending",
            content=[tool_content(text_block(question.text))],
        )
        response = await self.client.request_permission(session_id=self._session_id, tool_call=call, options=options)
        if response.outcome.outcome != "selected":
            return None
        return str(response.outcome.option_id)


def options_of(question: Question) -> list[tuple[str, str, Any]]:
    """The answers that can be offered as options, each with its name and its kind in the protocol."""
    if question.kind == "clarification":
        return []
    if question.kind == "conflict":
        return [(option, option.capitalize(), "reject_once" if option == "stop" else "allow_once")
                for option in question.options]  # fmt: skip
    always = [(f"always {question.rule}", f"Always: {question.rule}", "allow_always")] if question.rule else []
    return [("yes", "Yes", "allow_once"), *always, ("no", "No", "reject_once")]

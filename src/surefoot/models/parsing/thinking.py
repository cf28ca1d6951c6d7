"""Remove the thinking of reasoning models from their answers."""

import re

_OPENING = re.compile(r"\s*<(think|thinking|thought)>", re.IGNORECASE)
_CLOSING = re.compile(r"</(?:think|thinking|thought)>", re.IGNORECASE)


def without_thinking(text: str) -> str:
    """The answer without thinking. If a template opens the thinking tag itself, only its end is in the text."""
    closing = _CLOSING.search(text)
    if _OPENING.match(text):
        return text[closing.end() :] if closing else ""
    if closing and "```" not in text[: closing.start()] and "<think" not in text[: closing.start()].lower():
        return text[closing.end() :]
    return text

"""Shorten prompts that do not fit into the model's window. Pure, except for calls to a server's tokenizer.

Quoted blocks lose their middle first, the longest one first; then other long passages; finally the text as a whole.
The beginning and the end of a prompt are kept, because the task and the question are there.
"""

import re
from collections.abc import Callable

from surefoot.errors import ContextOverflow
from surefoot.models.base import ModelRequest
from surefoot.models.items import Message
from surefoot.models.tokens import TokenMeter, weigh

Size = Callable[[str], float]

MIN_BLOCK_TOKENS = 120
"""A block is not cut to less than this, unless nothing else is left."""
MIN_TEXT_TOKENS = 200
"""Below this nothing more can be shortened."""
MIN_ANSWER_SHARE = 16
"""The answer gets at least one part in this many of the window, or all that it asks for if that is less."""
MAX_CUTS = 200
_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```\s*$", re.DOTALL | re.MULTILINE)
_LEFT_OUT = "[{} characters are left out here]"


def shorten(text: str, limit: float, size: Size = weigh) -> str:
    """Cut a text to at most `limit` tokens by leaving out the middle of its longest parts."""
    total = size(text)
    if total <= limit:
        return text
    for find in (_blocks, _passages):
        for _ in range(MAX_CUTS):
            parts = [(size(text[start:end]), start, end) for start, end in find(text)]
            longest, start, end = max(parts, default=(0.0, 0, 0))
            if longest <= MIN_BLOCK_TOKENS:
                break
            target = max(longest - (total - limit) * 1.05, longest / 4, MIN_BLOCK_TOKENS * 0.9)
            shorter = without_middle(text[start:end], target, size)
            if len(shorter) >= end - start:
                break
            text = text[:start] + shorter + text[end:]
            total = size(text)
            if total <= limit:
                return text
    return without_middle(text, limit, size)


def without_middle(text: str, limit: float, size: Size = weigh) -> str:
    """Keep the beginning and the end of a text, at line ends where there are some."""
    total = size(text)
    if total <= limit:
        return text
    share = max(limit - size(_LEFT_OUT.format(len(text))) - 2, 0) / total
    while True:
        kept_chars = int(len(text) * share)
        head, tail = text[: kept_chars * 2 // 3], text[len(text) - kept_chars // 3 :]
        head = head[: head.rfind("\n") + 1] if "\n" in head[len(head) // 2 :] else head
        at = tail.find("\n", 0, len(tail) // 2 + 1)
        tail = tail[at + 1 :] if at >= 0 else tail
        mark = _LEFT_OUT.format(f"{len(text) - len(head) - len(tail):,}")
        parts = [head.rstrip("\n"), mark, tail]
        shorter = "\n".join(part for part in parts if part)
        # The characters that are kept may weigh more than those left out.
        if size(shorter) <= limit or share < 0.001:
            return shorter
        share *= 0.8


def _blocks(text: str) -> list[tuple[int, int]]:
    return [match.span(1) for match in _FENCE.finditer(text)]


def _passages(text: str) -> list[tuple[int, int]]:
    """Parts between headings and blank lines, without the first and the last, which are the task and the question."""
    passages = [match.span() for match in re.finditer(r"(?:(?!\n\n|\n#).)+", text, re.DOTALL)]
    return passages[1:-1]


async def fitted(meter: TokenMeter, request: ModelRequest) -> ModelRequest:
    """Return the request, shortened if it would leave no room for an answer."""
    room = meter.window - min(request.max_tokens, max(meter.window // MIN_ANSWER_SHARE, 1))
    size = await meter.size(request)
    return request if size <= room else _shortened(request, room / size) or request


def after_overflow(meter: TokenMeter, request: ModelRequest, error: ContextOverflow) -> ModelRequest | None:
    """Return a shorter request after the server refused one; None if nothing can be shortened."""
    meter.overflowed(request, error)
    answer = min(request.max_tokens, max(meter.window // MIN_ANSWER_SHARE, 1))
    share = (meter.window - answer) / error.needed if error.needed else 0.75
    return _shortened(request, min(share, 0.9))


def _shortened(request: ModelRequest, share: float) -> ModelRequest | None:
    """Cut the longest message to reduce the request to `share` of its size. None if nothing can be cut."""
    weights = [weigh(item.content) for item in request.messages]
    longest = max(range(len(weights)), key=weights.__getitem__)
    item = request.messages[longest]
    target = weights[longest] - sum(weights) * (1 - share * 0.98)
    if not isinstance(item, Message) or weights[longest] <= MIN_TEXT_TOKENS:
        return None
    cut = item.with_(content=shorten(item.content, max(target, MIN_TEXT_TOKENS)))
    if len(cut.content) >= len(item.content):
        return None
    return request.with_(messages=(*request.messages[:longest], cut, *request.messages[longest + 1 :]))

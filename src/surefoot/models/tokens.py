"""Token counts of texts: counted by the server where it can, else an upper estimate.

The estimate weighs characters by their class. During a run it is scaled by the server's own figures: the usage of an
answer, or the size in an error.
"""

import json
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable

from surefoot.errors import ContextOverflow
from surefoot.models.base import LanguageModel, ModelReply, ModelRequest
from surefoot.models.items import AssistantTurn, Item, ToolSpec

ITEM_TOKENS = 8
"""The overhead of a message."""
LETTER, SPACE, LINE, SIGN, DIGIT, FOREIGN_LETTER, IDEOGRAPH, RARE = 0.28, 0.2, 0.5, 0.7, 1.0, 0.6, 1.0, 3.0
"""Tokens per character. Many tokenizers split numbers into digits, and Chinese has about a token per character."""
MIN_LEARNT_WEIGHT = 300
"""Figures for a shorter request are not used, because they are mostly overhead."""
MARGIN = 1.1
MIN_SCALE, MAX_SCALE = 0.6, 4.0
FIRST_IDEOGRAPH, FIRST_RARE = 0x2E80, 0x10000


def weigh(text: str) -> float:
    """Return an upper estimate of the tokens of a text."""
    return sum(_cost(character) * count for character, count in Counter(text).items())


def _cost(character: str) -> float:
    if character.isascii():
        if character.isalpha():
            return LETTER
        if character.isdigit():
            return DIGIT
        return LINE if character == "\n" else SPACE if character.isspace() else SIGN
    code = ord(character)
    if code >= FIRST_RARE:
        return RARE
    return IDEOGRAPH if code >= FIRST_IDEOGRAPH or not character.isalpha() else FOREIGN_LETTER


def weigh_item(item: Item) -> float:
    text = item.content
    if isinstance(item, AssistantTurn):
        text += item.reasoning + "".join(call.raw or str(call.arguments) for call in item.calls)
    return weigh(text) + ITEM_TOKENS


def weigh_tools(tools: Iterable[ToolSpec]) -> float:
    return weigh(_described(tools))


def _described(tools: Iterable[ToolSpec]) -> str:
    return "".join(json.dumps(tool.model_dump(mode="json"), ensure_ascii=False) for tool in tools)


class TokenMeter:
    """Measures requests to the model of one run."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._scale = 0.0
        self._limit = 0

    @property
    def window(self) -> int:
        """The model's context window: that of its traits, or a smaller one that the server reported."""
        known = self._model.traits.context_tokens
        return min(known, self._limit) if self._limit else known

    @property
    def scale(self) -> float:
        return self._scale or 1.0

    def estimate(self, text: str) -> int:
        return math.ceil(weigh(text) * self.scale)

    async def size(self, request: ModelRequest) -> int:
        """The tokens of a request. The server counts them only if they may fill more than half of the window."""
        rough = math.ceil(_weight(request) * self.scale)
        if rough <= self.window // 2:
            return rough
        counted = await count_tokens(self._model, _text(request))
        return rough if counted is None else counted + ITEM_TOKENS * len(request.messages)

    def learn(self, request: ModelRequest, reply: ModelReply) -> None:
        self._learn(request, reply.usage.prompt_tokens)

    def overflowed(self, request: ModelRequest, error: ContextOverflow) -> None:
        """Learn from a refusal: the window, and how the server counts."""
        self._learn(request, error.needed or 0)
        if error.limit:
            self._limit = error.limit
        elif not error.needed:
            # The error gives no numbers.
            self._limit = max(math.ceil(_weight(request) * self.scale) * 3 // 4, 1)

    def _learn(self, request: ModelRequest, tokens: int) -> None:
        weight = _weight(request)
        if tokens > 0 and weight >= MIN_LEARNT_WEIGHT:
            scale = min(max(tokens / weight * MARGIN, MIN_SCALE), MAX_SCALE)
            self._scale = max(self._scale, scale)


async def count_tokens(model: object, text: str) -> int | None:
    """The tokens of a text, as the model's server counts them. None: the server does not count."""
    count: Callable[[str], Awaitable[int | None]] | None = getattr(model, "count_tokens", None)
    return None if count is None else await count(text)


def _weight(request: ModelRequest) -> float:
    tools = weigh_tools(request.tools) if request.tools else 0.0
    return tools + weigh(request.begin) + sum(map(weigh_item, request.messages))


def _text(request: ModelRequest) -> str:
    parts = [item.content for item in request.messages]
    for turn in [item for item in request.messages if isinstance(item, AssistantTurn)]:
        parts += [turn.reasoning, *(f"{call.raw or call.arguments}" for call in turn.calls)]
    return "\n".join([_described(request.tools), *parts, request.begin])

"""The features of Anthropic's messages that a model supports, learnt from the errors of the service."""

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from surefoot.models.base import Effort, ModelRequest
from surefoot.models.items import AssistantTurn, dump_item
from surefoot.models.providers.families import Family, nearest_effort
from surefoot.models.providers.wire.blocks import block_messages, block_tools
from surefoot.models.providers.wire.schema import schema_key
from surefoot.models.providers.wire.turns import is_conversation

_ANSWER_TOOL = "answer"
_FORMAT_ERROR = re.compile(r"output_config|output_format|structured.?output|schema|grammar", re.IGNORECASE)
_UNSUPPORTED = re.compile(r"not support|unsupported|not permitted|not available|unknown|unexpected", re.IGNORECASE)
_BAD_REASONING = re.compile(r"signature|thinking.{0,40}(?:cannot be modified|must remain|blocks? in the latest)", re.I)
_OUTPUT_LIMIT = re.compile(r"max_tokens.{0,20}> (\d+), which is the maximum", re.IGNORECASE)
_BUDGETS: dict[Effort, int] = {
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 24_576,
    "max": 28_672,
}
"""Tokens for thinking, for models that do not decide this themselves."""
_MIN_BUDGET = 1_024


@dataclass
class Features:
    model: str = ""
    family: Family = field(default_factory=Family)
    temperature: bool = True
    structured: bool = True
    uncompilable: set[str] = field(default_factory=set)
    """Keys of schemas that cannot be enforced while decoding."""
    thinking: Literal["adaptive", "manual", "off", ""] = ""
    """How thinking is requested, if another way than the family's was learnt."""
    effort: bool = True
    forces_tools: bool = True
    max_output: int | None = None
    foreign: set[str] = field(default_factory=set)
    """Keys of turns whose reasoning the service refuses, such as after a change of account."""

    def request_fields(self, request: ModelRequest) -> dict[str, Any]:
        return self._conversation_fields(request) if is_conversation(request) else self._plain_fields(request)

    def learn(self, status: int, error: str, request: ModelRequest, fields: dict[str, Any]) -> bool:
        """Adapt to the error that the server answered to `fields`. True if another form of the request may succeed."""
        if status != 400:
            return False
        if self.temperature and "temperature" in error:
            self.temperature = False
            return True
        if (limit := _OUTPUT_LIMIT.search(error)) and int(limit.group(1)) < fields["max_tokens"]:
            self.max_output = int(limit.group(1))
            return True
        if is_conversation(request) and self._learn_thinking(error, request, fields):
            return True
        has_format = "format" in fields.get("output_config", {})
        if request.output_schema is not None and has_format and _FORMAT_ERROR.search(error):
            self.structured = not _UNSUPPORTED.search(error)
            self.uncompilable.add(schema_key(request.output_schema))
            return True
        return False

    def _plain_fields(self, request: ModelRequest) -> dict[str, Any]:
        fields = self._common_fields(request)
        if self.temperature and request.temperature is not None:
            # No longer a parameter of the SDK, because only older models support it.
            fields["extra_body"] = {"temperature": min(request.temperature, 1.0)}
        if request.output_schema is None:
            return fields
        if self.structured and schema_key(request.output_schema) not in self.uncompilable:
            return {**fields, "output_config": {"format": _format(request.output_schema)}}
        tool = {"name": _ANSWER_TOOL, "description": "Gives the answer.", "input_schema": request.output_schema}
        return {**fields, "tools": [tool], "tool_choice": {"type": "tool", "name": _ANSWER_TOOL}}

    def _conversation_fields(self, request: ModelRequest) -> dict[str, Any]:
        system, messages = block_messages(request.messages, self._is_own)
        fields = {**self._common_fields(request), "messages": messages, **({"system": system} if system else {})}
        thinking = self._thinking(request, fields["max_tokens"])
        if thinking:
            fields["thinking"] = thinking
        elif self.temperature and self.family.samples and request.temperature is not None:
            fields["extra_body"] = {"temperature": min(request.temperature, 1.0)}
        if request.tools:
            fields["tools"] = block_tools(request.tools)
            # A model with a fixed thinking budget refuses a forced call.
            forced = request.tool_choice == "required" and thinking.get("type") != "enabled" and self.forces_tools
            if forced or request.tool_choice == "none":
                fields["tool_choice"] = {"type": "any" if forced else "none"}
        config: dict[str, Any] = {}
        if self.effort and request.effort != "none" and (effort := nearest_effort(request.effort, self.family.efforts)):
            config["effort"] = effort
        if request.output_schema is not None and self.structured:
            config["format"] = _format(request.output_schema)
        return {**fields, "output_config": config} if config else fields

    def _common_fields(self, request: ModelRequest) -> dict[str, Any]:
        fields: dict[str, Any] = {"max_tokens": min(request.max_tokens, self.max_output or request.max_tokens)}
        return {**fields, "stop_sequences": list(request.stop)} if request.stop else fields

    def _thinking(self, request: ModelRequest, max_tokens: int) -> dict[str, Any]:
        kind = self.thinking or self.family.thinking
        if kind == "off" or request.effort == "none":
            return {}
        if kind == "adaptive":
            return {"type": "adaptive"}
        budget = min(_BUDGETS.get(request.effort, 0) if request.effort else 0, max_tokens - _MIN_BUDGET)
        return {"type": "enabled", "budget_tokens": budget} if budget >= _MIN_BUDGET else {}

    def _is_own(self, turn: AssistantTurn) -> bool:
        same = turn.protocol == "messages" and turn.model == self.model
        return same and (not self.foreign or _turn_key(turn) not in self.foreign)

    def _learn_thinking(self, error: str, request: ModelRequest, fields: dict[str, Any]) -> bool:
        if "tool_choice" in fields and re.search(r"tool_choice|forces? tool", error, re.I) and self.forces_tools:
            self.forces_tools = False
            return True
        turns = {_turn_key(item) for item in request.messages if isinstance(item, AssistantTurn) and self._is_own(item)}
        if turns and _BAD_REASONING.search(error):
            self.foreign |= turns
            return True
        if "effort" in fields.get("output_config", {}) and "effort" in error:
            self.effort = False
            return True
        if "thinking" not in fields or "thinking" not in error:
            return False
        sent = fields["thinking"]["type"]
        if sent == "adaptive":
            self.thinking = "manual" if "adaptive" in error and self.thinking != "adaptive" else "off"
        else:
            self.thinking = "adaptive" if "adaptive" in error and not self.thinking else "off"
        return True


def _format(schema: dict[str, Any]) -> dict[str, Any]:
    from anthropic import transform_schema

    return {"type": "json_schema", "schema": transform_schema(schema)}


def _turn_key(turn: AssistantTurn) -> str:
    return hashlib.sha256(dump_item(turn)).hexdigest()

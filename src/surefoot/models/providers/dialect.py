"""The features of the protocol that an OpenAI-compatible server supports, learnt from its errors.

Servers do not announce whether they can constrain their output, take tools, or how they call `max_tokens`; they answer
with an error. Such an error changes the form of requests to that server and model for the life of the process, so each
feature costs at most one failed request.
"""

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from surefoot.models.base import Effort, ModelRequest
from surefoot.models.items import Message
from surefoot.models.providers.catalog import PROVIDERS
from surefoot.models.providers.families import LEVELS, Family, family_of, nearest_effort
from surefoot.models.providers.messages import alternate, with_instruction
from surefoot.models.providers.wire.chat import chat_messages, chat_tools, plain_messages
from surefoot.models.providers.wire.schema import fits_strict_mode, has_shape, schema_key
from surefoot.models.providers.wire.turns import is_conversation

Mode = Literal["strict", "json_schema", "json_object", "prompt"]
"""How a schema is requested, from the strictest mode to the weakest."""

_MODES: tuple[Mode, ...] = ("strict", "json_schema", "json_object", "prompt")
_OPTIONAL_FIELDS = (
    *("temperature", "seed", "stop", "stream_options", "parallel_tool_calls", "tool_choice", "reasoning_effort"),
    *("prompt_cache_key", "chat_template_kwargs", "strict"),
)
_MESSAGE_FIELDS = ("reasoning_content", "reasoning_details", "reasoning")
_FORMAT_ERROR = re.compile(
    r"response.?format|json_schema|json_object|json mode|guided|grammar|structured.?output", re.I
)
_SCHEMA_ERROR = re.compile(
    r"invalid schema|schema is invalid|invalid grammar|pars\w+ grammar|unsupported .{0,30}schema|"
    r"additionalproperties|'required' is required",
    re.I,
)
_NO_SYSTEM_ROLE = re.compile(r"system role not supported|system (?:role|message)s? (?:is|are) not supported", re.I)
_NO_TOOLS = re.compile(
    r"not support (?:the use of )?(?:tools?|function)\b|support(?:s|ed)? tool use|requires? --jinja|"
    r"tool(?:s| use| call(?:s|ing)?) (?:is|are) not (?:support|enabl)|enable-auto-tool-choice|tool-call-parser|"
    r"(?:unknown|unexpected|unsupported|unrecognized|extra)\b.{0,40}\btools\b|"
    r"[\"'`]tools[\"'`].{0,40}not (?:support|allow|permit)",
    re.I,
)
_REASONING_MISSING = re.compile(
    r"(?:missing|must|require|need|expect).{0,80}reasoning_content|reasoning_content.{0,80}(?:missing|must|require|need)",
    re.I,
)
_OUTPUT_LIMIT = re.compile(
    r"(?:at most|valid range of max\w*tokens is \[1,|less than or equal to|<=|cannot exceed|maximum (?:value|of)?)"
    r"\D{0,20}(\d{3,7})|\d+ > (\d{3,7}), which is the maximum",
    re.I,
)
_ROOM = re.compile(r"\(\d+ > (\d+) - (\d+)\)")
"""vLLM's wording if an answer would not fit beside its prompt: (requested > context - prompt)."""
MIN_ROOM = 1024


@dataclass
class Dialect:
    family: Family = field(default_factory=Family)
    model: str = ""
    provider: str = ""
    """A name in the catalogue, or empty for a server that is not in it."""
    mode: Mode = "strict"
    """The strictest mode that this server supports."""
    max_tokens_field: str = "max_tokens"
    max_output: int | None = None
    """The longest answer that the server allows, once it has said so."""
    tools: Literal["native", "text"] = "native"
    tokenizer: bool = True
    """False once the server has failed to count tokens."""
    unsupported: set[str] = field(default_factory=set)
    fold_system: bool = False
    efforts: tuple[Effort, ...] = ()
    _schema_modes: dict[str, Mode] = field(default_factory=dict)
    """Weaker modes for single schemas that the server cannot compile."""
    _rooms: dict[str, int] = field(default_factory=dict)
    """The longest answers to single requests, by their fingerprints."""

    def mode_for(self, schema: dict[str, Any]) -> Mode:
        schema_mode = self._schema_modes.get(
            schema_key(schema), "strict" if fits_strict_mode(schema) else "json_schema"
        )
        return max(self.mode, schema_mode, key=_MODES.index)

    def request_fields(self, request: ModelRequest) -> dict[str, Any]:
        """The fields of the HTTP request, in the form that this server supports."""
        fields: dict[str, Any] = {
            self.max_tokens_field: self.output_limit(request),
            "stream_options": {"include_usage": True},
        }
        temperature = self._temperature(request)
        if temperature is not None:
            fields["temperature"] = temperature
        if request.seed is not None:
            fields["seed"] = request.seed
        if request.stop:
            fields["stop"] = list(request.stop)
        if is_conversation(request):
            fields["messages"] = chat_messages(
                request.messages,
                model=self.model,
                family=self.family,
                fold_system=self.fold_system,
                refused=self.unsupported,
            )
            fields |= self._tool_fields(request)
            if request.output_schema is not None and (mode := self.mode_for(request.output_schema)) != "prompt":
                fields["response_format"] = _response_format(request.output_schema, mode)
        else:
            fields |= self._plain_fields(request)
        fields |= self._effort_fields(request)
        return {name: value for name, value in fields.items() if name not in self.unsupported}

    def output_limit(self, request: ModelRequest) -> int:
        limits = [request.max_tokens, self.max_output or request.max_tokens]
        if self._rooms:
            limits.append(self._rooms.get(request.fingerprint(), request.max_tokens))
        return min(limits)

    def learn(self, status: int, error: str, request: ModelRequest, fields: dict[str, Any]) -> bool:
        """Adapt to the error that the server answered to `fields`. True if another form of the request may succeed."""
        if status not in (400, 404, 422, 500, 501):
            return False
        if request.output_schema is not None and "response_format" in fields and _FORMAT_ERROR.search(error):
            self._weaken(request.output_schema, error)
            return True
        if "reasoning_effort" in fields and self._learn_effort(error):
            return True
        if "tools" in fields and self.tools == "native" and _NO_TOOLS.search(error):
            self.tools = "text"
            return True
        if status not in (400, 422, 500):
            return False
        if self.max_tokens_field == "max_tokens" and "max_completion_tokens" in error and "too large" not in error:
            self.max_tokens_field = "max_completion_tokens"
            return True
        if not self.fold_system and _NO_SYSTEM_ROLE.search(error):
            self.fold_system = True
            return True
        return self._learn_length(error, request, fields) or self._learn_fields(error, request, fields)

    def is_unenforced(self, schema: dict[str, Any], answer: str) -> bool:
        """True if the server accepted the schema but did not enforce it. From then on a weaker mode is used."""
        mode = self.mode_for(schema)
        if mode in ("json_object", "prompt") or has_shape(answer, schema):
            return False
        self.mode = "json_object"
        return True

    def _plain_fields(self, request: ModelRequest) -> dict[str, Any]:
        messages = alternate(request.messages, fold_system=self.fold_system)
        fields: dict[str, Any] = {}
        if request.output_schema is not None:
            mode = self.mode_for(request.output_schema)
            messages = _with_schema_instruction(messages, request.output_schema, mode)
            if mode != "prompt":
                fields["response_format"] = _response_format(request.output_schema, mode)
        if request.begin:
            messages = (*messages, Message(role="assistant", content=request.begin))
        return {**fields, "messages": plain_messages(messages)}

    def _tool_fields(self, request: ModelRequest) -> dict[str, Any]:
        if not request.tools:
            return {}
        # vLLM constrains only the arguments of strict tools; other servers do not know the field.
        strict = self.provider == "vllm" and "strict" not in self.unsupported
        fields: dict[str, Any] = {"tools": chat_tools(request.tools, self.family, strict=strict)}
        if request.tool_choice == "none" or (request.tool_choice == "required" and self.family.required_choice):
            fields["tool_choice"] = request.tool_choice
        # llama.cpp allows only one call per answer unless it is told otherwise.
        fields["parallel_tool_calls"] = True
        if request.cache_key and self.provider == "openai":
            fields["prompt_cache_key"] = request.cache_key
        return fields

    def _effort_fields(self, request: ModelRequest) -> dict[str, Any]:
        if request.effort is None:
            return {}
        known = PROVIDERS.get(self.provider)
        if not self.provider or (known is not None and known.effort_in_template):
            # A template reads one of these names or none.
            level = nearest_effort(request.effort, self.efforts or ("low", "medium", "high"))
            return {"chat_template_kwargs": {"enable_thinking": request.effort != "none", "reasoning_effort": level}}
        effort = nearest_effort(request.effort, self.efforts)
        return {"reasoning_effort": effort} if effort else {}

    def _temperature(self, request: ModelRequest) -> float | None:
        if not is_conversation(request):
            return request.temperature if self.family.samples else None
        if self.family.temperature is not None:
            return self.family.temperature
        return request.temperature if self.family.samples else None

    def _learn_effort(self, error: str) -> bool:
        """Learn the levels that the error lists, or that the server takes none."""
        if not re.search(r"reasoning.?effort|reasoning", error, re.I):
            return False
        listed = re.search(r"(?:support\w*|valid|allowed|expected|one of|must be)\b(.*)", error, re.I | re.DOTALL)
        words = re.findall(r"\b(none|minimal|low|medium|high|xhigh|max)\b", listed.group(1)) if listed else []
        refused = re.search(r"not support\w* (?:the )?(?:value )?['\"`]?(\w+)", error, re.I)
        levels = tuple(lv for lv in LEVELS if lv in words and not (refused and lv == refused.group(1)))
        if levels and levels != self.efforts:
            self.efforts = levels
            return True
        if _refuses(error, "reasoning_effort") or _refuses(error, "reasoning"):
            self.unsupported.add("reasoning_effort")
            return True
        return False

    def _learn_length(self, error: str, request: ModelRequest, fields: dict[str, Any]) -> bool:
        """Learn how long an answer may be: in general, or beside this prompt."""
        sent = fields.get(self.max_tokens_field, 0)
        if not re.search(r"max_tokens|max_completion_tokens|max_output_tokens|output tokens|completion tokens", error):
            return False
        if room := _ROOM.search(error):
            left = int(room.group(1)) - int(room.group(2))
            if MIN_ROOM <= left < sent:
                self._rooms[request.fingerprint()] = left
                return True
            return False
        match = _OUTPUT_LIMIT.search(error)
        limit = int(match.group(1) or match.group(2)) if match else 0
        if "context" in error or not 0 < limit < sent:
            return False
        self.max_output = limit
        return True

    def _learn_fields(self, error: str, request: ModelRequest, fields: dict[str, Any]) -> bool:
        sent = set(fields)
        sent |= {"strict"} if any(tool["function"].get("strict") for tool in fields.get("tools", ())) else set()
        if "tools" in fields and not self.family.reasoning_required and _REASONING_MISSING.search(error):
            self.family = replace(self.family, reasoning_required=True)
            self.unsupported -= {"reasoning_content"}
            return True
        if request.tool_choice == "required" and "tool_choice" in fields and "tool_choice" in error:
            self.family = replace(self.family, required_choice=False)
            return True
        in_messages = {name for message in fields["messages"] for name in message}
        rejected = {name for name in _OPTIONAL_FIELDS if name in sent and _refuses(error, name)}
        rejected |= {name for name in _MESSAGE_FIELDS if name in in_messages and _refuses(error, name)}
        if "reasoning_content" in rejected:
            self.family = replace(self.family, reasoning_required=False)
        self.unsupported |= rejected
        return bool(rejected)

    def _weaken(self, schema: dict[str, Any], error: str) -> None:
        mode = self.mode_for(schema)
        if mode in ("strict", "json_schema") and _SCHEMA_ERROR.search(error):
            self._schema_modes[schema_key(schema)] = _MODES[_MODES.index(mode) + 1]
        else:
            self.mode = "prompt" if mode == "json_object" else "json_object"


_known: dict[tuple[str, str, str], Dialect] = {}


def dialect_of(base_url: str, model: str, provider: str = "") -> Dialect:
    family = family_of(model)
    new = Dialect(
        family=family,
        model=model,
        provider=provider,
        max_tokens_field=family.max_tokens_field if provider == "openai" else "max_tokens",
        efforts=family.efforts,
    )
    return _known.setdefault((base_url, model, provider), new)


def _with_schema_instruction(messages: tuple[Message, ...], schema: dict[str, Any], mode: Mode) -> tuple[Message, ...]:
    if mode in ("strict", "json_schema"):
        return messages
    compact = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return with_instruction(messages, f"Answer with one JSON object that fits this JSON schema: {compact}")


def _response_format(schema: dict[str, Any], mode: Mode) -> dict[str, Any]:
    if mode == "json_object":
        return {"type": "json_object"}
    described = {"name": "answer", "schema": schema, "strict": mode == "strict"}
    return {"type": "json_schema", "json_schema": described}


def _refuses(error: str, name: str) -> bool:
    """Whether the error is about this field: its name in quotes, or near words such as "unsupported"."""
    quoted = rf"""["'`]{name}\\?["'`]"""
    beside = rf"\b{name}\b.{{0,60}}(?:support|permitted|allowed|unknown|unrecogni|unexpected|deprecated)"
    after = rf"(?:unsupported|unknown|unrecogni\w+|unexpected|extra).{{0,40}}\b{name}\b"
    return re.search(f"{quoted}|{beside}|{after}", error, re.IGNORECASE) is not None

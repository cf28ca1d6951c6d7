"""What one OpenAI-compatible server understands of the protocol, found out by asking.

Nobody announces it: a server that cannot constrain its output, or that calls `max_tokens` something else, says so with
an error when it is asked. The first such error of a server and model is learnt from and the question put differently;
what was learnt is kept for the life of the process, so it costs one request, once.
"""

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from surefoot.models.base import Message, ModelRequest
from surefoot.models.messages import alternate, with_instruction

Mode = Literal["strict", "json_schema", "json_object", "prompt"]
"""How a schema is asked for, from the strongest way to the weakest."""

_MODES: tuple[Mode, ...] = ("strict", "json_schema", "json_object", "prompt")
_DROPPABLE = ("temperature", "seed", "stop", "stream_options")
_FORMAT = re.compile(r"response.?format|json_schema|json_object|json mode|guided|grammar|structured.?output", re.I)
_ONE_SCHEMA = re.compile(r"invalid schema|schema is invalid|invalid grammar|pars\w+ grammar|unsupported .{0,30}schema|"
                         r"additionalproperties|'required' is required", re.I)  # fmt: skip
_NO_SYSTEM_ROLE = re.compile(r"system role not supported|system (?:role|message)s? (?:is|are) not supported", re.I)


@dataclass
class Dialect:
    mode: Mode = "strict"
    """The strongest way that this server has."""
    limit_name: str = "max_tokens"
    refused: set[str] = field(default_factory=set)
    fold_system: bool = False
    _of_schema: dict[str, Mode] = field(default_factory=dict)
    """Weaker ways for single schemas that the server cannot compile."""

    def mode_for(self, schema: dict[str, Any]) -> Mode:
        own = self._of_schema.get(_key(schema), "strict" if fits_strict_mode(schema) else "json_schema")
        return max(self.mode, own, key=_MODES.index)

    def phrase(self, request: ModelRequest) -> dict[str, Any]:
        """The request's fields as this server takes them."""
        messages = alternate(request.messages, fold_system=self.fold_system)
        fields: dict[str, Any] = {
            self.limit_name: request.max_tokens,
            "temperature": request.temperature,
            "stream_options": {"include_usage": True},
        }
        if request.seed is not None:
            fields["seed"] = request.seed
        if request.stop:
            fields["stop"] = list(request.stop)
        if request.output_schema is not None:
            mode = self.mode_for(request.output_schema)
            messages = _asking_for(messages, request.output_schema, mode)
            if mode != "prompt":
                fields["response_format"] = _response_format(request.output_schema, mode)
        if request.begin:
            messages = (*messages, Message(role="assistant", content=request.begin))
        fields["messages"] = [{"role": message.role, "content": message.content} for message in messages]
        return {name: value for name, value in fields.items() if name not in self.refused}

    def learn(self, status: int, complaint: str, request: ModelRequest, sent: dict[str, Any]) -> bool:
        """Whether a refusal of `sent` taught something, so that putting the question differently may help."""
        if status not in (400, 404, 422, 500, 501):
            return False
        if request.output_schema is not None and "response_format" in sent and _FORMAT.search(complaint):
            self._weaken(request.output_schema, complaint)
            return True
        if status not in (400, 422, 500):
            return False
        if self.limit_name == "max_tokens" and "max_completion_tokens" in complaint and "too large" not in complaint:
            self.limit_name = "max_completion_tokens"
            return True
        if not self.fold_system and _NO_SYSTEM_ROLE.search(complaint):
            self.fold_system = True
            return True
        unknown = {name for name in _DROPPABLE if name in sent and _refuses(complaint, name)}
        self.refused |= unknown
        return bool(unknown)

    def doubt(self, schema: dict[str, Any], answer: str) -> bool:
        """True, and remembered, when a server that took the schema cannot have enforced it."""
        mode = self.mode_for(schema)
        if mode in ("json_object", "prompt") or _has_shape(answer, schema):
            return False
        self.mode = "json_object"
        return True

    def _weaken(self, schema: dict[str, Any], complaint: str) -> None:
        mode = self.mode_for(schema)
        if mode in ("strict", "json_schema") and _ONE_SCHEMA.search(complaint):
            self._of_schema[_key(schema)] = _MODES[_MODES.index(mode) + 1]
        else:
            self.mode = "prompt" if mode == "json_object" else "json_object"


_known: dict[tuple[str, str], Dialect] = {}


def dialect_of(base_url: str, model: str) -> Dialect:
    return _known.setdefault((base_url, model), Dialect())


def fits_strict_mode(schema: Any) -> bool:
    """Strict mode wants every object closed and every field of it required, at every depth."""
    if isinstance(schema, list):
        return all(fits_strict_mode(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties):
            return False
    # A property may be called "properties" or "type": names are looked through, not at.
    named = [part for key in ("properties", "$defs", "definitions") for part in schema.get(key, {}).values()]
    nested = [schema[key] for key in ("items", "prefixItems", "anyOf", "oneOf", "allOf", "not") if key in schema]
    return fits_strict_mode(named + nested)


def _asking_for(messages: tuple[Message, ...], schema: dict[str, Any], mode: Mode) -> tuple[Message, ...]:
    if mode in ("strict", "json_schema"):
        return messages
    compact = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return with_instruction(messages, f"Answer with one JSON object that fits this JSON schema: {compact}")


def _response_format(schema: dict[str, Any], mode: Mode) -> dict[str, Any]:
    if mode == "json_object":
        return {"type": "json_object"}
    described = {"name": "answer", "schema": schema, "strict": mode == "strict"}
    return {"type": "json_schema", "json_schema": described}


def _refuses(complaint: str, name: str) -> bool:
    """Whether the complaint is about this field: its name in quotes, or beside words of refusal."""
    quoted = rf"""["'`]{name}\\?["'`]"""
    beside = rf"\b{name}\b.{{0,60}}(?:support|permitted|allowed|unknown|unrecogni|unexpected|deprecated)"
    after = rf"(?:unsupported|unknown|unrecogni\w+|unexpected|extra).{{0,40}}\b{name}\b"
    return re.search(f"{quoted}|{beside}|{after}", complaint, re.IGNORECASE) is not None


def _has_shape(answer: str, schema: dict[str, Any]) -> bool:
    """Whether an answer could come from a server that kept to the schema. Only what every such server holds is looked
    at, because some leave out lengths and patterns."""
    try:
        found = json.loads(answer)
    except ValueError:
        return False
    if schema.get("type") != "object":
        return True
    return isinstance(found, dict) and set(schema.get("required", ())) <= found.keys()


def _key(schema: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()

"""Families of models, recognized by name: their limits, reasoning levels, and the rules of their servers.

A name that matches no family gets the defaults of `Family`, which suit most servers; differences are learnt from
the server's errors. Limits apply to hosted models only: a self-hosted server decides its context itself.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from surefoot.models.base import Effort

_GPT5: tuple[Effort, ...] = ("minimal", "low", "medium", "high")
_GPT51: tuple[Effort, ...] = ("none", "low", "medium", "high")
_GPT52: tuple[Effort, ...] = ("none", "low", "medium", "high", "xhigh")
_LOW_TO_HIGH: tuple[Effort, ...] = ("low", "medium", "high")
_CLAUDE: tuple[Effort, ...] = ("low", "medium", "high", "max")
_CLAUDE47: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")
LEVELS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True)
class Family:
    context_tokens: int | None = None
    max_output_tokens: int | None = None
    efforts: tuple[Effort, ...] = ()
    samples: bool = True
    """False if the model refuses or ignores a temperature."""
    temperature: float | None = None
    """The temperature that the model was tuned for. It is sent in conversations instead of the server's default."""
    reasoning_required: bool = False
    """True if every earlier turn must have `reasoning_content`, even if it is empty."""
    required_choice: bool = True
    """False if `tool_choice` "required" is refused."""
    inline_references: bool = False
    """True if `$defs` and `$ref` in tool schemas are not understood."""
    short_ids: bool = False
    """True if ids of calls must have nine letters or digits, and no user message may follow a tool result."""
    thinking: Literal["adaptive", "manual"] = "adaptive"
    """How thinking is requested from Anthropic's models."""
    max_tokens_field: str = "max_tokens"
    responses: bool = False
    """True if OpenAI's own service should be called over its Responses API."""
    apply_patch: bool = False
    """True if the model was trained to edit files with `apply_patch`, which it gets in place of `edit_file`."""


@dataclass(frozen=True)
class _Row:
    pattern: str
    family: Family = field(default_factory=Family)


def _openai(efforts: tuple[Effort, ...], context: int = 272_000, output: int = 128_000) -> Family:
    return Family(
        context_tokens=context,
        max_output_tokens=output,
        efforts=efforts,
        samples=False,
        max_tokens_field="max_completion_tokens",
        responses=True,
        apply_patch=True,
    )


def _claude(output: int, efforts: tuple[Effort, ...], thinking: Literal["adaptive", "manual"], samples: bool) -> Family:
    return Family(200_000, output, efforts, samples=samples, thinking=thinking)


_ROWS = (
    _Row(r"gpt-oss", Family(131_072, 32_768, _LOW_TO_HIGH)),
    _Row(r"gpt-5(?:-|$|(?=\.0))", _openai(_GPT5)),
    _Row(r"gpt-5\.1", _openai(_GPT51)),
    _Row(r"gpt-(?:5\.\d|[6-9])", _openai(_GPT52)),
    _Row(r"o[1-9](?:-|$)", replace(_openai(_LOW_TO_HIGH, 200_000, 100_000), apply_patch=False)),
    _Row(r"gpt-4\.1", Family(1_000_000, 32_768)),
    _Row(r"gpt-4o", Family(128_000, 16_384)),
    _Row(r"gpt-[34]", Family()),
    _Row(r"codex", _openai(_LOW_TO_HIGH, 200_000, 100_000)),
    _Row(r"gpt-", Family(apply_patch=True)),
    _Row(r"claude-(?:3|2|instant)", _claude(8_192, (), "manual", True)),
    _Row(r"claude-(?:opus-4(?:-1)?(?:-2|$))", _claude(32_000, (), "manual", True)),
    _Row(r"claude-opus-4-5", _claude(64_000, _LOW_TO_HIGH, "manual", True)),
    _Row(r"claude-(?:sonnet-4(?:-5)?(?:-2|$)|haiku-4-5)", _claude(64_000, (), "manual", True)),
    _Row(r"claude-(?:opus|sonnet)-4-6", _claude(64_000, _CLAUDE, "adaptive", True)),
    _Row(r"claude", _claude(64_000, _CLAUDE47, "adaptive", False)),
    _Row(
        r"deepseek.*(?:reason|r1|v[4-9])",
        Family(128_000, 64_000, _LOW_TO_HIGH, samples=False, reasoning_required=True, required_choice=False),
    ),
    _Row(r"deepseek", Family(128_000, 8_192, reasoning_required=True)),
    _Row(
        r"kimi.*(?:thinking|k2\.[5-9]|k[3-9])",
        Family(262_144, 65_536, _LOW_TO_HIGH, temperature=1.0, required_choice=False),
    ),
    _Row(r"kimi|moonshot", Family(131_072, 32_768, temperature=0.6, required_choice=False)),
    _Row(r"glm-5\.(?:[3-9])", Family(200_000, 128_000, ("low", "high", "max"), temperature=1.0)),
    _Row(r"glm-5\.2", Family(200_000, 128_000, LEVELS, temperature=1.0)),
    _Row(r"glm-(?:4\.[6-9]|5)", Family(200_000, 128_000, temperature=1.0)),
    _Row(r"glm-4", Family(128_000, 64_000)),
    _Row(r"qwen.*coder", Family(131_072, 65_536, required_choice=False, inline_references=True)),
    _Row(r"qwen", Family(131_072, 32_768, inline_references=True)),
    _Row(r"minimax", Family(200_000, 65_536, temperature=1.0)),
    _Row(r"(?:mistral|devstral|codestral|magistral|ministral)", Family(131_072, 32_768, short_ids=True)),
    _Row(r"gemini", Family(1_000_000, 65_536, _LOW_TO_HIGH)),
    _Row(r"grok", Family(256_000, 32_768)),
)
_UNKNOWN = Family()


def family_of(model: str) -> Family:
    """The family of a model, by the last part of its name: "deepseek-chat:free" of "deepseek/deepseek-chat:free"."""
    name = model.lower().rsplit("/", 1)[-1].replace("_", "-")
    name = name.replace(".", "-") if "claude" in name else name
    return next((row.family for row in _ROWS if re.match(row.pattern, name)), _UNKNOWN)


def nearest_effort(wanted: Effort | None, available: tuple[Effort, ...]) -> Effort | None:
    """The available level nearest to `wanted`; of two equally near ones, the higher. None: send no level."""
    if wanted is None or not available:
        return None
    position = LEVELS.index(wanted)
    return min(available, key=lambda level: (abs(LEVELS.index(level) - position), -LEVELS.index(level)))

"""Keeps secrets out of what is written down or sent, and control sequences out of what is printed.

Pure functions of text. Redaction runs on everything that goes to the journal, to a model or to a report, so it is
cheap when there is nothing to find: a pattern is tried only where its tell-tale beginning occurs.

It works on whole texts: a secret that is split over two pieces of a stream is seen in neither.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

SHORTEST_SECRET = 8
"""Shorter values are too likely to be ordinary words."""

PLACEHOLDER = "[redacted"
"""How everything begins that stands in the place of a secret."""

PROVIDER_KEYS = frozenset((
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AZURE_OPENAI_API_KEY", "GEMINI_API_KEY",
    "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "MISTRAL_API_KEY", "COHERE_API_KEY", "CO_API_KEY",
    "GROQ_API_KEY", "DEEPSEEK_API_KEY", "OPENROUTER_API_KEY", "TOGETHER_API_KEY", "FIREWORKS_API_KEY",
    "XAI_API_KEY", "DASHSCOPE_API_KEY", "QWEN_API_KEY", "MOONSHOT_API_KEY", "ZHIPUAI_API_KEY", "MINIMAX_API_KEY",
    "SILICONFLOW_API_KEY", "ARK_API_KEY", "PERPLEXITY_API_KEY", "CEREBRAS_API_KEY", "SAMBANOVA_API_KEY",
    "NVIDIA_API_KEY", "REPLICATE_API_TOKEN", "OLLAMA_API_KEY", "VOYAGE_API_KEY", "HF_TOKEN",
    "HUGGINGFACE_API_KEY", "HUGGING_FACE_HUB_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "LLM_API_KEY",
))  # fmt: skip

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:(?:API|ACCESS|SECRET|PRIVATE|SIGNING|ENCRYPTION|MASTER|AUTH|SSH|DEPLOY)?_?KEYS?|APIKEY|TOKENS?|SECRETS?|"
    r"PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|PAT|DSN|COOKIE)(?:_(?:ID|B64|BASE64|VALUE|\d+))?$",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name looks as if it held a key, a token or a password."""
    return name in PROVIDER_KEYS or _SECRET_NAME.search(name) is not None


def provider_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that hold a key of a model provider."""
    return {
        name: value
        for name, value in environ.items()
        if len(value) >= SHORTEST_SECRET
        and (name in PROVIDER_KEYS or (name.startswith("SUREFOOT_") and is_secret_name(name)))
    }


@dataclass(frozen=True, slots=True)
class _Rule:
    """A format of secrets. Patterns begin with plain letters, which Python finds fast, and look back from there for
    what must not stand before; every repetition is bounded or unambiguous, so that no text makes them slow."""

    sign: str
    """It is in every text that matches."""
    pattern: re.Pattern[str]
    replacement: str


def _token(kind: str, signs: Iterable[str], body: str) -> Iterable[_Rule]:
    """Tokens that begin with a sign of their own and stand apart from other letters."""
    for sign in signs:
        begin = rf"{re.escape(sign)}(?<![A-Za-z0-9_-]{re.escape(sign)})"
        yield _Rule(sign, re.compile(begin + body), f"[redacted {kind}]")


_ANY = "[A-Za-z0-9_-]"
_B64 = "[A-Za-z0-9+/=]"
_GAP = r"(?:\s|\\[nr])"
_KEY = r"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_DUMMY = "password|passwd|pass|pwd|secret|postgres|root|admin|test|example|changeme|user|guest|mysql|redis|minio"
"""What stands for a password in examples and on developers' own machines."""
_NAMES = (
    "API_KEY=",
    "APIKEY=",
    "ACCESS_KEY=",
    "SECRET_KEY=",
    "PRIVATE_KEY=",
    "SECRET=",
    "TOKEN=",
    "PASSWORD=",
    "PASSWD=",
)

_RULES: tuple[_Rule, ...] = (
    *_token("api key", ("sk-",), rf"(?={_ANY}{{0,60}}\d)(?={_ANY}{{0,80}}[A-Za-z0-9]{{16}}){_ANY}{{20,}}"),
    *_token("api key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), "[A-Za-z0-9]{16,}"),
    *_token("api key", ("gsk_", "xai-", "nvapi-", "pplx-"), rf"(?={_ANY}{{0,60}}\d){_ANY}{{24,}}"),
    *_token("api key", ("AIza",), rf"{_ANY}{{35}}"),
    *_token("github token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), "[A-Za-z0-9]{30,}"),
    *_token("github token", ("github_pat_",), "[A-Za-z0-9_]{22,}"),
    *_token("gitlab token", ("glpat-",), rf"{_ANY}{{20,}}"),
    *_token("slack token", ("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-"), "[A-Za-z0-9-]{10,}"),
    *_token("aws key", ("AKIA", "ASIA"), r"[A-Z0-9]{16}\b"),
    *_token("google token", ("ya29.",), rf"{_ANY}{{20,}}"),
    *_token("hugging face token", ("hf_",), "[A-Za-z0-9]{30,}"),
    *_token("npm token", ("npm_",), r"[A-Za-z0-9]{36}\b"),
    *_token("pypi token", ("pypi-AgE",), rf"{_ANY}{{40,}}"),
    *_token("docker token", ("dckr_pat_",), rf"{_ANY}{{20,}}"),
    *_token("sendgrid key", ("SG.",), rf"{_ANY}{{16,80}}\.{_ANY}{{16,}}"),
    *_token("age key", ("AGE-SECRET-KEY-1",), "[A-Z0-9]{50,}"),
    *_token("json web token", ("eyJ",), rf"{_ANY}{{10,2000}}\.eyJ{_ANY}{{10,}}\.{_ANY}{{10,}}"),
    _Rule(
        "PRIVATE KEY",
        re.compile(
            rf"-----BEGIN {_KEY}{_GAP}*+(?:[A-Z][A-Za-z-]{{1,30}}: [^\n\\]{{0,100}}{_GAP}++){{0,5}}{_B64}{{16,}}"
            rf"(?:{_GAP}++{_B64}{{16,}})*(?:{_GAP}++{_B64}{{1,15}})?(?:{_GAP}*+-----END {_KEY})?"
        ),
        "[redacted private key]",
    ),
    # Of these only the part behind the hint is secret; the hint stays.
    _Rule("earer ", re.compile(r"(earer +)(?=[A-Za-z._~+/-]{0,100}\d)[A-Za-z0-9._~+/-]{16,}=*"), r"\1[redacted]"),
    _Rule("asic ", re.compile(r"(asic +)(?=[a-z0-9+/]{0,100}[A-Z])[A-Za-z0-9+/]{12,}=*(?![a-z])"), r"\1[redacted]"),
    _Rule(
        "://",
        re.compile(rf"(://[^\s/:@\"'<>]{{0,100}}:)(?!(?:{_DUMMY})@)[^\s/:@\"'<>{{$*%\[][^\s/@\"'<>]{{0,200}}(?=@)"),
        r"\1[redacted]",
    ),
    *(
        _Rule(
            name,
            re.compile(rf"({name}[\"']?)(?=[^\s\"']{{0,100}}\d)(?=[^\s\"']{{0,100}}[A-Za-z])[A-Za-z0-9+/=_.~-]{{16,}}"),
            r"\1[redacted]",
        )
        for name in _NAMES
    ),
)


class Redactor:
    """Replaces secrets in text. It knows the values it was made with, and the formats of common tokens."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for value in secrets if len(value) >= SHORTEST_SECRET for form in _written_forms(value)}
        # The longest first, or the rest of a secret that begins like another would stay.
        self._known = sorted(forms, key=len, reverse=True)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "Redactor":
        """Knows the values of all variables whose names look like keys, passwords or tokens."""
        return cls(
            value
            for name, value in environ.items()
            if is_secret_name(name) and not value.startswith(("/", "~", "./")) and not value.isdigit()
        )

    def redact(self, text: str) -> str:
        for value in self._known:
            if value in text:
                text = text.replace(value, "[redacted]")
        for rule in _RULES:
            if rule.sign in text:
                text = rule.pattern.sub(rule.replacement, text)
        return text


def _written_forms(value: str) -> Iterable[str]:
    """A secret as it is, as a JSON string holds it, and as a URL does."""
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], quote(value, safe="")}


_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_CONTROLS = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # all but tab and newline, and the eight-bit ones
    "\u202a-\u202e\u2066-\u2069"  # turn the direction of writing, so that text reads as what it is not
    "\U000e0000-\U000e007f"  # invisible letters
    "\ud800-\udfff"  # halves of characters, which cannot be printed
    "]"
)


def neutralise(text: str) -> str:
    """Text that a terminal only shows, never obeys. Colours are dropped, other control characters made visible."""
    if _CONTROLS.search(text) is None:
        return text
    return _CONTROLS.sub(_visible, _COLOURS.sub("", text.replace("\r\n", "\n")))


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"<U+{code:04X}>"

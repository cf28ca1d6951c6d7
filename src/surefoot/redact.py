"""Keeps secrets out of what is written down or sent, and control sequences out of what is printed.

Pure functions of text. Redaction runs on everything that goes to the journal, to a model or to a report, so it is
cheap when there is nothing to find: the pattern is tried only where one of its tell-tale beginnings occurs.

It works on whole texts: a secret that is split over two pieces of a stream is seen in neither.
"""

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

SHORTEST_SECRET = 8
"""Shorter values are too likely to be ordinary words."""

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


_TOKEN = r"[A-Za-z0-9_-]"
_B64 = r"[A-Za-z0-9+/=]"
_GAP = r"(?:\s|\\[nr])"
_DUMMY = "password|passwd|pass|pwd|secret|postgres|root|admin|test|example|changeme|user|guest|mysql|redis|minio"
"""What stands for a password in examples and on developers' own machines."""

_FORMATS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    # kind, pattern, the beginnings without which it cannot match
    ("api key", rf"(?<![A-Za-z0-9_-])sk-(?={_TOKEN}*\d)(?={_TOKEN}*[A-Za-z0-9]{{16}}){_TOKEN}{{20,}}", ("sk-",)),
    ("api key", r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}", ("_live_", "_test_")),
    ("api key", r"\bAIza[A-Za-z0-9_-]{35}", ("AIza",)),
    ("api key", r"\b(?:gsk_|xai-|nvapi-|r8_|pplx-)[A-Za-z0-9_-]{24,}", ("gsk_", "xai-", "nvapi-", "r8_", "pplx-")),
    ("github token", r"\bgh[pousr]_[A-Za-z0-9]{30,}", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    ("github token", r"\bgithub_pat_[A-Za-z0-9_]{22,}", ("github_pat_",)),
    ("gitlab token", r"\bglpat-[A-Za-z0-9_-]{20,}", ("glpat-",)),
    ("slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}", ("xox",)),
    ("aws key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", ("AKIA", "ASIA")),
    ("google token", r"\bya29\.[A-Za-z0-9_-]{20,}", ("ya29.",)),
    ("hugging face token", r"\bhf_[A-Za-z0-9]{30,}", ("hf_",)),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}\b", ("npm_",)),
    ("pypi token", r"\bpypi-AgE[A-Za-z0-9_-]{40,}", ("pypi-AgE",)),
    ("docker token", r"\bdckr_pat_[A-Za-z0-9_-]{20,}", ("dckr_pat_",)),
    ("sendgrid key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", ("SG.",)),
    ("age key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{50,}", ("AGE-SECRET-KEY-",)),
    (
        "private key",
        rf"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----{_GAP}*(?:[A-Z][A-Za-z-]+: [^\n]*{_GAP}+)*{_B64}{{16,}}"
        rf"(?:{_GAP}+{_B64}{{16,}})*(?:{_GAP}*{_B64}*{_GAP}*-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----)?",
        ("PRIVATE KEY",),
    ),
    ("json web token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}", (".eyJ",)),
)  # fmt: skip
# Of these only the part behind the hint is secret; the part before it stays.
_AFTER: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (r"[Bb]earer\s+", r"(?=[A-Za-z._~+/-]*\d)[A-Za-z0-9._~+/-]{16,}=*", ("earer ",)),
    (r"[Bb]asic\s+", r"(?=[A-Za-z0-9+/]*[A-Z0-9])[A-Za-z0-9+/]{12,}=*(?![A-Za-z0-9+/])", ("asic ",)),
    (
        r"\b[a-z][a-z0-9+.-]*://[^\s/:@\"'<>]*:",
        rf"(?!(?:{_DUMMY})@)[^\s/:@\"'<>{{$*%\[][^\s/@\"'<>]*(?=@)",
        ("://",),
    ),
    (
        r"\b[A-Z0-9_]*(?:API_?KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY|SECRET|TOKEN|PASSWORD|PASSWD)=[\"']?",
        r"(?=[^\s\"']*\d)(?=[^\s\"']*[A-Za-z])[A-Za-z0-9+/=_.~-]{16,}",
        ("KEY=", "SECRET=", "TOKEN=", "PASSWORD=", "PASSWD="),
    ),
)


class Redactor:
    """Replaces secrets in text. It knows the values it was made with, and the formats of common tokens."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = {form for value in secrets if len(value) >= SHORTEST_SECRET for form in _written_forms(value)}
        # The longest first, or the rest of a secret that begins like another would stay.
        known = [re.escape(value) for value in sorted(values, key=len, reverse=True)]
        self._kinds = [kind for kind, _, _ in _FORMATS]
        parts = [f"(?P<known>{'|'.join(known)})"] if known else []
        parts += [f"(?P<f{i}>{pattern})" for i, (_, pattern, _) in enumerate(_FORMATS)]
        parts += [f"(?P<before{i}>{before})(?P<a{i}>{pattern})" for i, (before, pattern, _) in enumerate(_AFTER)]
        self._pattern = re.compile("|".join(parts))
        self._signs = tuple(values) + tuple(sign for _, _, signs in (*_FORMATS, *_AFTER) for sign in signs)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "Redactor":
        """Knows the values of all variables whose names look like keys, passwords inside URLs, and provider keys."""
        return cls(
            value
            for name, value in environ.items()
            if is_secret_name(name) and not value.startswith(("/", "~", "./")) and not value.isdigit()
        )

    def redact(self, text: str) -> str:
        if not any(sign in text for sign in self._signs):
            return text
        return self._pattern.sub(self._replacement, text)

    def _replacement(self, match: re.Match[str]) -> str:
        group = match.lastgroup or ""
        if group.startswith("f"):
            return f"[redacted {self._kinds[int(group[1:])]}]"
        if group.startswith("a"):
            return match.group("before" + group[1:]) + "[redacted]"
        return "[redacted]"


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

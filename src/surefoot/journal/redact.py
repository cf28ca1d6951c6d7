"""Removes secrets from text that is stored, sent or shown, and control sequences from text that is printed.

Redaction runs on every free text, so it is cheap when there is nothing to find: a pattern is tried only where its fixed
prefix occurs. `redacted_values` says which fields of events it applies to, `redacted_stream` applies it to streams.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from surefoot.config.storage import storage_secrets

SHORTEST_SECRET = 8
"""Shorter values are too likely to be ordinary words."""

PLACEHOLDER = re.compile(r"\[redacted(?: [a-z ]{1,30})?\]")
"""Every replacement for a secret."""

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

_WORD = r"(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)\d{0,4}"
_WORDS = re.compile(rf"{_WORD}(?:[-_.]{_WORD})*")
_LONGEST_ORDINARY = 15


def is_ordinary(value: str) -> bool:
    """Whether a value is made of ordinary words and short, such as `postgres`, `changeme1` or `created_at`.

    Such a value of a secret variable occurs in paths and source code, where replacing it would do damage.
    """
    return len(value) <= _LONGEST_ORDINARY and _WORDS.fullmatch(value) is not None


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable suggests a key, a token or a password."""
    return name in PROVIDER_KEYS or _SECRET_NAME.search(name) is not None


def provider_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with keys of model providers."""
    return {
        name: value
        for name, value in environ.items()
        if len(value) >= SHORTEST_SECRET
        and (name in PROVIDER_KEYS or (name.startswith("SUREFOOT_") and is_secret_name(name)))
    }


@dataclass(frozen=True, slots=True)
class _Rule:
    """A format of secrets. Patterns start with literal text, which Python finds fast, and use a look-behind for what
    must not precede it. Every repetition is bounded or unambiguous, so that no text makes them slow."""

    literal: str
    """A literal that every match contains."""
    pattern: re.Pattern[str]
    replacement: str


def _token(kind: str, prefixes: Iterable[str], body: str) -> Iterable[_Rule]:
    """Rules for tokens with a distinctive prefix that is not preceded by other letters."""
    for prefix in prefixes:
        start = rf"{re.escape(prefix)}(?<![A-Za-z0-9_-]{re.escape(prefix)})"
        yield _Rule(prefix, re.compile(start + body), f"[redacted {kind}]")


_ANY = "[A-Za-z0-9_-]"
_B64 = "[A-Za-z0-9+/=]"
_GAP = r"(?:\s|\\[nr])"
_KEY = r"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_DUMMY = "password|passwd|pass|pwd|secret|postgres|root|admin|test|example|changeme|user|guest|mysql|redis|minio"
"""Placeholders for passwords in examples and local setups."""
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
    # Only the part after the keyword is secret; the keyword stays.
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


_HEADERS = re.compile(r"OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?HEADERS")


def _embedded(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets inside variables that name servers: a password in an address, the values of headers."""
    secrets: dict[str, str] = {}
    for name, value in environ.items():
        if name == "SUREFOOT_REDIS__URL":
            userinfo = value.partition("://")[2].partition("/")[0].rpartition("@")[0]
            secrets[f"{name} (password)"] = unquote(userinfo.partition(":")[2])
        elif _HEADERS.fullmatch(name):
            for header in value.split(","):
                key, _, content = header.partition("=")
                # Only the last word of `Bearer TOKEN` and `Basic TOKEN` is secret.
                words = unquote(content).split()
                secrets[f"{name} ({key.strip()})"] = words[-1] if words else ""
    return secrets


class Redactor:
    """Replaces secrets in text: the given values, and tokens of common formats.

    A given value is known to be a secret. A format is a guess, so it is not applied to text that the engine acts on.
    `names` returns the paths of the user's own files. A part of such a path is not replaced if it only looks like a
    token, or if it is a given value made of ordinary words.
    """

    def __init__(self, secrets: Iterable[str] | Mapping[str, str] = (), names: Callable[[], str] = str) -> None:
        """`secrets` are values, or values by the name of their variable. Short values are left out."""
        named = secrets.items() if isinstance(secrets, Mapping) else [("", value) for value in secrets]
        forms = {
            form: f"the value of {name}" if name else "a secret value"
            for name, value in named
            if len(value) >= SHORTEST_SECRET
            for form in _written_forms(value)
        }
        # The longest first: otherwise the rest of a secret that starts like another would remain.
        self._known = sorted(forms.items(), key=lambda form: len(form[0]), reverse=True)
        self._names = names
        self.has_replaced = False
        """Whether it has ever found a secret."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], also: Mapping[str, str] | None = None) -> "Redactor":
        """Return a redactor for `also` and the values of variables whose names suggest keys, passwords or tokens.

        Paths, numbers and ordinary words are left out.
        """
        variables = {
            name: value
            for name, value in environ.items()
            if is_secret_name(name) and not value.startswith(("/", "~", "./")) and not value.isdigit()
        }
        named = {**variables, **storage_secrets(environ), **_embedded(environ), **(also or {})}
        return cls({name: value for name, value in named.items() if not is_ordinary(value)})

    def sparing(self, names: Callable[[], str]) -> "Redactor":
        """Return a copy that does not replace parts of these paths."""
        copy = Redactor(names=names)
        copy._known = self._known
        return copy

    @property
    def values(self) -> Iterable[str]:
        """The known values, in every written form."""
        return (value for value, _ in self._known)

    def redact(self, text: str) -> str:
        """Replace known values and tokens of common formats."""
        before = text
        text = self.redact_known(text)
        for rule in _RULES:
            if rule.literal in text:
                text = rule.pattern.sub(lambda match, rule=rule: self._replacement(match, rule), text)  # type: ignore[misc]
        self.has_replaced = self.has_replaced or text != before
        return text

    def redact_known(self, text: str) -> str:
        """Replace only known values."""
        for value, _ in self._known:
            if value in text and not self._is_own_name(value):
                text = text.replace(value, "[redacted]")
        return text

    def find_known(self, text: str) -> str:
        """Name the first known value in the text, such as `the value of DB_PASSWORD`; empty if there is none."""
        return next((label for value, label in self._known if value in text and not self._is_own_name(value)), "")

    def find_format(self, text: str) -> str:
        """Name the first token of a common format in the text that is not part of a path; empty if there is none."""
        for rule in _RULES:
            for match in rule.pattern.finditer(text) if rule.literal in text else ():
                # Only a standalone token can be part of a path, not the value of an assignment or a URL.
                in_path = rule.replacement.startswith("[") and _is_in_path(text, match)
                if not in_path and match.group() not in self._names():
                    kind = rule.replacement.partition("[redacted")[2].strip(" ]") or "password or token"
                    return f"what looks like {'an' if kind.startswith('a') else 'a'} {kind}"
        return ""

    def _replacement(self, match: re.Match[str], rule: _Rule) -> str:
        return match.group() if match.group() in self._names() else match.expand(rule.replacement)

    def _is_own_name(self, value: str) -> bool:
        return _WORDS.fullmatch(value) is not None and value in self._names()


def _is_in_path(text: str, match: re.Match[str]) -> bool:
    """Whether the word around a match is a path: `ghp_.../notes.txt`, not `https://ghp_...@host/`."""
    start = max(text.rfind(space, 0, match.start()) for space in " \t\n\"'`=(") + 1
    end = re.compile(r"[\s\"'`)]|$").search(text, match.end())
    word = text[start : end.start() if end else len(text)]
    return not re.search("://|@", word) and re.search(r"/|\.\w", word) is not None


def _written_forms(value: str) -> Iterable[str]:
    """Return a secret as plain text, as in a JSON string, and as in a URL."""
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], quote(value, safe="")}


_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that are not shown as themselves: control and format characters (direction, zero width, tags, soft
hyphen), lone surrogates, private use, unassigned, line and paragraph separators."""
_UNSEEN_LETTERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks without a shape of their own: fillers, joiners, variation selectors, the empty Braille pattern."""


def neutralise(text: str) -> str:
    """Make text safe to print on a terminal: remove colours, make every other character that cannot be seen visible."""
    if not any(map(_is_unseen, set(text))):
        return text
    text = _COLOURS.sub("", text.replace("\r\n", "\n"))
    return text.translate({ord(letter): _visible(ord(letter)) for letter in set(text) if _is_unseen(letter)})


def _is_unseen(letter: str) -> bool:
    if " " <= letter <= "~" or letter in "\t\n":
        return False
    return unicodedata.category(letter) in _UNSEEN or _UNSEEN_LETTERS.match(letter) is not None


def _visible(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"<U+{code:04X}>"

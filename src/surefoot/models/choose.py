"""Which model answers: the one that was named, else the first that can be found on this machine.

    find_choice    what would be used, and why, in words
    choose_model   the same, ready to be asked
    create_model   the same, for programs that use Surefoot as a library

A model is named by a spec:

    local, local/NAME                     the embedded model
    openai/NAME, anthropic/NAME, ...      a provider of PROVIDERS; the key is taken from the environment
    ollama/NAME, vllm/NAME, llamacpp      a server on this machine; without a name, the first model that it serves
    http://127.0.0.1:8000/v1#NAME         any OpenAI-compatible server
    scripted:FILE, cassette:FILE          written or recorded answers
"""

import asyncio
import difflib
import json
import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urldefrag, urlsplit

from pydantic import Field

from surefoot.errors import ConfigError, NoModel, UsageError, WeightsError
from surefoot.models.base import LanguageModel, ModelTraits
from surefoot.values import Value

VARIABLE = "SUREFOOT_MODEL"
PROBE_SECONDS = 0.3
SMALL_BILLIONS = 4
"""Models of up to so many billion parameters get shorter prompts and are asked for one thing at a time."""


class ModelSettings(Value):
    """The section [model] of a config file."""

    model: str | None = None
    """A spec, or the bare name of a model at `base_url`."""
    base_url: str | None = None
    api_key_env: str | None = None
    """The name of the environment variable that holds the key, never the key itself."""
    context_tokens: int | None = Field(default=None, ge=1024)


class Choice(Value):
    spec: str
    source: str
    """Why this one, in words."""

    @property
    def is_local(self) -> bool:
        """Whether it is the embedded model."""
        return _split(self.spec)[0] == "local"


@dataclass(frozen=True)
class Provider:
    base_url: str
    key_variable: str = ""
    """Empty for servers on this machine, which want no key."""
    default_model: str = ""
    """Empty where the server is asked what it has."""
    context_tokens: int = 32_768


# The default models are only what a key alone gives; users name their own, and these names age.
PROVIDERS: dict[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-5.4-mini", 128_000),
    "anthropic": Provider("https://api.anthropic.com", "ANTHROPIC_API_KEY", "claude-sonnet-5-5", 200_000),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-chat", 64_000),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter/auto", 64_000),
    "qwen": Provider("https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", "qwen-plus", 128_000),
    # Ollama cuts longer prompts without a word, so its own default is believed until context_tokens says otherwise.
    "ollama": Provider("http://127.0.0.1:11434/v1", context_tokens=4096),
    "llamacpp": Provider("http://127.0.0.1:8080/v1", context_tokens=8192),
    "vllm": Provider("http://127.0.0.1:8000/v1", context_tokens=8192),
}
BASE_URL_VARIABLES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
ON_LOOPBACK = {"ollama": "an Ollama server", "llamacpp": "a llama.cpp server"}
_OTHERS = ("local", "scripted", "cassette")

_WAYS = """\
get one in one of these ways:
  surefoot model pull                  the embedded model (1.1 GB); no key. It runs with: pip install 'surefoot[local]'
  export OPENAI_API_KEY=...            or ANTHROPIC_API_KEY, DEEPSEEK_API_KEY, OPENROUTER_API_KEY, DASHSCOPE_API_KEY
  -m http://127.0.0.1:8000/v1#NAME     any OpenAI-compatible server; Ollama and llama.cpp are found by themselves"""


async def create_model(spec: str | None = None) -> LanguageModel:
    """The model that `spec` names, or the best that is here without one. Close it with `aclose` when done."""
    return await choose_model(spec)


async def choose_model(spec: str | None = None, settings: ModelSettings | None = None) -> LanguageModel:
    settings = settings or ModelSettings()
    choice = await find_choice(spec, settings)
    kind, name = _split(choice.spec)
    if kind == "local":
        return await _local(name)
    if kind == "scripted":
        from surefoot.models.scripted import ScriptedModel

        return ScriptedModel.from_file(_required(name, kind))
    if kind == "cassette":
        from surefoot.models.cassette import ReplayModel

        return ReplayModel(_required(name, kind))
    return await _remote(kind, name, _about(kind, name, settings))


async def find_choice(spec: str | None = None, settings: ModelSettings | None = None) -> Choice:
    """The first that there is: as asked, environment, configuration, a key, a server on loopback, fetched weights."""
    settings = settings or ModelSettings()
    if spec and spec.strip():
        return Choice(spec=spec.strip(), source="as you asked")
    if named := os.environ.get(VARIABLE, "").strip():
        return Choice(spec=named, source=f"the environment variable {VARIABLE}")
    if settings.model and settings.model.strip():
        return Choice(spec=settings.model.strip(), source="model.model in the configuration")
    if settings.base_url:
        return Choice(spec=settings.base_url, source="model.base_url in the configuration")
    for kind, provider in PROVIDERS.items():
        if provider.key_variable and os.environ.get(provider.key_variable):
            return Choice(spec=kind, source=f"{provider.key_variable} is set")
    for kind, words in ON_LOOPBACK.items():
        if served := await asyncio.to_thread(_probe, PROVIDERS[kind].base_url):
            host = urlsplit(PROVIDERS[kind].base_url).netloc
            return Choice(spec=f"{kind}/{served}", source=f"{words} answers on {host}")
    from surefoot.models.weights import weights_path

    if await asyncio.to_thread(weights_path) is not None:
        return Choice(spec="local", source="the embedded model's weights are here")
    raise NoModel("no model is configured and none was found", remedy=_WAYS)


# -- reading specs ---------------------------------------------------------------------------------------------------


def _split(spec: str) -> tuple[str, str]:
    """What kind of place it is, and the rest; "url" for addresses, "" for the bare name of a model."""
    if spec.lower().startswith(("http://", "https://")):
        return "url", spec
    head, *rest = re.split("[/:]", spec, maxsplit=1)
    kind = head.strip().lower()
    return (kind, "".join(rest).strip()) if kind in PROVIDERS or kind in _OTHERS else ("", spec)


def _about(kind: str, name: str, settings: ModelSettings) -> ModelSettings:
    """The settings, if they are about this place. Those of another must not apply: a key would go to a stranger."""
    configured, rest = _split(settings.model.strip()) if settings.model else ("", "")
    if kind == "url":
        hosts = {_host(url) for url in (settings.base_url, rest if configured == "url" else None) if url}
        fits = _host(name) in hosts if hosts else configured in ("", "url")
    elif settings.model:
        fits = kind == configured
    else:
        fits = kind in ("", "openai", "ollama", "llamacpp", "vllm")
    return settings if fits else ModelSettings()


def _required(name: str, kind: str) -> str:
    if not name:
        raise UsageError(f"{kind} needs a file", remedy=f"write {kind}:FILE")
    return name


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2].lower()


# -- making models ---------------------------------------------------------------------------------------------------


async def _local(name: str) -> LanguageModel:
    from surefoot.models.local import LocalModel
    from surefoot.models.weights import DEFAULT, PULL_AGAIN, weights_path

    model = LocalModel(name or DEFAULT)
    if await asyncio.to_thread(weights_path, name or DEFAULT) is None:
        raise WeightsError(
            f"the weights of {name or DEFAULT} are not here", remedy=f"fetch them (1.1 GB) with: {PULL_AGAIN}"
        )
    return model


async def _remote(kind: str, name: str, settings: ModelSettings) -> LanguageModel:
    base_url, name = _address(kind, name, settings)
    variable, key = _key(kind, base_url, settings)
    if not name and (not settings.base_url or kind == "anthropic"):
        name = _default_model(kind, base_url)
    if kind == "anthropic":
        from surefoot.models.anthropic import Anthropic

        return Anthropic(name, key, base_url, traits=_traits(kind, name, settings, {}), key_variable=variable)
    from surefoot.models.openai_compatible import OpenAICompatible

    served: dict[str, Any] = {}
    if not name or (kind in ("", "url", "vllm") and settings.context_tokens is None):
        asking = OpenAICompatible(base_url, name, key, key_variable=variable)
        served = _entry(await asking.models(), name)
        await asking.aclose()
    if not name and not served:
        raise NoModel(
            f"{_host(base_url)} was asked which models it has, and named none",
            remedy="start the server, give it a model, or name one, as in -m ollama/qwen2.5-coder",
        )
    name = name or str(served["id"])
    shown = f"{kind}/{name}" if kind in PROVIDERS else f"{name} at {_host(base_url)}"
    traits = _traits(kind, name, settings, served)
    return OpenAICompatible(base_url, name, key, traits=traits, name=shown, key_variable=variable)


def _address(kind: str, name: str, settings: ModelSettings) -> tuple[str, str]:
    """The base URL and the name of the model there, which may be empty."""
    if kind == "url":
        url, fragment = urldefrag(name)
        return url.rstrip("/"), fragment
    if settings.base_url:
        return settings.base_url.rstrip("/"), name
    if not kind:
        raise _nowhere(name)
    variable = BASE_URL_VARIABLES.get(kind, "")
    return (os.environ.get(variable) or PROVIDERS[kind].base_url).rstrip("/"), name


def _nowhere(spec: str) -> UsageError:
    """For a spec without a place that is known: with the place that was probably meant, if it was misspelt."""
    head = re.split("[/:]", spec, maxsplit=1)[0]
    nearest = difflib.get_close_matches(head.strip().lower(), (*_OTHERS, *PROVIDERS), n=1)
    if nearest:
        ways = f"did you mean {nearest[0]}{spec[len(head) :]}?"
    else:
        ways = f"write openai/{spec}, ollama/{spec}, http://127.0.0.1:8000/v1#{spec} and the like;"
    return UsageError(
        f"{spec!r} does not say where the model is", remedy=f"{ways} there are {', '.join((*_OTHERS, *PROVIDERS))}"
    )


def _key(kind: str, base_url: str, settings: ModelSettings) -> tuple[str, str | None]:
    """The variable and what is in it. A provider's key goes to that provider, and to whom the user names for it."""
    if variable := settings.api_key_env:
        if key := os.environ.get(variable, "").strip():
            return variable, key
        raise ConfigError(f"model.api_key_env names {variable}, which is not set", remedy=f"export {variable}=...")
    for other, provider in PROVIDERS.items():
        own = {_host(provider.base_url), _host(os.environ.get(BASE_URL_VARIABLES.get(other, ""), ""))}
        if not provider.key_variable or _host(base_url) not in own or kind not in (other, "url", ""):
            continue
        key = os.environ.get(provider.key_variable, "").strip()
        if not key and kind == other:
            raise NoModel(
                f"{kind} wants an API key, and {provider.key_variable} is not set",
                remedy=f"export {provider.key_variable}=..., or choose another model with -m",
            )
        return provider.key_variable, key or None
    return "", None


def _default_model(kind: str, base_url: str) -> str:
    """A server of one's own behind a provider's protocol has models of its own."""
    provider = PROVIDERS.get(kind)
    if provider is None or (kind != "anthropic" and _host(provider.base_url) != _host(base_url)):
        return ""
    return provider.default_model


def _entry(served: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """How the server describes the model, or the first that can chat."""
    if name:
        return next((entry for entry in served if entry["id"] == name), {})
    return next((entry for entry in served if "embed" not in str(entry["id"]).lower()), {})


def _traits(kind: str, name: str, settings: ModelSettings, served: dict[str, Any]) -> ModelTraits:
    # What llama.cpp says is the window it was started with, which may be far less than the model's.
    meta = given if isinstance(given := served.get("meta"), dict) else {}
    told = served.get("max_model_len") or served.get("context_length") or meta.get("n_ctx")
    provider = PROVIDERS.get(kind)
    tokens = settings.context_tokens or (told if isinstance(told, int) and told > 0 else None)
    sizes = re.findall(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?![a-z0-9])", name.lower())
    small = bool(sizes) and max(map(float, sizes)) <= SMALL_BILLIONS
    default = provider.context_tokens if provider else ModelTraits().context_tokens
    return ModelTraits(
        context_tokens=tokens or default,
        inline_bodies=not small,
        small=small,
        continues=kind == "llamacpp" or served.get("owned_by") == "llamacpp",
    )


def _probe(base_url: str) -> str:
    """The first model of a server on this machine, or nothing. Something else may be listening there."""
    import http.client

    address = urlsplit(base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", f"{address.path}/models")
        answer = json.loads(connection.getresponse().read(1_000_000))
        served = [entry for entry in answer["data"] if isinstance(entry["id"], str)]
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return ""
    finally:
        connection.close()
    return str(_entry(served, "").get("id", ""))

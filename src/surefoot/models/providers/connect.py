"""Create the client for a model on a server: its address, API key, default model and traits."""

import asyncio
import json
import os
import re
from typing import Any, Literal
from urllib.parse import urldefrag, urlsplit

from surefoot.config.extras import is_installed
from surefoot.config.model import ModelSettings
from surefoot.errors import ConfigError, KeyMissing, NoModel
from surefoot.models.base import LanguageModel, ModelTraits
from surefoot.models.providers.catalog import PROVIDERS, Provider
from surefoot.models.providers.families import family_of
from surefoot.models.providers.server_facts import ServerFacts, ask_server
from surefoot.models.spec import host_of, unknown_provider

PROBE_SECONDS = 0.3
SMALL_BILLIONS = 4
"""Models with up to this many billion parameters get shorter prompts and one question at a time."""


async def connect(kind: str, name: str, settings: ModelSettings) -> LanguageModel:
    """Create a client for the model `name` of the provider `kind`: a key of PROVIDERS, "url", or "" for a bare name.

    Without a name, the provider's default or the first model that the server lists is used.
    """
    base_url, name, address_from = _address(kind, name, settings)
    known = PROVIDERS.get(kind)
    if known is not None and known.protocol == "messages":
        return _connect_messages(kind, known, base_url, name, address_from, settings)
    from surefoot.models.providers.openai_compatible import OpenAICompatible

    key_variable, key = _api_key(kind, base_url, settings)
    # A server that the user configured has its own models.
    if not name and known is not None and not settings.base_url and host_of(known.base_url) == host_of(base_url):
        name = known.default_model
    entry: dict[str, Any] = {}
    if not name or ((known is None or known.lists_context) and settings.context_tokens is None):
        client = OpenAICompatible(
            base_url, name, key, key_variable=key_variable, provider=kind, address_from=address_from
        )
        try:
            entry = _find_entry(await client.models(required=not name), name)
        finally:
            await client.aclose()
    if not name and not entry:
        raise NoModel(
            f"{host_of(base_url)} does not list any model",
            remedy="load a model into the server, or name one, as in -m ollama/qwen2.5-coder",
        )
    name = name or str(entry["id"])
    full_name = f"{kind}/{name}" if kind in PROVIDERS else f"{name} at {host_of(base_url)}"
    provider = _provider(kind, base_url, entry)
    facts = await asyncio.to_thread(ask_server, provider, base_url, name)
    traits = _traits(provider, name, settings, entry, facts)
    protocol = settings.protocol or _protocol(base_url, name)
    return OpenAICompatible(
        base_url,
        name,
        key,
        traits=traits.with_(protocol="text" if traits.tools == "text" else protocol),
        name=full_name,
        key_variable=key_variable,
        provider=provider,
        protocol=protocol,
        address="" if kind in PROVIDERS else _spec_of(base_url, name),
        address_from=address_from,
    )


def _connect_messages(
    kind: str, known: Provider, base_url: str, name: str, address_from: str, settings: ModelSettings
) -> LanguageModel:
    """The client for Anthropic's protocol. Its servers are not asked for their models."""
    if not is_installed("anthropic"):
        from surefoot.models.providers.anthropic import sdk_missing

        raise sdk_missing()
    from surefoot.models.providers.anthropic import Anthropic

    key_variable, key = _api_key(kind, base_url, settings)
    name = name or known.default_model
    traits = _traits(kind, name, settings, {}, ServerFacts()).with_(protocol="messages")
    return Anthropic(name, key, base_url, traits=traits, key_variable=key_variable, address_from=address_from)


def _spec_of(base_url: str, name: str) -> str:
    """The spec of a model at an address, for the journal; empty if the address holds credentials."""
    address = urlsplit(base_url)
    return "" if "@" in address.netloc or address.query else f"{base_url}#{name}"


def probe(base_url: str) -> str:
    """The first model of a server on this machine, or "" if no model server answers there. Blocking."""
    import http.client

    address = urlsplit(base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", f"{address.path}/models")
        response = json.loads(connection.getresponse().read(1_000_000))
        entries = [entry for entry in response["data"] if isinstance(entry["id"], str)]
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return ""
    finally:
        connection.close()
    return str(_find_entry(entries, "").get("id", ""))


def _address(kind: str, name: str, settings: ModelSettings) -> tuple[str, str, str]:
    """The base URL, the model's name, and the setting that the URL comes from. The last two may be empty."""
    if kind == "url":
        url, fragment = urldefrag(name)
        return url.rstrip("/"), fragment, "-m, SUREFOOT_MODEL or model.model"
    if settings.base_url:
        return settings.base_url.rstrip("/"), name, "model.base_url"
    if not kind:
        raise unknown_provider(name)
    variable = PROVIDERS[kind].base_url_variable
    if configured := os.environ.get(variable):
        return configured.rstrip("/"), name, variable
    return PROVIDERS[kind].base_url.rstrip("/"), name, ""


def _api_key(kind: str, base_url: str, settings: ModelSettings) -> tuple[str, str | None]:
    """The environment variable and the key in it.

    A provider's key is sent only to that provider, or to the address that the user configured for it.
    """
    if variable := settings.api_key_env:
        if key := os.environ.get(variable, "").strip():
            return variable, key
        raise ConfigError(f"model.api_key_env names {variable}, which is not set", remedy=f"export {variable}=...")
    for other, provider in PROVIDERS.items():
        hosts = {host_of(provider.base_url), host_of(os.environ.get(provider.base_url_variable, ""))}
        if not provider.key_variable or host_of(base_url) not in hosts or kind not in (other, "url", ""):
            continue
        key = os.environ.get(provider.key_variable, "").strip()
        if not key and kind == other:
            raise KeyMissing(
                f"{kind} requires an API key, and {provider.key_variable} is not set",
                remedy=f"export {provider.key_variable}=..., or choose another model with -m",
            )
        return provider.key_variable, key or None
    return "", None


def _find_entry(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The server's description of the model, or without a name, of the first chat model."""
    if name:
        return next((entry for entry in entries if entry["id"] == name), {})
    return next((entry for entry in entries if "embed" not in str(entry["id"]).lower()), {})


def _provider(kind: str, base_url: str, entry: dict[str, Any]) -> str:
    """The provider in the catalogue that answers at this address, or "" for any other server."""
    for other, provider in PROVIDERS.items():
        if not provider.is_local and host_of(provider.base_url) == host_of(base_url):
            return other
    if kind in PROVIDERS and PROVIDERS[kind].is_local:
        return kind
    owner = str(entry.get("owned_by", ""))
    return next((other for other, provider in PROVIDERS.items() if owner and provider.owned_by == owner), "")


def _protocol(base_url: str, name: str) -> Literal["chat", "responses"]:
    """The Responses API for OpenAI's own service, which keeps the reasoning of its models only there."""
    is_openai = host_of(base_url) == host_of(PROVIDERS["openai"].base_url)
    return "responses" if is_openai and family_of(name).responses else "chat"


def _reported_window(entry: dict[str, Any], facts: ServerFacts) -> int | None:
    """The context window that the server reports, in its list of models or elsewhere; None if it does not."""
    # llama.cpp reports the window that it was started with, which may be much smaller than the model's own.
    meta = value if isinstance(value := entry.get("meta"), dict) else {}
    listed = entry.get("max_model_len") or entry.get("context_length") or meta.get("n_ctx")
    return listed if isinstance(listed, int) and listed > 0 else facts.context_tokens


def _traits(
    provider: str, name: str, settings: ModelSettings, entry: dict[str, Any], facts: ServerFacts
) -> ModelTraits:
    """The traits of a model. Its context window is that of the settings, else the one that the server reports, else
    that of a hosted model's family, else the provider's default, which is then marked as assumed.
    """
    known, family = PROVIDERS.get(provider), family_of(name)
    hosted = known is not None and not known.is_local
    sizes = re.findall(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?![a-z0-9])", name.lower())
    small = bool(sizes) and max(map(float, sizes)) <= SMALL_BILLIONS
    if settings.strategy != "auto":
        small = settings.strategy == "small"
    window = settings.context_tokens or _reported_window(entry, facts) or (family.context_tokens if hosted else None)
    traits = ModelTraits(
        context_tokens=window or (known.default_context_tokens if known else ModelTraits().context_tokens),
        context_assumed=window is None,
        inline_bodies=not small,
        small=small,
        continues=provider == "llamacpp",
        tools="text" if facts.tools is False else "native",
        max_output_tokens=family.max_output_tokens if hosted else None,
        efforts=family.efforts,
        effort=settings.effort,
        edit_format="apply_patch" if family.apply_patch else "edit_file",
    )
    return traits.with_(tools="none") if traits.is_narrow and settings.strategy == "auto" else traits

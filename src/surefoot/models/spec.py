"""Model specs: the text by which a user names a model, and the settings that apply to it."""

import difflib
import re
from urllib.parse import urlsplit

from surefoot.config.model import ModelSettings
from surefoot.errors import UsageError
from surefoot.models.providers.catalog import PROVIDERS

_OTHER_KINDS = ("local", "scripted", "cassette")


def parse_spec(spec: str) -> tuple[str, str]:
    """Split a spec into its kind and the rest. The kind is "url" for addresses and "" for a bare model name."""
    if spec.lower().startswith(("http://", "https://")):
        return "url", spec
    head, *rest = re.split("[/:]", spec, maxsplit=1)
    kind = head.strip().lower()
    return (kind, "".join(rest).strip()) if kind in PROVIDERS or kind in _OTHER_KINDS else ("", spec)


def settings_for(kind: str, name: str, settings: ModelSettings) -> ModelSettings:
    """Return the settings if they are meant for this server, else the defaults.

    Settings for one server must not apply to another, or its key would be sent to a stranger.
    """
    configured, rest = parse_spec(settings.model.strip()) if settings.model else ("", "")
    if kind == "url":
        hosts = {host_of(url) for url in (settings.base_url, rest if configured == "url" else None) if url}
        applies = host_of(name) in hosts if hosts else configured in ("", "url")
    elif settings.model:
        applies = kind == configured
    else:
        applies = kind in ("", "openai") or (kind in PROVIDERS and PROVIDERS[kind].is_local)
    return settings if applies else ModelSettings()


def unknown_provider(spec: str) -> UsageError:
    """The error for a spec without a known provider, with a suggestion if it was probably misspelt."""
    head = re.split("[/:]", spec, maxsplit=1)[0]
    kinds = (*_OTHER_KINDS, *PROVIDERS)
    matches = difflib.get_close_matches(head.strip().lower(), kinds, n=1)
    if matches:
        advice = f"did you mean {matches[0]}{spec[len(head) :]}?"
    elif "/" in spec or ":" in spec:
        advice = f"begin with the name of a provider, as in openai/{PROVIDERS['openai'].default_model};"
    else:
        advice = f"write openai/{spec}, ollama/{spec}, http://127.0.0.1:8000/v1#{spec} or similar;"
    return UsageError(f"{spec!r} does not name a provider", remedy=f"{advice} the providers are {', '.join(kinds)}")


def to_name_again(model: str) -> str:
    """The option that a resume needs if the model cannot be found again by its name in the journal; else empty."""
    return " -m scripted:FILE" if model.startswith("scripted:") else ""


def host_of(url: str) -> str:
    """Host and port of a URL, without credentials."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()

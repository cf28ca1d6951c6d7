"""Prices of models: from the user's config, else from the dated table `prices.toml`, else unknown.

Models on this machine cost nothing. No price is guessed: a newer model of a known family has no known price.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from surefoot.config.model import Price

FREE = Price(input=0, output=0)
_OWN_SERVERS = ("local/", "ollama/", "llamacpp/", "vllm/")
"""Prefixes of the specs of models that run on the user's own hardware."""
_LOOPBACK = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?")
_VERSION = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)")


class Family(NamedTuple):
    """The models of one provider."""

    source: str
    """The page of the provider that lists the prices."""
    as_of: str
    """The day on which they were read there. docs/models.md names both, and a test compares them."""
    names: tuple[str, ...]
    """Prefixes of the specs of these models."""
    hosts: tuple[str, ...]
    closed: bool
    """True if the weights are not public, so that users cannot run such a model themselves."""
    models: Mapping[str, Price]

    def price(self, model: str) -> Price | None:
        """The price of a model by its name at the provider, with or without a version suffix. None: unknown."""
        # OpenRouter writes claude-sonnet-4.5 for claude-sonnet-4-5.
        spellings = (model, re.sub(r"(?<=\d)\.(?=\d)", "-", model)) if model.startswith("claude-") else (model,)
        for spelling in spellings:
            for name, price in self.models.items():
                if spelling == name or (spelling.startswith(name) and _VERSION.fullmatch(spelling, len(name))):
                    return price
        return None


def price_of(model: str, own: Mapping[str, Price]) -> Price | None:
    """The price of a model by its full name; None if it is unknown. `own` are the prices in the user's config."""
    if price := _own_price(model, own):
        return price
    name, at, host = model.partition(" at ")
    if at:
        on_loopback = _LOOPBACK.fullmatch(host)
        serving = (f for f in families().values() if host in f.hosts or (f.closed and on_loopback))
        known_price = next((price for family in serving if (price := family.price(name))), None)
        return known_price or (FREE if on_loopback else None)
    if model.startswith(_OWN_SERVERS) or model == "scripted" or model.startswith("scripted:"):
        return FREE
    if model.startswith("openrouter/") and model.endswith(":free"):
        return FREE
    listed = (family.price(model[len(start) :]) for family, start in _prefixes() if model.startswith(start))
    return next((price for price in listed if price), None)


def _own_price(model: str, own: Mapping[str, Price]) -> Price | None:
    """The price with the longest name that is a prefix of the model's name, with or without its provider."""
    bare = model.partition(" at ")[0]
    spellings = (model, bare.partition("/")[2], bare.rpartition("/")[2])
    matching = [name for name in own if any(spelling.startswith(name) for spelling in spellings if spelling)]
    return own[max(matching, key=len)] if matching else None


def _prefixes() -> Iterator[tuple[Family, str]]:
    for family in families().values():
        for start in family.names:
            yield family, start


@cache
def families() -> Mapping[str, Family]:
    """The table of known prices."""
    table = tomllib.loads(files("surefoot.models").joinpath("prices.toml").read_text("utf-8"))
    return {
        name: Family(
            source=entry["source"],
            as_of=str(entry["as_of"]),
            names=tuple(entry["names"]),
            hosts=tuple(entry["hosts"]),
            closed=entry.get("closed", False),
            models={model: Price(**price) for model, price in entry["models"].items()},
        )
        for name, entry in table.items()
    }

"""The price of a model: the user's own first, then the dated table, else unknown."""

import re
from datetime import date

import pytest

from surefoot.config.model import Price
from surefoot.models.prices import FREE, families, price_of
from surefoot.models.providers.catalog import PROVIDERS


def test_every_family_has_a_source_and_a_date() -> None:
    for family in families().values():
        assert family.source.startswith("https://")
        assert date(2026, 1, 1) <= date.fromisoformat(family.as_of) <= date(2027, 12, 31)
        assert family.models
        assert family.names or family.hosts


def test_prices_are_plausible() -> None:
    for family in families().values():
        for price in family.models.values():
            assert 0 < price.input <= price.output
            assert price.cached_input is None or price.cached_input < price.input
            assert price.cache_write is None or price.input <= price.cache_write <= 2 * price.input


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("openai/gpt-5.4-mini", (0.75, 4.5)),
        ("openai/gpt-5.4-mini-2026-03-05", (0.75, 4.5)),
        ("openai/gpt-5", (1.25, 10)),
        ("openrouter/openai/gpt-4.1", (2, 8)),
        ("anthropic/claude-sonnet-4-5-20250929", (3, 15)),
        ("anthropic/claude-opus-4-1-latest", (15, 75)),
        ("openrouter/anthropic/claude-sonnet-4.5", (3, 15)),
        ("openrouter/google/gemini-2.5-pro", (1.25, 10)),
        ("deepseek/deepseek-v4-pro", (1.32, 3.96)),
        ("kimi-k2.6 at api.moonshot.ai", (0.95, 4)),
        ("glm-5.3 at api.z.ai", (1.4, 4.4)),
        ("gpt-5.4 at 127.0.0.1:4000", (2.5, 15)),
    ],
)
def test_known_models_have_the_price_of_the_table(model: str, price: tuple[float, float]) -> None:
    found = price_of(model, {})
    assert found is not None
    assert (found.input, found.output) == price


@pytest.mark.parametrize(
    "model",
    [
        "openai/gpt-5.7",
        "openai/gpt-5-turbo",
        "openai/gpt-4",
        "anthropic/claude-opus-4-9",
        "openrouter/openai/gpt-5.4:batch",
        "openrouter/z-ai/glm-5.3",
        "qwen/qwen-plus",
        "kimi-k2.6 at proxy.example",
        "gpt-5.4 at example.com",
        "something",
        "",
    ],
)
def test_nothing_is_guessed(model: str) -> None:
    """A newer or larger model of a known family, or the same model at another host, may cost anything."""
    assert price_of(model, {}) is None


@pytest.mark.parametrize(
    "model",
    [
        *("local/qwen2.5-coder-1.5b", "ollama/qwen3", "llamacpp/any", "vllm/any", "scripted", "scripted:answers.json"),
        *("qwen3 at 127.0.0.1:8000", "glm-4.6 at localhost:8000", "x at [::1]:80", "openrouter/qwen/qwen3:free"),
    ],
)
def test_models_of_the_user_cost_nothing(model: str) -> None:
    assert price_of(model, {}) == FREE


def test_a_host_that_only_looks_local_is_not_free() -> None:
    for host in ("127.0.0.1.example.com", "localhost.example.com", "127.0.0.1@example.com"):
        assert price_of(f"qwen3 at {host}", {}) is None


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai/gpt-5.4-mini", 2),
        ("openai/gpt-5.4", 1),
        ("openrouter/openai/gpt-5.4-mini", 2),
        ("gpt-5.4-nano at proxy.example", 1),
        ("ollama/gpt-oss", 3),
        ("openai/o3", 4),
    ],
)
def test_the_longest_of_the_users_own_names_wins(model: str, expected: float) -> None:
    own = {
        "gpt-5.4": Price(input=1, output=1),
        "gpt-5.4-mini": Price(input=2, output=2),
        "ollama/": Price(input=3, output=3),
        "openai/o": Price(input=4, output=4),
    }
    price = price_of(model, own)
    assert price is not None
    assert price.input == expected


def test_cached_and_written_tokens_have_prices_of_their_own() -> None:
    price = Price(input=10, cached_input=1, cache_write=12, output=50)
    assert price.cost_usd(1_000_000, 0) == 10
    assert price.cost_usd(1_000_000, 0, cached=500_000) == 5.5
    assert price.cost_usd(1_000_000, 0, cached=500_000, written=500_000) == 6.5
    assert Price(input=10, output=50).cost_usd(1_000_000, 100_000, cached=900_000, written=50_000) == 15


def test_the_default_models_of_providers_are_priced_or_known_to_be_left_out() -> None:
    """A new default model needs a price, or a reason in the header of the table."""
    unknown = [
        f"{kind}/{provider.default_model}"
        for kind, provider in PROVIDERS.items()
        if provider.default_model and price_of(f"{kind}/{provider.default_model}", {}) is None
    ]
    assert [re.split("/", name)[0] for name in unknown] == ["deepseek", "openrouter", "qwen"]

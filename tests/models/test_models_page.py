"""docs/models.md has the defaults, windows, prices and strategies that the code has, and the measured figures."""

import re
from pathlib import Path

import pytest

from surefoot.config.model import ModelSettings, Price
from surefoot.models.base import ModelTraits
from surefoot.models.local.model import LocalModel
from surefoot.models.local.weights import DEFAULT
from surefoot.models.prices import families, price_of
from surefoot.models.providers.catalog import PROVIDERS
from surefoot.models.providers.connect import _traits
from surefoot.models.providers.server_facts import ServerFacts
from surefoot.prompting.choose import strategy_name

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/models.md").read_text()


def rows(title: str) -> list[list[str]]:
    """The cells of the table in a section, without its header."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found, f"there is no section {title!r}"
    lines = [line for line in found[1].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


def dollars(price: Price | None) -> str:
    return "unknown" if price is None else f"${price.input:g} / ${price.output:g}"


def traits_of(provider: str, name: str) -> ModelTraits:
    return _traits(provider, name, ModelSettings(), {}, ServerFacts())


def test_every_provider_is_listed_with_its_default_model() -> None:
    hosted, own = [], []
    for kind, provider in PROVIDERS.items():
        traits = traits_of(kind, provider.default_model)
        window = f"{traits.context_tokens:,}"
        if provider.key_variable:
            price = dollars(price_of(f"{kind}/{provider.default_model}", {}))
            model = f"`{kind}/{provider.default_model}`"
            hosted.append([f"`{kind}`", model, window, price, strategy_name(traits), "not measured"])
        else:
            own.append([f"`{kind}`", "the first that the server lists", f"as the server says, else {window}", "free"])
    local = LocalModel(DEFAULT)
    embedded = ["`local`", f"`{local.name}`", f"{local.traits.context_tokens:,}", "free", strategy_name(local.traits)]
    listed = rows("Defaults")
    assert listed[: len(hosted)] == hosted
    assert [row[:4] for row in listed[len(hosted) : -1]] == own
    assert listed[-1][:5] == embedded


@pytest.mark.parametrize("family", list(families()))
def test_every_known_price_is_listed(family: str) -> None:
    known = families()[family]
    provider = family if family in PROVIDERS else "openrouter"
    expected = [
        [
            f"`{name}`",
            f"{traits_of(provider, name).context_tokens:,}",
            f"{price.input:g}",
            "" if price.cached_input is None else f"{price.cached_input:g}",
            f"{price.output:g}",
        ]
        for name, price in known.models.items()
    ]
    assert rows(f"Prices: {family}") == expected
    section = PAGE.partition(f"### Prices: {family}\n")[2].partition("\n|")[0]
    assert known.as_of in section
    assert known.source in section
    assert {strategy_name(traits_of(provider, name)) for name in known.models} == {"conversation"}


def test_the_measured_figures_are_those_of_the_evals() -> None:
    table = (ROOT / "evals/results/latest/table.md").read_text()
    (right,) = re.findall(r"^\| right \|.*\| (\d+ of \d+) \([^|]*\) \|$", table, re.MULTILINE)
    (false_success,) = re.findall(r"^\| \*\*false success\*\*.*\| (\d+) \|$", table, re.MULTILINE)
    measured = rows("Defaults")[-1][5]
    assert right in measured
    assert f"{false_success} wrongly verified" in measured

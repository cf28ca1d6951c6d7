"""What a recorded model call cost. Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class FlatRates(NamedTuple):
    """The price of every model call of a run, in US dollars per million tokens."""

    prompt: float
    output: float

    @classmethod
    def of(cls, prompt: float, output: float) -> "FlatRates | None":
        """None if neither price is set."""
        return cls(prompt, output) if prompt or output else None


def flat_price_of(config: Mapping[str, Any]) -> FlatRates | None:
    """The flat price in the settings of a run as recorded, without importing all settings."""
    budget = config.get("budget", {})
    prompt, output = (float(budget.get(f"usd_per_million_{kind}_tokens") or 0) for kind in ("prompt", "output"))
    return FlatRates.of(prompt, output)


def recorded_cost(recorded: float | None, prompt: int, output: int, flat: FlatRates | None) -> float | None:
    """The recorded cost of a model call in dollars; None if its price is unknown.

    Calls recorded by older versions have no cost. The flat price of the run applies to them.
    """
    if recorded is not None or flat is None:
        return recorded
    return (prompt * flat.prompt + output * flat.output) / 1_000_000

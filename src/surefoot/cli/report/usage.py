"""The usage of a run: tokens and cost."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from surefoot.view.figures import format_cost

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from surefoot.journal.state import RunState
    from surefoot.journal.store.base import Reader


@dataclass(frozen=True, slots=True)
class RunUsage:
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    calls: int
    cost_usd: float
    """The cost of the calls whose price is known."""
    unpriced_calls: int

    @property
    def cost(self) -> str:
        """The cost as text; empty if no model was called."""
        return format_cost(self.cost_usd, self.unpriced_calls) if self.calls else ""

    def as_object(self) -> dict[str, Any]:
        """The fields for JSON. The cost is null unless the price of every call is known."""
        tokens = {"prompt": self.prompt_tokens, "cached": self.cached_tokens, "output": self.output_tokens}
        return {"tokens": tokens, "cost_usd": None if self.unpriced_calls else round(self.cost_usd, 6)}

    def __str__(self) -> str:
        """Tokens and cost, for example `12,345 prompt (8,000 cached) + 1,234 output tokens, $0.02`."""
        cached = f" ({self.cached_tokens:,} cached)" if self.cached_tokens else ""
        tokens = f"{self.prompt_tokens:,} prompt{cached} + {self.output_tokens:,} output tokens"
        return f"{tokens}, {self.cost}" if self.calls else tokens


def usage_of(journal: "Reader", run_ids: "Collection[str]") -> dict[str, RunUsage]:
    """Read the usage of these runs. Decodes only their model calls.

    The number of queries does not depend on the number of runs.
    """
    calls: dict[str, list[dict[str, Any]]] = {run_id: [] for run_id in run_ids}
    for run_id, _, body in journal.bodies(run_ids, ["model_answered"]):
        calls[run_id].append(json.loads(body))
    unpriced = [run_id for run_id, own in calls.items() if any(call.get("cost_usd") is None for call in own)]
    prices = _flat_prices(journal, unpriced) if unpriced else {}
    return {run_id: _sum(own, prices.get(run_id)) for run_id, own in calls.items()}


def _sum(calls: "Sequence[dict[str, Any]]", price: "_FlatPrice | None") -> RunUsage:
    costs = [call.get("cost_usd") for call in calls]
    if price is not None:
        # Calls recorded by older versions have no cost. The flat price of the run applies to them, as in the reducer.
        costs = [price.cost_usd(call) if cost is None else cost for call, cost in zip(calls, costs, strict=True)]
    return RunUsage(
        prompt_tokens=sum(call.get("prompt_tokens", 0) for call in calls),
        cached_tokens=sum(call.get("cached_tokens", 0) for call in calls),
        output_tokens=sum(call.get("output_tokens", 0) for call in calls),
        calls=len(calls),
        cost_usd=sum(cost for cost in costs if cost is not None),
        unpriced_calls=costs.count(None),
    )


class _FlatPrice(NamedTuple):
    """`BudgetConfig.flat_price`, without importing all settings."""

    prompt: float
    output: float

    def cost_usd(self, call: dict[str, Any]) -> float:
        tokens = call.get("prompt_tokens", 0) * self.prompt + call.get("output_tokens", 0) * self.output
        return float(tokens) / 1_000_000


def _flat_prices(journal: "Reader", run_ids: "Collection[str]") -> dict[str, _FlatPrice]:
    """The flat prices of those runs that have one, whatever their model."""
    found = {}
    for run_id, _, body in journal.bodies(run_ids, ["run_created"]):
        budget = json.loads(body)["config"].get("budget", {})
        prices = [float(budget.get(f"usd_per_million_{kind}_tokens") or 0) for kind in ("prompt", "output")]
        if any(prices):
            found[run_id] = _FlatPrice(*prices)
    return found


def usage_of_state(state: "RunState") -> RunUsage:
    return RunUsage(
        prompt_tokens=state.prompt_tokens,
        cached_tokens=state.cached_tokens,
        output_tokens=state.output_tokens,
        calls=state.model_calls,
        cost_usd=state.cost_usd,
        unpriced_calls=state.unpriced_calls,
    )

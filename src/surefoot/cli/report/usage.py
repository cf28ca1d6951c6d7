"""The usage of a run: tokens and cost."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surefoot.config.flat_price import FlatRates, flat_price_of, recorded_cost
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
    if unpriced := [run_id for run_id, own in calls.items() if any(call.get("cost_usd") is None for call in own)]:
        calls |= _priced(journal, unpriced)
    return {run_id: _sum(own) for run_id, own in calls.items()}


def _priced(journal: "Reader", run_ids: "Collection[str]") -> dict[str, list[dict[str, Any]]]:
    """The model calls of these runs, each with its cost by the flat price of the run at that time."""
    calls: dict[str, list[dict[str, Any]]] = {run_id: [] for run_id in run_ids}
    flat: dict[str, FlatRates | None] = {}
    for run_id, kind, body in journal.bodies(run_ids, ["run_created", "run_resumed", "model_answered"]):
        event = json.loads(body)
        if kind == "model_answered":
            tokens = event.get("prompt_tokens", 0), event.get("output_tokens", 0)
            cost = recorded_cost(event.get("cost_usd"), *tokens, flat.get(run_id))
            calls[run_id].append({**event, "cost_usd": cost})
        elif config := event.get("config"):
            flat[run_id] = flat_price_of(config)
    return calls


def _sum(calls: "Sequence[dict[str, Any]]") -> RunUsage:
    costs = [call.get("cost_usd") for call in calls]
    return RunUsage(
        prompt_tokens=sum(call.get("prompt_tokens", 0) for call in calls),
        cached_tokens=sum(call.get("cached_tokens", 0) for call in calls),
        output_tokens=sum(call.get("output_tokens", 0) for call in calls),
        calls=len(calls),
        cost_usd=sum(cost for cost in costs if cost is not None),
        unpriced_calls=costs.count(None),
    )


def usage_of_state(state: "RunState") -> RunUsage:
    return RunUsage(
        prompt_tokens=state.prompt_tokens,
        cached_tokens=state.cached_tokens,
        output_tokens=state.output_tokens,
        calls=state.model_calls,
        cost_usd=state.cost_usd,
        unpriced_calls=state.unpriced_calls,
    )

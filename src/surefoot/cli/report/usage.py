"""What a run has used: tokens and dollars."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surefoot.view.figures import format_cost

if TYPE_CHECKING:
    from surefoot.config.model import Price
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
        """The cost in words; empty if no model was called."""
        return format_cost(self.cost_usd, self.unpriced_calls) if self.calls else ""

    def as_object(self) -> dict[str, Any]:
        """The fields for JSON. A cost that is not known completely is null."""
        tokens = {"prompt": self.prompt_tokens, "cached": self.cached_tokens, "output": self.output_tokens}
        return {"tokens": tokens, "cost_usd": None if self.unpriced_calls else round(self.cost_usd, 6)}

    def __str__(self) -> str:
        """Tokens and cost, for example `12,345 prompt (8,000 cached) + 1,234 output tokens, $0.02`."""
        cached = f" ({self.cached_tokens:,} cached)" if self.cached_tokens else ""
        tokens = f"{self.prompt_tokens:,} prompt{cached} + {self.output_tokens:,} output tokens"
        return f"{tokens}, {self.cost}" if self.calls else tokens


def usage_of(journal: "Reader", run_id: str) -> RunUsage:
    """Read what a run has used. Decodes only its model calls, and of these only the numbers."""
    calls = [json.loads(body) for _, body in journal.bodies(run_id, ["model_answered"])]
    costs = [call.get("cost_usd") for call in calls]
    if None in costs and (price := _flat_price(journal, run_id)):
        # Calls of older versions have no cost; then the run's price for all of its calls counts, as in the reducer.
        costs = [
            price.cost_usd(call.get("prompt_tokens", 0), call.get("output_tokens", 0)) if cost is None else cost
            for call, cost in zip(calls, costs, strict=True)
        ]
    return RunUsage(
        prompt_tokens=sum(call.get("prompt_tokens", 0) for call in calls),
        cached_tokens=sum(call.get("cached_tokens", 0) for call in calls),
        output_tokens=sum(call.get("output_tokens", 0) for call in calls),
        calls=len(calls),
        cost_usd=sum(cost for cost in costs if cost is not None),
        unpriced_calls=costs.count(None),
    )


def _flat_price(journal: "Reader", run_id: str) -> "Price | None":
    from surefoot.config.model import BudgetConfig

    _, created = journal.bodies(run_id, ["run_created"])[0]
    return BudgetConfig.model_validate(json.loads(created)["config"].get("budget", {})).flat_price


def usage_of_state(state: "RunState") -> RunUsage:
    return RunUsage(
        prompt_tokens=state.prompt_tokens,
        cached_tokens=state.cached_tokens,
        output_tokens=state.output_tokens,
        calls=state.model_calls,
        cost_usd=state.cost_usd,
        unpriced_calls=state.unpriced_calls,
    )

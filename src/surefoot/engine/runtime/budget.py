"""The budget of a run: tokens, money, tool calls and time."""

import asyncio

from surefoot.config.model import ExecutionConfig, Price
from surefoot.core.outcome import Verdict
from surefoot.core.questions import is_yes
from surefoot.engine.runtime.human import Human
from surefoot.engine.runtime.stop import Stopped
from surefoot.engine.runtime.timeouts import Timeouts
from surefoot.errors import UsageError
from surefoot.journal.state import RunState
from surefoot.models.base import Usage
from surefoot.models.prices import price_of


class Budget:
    def __init__(self, state: RunState, model: str, human: Human, timeouts: Timeouts) -> None:
        self._state = state
        self._model = model
        self._human = human
        self._timeouts = timeouts
        self._asking = asyncio.Lock()

    def check(self) -> None:
        """Raise Stopped if the budget is spent. Called before each model call and each action."""
        budget, state = self._state.config.budget, self._state
        if budget.max_tokens is not None and state.tokens >= budget.max_tokens:
            raise Stopped(Verdict.BUDGET, f"{state.tokens:,} of {budget.max_tokens:,} tokens are used")
        if budget.max_cost_usd is not None and state.cost_usd >= budget.max_cost_usd:
            raise Stopped(Verdict.BUDGET, f"the run has spent ${state.cost_usd:.2f} of ${budget.max_cost_usd:.2f}")
        if budget.max_tool_calls is not None and state.tool_calls >= budget.max_tool_calls:
            raise Stopped(Verdict.BUDGET, f"all {budget.max_tool_calls} tool calls are used")
        if budget.max_seconds is not None and state.active_seconds >= budget.max_seconds:
            raise Stopped(Verdict.TIME, f"the time limit of {budget.max_seconds:g} seconds is reached")

    # -- money -------------------------------------------------------------------------------------------------------

    def cost_of(self, usage: Usage) -> float | None:
        """Compute the cost of a call that was just made, in dollars; None if the price of the model is unknown."""
        price = self._price(self._state.config)
        if price is None:
            return None
        return price.cost_usd(
            usage.prompt_tokens, usage.output_tokens, cached=usage.cached_tokens, written=usage.cache_write_tokens
        )

    def require_enforceable(self, config: ExecutionConfig) -> None:
        """Raise UsageError if the cost is limited but cannot be known. Called before a run starts or goes on."""
        limit, unpriced = config.budget.max_cost_usd, self._state.unpriced_calls
        if limit is None:
            return
        if self._price(config) is None:
            raise UsageError(
                f"the cost cannot be limited to ${limit:g}: the price of {self._model} is not known",
                remedy=f"give its price in a config file: [prices.{_quoted(self._model)}] input = ..., output = ... "
                "(dollars per million tokens); or limit tokens: --max-tokens",
            )
        if unpriced and config.budget.flat_price is None:
            raise UsageError(
                f"the cost cannot be limited to ${limit:g}: the price of {unpriced} earlier model calls is not known",
                remedy="limit tokens instead: --max-tokens",
            )

    async def confirm(self, step_id: str = "") -> None:
        """Ask a person whether to continue, each time another `ask_above_cost` dollars are spent.

        Nothing is asked if the cost is limited. Raises Stopped unless the answer is yes.
        """
        budget = self._state.config.budget
        if not budget.ask_above_cost or budget.max_cost_usd is not None or not self._amounts_spent():
            return
        # Steps that run at the same time wait for one answer.
        with self._timeouts.paused(step_id):
            async with self._asking:
                await self._confirm(step_id)

    async def _confirm(self, step_id: str) -> None:
        amounts, amount = self._amounts_spent(), self._state.config.budget.ask_above_cost
        subject = f"cost above {amounts * amount:g}"
        questions = self._state.questions.values()
        if any(q.subject == subject and q.answer is not None and is_yes(q.answer) for q in questions):
            return
        spent = f"${self._state.cost_usd:.2f}"
        answer = await self._human.ask(
            "confirmation",
            f"This run has cost {spent} so far. Go on, up to ${(amounts + 1) * amount:.2f}?",
            step_id=step_id,
            subject=subject,
        )
        if not is_yes(answer):
            raise Stopped(Verdict.BUDGET, f"the run has spent {spent}, and was not allowed to continue: {answer}")

    def _amounts_spent(self) -> int:
        """Return how many times the amount `ask_above_cost` is spent."""
        return int(self._state.cost_usd / self._state.config.budget.ask_above_cost)

    def _price(self, config: ExecutionConfig) -> Price | None:
        return config.budget.flat_price or price_of(self._model, config.prices)

    # -- what is left ------------------------------------------------------------------------------------------------

    def seconds_left(self) -> float | None:
        """Return how long the run may still work; None if its time is not limited."""
        limit = self._state.config.budget.max_seconds
        return None if limit is None else max(limit - self._state.active_seconds, 0.0)

    def left(self) -> str:
        """Describe the rest of the budget for a prompt; empty if nothing is limited."""
        budget, state, parts = self._state.config.budget, self._state, []
        if budget.max_tokens is not None:
            parts.append(f"{max(budget.max_tokens - state.tokens, 0)} tokens")
        if budget.max_cost_usd is not None:
            parts.append(f"${max(budget.max_cost_usd - state.cost_usd, 0):.2f}")
        if budget.max_tool_calls is not None:
            parts.append(f"{max(budget.max_tool_calls - state.tool_calls, 0)} tool calls")
        if budget.max_seconds is not None:
            parts.append(f"{max(budget.max_seconds - state.active_seconds, 0):.0f} seconds")
        return ", ".join(parts)


def _quoted(model: str) -> str:
    """Return the name of a model as a TOML key, without its server."""
    return f'"{model.partition(" at ")[0]}"'

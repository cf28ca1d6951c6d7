"""Runs the tasks of `surefoot model test` with the engine, in a temporary folder that holds all of their state."""

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.cli.setup.model_tasks import SmallTask
from surefoot.config.model import BudgetConfig, ExecutionConfig, Price
from surefoot.core.outcome import Verdict
from surefoot.core.plan import CommandCheck
from surefoot.core.task import Task
from surefoot.engine.loop import start_run
from surefoot.engine.runtime.services import Services
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.journal.store.memory import MemoryJournal
from surefoot.models.base import LanguageModel
from surefoot.models.prices import price_of
from surefoot.view.figures import duration

MAX_COST = 1.0
MAX_TOKENS = 400_000
MAX_SECONDS = 1_800.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for all tasks together."""

    seconds: float
    tokens: int
    dollars: float | None
    """None if the cost is not limited, because there is none or the price is not known."""
    price: Price | None

    @classmethod
    def of(cls, model: str, config: ExecutionConfig, options: Mapping[str, Any]) -> "Limits":
        """The given limits, or else the defaults. A model of unknown price has no default limit of its cost."""
        price = config.budget.flat_price or price_of(model, config.prices)
        costs = price is not None and (price.input > 0 or price.output > 0)
        dollars = options["max_cost"] if options["max_cost"] is not None else MAX_COST if costs else None
        return cls(options["max_time"] or MAX_SECONDS, options["max_tokens"] or MAX_TOKENS, dollars, price)

    def __str__(self) -> str:
        if self.dollars is not None:
            cost = f"costs at most ${self.dollars:.2f} (--max-cost)"
        elif self.price is None:
            cost = "has an unknown price: what it costs is limited by its tokens only"
        else:
            cost = "costs nothing, by the price that is known for this model"
        most = f"at most {duration(self.seconds)} (--max-time) and {self.tokens:,} tokens (--max-tokens)"
        return f"This {cost}. It takes {most}."


@dataclass(frozen=True, slots=True)
class TaskResult:
    task: SmallTask
    verdict: Verdict
    why: str
    seconds: float
    model_seconds: float
    calls: int
    retries: int
    prompt_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced_calls: int

    @property
    def verified(self) -> bool:
        return self.verdict is Verdict.VERIFIED

    @property
    def unasked(self) -> bool:
        """Whether the model gave no answer at all, so that the result says nothing about it."""
        return not self.verified and not self.cut_short and self.calls == 0

    @property
    def cut_short(self) -> bool:
        """Whether a limit ended the task, so that it is not known whether the model can do it."""
        return self.verdict in (Verdict.TIME, Verdict.BUDGET)

    def as_object(self) -> dict[str, Any]:
        return {
            "task": self.task.name,
            "verified": self.verified,
            "verdict": self.verdict.value,
            "why": self.why,
            "seconds": round(self.seconds, 2),
            "tokens_per_second": speed([self]),
            "calls": self.calls,
            "retries": self.retries,
            "tokens": {"prompt": self.prompt_tokens, "output": self.output_tokens},
            "cost_usd": None if self.unpriced_calls else round(self.cost_usd, 6),
        }


def speed(results: Sequence[TaskResult]) -> float | None:
    """The output tokens per second of model calls, including the time to read the prompts; None if not known."""
    seconds = sum(result.model_seconds for result in results)
    tokens = sum(result.output_tokens for result in results)
    return round(tokens / seconds, 1) if seconds > 0 and tokens else None


async def try_tasks(
    model: LanguageModel, tasks: Sequence[SmallTask], config: ExecutionConfig, limits: Limits, scratch: Path
) -> AsyncGenerator[SmallTask | TaskResult, None]:
    """Do the tasks one after another, within the limits. Yields each task before it starts, and then its result."""
    results: list[TaskResult] = []
    for number, task in enumerate(tasks, 1):
        budget = _remaining_budget(limits, config.budget, results)
        if budget is None:
            return
        yield task
        folder = scratch / f"task-{number}"
        folder.mkdir()
        for path, text in task.files.items():
            (folder / path).write_text(text)
        results.append(await _try(model, task, folder, scratch / "state", config.with_(budget=budget)))
        yield results[-1]
        if results[-1].unasked:
            return


def _remaining_budget(limits: Limits, own: BudgetConfig, results: Sequence[TaskResult]) -> BudgetConfig | None:
    """The budget of the next task; None if nothing is left."""
    seconds = limits.seconds - sum(result.seconds for result in results)
    tokens = limits.tokens - sum(result.prompt_tokens + result.output_tokens for result in results)
    dollars = None if limits.dollars is None else limits.dollars - sum(result.cost_usd for result in results)
    if seconds <= 0 or tokens <= 0 or (dollars is not None and dollars <= 0):
        return None
    return own.with_(max_seconds=seconds, max_tokens=tokens, max_cost_usd=dollars, ask_above_cost=0)


async def _try(model: LanguageModel, task: SmallTask, folder: Path, home: Path, config: ExecutionConfig) -> TaskResult:
    asked = Task(
        text=task.text,
        workspace=str(folder),
        checks=tuple(CommandCheck(command=command, origin="user") for command in task.checks),
    )
    services = Services(journal=MemoryJournal(), model=model, home=home)
    spent: list[int] = []

    def on_record(record: e.Record) -> None:
        if isinstance(record.event, e.ModelAnswered):
            spent.append(record.event.duration_ms)

    services.bus.subscribe(on_record)
    started = time.monotonic()
    state = await start_run(services, asked, config)
    return _result(task, state, time.monotonic() - started, sum(spent) / 1000)


def _result(task: SmallTask, state: RunState, seconds: float, model_seconds: float) -> TaskResult:
    outcome = state.outcome
    verdict = outcome.verdict if outcome else Verdict.WAITING
    reason = outcome.summary if outcome else state.stage_reason
    return TaskResult(
        task,
        verdict,
        "" if verdict is Verdict.VERIFIED else reason,
        seconds,
        model_seconds,
        state.model_calls,
        state.resets,
        state.prompt_tokens,
        state.output_tokens,
        state.cost_usd,
        state.unpriced_calls,
    )

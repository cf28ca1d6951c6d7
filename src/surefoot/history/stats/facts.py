"""The facts of one run that statistics count, from its entry in the list of runs and some of its events. Pure.

Events are not decoded into their types, because only a few fields of a few kinds are needed from thousands of runs.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pydantic_core import from_json

from surefoot.config.flat_price import FlatRates, flat_price_of, recorded_cost
from surefoot.core.outcome import Verdict
from surefoot.core.proof import ProofLevel
from surefoot.core.transitions import HAS_RESULT, Rung, Stage
from surefoot.journal.store.base import RunSummary, Scanned

Result: TypeAlias = Literal[
    "verified",
    "own_test",
    "done",
    "failed",
    "waiting",
    "undone",
    "partly_undone",
    "cancelled",
    "planned",
    "unfinished",
]
"""The result of a run: one of three levels of proof, or an end without proof. Every run has exactly one."""

BODIES = frozenset({
    *("run_created", "run_resumed", "model_answered", "step_started", "step_finished", "checks_ran"),
    *("reflected", "rung_chosen", "rolled_back", "run_ended"),
})  # fmt: skip
"""The kinds of events whose bodies are read."""

_IDLE_BEFORE = frozenset({"run_resumed", "question_answered"})
_AFTER_RUN = frozenset({"undo_incomplete", "applied", "alert_finished"})
_NEW_PLAN = frozenset({Rung.REPLAN_TASK, Rung.NEXT_APPROACH, Rung.FAILURE_BRANCH})
"""Rungs after which other steps do the work, so that the end of the run shows whether they helped."""
_ENDINGS: dict[Verdict, Result] = {
    Verdict.CANCELLED: "cancelled",
    Verdict.INTERRUPTED: "unfinished",
    Verdict.WAITING: "waiting",
}
SUCCESSES: frozenset[Result] = frozenset({"verified", "own_test", "done"})


@dataclass(slots=True)
class UsageCount:
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0

    def add(self, other: "UsageCount") -> None:
        self.prompt_tokens += other.prompt_tokens
        self.cached_tokens += other.cached_tokens
        self.output_tokens += other.output_tokens
        self.calls += other.calls
        self.cost_usd += other.cost_usd
        self.unpriced_calls += other.unpriced_calls


@dataclass(slots=True)
class RunFacts:
    run_id: str
    created_at: float
    model: str
    """The model that the run began with, or was last resumed with."""
    result: Result = "unfinished"
    verdict: Verdict | None = None
    seconds: float = 0.0
    """Time spent working. Waiting for a person and the time between two processes do not count."""
    steps: int = 0
    """Attempts of steps."""
    retries: int = 0
    """Attempts after the first one of a step."""
    model_retries: int = 0
    taken: Counter[str] = field(default_factory=Counter)
    healed: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    """Failures of steps, by kind."""
    categories: Counter[str] = field(default_factory=Counter)
    """Causes that the reflections found."""
    checks: list[tuple[str, int]] = field(default_factory=list)
    """The commands that were run as checks, each with its milliseconds. Reused results are left out."""
    usage: dict[str, UsageCount] = field(default_factory=dict)
    """By model."""


def facts_of(summary: RunSummary, events: Iterable[Scanned]) -> RunFacts:
    """Collect the facts of a run. Events that a fork copied from another run are counted only for that run."""
    collector = _Collector(RunFacts(summary.run_id, summary.created_at, summary.model))
    for event in events:
        collector.apply(event)
    return collector.finish(summary)


class _Collector:
    def __init__(self, facts: RunFacts) -> None:
        self._facts = facts
        self._flat_price: FlatRates | None = None
        self._copied = 0
        self._plan_only = False
        self._proof = ""
        self._ended = False
        self._before = 0.0
        self._chosen: dict[str, str] = {}
        """By step: the rung whose attempt has not ended yet."""
        self._undos: list[Scanned] = []
        """The undos and reviews of the run, and its resumes."""
        self._new_plan = ""
        """The last rung that replaced the plan."""

    def apply(self, event: Scanned) -> None:
        copied = 1 < event.seq <= 1 + self._copied
        body: dict[str, Any] = from_json(event.body) if event.body is not None and not copied else {}
        after_run = event.kind in _AFTER_RUN or (event.kind == "rolled_back" and not body.get("step_id"))
        after_run = after_run or (event.kind == "plan_revised" and self._ended)
        if event.at > self._before and self._before and not (copied or after_run or event.kind in _IDLE_BEFORE):
            self._facts.seconds += event.at - self._before
        if not after_run:
            self._before = event.at
        if event.kind == "model_retried" and not copied:
            self._facts.model_retries += 1
        if event.kind in ("rolled_back", "run_resumed") and body and not body.get("step_id"):
            self._undos.append(event)
        if body and (handler := getattr(self, f"_{event.kind}", None)):
            handler(body)

    def finish(self, summary: RunSummary) -> RunFacts:
        facts = self._facts
        facts.verdict = summary.verdict
        facts.result = self._result(summary)
        if self._new_plan and facts.verdict in (Verdict.VERIFIED, Verdict.UNVERIFIED):
            facts.healed[self._new_plan] += 1
        return facts

    def _result(self, summary: RunSummary) -> Result:
        verdict = summary.verdict
        if summary.stage is Stage.WAITING:
            return "waiting"
        if verdict is None:
            return "unfinished"
        undone: Result = "partly_undone" if summary.undone == "partly undone" else "undone"
        if summary.undone and self._took_review_back():
            return undone  # the verdict is that of the review
        if verdict not in (Verdict.VERIFIED, Verdict.UNVERIFIED):
            return _ENDINGS.get(verdict, "failed")
        if summary.undone:
            return undone
        if verdict is Verdict.VERIFIED:
            return "verified"
        if self._plan_only:
            return "planned"
        return "own_test" if self._proof == ProofLevel.OWN_TEST else "done"

    def _took_review_back(self) -> bool:
        from surefoot.journal.events import decode  # most runs were never undone
        from surefoot.journal.undone import UndoHistory

        history = UndoHistory()
        for event in self._undos:
            history.apply(decode(event.kind, event.body or b""), event.at)
        return history.current is not None and history.current.review_taken_back

    # -- one method for each kind of event --------------------------------------------------------------------------

    def _run_created(self, body: dict[str, Any]) -> None:
        config = body.get("config", {})
        self._copied = body.get("copied", 0)
        self._plan_only = config.get("phases") == "plan"
        self._flat_price = flat_price_of(config)

    def _run_resumed(self, body: dict[str, Any]) -> None:
        self._facts.model = body["model"]
        self._ended = False
        if config := body.get("config"):
            self._flat_price = flat_price_of(config)

    def _run_ended(self, body: dict[str, Any]) -> None:
        self._proof = body["outcome"].get("proof", "")
        self._ended = True

    def _model_answered(self, body: dict[str, Any]) -> None:
        prompt, output = body.get("prompt_tokens", 0), body.get("output_tokens", 0)
        cost = recorded_cost(body.get("cost_usd"), prompt, output, self._flat_price)
        count = UsageCount(prompt, body.get("cached_tokens", 0), output, 1, cost or 0.0, int(cost is None))
        self._facts.usage.setdefault(self._facts.model, UsageCount()).add(count)

    def _step_started(self, body: dict[str, Any]) -> None:
        self._facts.steps += 1
        self._facts.retries += body["attempt"] > 1

    def _step_finished(self, body: dict[str, Any]) -> None:
        if failure := body.get("failure"):
            self._facts.kinds[failure["kind"]] += 1
        rung = self._chosen.pop(body["step_id"], "")
        if rung and body["status"] in HAS_RESULT:
            self._facts.healed[rung] += 1

    def _checks_ran(self, body: dict[str, Any]) -> None:
        for result in body["results"]:
            command = result["check"].get("command", "")
            if command and not result.get("reused"):
                self._facts.checks.append((command, result.get("duration_ms", 0)))

    def _reflected(self, body: dict[str, Any]) -> None:
        self._facts.categories[body["reflection"]["category"]] += 1

    def _rung_chosen(self, body: dict[str, Any]) -> None:
        rung = body["rung"]
        self._facts.taken[rung] += 1
        if rung in _NEW_PLAN:
            self._new_plan = rung
        elif rung != Rung.GIVE_UP:
            self._chosen[body["step_id"]] = rung

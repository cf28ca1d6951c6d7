"""Decides which steps are ready, in which order they start, which wait, and which can never run. Pure.

The cost of settling a step depends on the number of its dependants only, not on the size of the plan.
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from surefoot.core.plan import Condition, DetailedPlan, StepDependency
from surefoot.core.transitions import SETTLED, StepStatus, condition_met
from surefoot.errors import PlanCycle

LOOK_AHEAD = 64
"""How many ready steps that cannot run now are passed over in search of one that can. Without a limit, thousands of
steps that all want the whole workspace would each look at all the others."""


def check_acyclic(step_ids: Iterable[str], dependencies: Iterable[StepDependency]) -> None:
    """Raise `PlanCycle`, with the path of the cycle, if there is one."""
    graph: dict[str, set[str]] = {step_id: set() for step_id in step_ids}
    for dependency in dependencies:
        graph.setdefault(dependency.step_id, set()).add(dependency.depends_on)
    in_order(graph)


def in_order(waits_for: Mapping[str, Collection[str]]) -> list[str]:
    """Sort the steps so that each comes after those that it waits for. Raises `PlanCycle` if that is impossible.

    The order and the cycle are the same in every process, although sets have another order in each.
    """
    try:
        return list(TopologicalSorter({step: sorted(before) for step, before in waits_for.items()}).static_order())
    except CycleError as error:
        raise PlanCycle(error.args[1]) from None


class Schedule:
    """The plan's dependency graph with counters. Build a new one when the plan changes.

    It also decides the order in which ready steps start: by priority, then by the longest path still to go, then by
    their order in the plan.
    """

    def __init__(self, plan: DetailedPlan, statuses: Mapping[str, StepStatus]) -> None:
        self._steps = {step.id: step for step in plan.steps}
        ended = {s: status for s, status in statuses.items() if status in SETTLED or status is StepStatus.FAILED}
        self._dependants: dict[str, list[tuple[str, Condition]]] = {}
        self._waits_for: dict[str, set[str]] = {step_id: set() for step_id in self._steps if step_id not in ended}
        for dependency in plan.dependencies:
            # Ended steps wait for nothing, so a run that is resumed late has little left to sort.
            step_id, before = dependency.step_id, dependency.depends_on
            if (waiting := self._waits_for.get(step_id)) is not None:
                self._dependants.setdefault(before, []).append((step_id, dependency.condition))
                waiting.add(before)
        self._remaining = self._longest_paths()
        self._ready: list[tuple[int, int, int, str]] = []
        self._pending = {s for s in self._waits_for if statuses.get(s, StepStatus.PENDING) is StepStatus.PENDING}
        self.unreachable: dict[str, str] = {}
        """Steps that can never run, and why."""
        for step_id, waiting in self._waits_for.items():
            if not waiting:
                self._offer(step_id)
        for step_id, status in ended.items():
            if step_id in self._dependants:
                self.settle(step_id, status)

    def settle(self, step_id: str, status: StepStatus) -> None:
        """Record the end of a step. Its dependants may become ready or unreachable."""
        self._pending.discard(step_id)
        for dependant, condition in self._dependants.get(step_id, ()):
            waiting = self._waits_for[dependant]
            if step_id not in waiting:
                continue
            if condition_met(condition, status):
                waiting.discard(step_id)
                if not waiting:
                    self._offer(dependant)
            elif dependant in self._pending:
                name = self._steps[step_id].name
                self.unreachable[dependant] = f"it needs the {condition} of '{name}', which {status}"

    def take(self, accept: Callable[[str], bool] | None = None) -> str | None:
        """Take the first ready step that `accept` allows, in the order of the class; None if there is none."""
        passed_over: list[tuple[int, int, int, str]] = []
        taken = None
        while self._ready and len(passed_over) < LOOK_AHEAD:
            entry = heapq.heappop(self._ready)
            step_id = entry[-1]
            if step_id not in self._pending or step_id in self.unreachable:
                continue
            if accept is None or accept(step_id):
                taken = step_id
                self._pending.discard(step_id)
                break
            passed_over.append(entry)
        for entry in passed_over:
            heapq.heappush(self._ready, entry)
        return taken

    def put_back(self, step_id: str) -> None:
        """Offer a step again that was taken and could not start."""
        if step_id in self._waits_for:
            self._pending.add(step_id)
            self._offer(step_id)

    def waiting(self) -> dict[str, str]:
        """Return every pending step with what it waits for."""
        return {
            step_id: "waits for " + ", ".join(sorted(self._waits_for[step_id])) if self._waits_for[step_id] else "ready"
            for step_id in self._pending
        }

    def _offer(self, step_id: str) -> None:
        step = self._steps[step_id]
        heapq.heappush(self._ready, (-step.priority, -self._remaining[step_id], step.sequence, step_id))

    def _longest_paths(self) -> dict[str, int]:
        """Return the length of the longest path from each step to the end of the plan, computed from the end."""
        remaining = dict.fromkeys(self._steps, 0)
        behind = {step_id: len({dependant for dependant, _ in each}) for step_id, each in self._dependants.items()}
        order = [step_id for step_id in self._waits_for if step_id not in behind]
        for step_id in order:
            length = remaining[step_id] + 1
            for before in self._waits_for.get(step_id, ()):
                remaining[before] = max(remaining[before], length)
                behind[before] -= 1
                if not behind[before]:
                    order.append(before)
        if any(behind.values()):
            in_order(self._waits_for)
        return remaining

"""The output of `surefoot show --decisions`."""

from collections.abc import Iterable, Iterator

from rich.text import Text

from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.symbols import Marks
from surefoot.history.decisions import Decision
from surefoot.journal.state import RunState


def decision_lines(decisions: Iterable[Decision], state: RunState, marks: Marks) -> Iterator[Text]:
    heading = ("", 0)
    for decision in decisions:
        if (decision.step_id, decision.attempt) != heading:
            heading = (decision.step_id, decision.attempt)
            yield Text(_heading(decision, state), style="bold")
        yield from _lines(decision, marks)
    if not any(heading):
        yield Text("no decisions were made inside a step")


def _heading(decision: Decision, state: RunState) -> str:
    name = state.step(decision.step_id).name if decision.step_id in state.steps else "a step of an earlier plan"
    attempt = f", attempt {decision.attempt}" if decision.attempt > 1 else ""
    return f"{fmt.line(decision.step_id)}: {fmt.line(name)}{attempt}"


def _lines(decision: Decision, marks: Marks) -> Iterator[Text]:
    number = (f"{decision.number:>4}. ", "dim")
    if decision.rung is not None:
        yield Text.assemble(number, (f"{marks.arrow} {fmt.RUNG_LABELS[decision.rung]}", "yellow"))
    elif decision.kind == "act":
        yield Text.assemble(number, fmt.action(decision.tool, decision.arguments, 160))
    else:
        yield Text.assemble(number, {"done": "the step is done", "replan": "the plan does not work"}[decision.kind])
    if decision.thought:
        yield Text(f"      {fmt.line(decision.thought, 300)}", style="italic dim")
    if decision.plan_changes:
        yield Text(
            f"      plan: {fmt.join_limited([fmt.line(change) for change in decision.plan_changes], 12)}", style="cyan"
        )
    if decision.result:
        mark, style = ("", "dim") if decision.ok is None else marks.of_check(decision.ok)
        yield Text.assemble("      ", (f"{mark} ".lstrip(), style), (fmt.line(decision.result, 200), "dim"))

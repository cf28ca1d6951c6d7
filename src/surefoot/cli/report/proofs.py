"""The output of `surefoot show --proofs`: what each check result is based on, and what has changed since."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rich.text import Text

from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.hiding import as_json
from surefoot.cli.report.symbols import Marks
from surefoot.core.outcome import CheckResult
from surefoot.core.plan import CommandCheck
from surefoot.engine.verifier.proofs import expired
from surefoot.history.timeline import workspace_of
from surefoot.journal.state import RunState
from surefoot.workspace.snapshots.tree_state import TreeState

FINAL = "the last pass"
"""Takes the place of the step in proofs of the last pass, over the final tree."""


class Proof(NamedTuple):
    step: str
    """The id of the step, or `FINAL`."""
    red_before: bool
    result: CheckResult
    changed: list[str] | None
    """The inputs of the check that have changed since; None if the workspace no longer exists."""

    def as_object(self) -> dict[str, Any]:
        own = {"step": self.step, "red_before": self.red_before, "changed_since": self.changed}
        return {**own, **as_json(self.result)}


def proofs(state: RunState, home: Path) -> list[Proof]:
    root = state.task.folder if state.task else Path("/nonexistent")
    tree_state = workspace_of(state, home).tree_state() if root.is_dir() else None
    result = []
    for step_id, step_run in state.steps.items():
        red = {result.check.key for result in step_run.results_before if not result.passed}
        result += [Proof(step_id, r.check.key in red, r, _changed(r, root, tree_state)) for r in step_run.results]
    final = state.validation.output.checks if state.validation and state.validation.output else ()
    result += [Proof(FINAL, r.check.key in state.red_at_start, r, _changed(r, root, tree_state)) for r in final]
    return result


def _changed(result: CheckResult, root: Path, tree_state: TreeState | None) -> list[str] | None:
    return expired(result, root, tree_state) if tree_state is not None else None


def proof_lines(proofs: list[Proof], marks: Marks) -> Iterator[Text]:
    step = ""
    for proof in proofs:
        if proof.step != step:
            step = proof.step
            yield Text(fmt.line(step), style="bold")
        yield from _lines(proof, marks)
    if not proofs:
        yield Text("no check was run")


def _lines(proof: Proof, marks: Marks) -> Iterator[Text]:
    result = proof.result
    mark, style = marks.of_check(result.passed)
    facts = ["failed before" if proof.red_before else "passed before too" if result.passed else ""]
    facts.append(f"exit code {result.exit_code}" if result.exit_code is not None else "")
    facts.append(f"output {result.output_hash[:12]}" if result.output_hash else "")
    facts.append("reused: nothing it depends on had changed" if result.reused else "")
    yield Text.assemble(
        "  ", (f"{mark} ", style), fmt.line(result.check.label), (f"  {', '.join(filter(None, facts))}", "dim")
    )
    inputs = [f"{fmt.line(name)} {digest[:12] or 'missing'}" for name, digest in result.inputs.items()]
    if not inputs and isinstance(result.check, CommandCheck):
        inputs = [f"the whole workspace {result.tree[:12]}"]
    yield Text(f"      based on: {fmt.join_limited(inputs) or 'nothing'}", style="dim")
    if proof.changed:
        yield Text(
            f"      changed since: {fmt.join_limited([fmt.line(name) for name in proof.changed])}", style="yellow"
        )

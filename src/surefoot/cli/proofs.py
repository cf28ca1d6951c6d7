"""What the checks of a run were found on, and whether that is still so: for `show --proofs`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rich.text import Text

from surefoot.cli import words
from surefoot.cli.marks import Marks
from surefoot.outcome import CheckResult
from surefoot.plan import CommandCheck
from surefoot.state import RunState
from surefoot.verify import expired
from surefoot.workspace.look import Look
from surefoot.workspace.snapshot import Workspace

FINAL = "the last pass"


class Proof(NamedTuple):
    about: str
    """The step, or the last pass over the final tree."""
    red_before: bool
    result: CheckResult
    changed: list[str] | None
    """What it was found on and is different now; None where that cannot be told any more."""

    def as_object(self) -> dict[str, Any]:
        told = self.result.model_dump(mode="json")
        return {"step": self.about, "red_before": self.red_before, "changed_since": self.changed, **told}


def proofs(state: RunState, home: Path) -> list[Proof]:
    root = state.task.folder if state.task else Path("/nonexistent")
    look = Workspace(root, home, excludes=state.config.snapshot_excludes).look() if root.is_dir() else None
    found = []
    for step_id, run in state.steps.items():
        red = {result.check.key for result in run.baseline if not result.passed}
        found += [Proof(step_id, r.check.key in red, r, _changed(r, root, look)) for r in run.checks]
    last = state.validation.output.checks if state.validation and state.validation.output else ()
    found += [Proof(FINAL, r.check.key in state.red_at_start, r, _changed(r, root, look)) for r in last]
    return found


def _changed(result: CheckResult, root: Path, look: Look | None) -> list[str] | None:
    return expired(result, root, look) if look is not None else None


def proof_lines(found: list[Proof], marks: Marks) -> Iterator[Text]:
    about = ""
    for proof in found:
        if proof.about != about:
            about = proof.about
            yield Text(words.line(about), style="bold")
        yield from _lines(proof, marks)
    if not found:
        yield Text("no check was run")


def _lines(proof: Proof, marks: Marks) -> Iterator[Text]:
    result = proof.result
    mark, style = marks.of_check(result.passed)
    told = ["failed before" if proof.red_before else "passed before too" if result.passed else ""]
    told.append(f"exit code {result.exit_code}" if result.exit_code is not None else "")
    told.append(f"output {result.output_hash[:12]}" if result.output_hash else "")
    told.append("not run again: nothing it depends on had changed" if result.reused else "")
    yield Text.assemble(
        "  ", (f"{mark} ", style), words.line(result.check.label), (f"  {', '.join(filter(None, told))}", "dim")
    )
    seen = [f"{words.line(name)} {digest[:12] or 'not there'}" for name, digest in result.inputs.items()]
    if not seen and isinstance(result.check, CommandCheck):
        seen = [f"the whole workspace {result.tree[:12]}"]
    yield Text(f"      found on: {words.few(seen) or 'nothing'}", style="dim")
    if proof.changed:
        yield Text(f"      changed since: {words.few([words.line(name) for name in proof.changed])}", style="yellow")

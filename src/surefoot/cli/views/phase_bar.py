"""The line of the live view that shows the phases of a run and its progress."""

from rich.text import Text

from surefoot.cli.report.formatting import PHASES
from surefoot.cli.report.symbols import Marks
from surefoot.core.phases import PhaseStatus
from surefoot.core.transitions import SETTLED, Stage
from surefoot.journal.state import RunState

ACCENT = "cyan"


def phase_bar(state: RunState, marks: Marks, width: int) -> Text:
    """All phases by name, or, in a narrow terminal, all marks with the name of the current phase."""
    current = _current_phase(state)
    phases = [(stage, name + _progress(state, stage), *_mark(state, stage, marks)) for stage, name in PHASES]
    full = Text()
    for stage, label, mark, style in phases:
        if full:
            full.append(f" {marks.link} ", style="dim")
        full.append(f"{mark} ", style=style)
        full.append(label, style=f"bold {style}" if stage is current else style)
    if full.cell_len <= width:
        return full
    short = Text()
    for stage, label, mark, style in phases:
        short.append(f"{mark} ", style=style)
        if stage is current:
            short.append(f"{label} ", style=f"bold {style}")
    return short


def _current_phase(state: RunState) -> Stage:
    match state.stage:
        case Stage.RECOVERY:
            return Stage.EXECUTION
        case Stage.WAITING:
            return Stage.EXECUTION if state.before_waiting is Stage.RECOVERY else state.before_waiting
        case Stage.FAILED:
            failed = state.failed_at or Stage.EXECUTION
            return Stage.EXECUTION if failed is Stage.RECOVERY else failed
        case Stage.COMPLETED:
            return Stage.VALIDATION
    return state.stage


def _mark(state: RunState, stage: Stage, marks: Marks) -> tuple[str, str]:
    """The mark of a phase and its style."""
    order = [phase for phase, _ in PHASES]
    current = _current_phase(state)
    result = {
        Stage.UNDERSTANDING: state.understanding,
        Stage.APPROACH: state.approach,
        Stage.PLANNING: state.planning,
        Stage.VALIDATION: state.validation,
    }.get(stage)
    if result is not None and result.status is PhaseStatus.SKIPPED:
        return marks.skipped, "dim"
    if stage is current and state.stage is not Stage.COMPLETED:
        if state.stage is Stage.FAILED:
            return marks.failed, "red"
        return marks.active, "yellow" if state.stage in (Stage.WAITING, Stage.RECOVERY) else ACCENT
    if state.stage is Stage.COMPLETED and stage in (Stage.EXECUTION, Stage.VALIDATION):
        if result is not None and result.status is PhaseStatus.FAILED:
            return marks.failed, "yellow"
        reached = bool(state.history) if stage is Stage.EXECUTION else result is not None
        return (marks.done, "green") if reached else (marks.pending, "dim")
    return (marks.done, "green") if order.index(stage) < order.index(current) else (marks.pending, "dim")


def _progress(state: RunState, stage: Stage) -> str:
    if stage is not Stage.EXECUTION or not state.steps:
        return ""
    settled = sum(step_run.status in SETTLED for step_run in state.steps.values())
    return f" {settled}/{len(state.steps)}"

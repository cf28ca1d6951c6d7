"""One frame of the live view as lines of text: a pure function of the follower and the size of the terminal.

Every line is cut to the width in terminal cells (wide characters count double), and all lines fit the height: a long
plan is shown around the running step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells
from rich.text import Text

from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.symbols import Marks
from surefoot.cli.report.usage import usage_of_state
from surefoot.cli.views.follower import Follower
from surefoot.cli.views.phase_bar import ACCENT, phase_bar
from surefoot.core.outcome import CheckResult, distinct_checks
from surefoot.core.transitions import READY, Stage, StepStatus
from surefoot.journal.state import RunState, StepRun

TAIL_LINES = 4
SPINS_PER_SECOND = 8


@dataclass(frozen=True, slots=True)
class Viewport:
    width: int
    height: int
    clock: float = 0.0
    """Seconds, for animations."""


def frame(follower: Follower, marks: Marks, view: Viewport, *, isolation: str = "", seconds: float = 0.0) -> list[Text]:
    """The lines for a run. `isolation` describes the sandbox; `seconds` is the time spent so far."""
    state = follower.state
    head = [
        _title(state, seconds, view.width),
        _context(state, marks, isolation, view.width),
        Text(),
        phase_bar(state, marks, view.width),
    ]
    foot = [
        *_checks(follower, marks, view.width),
        *_recovery(follower, marks),
        *_outcome(state, marks),
        _usage(state, marks),
    ]
    space = view.height - len(head) - len(foot) - 2
    if space >= 4:
        lines = [*head, Text(), *_body(follower, marks, view, space), Text(), *foot]
    else:
        # In a small terminal the current activity is more important than the context and the usage.
        head, foot = [head[0], head[-1]], foot if view.height >= 8 else []
        lines = [*head, *_body(follower, marks, view, max(view.height - len(head) - len(foot), 1)), *foot]
    return [_cut(line, view.width) for line in lines[: max(view.height, 1)]]


def starting_frame(marks: Marks, view: Viewport) -> list[Text]:
    """The lines for the time before there is a run, while a model is being chosen."""
    name = ("surefoot", f"bold {ACCENT}")
    return [_cut(Text.assemble((f"{_spinner(marks, view)} ", ACCENT), name, ("  starting", "dim")), view.width)]


def _spinner(marks: Marks, view: Viewport) -> str:
    return marks.spinner[int(view.clock * SPINS_PER_SECOND) % len(marks.spinner)]


# -- head ----------------------------------------------------------------------------------------------------------


def _title(state: RunState, seconds: float, width: int) -> Text:
    clock = fmt.elapsed(seconds)
    name = Text("surefoot  ", style=f"bold {ACCENT}")
    task = Text(fmt.line(state.task.text if state.task else "", 400), style="bold")
    space = width - name.cell_len - len(clock) - 3
    if space < 12:
        return Text.assemble((clock, "dim"), "  ", task)
    task.truncate(space, overflow="ellipsis", pad=True)
    return Text.assemble(name, task, "  ", (clock, "dim"))


def _context(state: RunState, marks: Marks, isolation: str, width: int) -> Text:
    """Model, workspace and isolation. A long path loses its beginning, because its end is more specific."""
    model, folder = fmt.line(state.model), fmt.folder(state.task.workspace) if state.task else ""
    space = width - 8 - cell_len(model) - cell_len(isolation)
    if space >= 12:
        folder = fmt.shorten_start(folder, space)
    return Text(f" {marks.dot} ".join(part for part in (model, folder, isolation) if part), style="dim")


# -- body ----------------------------------------------------------------------------------------------------------


def _body(follower: Follower, marks: Marks, view: Viewport, space: int) -> list[Text]:
    state = follower.state
    if not state.steps or state.stage in (Stage.UNDERSTANDING, Stage.APPROACH, Stage.PLANNING):
        return _planning(follower, marks, view)[:space]
    step_runs = list(state.steps.values())
    digits = len(str(len(step_runs)))
    ready = state.ready_steps() if state.outcome is None else set()
    blocks = [
        [
            _step(f"{number:>{digits}}", step_run, follower, marks, ready=step_run.step.id in ready),
            *_step_details(step_run, follower, marks, view, digits, space),
        ]
        for number, step_run in enumerate(step_runs, 1)
    ]
    return _window(blocks, [_is_active(state, step_run) for step_run in step_runs], marks, space)


def _planning(follower: Follower, marks: Marks, view: Viewport) -> list[Text]:
    """The body before there is a plan."""
    state = follower.state
    lines = [Text(f"  {row}", style="dim") for row in fmt.before_lines(state.results_before, marks)]
    if state.understanding and state.understanding.output:
        lines.append(Text("  " + fmt.line(state.understanding.output.understanding, 400), style="italic"))
        open_questions = state.understanding.output.clarification_needed
        lines += [Text(f"  open: {fmt.line(question, 300)}", style="yellow") for question in open_questions]
    for messages in state.refusals.values():
        reasons = fmt.line("; ".join(messages), 300)
        lines.append(Text.assemble((f"  {marks.failed} ", "yellow"), (f"gate: {reasons}", "yellow")))
    if follower.activity and state.outcome is None:
        lines.append(_activity(follower, marks, view, indent=2))
        lines += _tail(follower, marks, view, indent=4, limit=TAIL_LINES + 2)
    return lines


def _step(number: str, step_run: StepRun, follower: Follower, marks: Marks, *, ready: bool) -> Text:
    mark, style = marks.of_step(step_run.status)
    line = Text.assemble((f"  {mark} ", style), (f"{number}  ", "dim"))
    bold = "bold" if _is_active(follower.state, step_run) else ""
    line.append(fmt.line(step_run.step.name), style="dim" if style == "dim" else bold)
    if step_run.attempt > 1:
        line.append(f"  attempt {step_run.attempt}", style="yellow")
    if step_run.status in (StepStatus.SKIPPED, StepStatus.BLOCKED, StepStatus.PARTIAL, StepStatus.DEGRADED):
        line.append(f"  {fmt.STEP_LABELS[step_run.status]}", style=style)
    elif step_run.recorded_output is not None and step_run.recorded_output.unproven:
        line.append(f"  {fmt.step_label(step_run.status, step_run.recorded_output)}", style="dim")
    elif ready and not _is_active(follower.state, step_run):
        line.append(f"  {READY}", style="dim")
    if step_run.step.id in follower.seconds:
        line.append(f"  {fmt.duration(follower.seconds[step_run.step.id])}", style="dim")
    elif step_run.step.estimated_duration and step_run.status is StepStatus.PENDING:
        line.append(f"  about {step_run.step.estimated_duration} min", style="dim")
    for name in fmt.milestones_at(step_run.step.id, follower.state):
        line.append(f"  {marks.dot} {fmt.line(name)}", style="dim")
    if step_run.status is StepStatus.BLOCKED and step_run.output and step_run.output.logs:
        line.append(f"  {fmt.line(step_run.output.logs[0])}", style="dim")
    return line


def _step_details(
    step_run: StepRun, follower: Follower, marks: Marks, view: Viewport, digits: int, space: int
) -> list[Text]:
    """The activity, thought and output of a step that is active. Empty for any other step."""
    if not _is_active(follower.state, step_run) or follower.state.outcome or space <= 2:
        return []
    indent = 6 + digits
    lines = [_activity(follower, marks, view, indent)] if follower.activity else []
    if follower.thought and not follower.tail and space > 6:
        lines.append(Text(" " * (indent + 2) + follower.thought, style="dim italic"))
    return lines + _tail(follower, marks, view, indent + 2, limit=min(TAIL_LINES, space - 4))


def _is_active(state: RunState, step_run: StepRun) -> bool:
    if step_run.status is StepStatus.FAILED:
        return state.recovering == step_run.step.id
    return step_run.status is StepStatus.RUNNING


def _activity(follower: Follower, marks: Marks, view: Viewport, indent: int) -> Text:
    return Text.assemble(" " * indent, (f"{_spinner(marks, view)} ", ACCENT), (follower.activity, ACCENT))


def _tail(follower: Follower, marks: Marks, view: Viewport, indent: int, limit: int) -> list[Text]:
    width = view.width - indent - 3
    if not follower.tail.strip() or limit < 1 or width < 10:
        return []
    rows = [row for line in fmt.block(follower.tail).splitlines() for row in chop_cells(line, width) or [""]]
    return [Text.assemble(" " * indent, (f"{marks.tail} ", "dim"), (row, "dim")) for row in rows[-limit:]]


def _window(blocks: Sequence[list[Text]], active: Sequence[bool], marks: Marks, space: int) -> list[Text]:
    """As many steps around the active one as fit, with the number of steps left out before and after them."""
    if sum(map(len, blocks)) <= space:
        return [line for block in blocks for line in block]
    centre = next((i for i, is_active in enumerate(active) if is_active), 0)
    if len(blocks[centre]) + 2 > space:
        return blocks[centre][: max(space, 1)]
    first, last = centre, centre + 1
    left = space - len(blocks[centre]) - 2
    while left > 0 and (first > 0 or last < len(blocks)):
        grown = False
        for at_end in (True, False):
            nearest = last if at_end else first - 1
            if 0 <= nearest < len(blocks) and len(blocks[nearest]) <= left:
                left -= len(blocks[nearest])
                first, last = (first, last + 1) if at_end else (first - 1, last)
                grown = True
        if not grown:
            break
    lines = [line for block in blocks[first:last] for line in block]
    above = [Text(f"  {marks.more} {first} before", style="dim")] if first else []
    below = [Text(f"  {marks.more} {len(blocks) - last} more", style="dim")] if last < len(blocks) else []
    return [*above, *lines, *below]


# -- foot ----------------------------------------------------------------------------------------------------------


def _checks(follower: Follower, marks: Marks, width: int) -> list[Text]:
    state = follower.state
    results: tuple[CheckResult, ...] = ()
    if state.outcome is not None:
        results = state.outcome.checks
    elif state.stage in (Stage.VALIDATION, Stage.COMPLETED):
        results = follower.final_checks
    else:
        running = [step_run for step_run in state.steps.values() if _is_active(state, step_run)]
        results = distinct_checks(result for step_run in running for result in (step_run.newest_results))
    line = Text.assemble(("  checks", "dim"))
    lines = []
    for result in results:
        mark, style = marks.of_check(result.passed)
        item = Text.assemble("  ", (f"{mark} ", style), (fmt.line(result.check.label, 60), style))
        if line.cell_len + item.cell_len > width and line.plain.strip() not in ("", "checks"):
            lines.append(line)
            line = Text(" " * 8)
        line.append_text(item)
    check_lines = [*lines, line] if results else []
    total = Text(f"          {marks.more} {len(results)} checks", style="dim")
    return check_lines if len(check_lines) <= 3 else [*check_lines[:2], total]


def _recovery(follower: Follower, marks: Marks) -> list[Text]:
    if follower.rung is None:
        return []
    return [Text(f"  {marks.arrow} {fmt.recovery(follower.rung, follower.state)}", style="yellow")]


def _outcome(state: RunState, marks: Marks) -> list[Text]:
    if state.outcome is None:
        return []
    mark, style = marks.of_verdict(state.outcome.verdict)
    title = f"  {mark} {fmt.verdict_label(state.outcome.verdict, state.outcome)}"
    return [Text.assemble((title, f"bold {style}"), f"  {fmt.line(state.outcome.summary, 300)}")]


def _usage(state: RunState, marks: Marks) -> Text:
    if not state.model_calls:
        return Text()
    calls = fmt.count(state.model_calls, "call")
    return Text(f"  {usage_of_state(state)} {marks.dot} {calls}", style="dim")


def _cut(line: Text, width: int) -> Text:
    """Truncate the line. The last column stays free, because writing into it makes some terminals wrap."""
    line.no_wrap = True
    line.truncate(max(width - 1, 1), overflow="ellipsis")
    return line

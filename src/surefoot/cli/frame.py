"""One picture of a run as lines of text: a pure function of what a reader knows and of the room there is.

Every line is cut to the width in terminal cells (wide characters count double), and the whole fits the height: the
plan is shown around the step that runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells
from rich.text import Text

from surefoot.cli import words
from surefoot.cli.follow import Follower
from surefoot.cli.marks import Marks
from surefoot.machine import SETTLED, Stage, StepStatus
from surefoot.outcome import CheckResult, PhaseStatus
from surefoot.state import RunState, StepRun

TAIL_LINES = 4
ACCENT = "cyan"


@dataclass(frozen=True, slots=True)
class Room:
    width: int
    height: int
    clock: float = 0.0
    """Seconds, for what moves."""


def frame(follower: Follower, marks: Marks, room: Room, *, isolation: str = "", seconds: float = 0.0) -> list[Text]:
    """`isolation` says how commands are kept in; `seconds` is the time spent so far."""
    state = follower.state
    head = [
        _title(state, seconds, room.width),
        _place(state, marks, isolation, room.width),
        Text(),
        phase_bar(state, marks, room),
    ]
    foot = [
        *_checks(follower, marks, room.width),
        *_recovery(follower, marks),
        *_outcome(state, marks),
        _usage(state, marks),
    ]
    space = room.height - len(head) - len(foot) - 2
    if space >= 4:
        lines = [*head, Text(), *_body(follower, marks, room, space), Text(), *foot]
    else:
        # A few rows only: what is being done now comes before where and how much.
        head, foot = [head[0], head[-1]], foot if room.height >= 8 else []
        lines = [*head, *_body(follower, marks, room, max(room.height - len(head) - len(foot), 1)), *foot]
    return [_cut(line, room.width) for line in lines[: max(room.height, 1)]]


def starting(marks: Marks, room: Room) -> list[Text]:
    """Before there is a run: a model is looked for, the workspace is looked at."""
    turning = marks.spinner[int(room.clock * 8) % len(marks.spinner)]
    return [
        _cut(Text.assemble((f"{turning} ", ACCENT), ("surefoot", f"bold {ACCENT}"), ("  starting", "dim")), room.width)
    ]


# -- the top -------------------------------------------------------------------------------------------------------


def _title(state: RunState, seconds: float, width: int) -> Text:
    clock = words.elapsed(seconds)
    name = Text("surefoot  ", style=f"bold {ACCENT}")
    task = Text(words.line(state.task.text if state.task else "", 400), style="bold")
    room = width - name.cell_len - len(clock) - 3
    if room < 12:
        return Text.assemble((clock, "dim"), "  ", task)
    task.truncate(room, overflow="ellipsis", pad=True)
    return Text.assemble(name, task, "  ", (clock, "dim"))


def _place(state: RunState, marks: Marks, isolation: str, width: int) -> Text:
    """A folder that is too long loses its beginning: the end tells more."""
    model, folder = words.line(state.model), words.folder(state.task.workspace) if state.task else ""
    room = width - 8 - cell_len(model) - cell_len(isolation)
    if cell_len(folder) > room >= 12:
        folder = "…" + "".join(folder[-room:])
        while cell_len(folder) > room:
            folder = "…" + folder[2:]
    return Text(f" {marks.dot} ".join(part for part in (model, folder, isolation) if part), style="dim")


def phase_bar(state: RunState, marks: Marks, room: Room) -> Text:
    """All phases where they fit, else the marks with the name of the current one."""
    parts = [_phase_mark(state, stage, marks) for stage, _ in words.PHASES]
    current = _current(state)
    full = Text()
    for (stage, name), (mark, style) in zip(words.PHASES, parts, strict=True):
        if full:
            full.append(f" {marks.link} ", style="dim")
        full.append(f"{mark} ", style=style)
        full.append(name + _progress(state, stage), style=f"bold {style}" if stage is current else style)
    if full.cell_len <= room.width:
        return full
    short = Text()
    for (stage, name), (mark, style) in zip(words.PHASES, parts, strict=True):
        short.append(f"{mark} ", style=style)
        if stage is current:
            short.append(name + _progress(state, stage) + " ", style=f"bold {style}")
    return short


def _current(state: RunState) -> Stage:
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


def _phase_mark(state: RunState, stage: Stage, marks: Marks) -> tuple[str, str]:
    order = [phase for phase, _ in words.PHASES]
    current = _current(state)
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
        reached = bool(state.history) if stage is Stage.EXECUTION else result is not None
        return (marks.done, "green") if reached else (marks.pending, "dim")
    return (marks.done, "green") if order.index(stage) < order.index(current) else (marks.pending, "dim")


def _progress(state: RunState, stage: Stage) -> str:
    if stage is not Stage.EXECUTION or not state.steps:
        return ""
    settled = sum(run.status in SETTLED for run in state.steps.values())
    return f" {settled}/{len(state.steps)}"


# -- the middle ----------------------------------------------------------------------------------------------------


def _body(follower: Follower, marks: Marks, room: Room, space: int) -> list[Text]:
    state = follower.state
    if not state.steps or state.stage in (Stage.UNDERSTANDING, Stage.APPROACH, Stage.PLANNING):
        return _thinking(follower, marks, room)[:space]
    runs = list(state.steps.values())
    widest = len(str(len(runs)))
    blocks = [
        [_step(f"{number:>{widest}}", run, follower, marks), *_inside(run, follower, marks, room, widest, space)]
        for number, run in enumerate(runs, 1)
    ]
    return _window(blocks, [_is_active(state, run) for run in runs], marks, space)


def _thinking(follower: Follower, marks: Marks, room: Room) -> list[Text]:
    """What there is to see before there is a plan."""
    state, lines = follower.state, []
    if state.understanding and state.understanding.output:
        lines.append(Text("  " + words.line(state.understanding.output.understanding, 400), style="italic"))
    for messages in state.refusals.values():
        told = words.line("; ".join(messages), 300)
        lines.append(Text.assemble((f"  {marks.failed} ", "yellow"), (f"gate: {told}", "yellow")))
    if follower.now and state.outcome is None:
        lines.append(_now(follower, marks, room, indent=2))
        lines += _tail(follower, marks, room, indent=4, most=TAIL_LINES + 2)
    return lines


def _step(number: str, run: StepRun, follower: Follower, marks: Marks) -> Text:
    mark, style = marks.of_step(run.status)
    line = Text.assemble((f"  {mark} ", style), (f"{number}  ", "dim"))
    bold = "bold" if _is_active(follower.state, run) else ""
    line.append(words.line(run.step.name), style="dim" if style == "dim" else bold)
    if run.attempt > 1:
        line.append(f"  try {run.attempt}", style="yellow")
    if run.status in (StepStatus.SKIPPED, StepStatus.BLOCKED, StepStatus.PARTIAL, StepStatus.DEGRADED):
        line.append(f"  {words.STEP_WORDS[run.status]}", style=style)
    if run.step.id in follower.seconds:
        line.append(f"  {words.duration(follower.seconds[run.step.id])}", style="dim")
    return line


def _inside(run: StepRun, follower: Follower, marks: Marks, room: Room, digits: int, space: int) -> list[Text]:
    """What the step that runs is doing."""
    if not _is_active(follower.state, run) or follower.state.outcome or space <= 2:
        return []
    indent = 6 + digits
    lines = [_now(follower, marks, room, indent)] if follower.now else []
    if follower.thought and not follower.tail and space > 6:
        lines.append(Text(" " * (indent + 2) + follower.thought, style="dim italic"))
    return lines + _tail(follower, marks, room, indent + 2, most=min(TAIL_LINES, space - 4))


def _is_active(state: RunState, run: StepRun) -> bool:
    return run.status is StepStatus.RUNNING or (run.status is StepStatus.FAILED and state.recovering == run.step.id)


def _now(follower: Follower, marks: Marks, room: Room, indent: int) -> Text:
    turning = marks.spinner[int(room.clock * 8) % len(marks.spinner)]
    return Text.assemble(" " * indent, (f"{turning} ", ACCENT), (follower.now, ACCENT))


def _tail(follower: Follower, marks: Marks, room: Room, indent: int, most: int) -> list[Text]:
    width = room.width - indent - 3
    if not follower.tail.strip() or most < 1 or width < 10:
        return []
    rows = [row for line in words.block(follower.tail).splitlines() for row in chop_cells(line, width) or [""]]
    return [Text.assemble(" " * indent, (f"{marks.tail} ", "dim"), (row, "dim")) for row in rows[-most:]]


def _window(blocks: Sequence[list[Text]], active: Sequence[bool], marks: Marks, space: int) -> list[Text]:
    """As many steps around the active one as there is room for, with a word on those left out."""
    if sum(map(len, blocks)) <= space:
        return [line for block in blocks for line in block]
    centre = next((i for i, is_active in enumerate(active) if is_active), 0)
    if len(blocks[centre]) + 2 > space:
        return blocks[centre][: max(space, 1)]
    first, last = centre, centre + 1
    room = space - len(blocks[centre]) - 2
    while room > 0 and (first > 0 or last < len(blocks)):
        grown = False
        for at_end in (True, False):
            nearest = last if at_end else first - 1
            if 0 <= nearest < len(blocks) and len(blocks[nearest]) <= room:
                room -= len(blocks[nearest])
                first, last = (first, last + 1) if at_end else (first - 1, last)
                grown = True
        if not grown:
            break
    lines = [line for block in blocks[first:last] for line in block]
    above = [Text(f"  {marks.more} {first} before", style="dim")] if first else []
    below = [Text(f"  {marks.more} {len(blocks) - last} more", style="dim")] if last < len(blocks) else []
    return [*above, *lines, *below]


# -- the bottom ----------------------------------------------------------------------------------------------------


def _checks(follower: Follower, marks: Marks, width: int) -> list[Text]:
    state = follower.state
    results: tuple[CheckResult, ...] = ()
    if state.outcome is not None:
        results = state.outcome.checks
    elif state.stage in (Stage.VALIDATION, Stage.COMPLETED):
        results = follower.final
    else:
        running = [run for run in state.steps.values() if _is_active(state, run)]
        results = tuple(result for run in running for result in (run.checks or run.baseline))
    line = Text.assemble(("  checks", "dim"))
    lines = []
    for result in results:
        mark, style = marks.of_check(result.passed)
        item = Text.assemble("  ", (f"{mark} ", style), (words.line(result.check.label, 60), style))
        if line.cell_len + item.cell_len > width and line.plain.strip() not in ("", "checks"):
            lines.append(line)
            line = Text(" " * 8)
        line.append_text(item)
    shown = [*lines, line] if results else []
    more = Text(f"          {marks.more} {len(results)} checks", style="dim")
    return shown if len(shown) <= 3 else [*shown[:2], more]


def _recovery(follower: Follower, marks: Marks) -> list[Text]:
    rung = follower.rung
    if rung is None:
        return []
    return [Text(f"  {marks.arrow} {words.rung(rung, follower.state)}", style="yellow")]


def _outcome(state: RunState, marks: Marks) -> list[Text]:
    if state.outcome is None:
        return []
    mark, style = marks.of_verdict(state.outcome.verdict)
    said = f"  {words.line(state.outcome.summary, 300)}"
    return [Text.assemble((f"  {mark} {words.VERDICTS[state.outcome.verdict]}", f"bold {style}"), said)]


def _usage(state: RunState, marks: Marks) -> Text:
    if not state.model_calls:
        return Text()
    calls = words.count(state.model_calls, "call")
    return Text(f"  {words.spent(state)} {marks.dot} {calls}", style="dim")


def _cut(line: Text, width: int) -> Text:
    """One column is left free: writing into the last one makes some terminals wrap."""
    line.no_wrap = True
    line.truncate(max(width - 1, 1), overflow="ellipsis")
    return line

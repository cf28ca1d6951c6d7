"""How things are put in words, the same in the live view, in plain lines and in summaries.

Text that comes from a model, a tool or a workspace may hold anything. `line` and `block` make it safe to print.
"""

import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surefoot import events as e
from surefoot.gates import decisive
from surefoot.machine import SETTLED, Rung, Stage, StepStatus
from surefoot.outcome import PhaseResult, StepReflection, Verdict
from surefoot.redact import neutralise
from surefoot.state import Action, RunState
from surefoot.workspace.faults import as_path, shown

PHASES: tuple[tuple[Stage, str], ...] = (
    (Stage.UNDERSTANDING, "Understanding"),
    (Stage.APPROACH, "Approach"),
    (Stage.PLANNING, "Planning"),
    (Stage.EXECUTION, "Execution"),
    (Stage.VALIDATION, "Validation"),
)

VERDICTS: dict[Verdict, str] = {
    Verdict.VERIFIED: "Verified",
    Verdict.UNVERIFIED: "Done, not verified",
    Verdict.FAILED: "Failed",
    Verdict.BLOCKED: "Blocked",
    Verdict.WAITING: "Waiting for you",
    Verdict.BUDGET: "Budget spent",
    Verdict.LOOP: "Stopped: going in circles",
    Verdict.TIME: "Out of time",
    Verdict.CANCELLED: "Cancelled",
    Verdict.INTERRUPTED: "Interrupted",
}

STEP_WORDS: dict[StepStatus, str] = {
    StepStatus.PENDING: "waiting",
    StepStatus.RUNNING: "running",
    StepStatus.SUCCEEDED: "done",
    StepStatus.PARTIAL: "partly done",
    StepStatus.FAILED: "failed",
    StepStatus.SKIPPED: "skipped",
    StepStatus.DEGRADED: "done with a stand-in",
    StepStatus.BLOCKED: "blocked",
}

RUNGS: dict[Rung, str] = {
    Rung.RETRY_LATER: "wait and retry",
    Rung.ADJUST_PARAMETERS: "retry, adjusted",
    Rung.ALTERNATIVE_TOOL: "retry with another tool",
    Rung.CANDIDATES: "try several side by side",
    Rung.REPAIR_STEP: "repair the step",
    Rung.SKIP_STEP: "skip the step",
    Rung.FALLBACK: "use the declared stand-in",
    Rung.FAILURE_BRANCH: "take the branch for failure",
    Rung.REPLAN_TASK: "plan the task again",
    Rung.NEXT_APPROACH: "try the next approach",
    Rung.GIVE_UP: "give up",
}


def line(text: str, limit: int = 160) -> str:
    """Any text as one line that does nothing to a terminal."""
    words = " ".join(neutralise(text[: limit * 8]).split())
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def block(text: str, limit: int = 4_000) -> str:
    """Any text with its lines kept, and nothing in it that a terminal would obey."""
    clean = neutralise(text[:limit]).replace("\t", "    ")
    return clean + ("\n…" if len(text) > limit else "")


def why_skipped(result: PhaseResult[Any]) -> str:
    messages = result.validation.messages if result.validation else ()
    return line(result.error or "; ".join(messages) or "not needed", 300)


def telling(detail: str, most: int = 6) -> list[str]:
    """The last lines of a check's output that say something: that is where the reason stands."""
    rows = [row.rstrip() for row in block(detail, 20_000).splitlines() if any(c.isalnum() for c in row)]
    return [line_of if len(line_of) <= 200 else line_of[:199] + "…" for line_of in rows[-most:]]


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def passing(good: int, of: int) -> str:
    """How many checks pass: `2 of 3 checks pass`, `the one check passes`."""
    if of == 1:
        return f"the one check {'passes' if good else 'fails'}"
    return f"{good} of {of} checks pass"


def elapsed(seconds: float) -> str:
    """As a clock: 0:07, 12:30, 1:02:03."""
    whole = max(int(seconds), 0)
    hours, rest = divmod(whole, 3600)
    minutes, seconds_left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{seconds_left:02}" if hours else f"{minutes}:{seconds_left:02}"


def duration(seconds: float) -> str:
    """As a length: 0.4s, 12s, 3m20s."""
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m{rest:02}s" if minutes < 120 else f"{minutes // 60}h{minutes % 60:02}m"


def moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def cost_usd(state: RunState) -> float:
    budget = state.config.budget
    prompt = state.prompt_tokens * budget.usd_per_million_prompt_tokens
    return (prompt + state.output_tokens * budget.usd_per_million_output_tokens) / 1_000_000


def spent(state: RunState) -> str:
    """Tokens and money, for example `12,345 prompt (8,000 cached) + 1,234 output tokens, $0.02`."""
    cached = f" ({state.cached_tokens:,} cached)" if state.cached_tokens else ""
    words = f"{state.prompt_tokens:,} prompt{cached} + {state.output_tokens:,} output tokens"
    cost = cost_usd(state)
    return f"{words}, ${cost:.4f}" if 0 < cost < 0.1 else f"{words}, ${cost:.2f}" if cost else words


def folder(path: str | Path) -> str:
    """A folder as people write it, with ~ for their home."""
    home = str(Path("~").expanduser())
    text = str(path)
    inside = text == home or text.startswith(home.rstrip("/") + "/")
    return line("~" + text[len(home) :] if inside and home != "/" else text)


def action(tool: str, arguments: dict[str, Any], limit: int = 100) -> str:
    """A tool call in short: the tool and the argument that tells most."""
    for name in ("command", "path", "pattern", "query", "url"):
        if isinstance(arguments.get(name), str):
            return line(f"{tool} {arguments[name]}", limit)
    told = ", ".join(f"{key}={value}" for key, value in arguments.items())
    return line(f"{tool} {told}", limit)


def action_of(item: Action, limit: int = 100) -> str:
    return action(item.tool, item.arguments, limit)


def place(path: str) -> str:
    """A path from the journal, whatever bytes its name is made of."""
    real = as_path(path)
    return line(path if real == path else shown(real))


def rung(chosen: e.RungChosen, state: RunState) -> str:
    """The way back and how often it may be taken: `retry, adjusted (2 of 3): another try with what ...`."""
    mine, limits = state.steps.get(chosen.step_id), state.config.reflection
    times = ""
    match chosen.rung:
        case Rung.RETRY_LATER if mine:
            times = f" ({mine.temporary_retries} of {limits.max_temporary_retries})"
        case Rung.ADJUST_PARAMETERS | Rung.ALTERNATIVE_TOOL | Rung.CANDIDATES if mine:
            times = f" ({mine.retries} of {limits.max_step_retries})"
        case Rung.REPAIR_STEP if mine:
            times = f" ({mine.repairs} of {limits.max_single_step_repairs})"
        case Rung.REPLAN_TASK:
            times = f" ({state.replans} of {limits.max_task_replanning_attempts})"
    return f"{RUNGS[chosen.rung]}{times}: {line(chosen.why, 300)}"


def plan_difference(made: e.PlanMade, state: RunState) -> list[str]:
    """A plan that takes the place of another: what of that is gone, what is done and stays, what is new."""
    steps = made.result.output.steps if made.result.output else ()
    rows = [f"  - {line(name)}" for name in made.dropped]
    for step in steps:
        run = state.steps.get(step.id)
        done = run is not None and run.status in SETTLED
        rows.append(f"  = {line(step.name)} (done, stays)" if done else f"  + {line(step.name)}")
    return rows


def reflection(found: StepReflection) -> str:
    """The cause, its category, and who said so."""
    return f"{line(found.root_cause)} ({found.category}, by {'rules' if found.decided_by == 'rules' else 'the model'})"


def is_green(candidate: e.CandidateTried) -> bool:
    return not candidate.unusable and all(result.passed for result in decisive(candidate.results))


def candidate(tried: e.CandidateTried, mark: str) -> str:
    """`✗ candidate 2 of 3, temperature 0.7: 1 of 2 checks pass`."""
    said = tried.unusable or passing(sum(r.passed for r in tried.results), len(tried.results))
    warmth = "" if tried.made_of else f", temperature {tried.temperature:g}"
    return line(f"{mark} {tried.label}{warmth}: {said}", 300)


def files(generated: Sequence[str], modified: Sequence[str], deleted: Sequence[str]) -> list[tuple[str, str]]:
    """Changed files with a sign each: + new, ~ changed, - gone."""
    return [
        (sign, place(path)) for sign, paths in (("+", generated), ("~", modified), ("-", deleted)) for path in paths
    ]


def few(items: Sequence[str], most: int = 6) -> str:
    named = ", ".join(items[:most])
    return named if len(items) <= most else f"{named} and {len(items) - most} more"


def indented(text: str, by: str = "  ") -> str:
    return textwrap.indent(text, by)

"""Puts what is drawn from tables in the code into the pages: the transitions into architecture.md, the recovery ladder
into concepts/ladder.md."""

import re
from dataclasses import replace
from pathlib import Path

from surefoot.config import ReflectionConfig
from surefoot.ladder import LIMITS, TABLE, Facts, climb
from surefoot.machine import RUN_TRANSITIONS, STEP_TRANSITIONS, Rung, Stage, StepStatus, draw
from surefoot.outcome import ErrorCategory

DOCS = Path(__file__).parent
ARCHITECTURE, LADDER = DOCS / "architecture.md", DOCS / "concepts" / "ladder.md"


def put(text: str, name: str, content: str) -> str:
    block = f"<!-- {name} -->\n{content}\n<!-- /{name} -->"
    assert f"<!-- {name} -->" in text, name
    return re.sub(rf"<!-- {name} -->.*?<!-- /{name} -->", lambda _: block, text, flags=re.DOTALL)


def mermaid(diagram: str) -> str:
    return f"```mermaid\n{diagram}\n```"


def rungs() -> str:
    numbered = enumerate(TABLE, 1)
    rows = [f"| {number} | `{rung}` | {why} | {LIMITS.get(rung, '')} |" for number, (rung, why, _) in numbered]
    return "\n".join(["| | rung | taken when | limited by |", "| --- | --- | --- | --- |", *rows])


def climbs() -> str:
    """What a step that fails again and again in the same way goes through, with the default settings."""
    usual = Facts(ReflectionConfig(), ErrorCategory.UNKNOWN)
    cases = {
        "a wrong parameter or wrong content (`parameter_error`)": replace(
            usual, category=ErrorCategory.PARAMETER_ERROR
        ),
        "the same, in a step that writes one file": replace(
            usual, category=ErrorCategory.PARAMETER_ERROR, can_choose=True
        ),
        "the same, with a small model": replace(
            usual, category=ErrorCategory.PARAMETER_ERROR, can_choose=True, small_model=True
        ),
        "a tool fails (`tool_error`), and there is another for the job": replace(
            usual, category=ErrorCategory.TOOL_ERROR, has_alternative_tool=True
        ),
        "a time-out or lost connection, and then no other tool": replace(
            usual, category=ErrorCategory.TOOL_ERROR, temporary=True, would_repeat=True
        ),
        "something from an earlier step is missing (`dependency_error`)": replace(
            usual, category=ErrorCategory.DEPENDENCY_ERROR
        ),
        "it is the wrong step (`decomposition_error`)": replace(usual, category=ErrorCategory.DECOMPOSITION_ERROR),
        "something on this machine is missing (`environment_error`)": replace(
            usual, category=ErrorCategory.ENVIRONMENT_ERROR
        ),
        "the cause is not known (`unknown`), in a step that is not critical": replace(usual, critical=False),
        "nothing could help (not recoverable)": replace(usual, recoverable=False),
        "with another approach left": replace(usual, category=ErrorCategory.DECOMPOSITION_ERROR, alternatives_left=1),
        "with `enable_step_level_reflection = false`": replace(
            usual, limits=ReflectionConfig(enable_step_level_reflection=False)
        ),
    }
    rows = [f"| {case} | {_short(climb(facts))} |" for case, facts in cases.items()]
    return "\n".join(["| failure | rungs, one after the other |", "| --- | --- |", *rows])


def _short(taken: list[Rung]) -> str:
    """Equal ones behind each other are counted."""
    parts: list[tuple[Rung, int]] = []
    for rung in taken:
        same = bool(parts) and parts[-1][0] is rung
        parts = [*parts[:-1], (rung, parts[-1][1] + 1)] if same else [*parts, (rung, 1)]
    return ", ".join(f"`{rung}`" + (f" x{times}" if times > 1 else "") for rung, times in parts)


def architecture() -> str:
    page = put(ARCHITECTURE.read_text(), "runs", mermaid(draw(RUN_TRANSITIONS, Stage.UNDERSTANDING)))
    return put(page, "steps", mermaid(draw(STEP_TRANSITIONS, StepStatus.PENDING)))


def ladder() -> str:
    return put(put(LADDER.read_text(), "rungs", rungs()), "climbs", climbs())


if __name__ == "__main__":
    ARCHITECTURE.write_text(architecture())
    LADDER.write_text(ladder())

"""Insert the diagrams and tables that are generated from code into the documentation.

The transition diagrams go into architecture.md, the tables of the recovery ladder into concepts/ladder.md.
Run it after a change to the tables in the code: `python docs/diagrams.py`.
"""

import re
from dataclasses import replace
from pathlib import Path

from surefoot.config.model import ReflectionConfig
from surefoot.core.outcome import ErrorCategory
from surefoot.core.transitions import RUN_TRANSITIONS, STEP_TRANSITIONS, Rung, Stage, StepStatus, draw
from surefoot.engine.reflector.ladder import LIMITED_BY, TABLE, Facts, climb

DOCS = Path(__file__).parent
ARCHITECTURE, LADDER = DOCS / "architecture.md", DOCS / "concepts" / "ladder.md"


def insert(page: str, name: str, content: str) -> str:
    """Replace the text between the marks `<!-- name -->` and `<!-- /name -->`."""
    block = f"<!-- {name} -->\n{content}\n<!-- /{name} -->"
    assert f"<!-- {name} -->" in page, name
    return re.sub(rf"<!-- {name} -->.*?<!-- /{name} -->", lambda _: block, page, flags=re.DOTALL)


def mermaid(diagram: str) -> str:
    return f"```mermaid\n{diagram}\n```"


def rung_table() -> str:
    numbered = enumerate(TABLE, 1)
    rows = [f"| {number} | `{rung}` | {why} | {LIMITED_BY.get(rung, '')} |" for number, (rung, why, _) in numbered]
    return "\n".join(["| | rung | taken when | limited by |", "| --- | --- | --- | --- |", *rows])


def climb_table() -> str:
    """List the rungs of a step that keeps failing in the same way, with the default settings."""
    default = Facts(ReflectionConfig(), ErrorCategory.UNKNOWN)
    cases = {
        "a wrong parameter or wrong content (`parameter_error`)": replace(
            default, category=ErrorCategory.PARAMETER_ERROR
        ),
        "the same, in a step that writes one file": replace(
            default, category=ErrorCategory.PARAMETER_ERROR, can_try_candidates=True
        ),
        "the same, with a small model": replace(
            default,
            category=ErrorCategory.PARAMETER_ERROR,
            can_try_candidates=True,
            candidates_first=True,
            stop_after_candidates=True,
        ),
        "a tool fails (`tool_error`) and has an alternative": replace(
            default, category=ErrorCategory.TOOL_ERROR, has_alternative_tool=True
        ),
        "a time-out or a lost connection, without an alternative tool": replace(
            default, category=ErrorCategory.TOOL_ERROR, temporary=True, would_repeat=True
        ),
        "a result of an earlier step is missing (`dependency_error`)": replace(
            default, category=ErrorCategory.DEPENDENCY_ERROR
        ),
        "the step itself is wrong (`decomposition_error`)": replace(
            default, category=ErrorCategory.DECOMPOSITION_ERROR
        ),
        "something is missing on this machine (`environment_error`)": replace(
            default, category=ErrorCategory.ENVIRONMENT_ERROR
        ),
        "an unknown cause (`unknown`), in a step that is not critical": replace(default, critical=False),
        "not recoverable": replace(default, recoverable=False),
        "the step itself is wrong, and another approach is left": replace(
            default, category=ErrorCategory.DECOMPOSITION_ERROR, alternatives=1
        ),
        "with `enable_step_level_reflection = false`": replace(
            default, limits=ReflectionConfig(enable_step_level_reflection=False)
        ),
    }
    rows = [f"| {case} | {_compact(climb(facts))} |" for case, facts in cases.items()]
    return "\n".join(["| failure | rungs in order |", "| --- | --- |", *rows])


def _compact(rungs: list[Rung]) -> str:
    """Write consecutive equal rungs once, with their count."""
    parts: list[tuple[Rung, int]] = []
    for rung in rungs:
        same = bool(parts) and parts[-1][0] is rung
        parts = [*parts[:-1], (rung, parts[-1][1] + 1)] if same else [*parts, (rung, 1)]
    return ", ".join(f"`{rung}`" + (f" x{times}" if times > 1 else "") for rung, times in parts)


def architecture() -> str:
    page = insert(ARCHITECTURE.read_text(), "runs", mermaid(draw(RUN_TRANSITIONS, Stage.UNDERSTANDING)))
    return insert(page, "steps", mermaid(draw(STEP_TRANSITIONS, StepStatus.PENDING)))


def ladder() -> str:
    return insert(insert(LADDER.read_text(), "rungs", rung_table()), "climbs", climb_table())


if __name__ == "__main__":
    ARCHITECTURE.write_text(architecture())
    LADDER.write_text(ladder())

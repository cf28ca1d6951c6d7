"""Insert the diagrams and tables that are generated from code into the documentation.

The transition diagrams go into architecture/stages.md, the tables of the recovery ladder into concepts/ladder.md.
Run it after a change to the tables in the code: `python docs/diagrams.py`.
"""

import re
import sys
from pathlib import Path

from surefoot.core.transitions import RUN_TRANSITIONS, STEP_TRANSITIONS, Rung, Stage, StepStatus, draw
from surefoot.engine.reflector.ladder import LIMITED_BY, TABLE

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from climbs import climbs  # noqa: E402 - a module beside this one, which is no package

STAGES, LADDER = DOCS / "architecture" / "stages.md", DOCS / "concepts" / "ladder.md"


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
    """List the rungs of a step that keeps failing in the same way, as the engine takes them."""
    rows = [f"| {case} | {_compact(rungs)} |" for case, rungs in climbs().items()]
    return "\n".join(["| failure | rungs in order |", "| --- | --- |", *rows])


def _compact(rungs: list[Rung]) -> str:
    """Write consecutive equal rungs once, with their count."""
    parts: list[tuple[Rung, int]] = []
    for rung in rungs:
        same = bool(parts) and parts[-1][0] is rung
        parts = [*parts[:-1], (rung, parts[-1][1] + 1)] if same else [*parts, (rung, 1)]
    return ", ".join(f"`{rung}`" + (f" x{times}" if times > 1 else "") for rung, times in parts)


def architecture() -> str:
    page = insert(STAGES.read_text(), "runs", mermaid(draw(RUN_TRANSITIONS, Stage.UNDERSTANDING)))
    return insert(page, "steps", mermaid(draw(STEP_TRANSITIONS, StepStatus.PENDING)))


def ladder() -> str:
    return insert(insert(LADDER.read_text(), "rungs", rung_table()), "climbs", climb_table())


if __name__ == "__main__":
    STAGES.write_text(architecture())
    LADDER.write_text(ladder())

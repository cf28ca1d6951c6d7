"""Puts the diagrams that are drawn from the transition tables into architecture.md."""

import re
from pathlib import Path

from surefoot.machine import RUN_TRANSITIONS, STEP_TRANSITIONS, Stage, StepStatus, draw

PAGE = Path(__file__).with_name("architecture.md")


def put(text: str, name: str, diagram: str) -> str:
    block = f"<!-- {name} -->\n```mermaid\n{diagram}\n```\n<!-- /{name} -->"
    return re.sub(rf"<!-- {name} -->.*?<!-- /{name} -->", lambda _: block, text, flags=re.DOTALL)


if __name__ == "__main__":
    page = put(PAGE.read_text(), "runs", draw(RUN_TRANSITIONS, Stage.UNDERSTANDING))
    PAGE.write_text(put(page, "steps", draw(STEP_TRANSITIONS, StepStatus.PENDING)))

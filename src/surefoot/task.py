"""What a person asks for."""

from pathlib import Path

from pydantic import Field, field_validator

from surefoot.errors import UsageError
from surefoot.plan import Check
from surefoot.values import Value

MAX_TASK_CHARS = 100_000


class Task(Value):
    text: str
    workspace: str
    checks: tuple[Check, ...] = Field(default=())
    """What the user wants to hold at the end; they prove the task, and the agent cannot change them."""

    @field_validator("text")
    @classmethod
    def _has_words(cls, text: str) -> str:
        text = text.strip()
        if not text:
            raise UsageError(
                "the task is empty",
                remedy='say what is to be done, for example: surefoot run "add a --json flag to report.py"',
            )
        if len(text) > MAX_TASK_CHARS:
            raise UsageError(
                f"the task is {len(text):,} characters long; at most {MAX_TASK_CHARS:,} can be read as a task",
                remedy="put the long part into a file in the workspace and name that file in the task",
            )
        return text

    @property
    def folder(self) -> Path:
        return Path(self.workspace)

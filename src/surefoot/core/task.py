"""A task: the request of a user, and the checks that prove it."""

from pathlib import Path

from pydantic import Field, field_validator

from surefoot.core.plan import Check
from surefoot.core.values import Value, Wording
from surefoot.errors import UsageError

MAX_TASK_CHARS = 100_000


class Task(Value):
    text: Wording
    workspace: str
    checks: tuple[Check, ...] = Field(default=())
    """Checks given by the user. They prove the task, and the agent cannot change them."""

    @field_validator("text")
    @classmethod
    def _normalize_text(cls, text: str) -> str:
        text = text.strip()
        if not text:
            raise UsageError(
                "the task is empty",
                remedy='describe what to do, for example: surefoot run "add a --json flag to report.py"',
            )
        if len(text) > MAX_TASK_CHARS:
            raise UsageError(
                f"the task is {len(text):,} characters long; the limit is {MAX_TASK_CHARS:,}",
                remedy="put the long part into a file in the workspace and refer to that file in the task",
            )
        return text

    @field_validator("checks")
    @classmethod
    def _each_check_once(cls, checks: tuple[Check, ...]) -> tuple[Check, ...]:
        by_key: dict[str, Check] = {}
        for check in checks:
            by_key.setdefault(check.key, check)
        return tuple(by_key.values())

    @property
    def folder(self) -> Path:
        return Path(self.workspace)

"""How a run behaves: every knob, its default and its allowed range. Where values come from is in `settings.py`."""

from enum import StrEnum
from typing import Literal

from pydantic import Field, field_validator

from surefoot.consent import is_rule
from surefoot.values import Value


class PhasePolicy(StrEnum):
    AUTO = "auto"
    """A simple task skips what it does not need; the reason is recorded."""
    FULL = "full"
    PLAN = "plan"
    """Stop when the plan is made."""


class ReflectionConfig(Value):
    """The recovery ladder's counters, with the defaults of the design."""

    enable_step_level_reflection: bool = True
    max_step_retries: int = Field(default=3, ge=0, le=20)
    max_single_step_repairs: int = Field(default=1, ge=0, le=10)
    max_task_replanning_attempts: int = Field(default=1, ge=0, le=10)
    max_consecutive_failures: int = Field(default=3, ge=1, le=50)
    candidates: int | None = Field(default=None, ge=1, le=10)
    """How many answers the last retry of a step that writes one file chooses from; 1: it is a retry like the others;
    None: 3 of a small model, whose answers are cheap and often wrong, and 2 of any other."""
    max_temporary_retries: int = Field(default=3, ge=0, le=20)
    backoff_seconds: float = Field(default=1.0, ge=0, le=600)
    """The first wait before a temporary error is tried again; it doubles each time."""

    def candidates_of(self, *, small: bool) -> int:
        return self.candidates or (3 if small else 2)


class BudgetConfig(Value):
    """Fuses for the whole run; None is no limit."""

    max_tokens: int | None = Field(default=None, ge=1)
    max_cost_usd: float | None = Field(default=None, gt=0)
    max_seconds: float | None = Field(default=None, gt=0)
    max_tool_calls: int | None = Field(default=200, ge=1)
    usd_per_million_prompt_tokens: float = Field(default=0.0, ge=0)
    usd_per_million_output_tokens: float = Field(default=0.0, ge=0)


class ExecutionConfig(Value):
    max_retries_per_phase: int = Field(default=3, ge=0, le=20)
    require_confirmation: bool = False
    min_confidence_threshold: float = Field(default=0.8, ge=0, le=1)
    enable_auto_rollback: bool = True
    verbose_logging: bool = False

    phases: PhasePolicy = PhasePolicy.AUTO
    dynamic: bool = True
    """False: the plan as given, one action a step."""
    max_plan_steps: int = Field(default=12, ge=1, le=10_000)
    max_plan_revisions: int = Field(default=10, ge=0, le=1_000)
    max_actions_per_step: int = Field(default=10, ge=1, le=200)
    max_parallel_steps: int = Field(default=4, ge=1, le=256)
    step_timeout_seconds: float = Field(default=900, gt=0)
    command_timeout_seconds: float = Field(default=120, gt=0)
    command_processes: int | None = Field(default=1_000, ge=1)
    """How many processes a command may have at the same time; None is no limit."""
    command_memory_gb: float | None = Field(default=8, gt=0)
    """How much memory each of them may have."""
    max_output_tokens: int = Field(default=2_048, ge=64)
    """The longest answer a model may give in one call."""
    sandbox: Literal["auto", "strict", "off"] = "auto"
    network: bool = False
    """Whether commands may reach the network."""
    approve: Literal["ask", "auto-edit", "auto", "never"] = "auto"
    """What needs a person's word: every write and command, only commands, only what reaches beyond the workspace; or
    nothing is asked and what would need it is not done."""
    allow: tuple[str, ...] = ()
    """Actions that need nobody's word, such as `run_command(pytest *)`."""
    deny: tuple[str, ...] = ()
    """Actions that are never done; they come before what is allowed."""
    question_timeout_seconds: float | None = Field(default=None, gt=0)
    """How long a question waits for its answer; after that it counts as no. None: as long as it takes."""
    artifact_ttl_hours: float = Field(default=24, gt=0)
    """How long a step's result can be used by other steps, unless it is pinned."""
    snapshot_excludes: tuple[str, ...] = ()
    snapshot_quota_gb: float = Field(default=2, gt=0)
    """How large a workspace may be; a larger one is refused rather than captured in part."""
    reflection: ReflectionConfig = Field(default_factory=ReflectionConfig)
    budget: BudgetConfig = Field(default_factory=BudgetConfig)

    @property
    def command_memory_bytes(self) -> int | None:
        return None if self.command_memory_gb is None else round(self.command_memory_gb * 1024**3)

    @field_validator("allow", "deny")
    @classmethod
    def _are_rules(cls, rules: tuple[str, ...]) -> tuple[str, ...]:
        for rule in rules:
            if not is_rule(rule):
                raise ValueError(f"{rule!r} is no rule: write a tool and a pattern, as in run_command(pytest *)")
        return rules

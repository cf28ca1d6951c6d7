"""The settings of a run: defaults and allowed ranges. `layers.py` decides where values come from."""

import re
import shlex
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from surefoot.config.flat_price import FlatRates
from surefoot.config.storage import LEASE_SECONDS, SHORTEST_LEASE
from surefoot.config.workers import HEARTBEAT_SECONDS, QUEUE, SHORTEST_HEARTBEAT
from surefoot.core.policy.addresses import parse_address, private_kind
from surefoot.core.policy.rules import is_rule
from surefoot.core.values import Value

SETTING_ALIASES: dict[str, str] = {
    "execution.max_step_tool_calls": "execution.max_actions_per_step",
    "execution.max_replans": "reflection.max_task_replanning_attempts",
}
"""Aliases of settings, which are accepted wherever the settings are."""


AlertOccasion = Literal["failure", "waiting", "done"]


class PhasePolicy(StrEnum):
    AUTO = "auto"
    """A simple task skips the phases that it does not need; the reason is recorded."""
    FULL = "full"
    PLAN = "plan"
    """Stop after planning."""


class ReflectionConfig(Value):
    """The limits of the recovery ladder."""

    enable_step_level_reflection: bool = True
    max_step_retries: int = Field(default=3, ge=0, le=20)
    max_single_step_repairs: int = Field(default=1, ge=0, le=10)
    max_task_replanning_attempts: int = Field(default=1, ge=0, le=10)
    max_alternative_approaches: int | None = Field(default=None, ge=0, le=10)
    """How many alternatives of the approach are tried. None: 1 with a small model, all there are with any other."""
    max_consecutive_failures: int = Field(default=3, ge=1, le=50)
    """How many executions of steps may fail in a row, each with its retries, before the plan is replaced and no more
    of its steps are repaired."""
    candidates: int | None = Field(default=None, ge=1, le=10)
    """How many answers the last retry of a step that writes one file compares. 1: an ordinary retry. None: 3 with a
    small model, whose answers are cheap and often wrong, 2 with any other."""
    max_temporary_retries: int = Field(default=3, ge=0, le=20)
    """How often a model call is retried after a temporary error, and then, if all retries fail, the step."""
    backoff_seconds: float = Field(default=1.0, ge=0, le=600)
    """The first wait before retrying a temporary error. It doubles each time."""

    def wait_seconds(self, retry: int) -> float:
        """Return how long to wait before this retry of a step, counted from 1."""
        return self.backoff_seconds * 2.0 ** (retry - 1)


class Price(Value):
    """The price of a model, in US dollars per million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The price of prompt tokens that the provider read from its cache. None: the price of other prompt tokens."""
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The price of prompt tokens that the provider wrote to its cache. None: the price of other prompt tokens."""

    def __str__(self) -> str:
        return ", ".join(f"{name} {value:g}" for name, value in self.model_dump(exclude_none=True).items())

    def cost_usd(self, prompt: int, output: int, *, cached: int = 0, written: int = 0) -> float:
        """Return the price of these tokens in dollars. `cached` and `written` are parts of `prompt`."""
        cached_input = self.input if self.cached_input is None else self.cached_input
        cache_write = self.input if self.cache_write is None else self.cache_write
        plain = prompt - cached - written
        dollars = plain * self.input + cached * cached_input + written * cache_write + output * self.output
        return dollars / 1_000_000


class BudgetConfig(Value):
    """Limits of the whole run. None: no limit."""

    max_tokens: int | None = Field(default=None, ge=1)
    max_cost_usd: float | None = Field(default=None, gt=0)
    max_seconds: float | None = Field(default=None, gt=0)
    max_tool_calls: int | None = Field(default=200, ge=1)
    ask_above_cost: float = Field(default=5.0, ge=0)
    """Ask whether to continue each time this many more dollars are spent. 0: never; nor if `max_cost_usd` is set."""
    usd_per_million_prompt_tokens: float = Field(default=0.0, ge=0)
    usd_per_million_output_tokens: float = Field(default=0.0, ge=0)

    @property
    def flat_price(self) -> Price | None:
        """The price that applies to every model; None if it is not set."""
        return Price(input=flat.prompt, output=flat.output) if (flat := self.flat_rates) else None

    @property
    def flat_rates(self) -> FlatRates | None:
        """The same, for calls that are already recorded."""
        return FlatRates.of(self.usd_per_million_prompt_tokens, self.usd_per_million_output_tokens)


class ModelSettings(Value):
    """The section [model] of a config file."""

    model: str | None = None
    """A model spec, or the plain name of a model at `base_url`."""
    base_url: str | None = None
    api_key_env: str | None = None
    """The name of the environment variable with the key, not the key itself."""
    context_tokens: int | None = Field(default=None, ge=1024)
    """The size of the model's context window. It takes precedence over what the server reports."""
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How much the model reasons. None: it depends on the decision."""
    strategy: Literal["auto", "conversation", "small"] = "auto"
    """How the model is asked: in a conversation with tool calls, or by short single questions. Auto: by the size in its
    name; a model of unknown size gets the conversation."""
    protocol: Literal["chat", "responses"] | None = None
    """The wire protocol of an OpenAI-compatible server. None: Responses for OpenAI's reasoning models, else chat."""
    concurrent_calls: int | None = Field(default=None, ge=1)
    """The maximum number of concurrent calls to one provider, across all processes that share the journal's database.
    Without a database, across all processes of this user on this machine."""
    tokens_per_minute: int | None = Field(default=None, ge=1)
    """The maximum number of tokens in calls that begin within any 60 seconds, across the same processes."""


def _require_target(text: str) -> str:
    """Accept a command, an https address, or an http address of this machine. An address must not have a user name."""
    text = text.strip()
    if not text or (re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) and not is_safe_address(text)):
        raise ValueError("neither a command nor an address that alerts may be sent to")
    return text


def is_safe_address(text: str) -> bool:
    address = parse_address(text)
    if address is None or re.search(r"\s", text) or "@" in text.partition("://")[2].partition("/")[0]:
        return False
    return address.scheme == "https" or address.host == "localhost" or private_kind(address.host) == "loopback"


def shown_target(target: str) -> str:
    """Return the host of an address, or the program of a command. The rest may be a secret, as in many webhooks."""
    if address := parse_address(target):
        return address.origin
    try:
        words = shlex.split(target)
    except ValueError:
        words = target.split()
    return words[0].rpartition("/")[2] or words[0]


AlertTarget = Annotated[str, AfterValidator(_require_target)]
_TARGET = "a command, or an https address; http only for this machine"


class StorageSettings(Value):
    """Where runs are recorded. Validated here, and read by `storage.py`."""

    database: str | None = Field(default=None, description="the URL of a PostgreSQL database")
    """None: a file in the state folder. A password belongs in SUREFOOT_DATABASE, PGPASSWORD or ~/.pgpass."""
    objects: str | None = Field(
        default=None, pattern=r"^(file:///|s3://)\S+$", description="file:///DIR or s3://BUCKET"
    )
    """Where large content is stored if the journal is in a database. None: in the database."""
    lease_seconds: float = Field(default=LEASE_SECONDS, ge=SHORTEST_LEASE, le=86_400)
    """How long after the last renewal of its lease another process may take over a run. Only for a database."""


class WorkerSettings(Value):
    """Where workers get runs from. `workers.py` also reads this section, for commands that need no other setting."""

    temporal: str | None = Field(default=None, pattern=r"^[^\s:/]+:\d+$", description="HOST:PORT of a Temporal server")
    queue: str = Field(default=QUEUE, pattern=r"^\S+$", description="the name of a task queue")
    heartbeat_seconds: float = Field(default=HEARTBEAT_SECONDS, ge=SHORTEST_HEARTBEAT, le=3_600)
    """How long after the last heartbeat of its worker a run is given to another worker."""


class AlertSettings(Value):
    """Who is notified about a run. Not part of the run, so that its journal has neither commands nor addresses."""

    on_failure: AlertTarget | None = Field(default=None, description=_TARGET)
    on_waiting: AlertTarget | None = Field(default=None, description=_TARGET)
    on_done: AlertTarget | None = Field(default=None, description=_TARGET)
    page: str | None = Field(default=None, pattern=r"^https?://\S+$", description="the address of a server's page")
    """The page that alerts link to. The link has no token."""

    def target(self, occasion: AlertOccasion) -> str | None:
        targets = {"failure": self.on_failure, "waiting": self.on_waiting, "done": self.on_done}
        return targets[occasion]


class ExecutionConfig(Value):
    """The settings that are recorded with a run (`RunCreated.config`). The engine reads them as `run.config`.

    The section [execution] has most of them; [reflection], [budget], [prices] and others are fields.
    """

    max_retries_per_phase: int = Field(default=3, ge=0, le=20)
    require_confirmation: bool = False
    min_confidence_threshold: float = Field(default=0.8, ge=0, le=1)
    enable_auto_rollback: bool = True
    verbose_logging: bool = False

    phases: PhasePolicy = PhasePolicy.AUTO
    dynamic: bool = True
    """False: the plan is not changed while it runs, and a step has one action. Read-only actions do not count."""
    max_plan_steps: int = Field(default=12, ge=1, le=10_000)
    max_plan_revisions: int = Field(default=10, ge=0, le=1_000)
    max_actions_per_step: int | None = Field(default=None, ge=1, le=1_000)
    """None: 50 for a model that calls tools, 10 for any other."""
    max_parallel_steps: int = Field(default=4, ge=1, le=256)
    step_timeout_seconds: float = Field(default=900, gt=0)
    command_timeout_seconds: float = Field(default=120, gt=0)
    command_processes: int | None = Field(default=1_000, ge=1)
    """How many processes a command may run at the same time. None: no limit."""
    command_memory_gb: float | None = Field(default=8, gt=0)
    """The memory limit of each of these processes. None: no limit."""
    max_output_tokens: int | None = Field(default=None, ge=64)
    """The maximum length of one model answer. None: what the model can write, at most 32,000, for a model that calls
    tools, and 2,048 for any other."""
    enable_planning: bool = True
    """False: there is no understanding, approach or plan; the task is one step, with the same checks."""
    fallback_plan: str | None = Field(default=None, pattern=r"\S")
    """A plan in TOML, as `surefoot edit` writes it, that is used when planning fails. Relative to the workspace. None:
    the whole task becomes one step."""
    sandbox: Literal["auto", "strict", "off"] = "auto"
    network: bool = False
    """Whether commands may use the network."""
    approve: Literal["ask", "auto-edit", "auto", "never"] = "auto"
    """Which actions need a person's approval. `ask`: every write and command; `auto-edit`: commands; `auto`: only tools
    that use the network or declare effects outside the workspace; `never`: nobody is asked, and commands and such tools
    are denied. Commands reach what the sandbox and `network` allow, whatever this says."""
    allow: tuple[str, ...] = ()
    """Actions that need no approval, such as `run_command(pytest *)`."""
    deny: tuple[str, ...] = ()
    """Actions that are always denied. These rules take precedence over `allow`."""
    ask_questions: bool = True
    """Whether the run asks questions that block the task. False: it continues with an assumption, which the outcome
    states."""
    question_timeout_seconds: float | None = Field(default=None, gt=0)
    """How long a question waits for an answer before it counts as no. None: no limit."""
    accept: Literal["given-checks", "own-tests"] = "given-checks"
    """Which proof makes the exit code 0. `given-checks`: a check of the user or the project; `own-tests`: also a
    test that the run wrote itself, which fails on the tree before the run and passes now."""
    checks: tuple[Annotated[str, Field(pattern=r"\S")], ...] = ()
    """Commands that must succeed at the end of a run that gives no checks of its own."""
    baseline: str = Field(default="auto", pattern=r"\S")
    """How the project's tests are compared before and after the run. `auto`: with the command that is found in the
    folder; `off`: not at all; anything else is the command."""
    baseline_seconds: float = Field(default=120, gt=0)
    """How long the project's tests may take, before and after together. If they need more, it is not known whether one
    regressed."""
    artifact_ttl_hours: float = Field(default=24, gt=0)
    """How long other steps can use the result of a step, unless it is pinned."""
    snapshot_excludes: tuple[str, ...] = ()
    snapshot_quota_gb: float = Field(default=2, gt=0)
    """The maximum size of a workspace. A larger one is refused, not captured in part."""
    reflection: ReflectionConfig = Field(default_factory=ReflectionConfig)
    budget: BudgetConfig = Field(default_factory=BudgetConfig)
    prices: dict[str, Price] = Field(default_factory=dict)
    """Prices of models, by the beginning of their names. They replace those that Surefoot knows."""

    @model_validator(mode="before")
    @classmethod
    def _read_aliases(cls, values: Any) -> Any:
        """Accept aliases of settings, for programs that build a config themselves."""
        if not isinstance(values, Mapping):
            return values
        fields = dict(values)
        for alias, name in SETTING_ALIASES.items():
            short, (section, _, key) = alias.removeprefix("execution."), name.partition(".")
            if short not in fields:
                continue
            value = fields.pop(short)
            place = fields if section == "execution" else dict(_as_mapping(fields.get(section)))
            if place.get(key, value) != value:
                raise ValueError(f"{short} and {key} are two names of one setting, and their values differ")
            place[key] = value
            if section != "execution":
                fields[section] = place
        return fields

    @property
    def snapshot_quota_bytes(self) -> int:
        return round(self.snapshot_quota_gb * 1024**3)

    @property
    def command_memory_bytes(self) -> int | None:
        return None if self.command_memory_gb is None else round(self.command_memory_gb * 1024**3)

    @field_validator("allow", "deny")
    @classmethod
    def _validate_rules(cls, rules: tuple[str, ...]) -> tuple[str, ...]:
        for rule in rules:
            if not is_rule(rule):
                raise ValueError(f"{rule!r} is not a rule: write a tool and a pattern, as in run_command(pytest *)")
        return rules


def _as_mapping(section: Any) -> Mapping[str, Any]:
    """Return the explicitly set values of a section, which is given as a value or as a mapping."""
    if isinstance(section, Value):
        return {name: getattr(section, name) for name in section.model_fields_set}
    return section if isinstance(section, Mapping) else {}

"""The part of a run in progress that prompting may use. `engine.runtime.run.Run` satisfies this protocol."""

from collections.abc import Awaitable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from surefoot.config.model import ExecutionConfig
from surefoot.core.plan import StepKind
from surefoot.core.task import Task
from surefoot.journal.bus import Bus
from surefoot.journal.events import Event
from surefoot.journal.redact import Redactor
from surefoot.journal.state import RunState, StepRun
from surefoot.journal.store.base import Journal
from surefoot.models.base import LanguageModel, Usage
from surefoot.models.tokens import TokenMeter
from surefoot.prompting.profile import Profile
from surefoot.tools.registry import Toolbox
from surefoot.workspace.snapshots.manifest import Entry


class BudgetView(Protocol):
    def check(self) -> None:
        """Stop the run if its budget is spent."""

    async def confirm(self, step_id: str) -> None:
        """Ask a person whether to continue, if much was spent since they were last asked."""

    def cost_of(self, usage: Usage) -> float | None:
        """Return the cost of a call in dollars; None if the price of the model is unknown."""
        ...

    def left(self) -> str:
        """Describe the remaining budget in a few words; empty if nothing is limited."""
        ...


class ArtifactsView(Protocol):
    def needed_by(self, step_id: str) -> list[StepRun]:
        """Return the dependencies of a step that pass on a result."""
        ...

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids of the steps that have a result."""
        ...


class RunContext(Protocol):
    @property
    def state(self) -> RunState: ...
    @property
    def task(self) -> Task: ...
    @property
    def config(self) -> ExecutionConfig: ...
    @property
    def root(self) -> Path: ...
    @property
    def model(self) -> LanguageModel: ...
    @property
    def profile(self) -> Profile: ...
    @property
    def toolbox(self) -> Toolbox: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def bus(self) -> Bus: ...
    @property
    def redactor(self) -> Redactor: ...
    @property
    def budget(self) -> BudgetView: ...
    @property
    def artifacts(self) -> ArtifactsView: ...
    @property
    def tokens(self) -> TokenMeter: ...
    @property
    def commands_have_network(self) -> bool: ...

    def note(self, event: Event) -> None:
        """Record an event with the next transaction."""

    def record(self, *events: Event) -> Awaitable[None]:
        """Record events, and return when they are durable."""
        ...

    def files_before(self) -> Mapping[str, Entry]:
        """Return the workspace's files as they were before the run."""
        ...

    def step_kind(self, step_run: StepRun) -> StepKind:
        """Return how a step is carried out: as recorded, or as the strategy would decide now."""
        ...

    def usable_tools(self) -> tuple[str, ...]:
        """Return the names of the tools that can be used here."""
        ...

    def call_read_only(self, tool: str, arguments: Mapping[str, Any]) -> Awaitable[tuple[bool, str]]:
        """Call a tool that only reads, outside a step. Returns whether it succeeded, and the text for the model."""
        ...

    def describe_tools(self) -> str:
        """List the tools that can be used here, with their parameters."""
        ...

"""A run in progress: its state, and the parts through which the engine acts."""

import asyncio
from collections.abc import Awaitable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from surefoot.config.model import ExecutionConfig
from surefoot.core.plan import ExecutionStep, StepKind
from surefoot.core.task import Task
from surefoot.engine.executor.artifacts import Artifacts
from surefoot.engine.runtime.active_steps import ActiveSteps
from surefoot.engine.runtime.budget import Budget
from surefoot.engine.runtime.given_files import GivenFiles
from surefoot.engine.runtime.heartbeat import Heartbeat
from surefoot.engine.runtime.human import Human
from surefoot.engine.runtime.inbox import Inbox
from surefoot.engine.runtime.read_only_call import call_read_only
from surefoot.engine.runtime.recorder import Recorder
from surefoot.engine.runtime.services import Services
from surefoot.engine.runtime.storing import StoringRecorder
from surefoot.engine.runtime.timeouts import Timeouts
from surefoot.engine.runtime.watchdog import Watchdog
from surefoot.engine.verifier.scratch import Place, Scratch
from surefoot.engine.verifier.suite.running import SuiteRunner
from surefoot.engine.verifier.verifier import Verifier
from surefoot.journal.bus import Bus, Source
from surefoot.journal.live_text import LiveTextSender
from surefoot.journal.redacted_stream import RedactedStream
from surefoot.journal.state import ActionResults, RunState, StepRun
from surefoot.journal.store.base import Journal
from surefoot.models.base import LanguageModel
from surefoot.models.tokens import TokenMeter
from surefoot.prompting.choose import strategy_for
from surefoot.prompting.profile import Profile
from surefoot.prompting.strategy import Strategy
from surefoot.tools.context import ToolContext
from surefoot.tools.registry import default_toolbox
from surefoot.workspace.own_output import exclude_patterns, own_output
from surefoot.workspace.sandbox.sandbox import Sandbox, choose_sandbox
from surefoot.workspace.snapshots.manifest import Entry
from surefoot.workspace.workspace import Workspace


class Run:
    """Built once, from services and a state. No attribute is assigned from outside.

    A replay overrides the `_make` methods, so that recorded results replace everything that starts processes.
    """

    def __init__(self, services: Services, state: RunState) -> None:
        config, root = state.config, _task(state).folder
        self.state = state
        self.home = services.home
        self.alerts, self.clock = services.alerts, services.clock
        self.journal: Journal = services.journal
        self.bus: Bus = services.bus
        self.model: LanguageModel = services.model
        self.tokens = TokenMeter(services.model)
        self.toolbox = services.toolbox or default_toolbox()
        self.sandbox = self._make_sandbox()
        self.own_output = own_output(root)
        excludes = (*config.snapshot_excludes, *exclude_patterns(self.own_output))
        self.workspace = Workspace(root, services.home, excludes=excludes, quota_bytes=config.snapshot_quota_bytes)
        self.given_files = GivenFiles(state, self.task, root, self.workspace)
        self.redactor = services.redactor.sparing(self.given_files.names)
        self.mirror = services.mirror
        self.recorder = self._make_recorder()
        self.record, self.note, self.enter = self.recorder.record, self.recorder.note, self.recorder.enter
        self.heartbeat = Heartbeat(services.home, state.run_id)
        self.live_text = LiveTextSender(services.home, state.run_id)
        self.timeouts = Timeouts()
        self.watchdog = Watchdog(state.run_id, self.timeouts.run_due, services.end_process)
        self.active_steps = ActiveSteps()
        self.human = Human(self.recorder, services.person, self.timeouts, services.clock)
        self.budget = Budget(state, services.model.name, self.human, self.timeouts)
        self.inbox = Inbox(self.recorder, self.active_steps, services.clock)
        self.artifacts = Artifacts(state, services.journal)
        self.scratch = Scratch(self.workspace, root, state, services.home)
        self.verifier = self._make_verifier()
        self.suite = self._make_suite()
        self.strategy: Strategy = strategy_for(self)

    def _make_sandbox(self) -> Sandbox | None:
        return choose_sandbox(self.config.sandbox, self.root, state_folders=[self.home])[0]

    def _make_recorder(self) -> Recorder:
        parts = (self.journal, self.bus, self.state, self.redactor)
        return StoringRecorder(*parts, self.workspace, self.mirror) if self.mirror else Recorder(*parts)

    def _make_verifier(self) -> Verifier:
        place = Place(self.root, self.sandbox)
        return Verifier(self.recorder, self.workspace, place, self.artifacts, self.scratch)

    def _make_suite(self) -> SuiteRunner:
        return SuiteRunner(self.scratch, self.sandbox, self.state)

    @property
    def config(self) -> ExecutionConfig:
        return self.state.config

    @property
    def task(self) -> Task:
        return _task(self.state)

    @cached_property
    def root(self) -> Path:
        return self.task.folder

    @property
    def shown_folder(self) -> str:
        """The path of the workspace as shown in questions."""
        return str(self.root)

    @property
    def profile(self) -> Profile:
        return self.strategy.profile

    # -- the workspace -----------------------------------------------------------------------------------------------

    async def snapshot(self, *, quick: bool = False) -> str:
        return await asyncio.to_thread(self.workspace.snapshot, quick=quick)

    def files_before(self) -> Mapping[str, Entry]:
        """Return the workspace's files as they were before the run."""
        return self.given_files.entries()

    @cached_property
    def not_writable(self) -> frozenset[str]:
        """The files that this run may not write at all. Existing tests may be extended, unless they are among these."""
        return self.given_files.not_writable(tests_read_only=self.profile.tests_read_only)

    @property
    def commands_have_network(self) -> bool:
        """Whether commands can reach the network: it is allowed, or there is no sandbox to keep them from it."""
        return self.config.network or self.sandbox is None

    # -- steps and tools ---------------------------------------------------------------------------------------------

    def decide_kind(self, step: ExecutionStep) -> StepKind:
        """Decide how a step is carried out. That happens once for each attempt, when it starts, and is recorded."""
        return StepKind.CALL if step.tool else self.strategy.step_kind(step)

    def step_kind(self, step_run: StepRun) -> StepKind:
        """Return how a step is carried out: as recorded when its attempt started.

        Before the first attempt, and in journals without kinds, it is what would be decided now. A tool that the plan
        has given to the step or taken from it since then counts at once.
        """
        is_call = step_run.kind is StepKind.CALL
        if step_run.kind is None or is_call != bool(step_run.step.tool):
            return self.decide_kind(step_run.step)
        return step_run.kind

    def usable_tools(self) -> tuple[str, ...]:
        return self.toolbox.usable(self.tool_context)

    def describe_tools(self) -> str:
        return self.toolbox.describe(self.usable_tools())

    def call_read_only(self, tool: str, arguments: Mapping[str, Any]) -> Awaitable[tuple[bool, str]]:
        return call_read_only(self.recorder, self.toolbox, self.tool_context, tool, arguments)

    @cached_property
    def tool_context(self) -> ToolContext:
        """The context that every tool is called with."""
        results, config = ActionResults(self.state), self.config
        return ToolContext(
            root=self.root,
            not_writable=self.not_writable,
            may_rewrite=self.given_files.may_rewrite,
            weakens=self.given_files.refusal,
            sandbox=self.sandbox,
            network=config.network,
            redact=self.redactor.redact,
            has_hidden=lambda: self.redactor.has_replaced,
            command_timeout=config.command_timeout_seconds,
            command_processes=config.command_processes,
            command_memory_bytes=config.command_memory_bytes,
            read_blob=lambda key: results.inline(key) or self.journal.get_blob(key),
            results=results,
            step_outputs=self.artifacts,
            ask=self.human.ask_for_tool,
            on_output=RedactedStream(self.redactor, self.bus.writer(Source("output"))).feed,
            warn=self.recorder.warn,
            summary_chars=self.profile.summary_chars,
            read_chars=self.profile.read_chars,
            search_matches=self.profile.search_matches,
            edit_format=self.profile.edit_format,
            truncate_middle=self.profile.truncate_middle,
        )


def _task(state: RunState) -> Task:
    assert state.task is not None
    return state.task

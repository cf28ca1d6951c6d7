"""The state of an interactive session. Its runs are started by the same functions as those of `surefoot run`."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from surefoot.cli.interactive.results import short_result
from surefoot.cli.interactive.welcome import default_checks, ways_to_a_model
from surefoot.cli.report.usage import RunUsage, usage_of_state
from surefoot.cli.session.foreground import PreparedRun, run_in_foreground
from surefoot.cli.session.prepare import prepare_resume, prepare_start
from surefoot.cli.session.runs import StoredRun, load_run
from surefoot.core.transitions import Stage
from surefoot.errors import NoModel, UnknownRun, UsageError

_DISPLAY = ("live", "as_json", "yes", "cassette")

ReportError = Callable[[BaseException], int]


@dataclass(slots=True)
class Session:
    group: click.Group
    """The group of all commands."""
    report_error: ReportError
    folder: Path
    model: str | None = None
    """The model given with `/model`; None for the one of the settings."""
    model_name: str = ""
    """The name of the model for the toolbar; empty if there is none."""
    checks: list[str] = field(default_factory=list)
    """The checks given with `/check`, or those of a continued run."""
    found_checks: tuple[str, ...] = ()
    """The checks of a run to which none are given: those of the settings, or the project's own tests."""
    last: str = ""
    """The run that the next task continues; empty if there is none."""
    usage: dict[str, RunUsage] = field(default_factory=dict)
    """The usage of each run of this session by its id, in order."""

    # -- runs ------------------------------------------------------------------------------------------------------

    def run_task(self, text: str, *, only_plan: bool = False) -> None:
        """Carry out a task with the last run as context, or only plan it."""
        if text.strip() == "-":
            raise UsageError("'-' is not a task", remedy="describe what to do in a few words")
        options = self._options(checks=tuple(self.checks), continues=self.last or None)
        if only_plan:
            options["phases"] = "plan"
        self._drive(prepare_start((text,), options))

    def carry_out_plan(self) -> None:
        """Carry out the plan that the last run made."""
        stored = self.stored()
        if stored.state.plan is None or stored.state.history:
            raise UsageError("there is no plan left to carry out", remedy="make one: /plan TASK")
        self._drive(prepare_start((), self._options(checks=tuple(self.checks), based_on=stored.run_id)))

    def resume(self) -> None:
        """Continue the last run, if it was stopped or waits."""
        stored = self.stored()
        if stored.state.stage is Stage.COMPLETED and stored.state.outcome is not None:
            raise UsageError(f"run {stored.run_id} is finished", remedy="type what to do next; it is the context")
        options = self._options()
        limits = {name: options[name] for name in ("max_time", "max_tokens", "max_cost")}
        display = {name: options[name] for name in _DISPLAY}
        self._drive(prepare_resume(stored, self.model, {**display, **limits}))

    def go_on_from(self, name: str) -> StoredRun:
        """Let the next task continue a run of this folder. A session without checks takes over those of the run."""
        from surefoot.cli.session.prepare import continued_run

        stored = continued_run({"continues": name}, self.folder)
        assert stored is not None
        self.last = stored.run_id
        task = stored.state.task
        if not self.checks and task is not None:
            self.checks = [check.label for check in task.checks if check.kind == "command"]
        return stored

    def _drive(self, prepared: PreparedRun) -> None:
        prepared = replace(prepared, display=replace(prepared.display, result=short_result))
        try:
            asyncio.run(run_in_foreground(prepared))
        except NoModel as error:
            self.report_error(NoModel(str(error), remedy="\n".join(ways_to_a_model())) if not self.model else error)
        except (Exception, KeyboardInterrupt) as error:
            self.report_error(error)
        try:
            state = load_run(prepared.run_id).state
        except UnknownRun:
            return  # It ended before anything was recorded.
        self.last = prepared.run_id
        self.look_for_checks()
        self.usage[prepared.run_id] = usage_of_state(state)

    def _options(self, **changes: Any) -> dict[str, Any]:
        """The defaults of the options of `surefoot run`, with the given ones replaced."""
        context = self.group.commands["run"].make_context("run", [], resilient_parsing=False)
        options = {name: value for name, value in context.params.items() if name != "task"}
        return {**options, "workspace": str(self.folder), "model": self.model, "inherits_checks": False, **changes}

    # -- helpers of the commands -----------------------------------------------------------------------------------

    def look_for_checks(self) -> None:
        """Find the checks of the project again, because its settings or files may have changed."""
        self.found_checks = default_checks(self.folder)

    def stored(self) -> StoredRun:
        """The last run. Raises UsageError if there is none yet."""
        if not self.last:
            raise UsageError(
                "nothing was done in this session yet",
                remedy="type a task, or take up the last run of this folder: /continue",
            )
        return load_run(self.last)

    def invoke(self, *words: str) -> None:
        """Call a command as from the shell. Its errors are printed."""
        try:
            self.group.main(list(words), prog_name="surefoot", standalone_mode=False)
        except (Exception, KeyboardInterrupt) as error:
            self.report_error(error)

    @property
    def total(self) -> RunUsage:
        used = list(self.usage.values())
        return RunUsage(
            prompt_tokens=sum(each.prompt_tokens for each in used),
            cached_tokens=sum(each.cached_tokens for each in used),
            output_tokens=sum(each.output_tokens for each in used),
            calls=sum(each.calls for each in used),
            cost_usd=sum(each.cost_usd for each in used),
            unpriced_calls=sum(each.unpriced_calls for each in used),
        )

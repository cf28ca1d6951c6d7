"""One run in the foreground: services are put together, somebody watches, Ctrl-C stops it cleanly, and it is summed up.

This is where the command line meets the engine; the commands themselves are in `run.py`.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot import paths
from surefoot.cli.person import TerminalPerson
from surefoot.cli.places import open_journal, redactor
from surefoot.cli.stdout import print_lines, stdout_marks
from surefoot.cli.summary import plan_lines, summary
from surefoot.cli.watch import Watcher, choose_watcher, watch
from surefoot.errors import NoModel, UsageError, WeightsError
from surefoot.events import Record
from surefoot.fold import fold
from surefoot.machine import Stage
from surefoot.models.base import LanguageModel
from surefoot.models.choose import ModelSettings, choose_model
from surefoot.outcome import EXIT_CODES, Verdict
from surefoot.run import Services
from surefoot.state import RunState

Drive = Callable[[Services], Awaitable[RunState]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """How a run is watched and who answers."""

    live: bool | None = None
    as_json: bool = False
    yes: bool = False
    cassette: str | None = None
    verbose: bool = False
    isolation: str = ""
    with_plan: bool = False
    """The plan is what was asked for, so it is printed."""
    until: str = ""
    """The phase after which the run was asked to stop."""


def isolation_line(mode: Any, workspace: Path, network: bool) -> str:
    """How commands will be kept in, for the first lines of a run; refuses what is asked for and not there."""
    from surefoot.workspace.sandbox import choose_sandbox

    sandbox, said = choose_sandbox(mode, workspace, state_folders=[paths.state_home()])
    return f"sandbox {sandbox.name}, {'network on' if network else 'no network'}" if sandbox else said


def carry_out(drive: Drive, model: str | None, settings: ModelSettings, showing: Showing, before: list[Record]) -> int:
    """Drive a run to its end and show it; the exit code."""
    watcher = choose_watcher(
        live=showing.live, as_json=showing.as_json, verbose=showing.verbose, isolation=showing.isolation
    )
    try:
        state = asyncio.run(_watched(drive, model, settings, showing, watcher, before))
    except Exception as error:
        if run_id := watcher.follower.state.run_id:
            error.add_note(f"then go on with: surefoot resume {run_id}")
        remedy = getattr(error, "remedy", "")
        _tell_json(watcher, showing, {"type": "error", "message": str(error), "remedy": remedy})
        raise
    except (asyncio.CancelledError, KeyboardInterrupt):
        return _interrupted(watcher, showing)
    return _ended(state, watcher, showing)


async def _watched(
    drive: Drive,
    model: str | None,
    settings: ModelSettings,
    showing: Showing,
    watcher: Watcher,
    before: list[Record],
) -> RunState:
    with _stoppable(watcher):
        async with watcher, _services(model, settings, showing, watcher, before) as services:
            watch(services.bus, watcher, before)
            watcher.steered_by(services.journal.send)
            return await drive(services)


@asynccontextmanager
async def _services(
    spec: str | None, settings: ModelSettings, showing: Showing, watcher: Watcher, before: list[Record]
) -> AsyncIterator[Services]:
    async with contextlib.AsyncExitStack() as stack:
        journal = open_journal(key_variable=settings.api_key_env)
        stack.push_async_callback(journal.aclose)
        model = await _model(spec, settings, before)
        stack.push_async_callback(model.aclose)
        if showing.cassette:
            model = _recording(model, Path(showing.cassette))
        person = TerminalPerson(sys.stdin, watcher.aside, yes=showing.yes)
        redact = redactor(settings.api_key_env).redact
        yield Services(journal=journal, model=model, home=paths.state_home(), person=person, redact=redact)


async def _model(spec: str | None, settings: ModelSettings, before: list[Record]) -> LanguageModel:
    """The model to go on with. A script or a cassette cannot be found again by the name in the journal."""
    try:
        return await choose_model(spec, settings)
    except (NoModel, WeightsError) as error:
        used = fold(before).model if before else ""
        if not used:
            raise
        kept = f" ({error.remedy})" if isinstance(error, WeightsError) else ""
        raise NoModel(
            f"the run used the model {used}, which cannot be had now: {error}{kept}",
            remedy="name the model to go on with: -m MODEL, for a script or cassette with its FILE: -m scripted:FILE",
        ) from error


def _recording(model: LanguageModel, path: Path) -> LanguageModel:
    from surefoot.models.cassette import RecordingModel

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a").close()
    except OSError as error:
        raise UsageError(
            f"the cassette {path} cannot be written: {error.strerror}", remedy="name another file with --record"
        ) from error
    return RecordingModel(model, path)


@contextlib.contextmanager
def _stoppable(watcher: Watcher) -> Iterator[None]:
    """The first Ctrl-C (or a polite kill) stops the run where nothing is lost; the second ends the process."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    asked = 0

    def stop() -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            watcher.abandon()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        watcher.remark("stopping; Ctrl-C again ends it at once")
        task.cancel()

    stops = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in stops:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in stops:
            loop.remove_signal_handler(number)


def already_ended(state: RunState, showing: Showing) -> int:
    """For a run that is finished: nothing is left to do, so no model is needed to say what came of it."""
    print(f"run {state.run_id} is already finished: nothing is left to go on with", file=sys.stderr)
    watcher = choose_watcher(live=False if not showing.as_json else None, as_json=showing.as_json, verbose=False)
    return _ended(state, watcher, showing)


# -- what is said at the end ---------------------------------------------------------------------------------------


def _ended(state: RunState, watcher: Watcher, showing: Showing) -> int:
    if state.outcome is not None:
        verdict = state.outcome.verdict
    else:
        verdict = Verdict.WAITING if state.stage is Stage.WAITING else Verdict.UNVERIFIED
    # A plan that was asked for and made is a success of its own kind, although it proves nothing.
    code = 0 if showing.with_plan and verdict is Verdict.UNVERIFIED and state.plan else EXIT_CODES[verdict]
    _sum_up(state, verdict, code, watcher, showing)
    return code


def _interrupted(watcher: Watcher, showing: Showing) -> int:
    state = watcher.follower.state
    code = EXIT_CODES[Verdict.INTERRUPTED]
    if not state.run_id:
        print("stopped before anything was begun", file=sys.stderr)
        return code
    _sum_up(state, Verdict.INTERRUPTED, code, watcher, showing)
    print(f"stopped; go on with: surefoot resume {state.run_id}", file=sys.stderr)
    return code


def _sum_up(state: RunState, verdict: Verdict, code: int, watcher: Watcher, showing: Showing) -> None:
    if showing.as_json:
        from surefoot.cli.jsonl import outcome_object

        _tell_json(watcher, showing, outcome_object(state, verdict, code))
        return
    marks = stdout_marks()
    if showing.with_plan and state.plan:
        print_lines(plan_lines(state.plan, marks))
        print()
    print_lines(summary(state, marks, verdict=verdict, until=showing.until))


def _tell_json(watcher: Watcher, showing: Showing, item: dict[str, Any]) -> None:
    if showing.as_json:
        from surefoot.cli.jsonl import JsonLines

        assert isinstance(watcher, JsonLines)
        watcher.write(item)

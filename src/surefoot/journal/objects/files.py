"""An object store in a folder, which may be on a disk that several machines share."""

import secrets
from collections.abc import Iterator
from pathlib import Path

from surefoot.journal.objects.base import is_digest, require_digest
from surefoot.journal.store.fsync import store_synced


class FileObjects:
    """Content in `ab/<digest>`, below the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, digest: str, data: bytes) -> None:
        path = self._path(digest)
        if path.exists():
            return
        # Processes of other machines may have the same id.
        unfinished = path.with_name(f".{digest}.{secrets.token_hex(8)}.tmp")
        store_synced(path, data, unfinished, (path.parent, self._folder))

    def get(self, digest: str) -> bytes | None:
        try:
            return self._path(digest).read_bytes()
        except FileNotFoundError:
            return None

    def has(self, digest: str) -> bool:
        return self._path(digest).is_file()

    def delete(self, digest: str) -> None:
        self._path(digest).unlink(missing_ok=True)

    def list(self) -> Iterator[str]:
        for path in self._folder.glob("[0-9a-f][0-9a-f]/*"):
            if is_digest(path.name):
                yield path.name

    def _path(self, digest: str) -> Path:
        return self._folder / require_digest(digest)[:2] / digest

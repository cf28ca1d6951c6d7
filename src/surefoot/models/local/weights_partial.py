"""The partially downloaded file: always a prefix of the correct content, whichever sources it came from.

There is no other record of the progress. After a crash the complete parts are hashed again; the first wrong part and
everything after it are discarded, and the download continues from there.
"""

import hashlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from surefoot.errors import WeightsError
from surefoot.models.local.weights_known import Weights

BLOCK = 1 << 20


class PartialFile:
    def __init__(self, path: Path, weights: Weights) -> None:
        self.path = path
        self.weights = weights
        self.size = 0
        self.part = 0
        """The part that is being written, from 0; equal to the number of parts when all are complete."""
        self._hash = hashlib.sha256()
        # Unbuffered, so that appended data survives if this process is killed.
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._discard_wrong_parts()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    @property
    def complete(self) -> bool:
        return self.size == self.weights.size

    def append(self, data: bytes) -> None:
        """Append data. A part whose hash is wrong is discarded and raises a `WeightsError`."""
        view = memoryview(data)
        while view:
            if self.complete:
                raise WeightsError(f"more than the expected {self.weights.size:,} bytes were received")
            chunk = view[: self._part_end() - self.size]
            written = os.pwrite(self._file, chunk, self.size)
            self._advance(view[:written])
            view = view[written:]
            if self.size == self._part_end():
                self._finish_part()

    def discard_incomplete_part(self) -> None:
        """For sources that provide only whole parts."""
        self._truncate(self.part)

    def restart(self) -> None:
        self._truncate(0)

    def _finish_part(self) -> None:
        if not self._part_is_valid():
            number = self.part + 1
            self._truncate(self.part)
            raise WeightsError(f"part {number} of {len(self.weights.parts)} is damaged: its hash is wrong")
        os.fsync(self._file)
        self._next_part()

    def _discard_wrong_parts(self) -> None:
        existing = min(os.fstat(self._file).st_size, self.weights.size)
        os.ftruncate(self._file, existing)
        while self.size < existing:
            end = min(existing, self._part_end(), self.size + BLOCK)
            self._advance(memoryview(os.pread(self._file, end - self.size, self.size)))
            if self.size == self._part_end():
                if not self._part_is_valid():
                    self._truncate(self.part)
                    return
                self._next_part()

    def _advance(self, data: memoryview) -> None:
        self._hash.update(data)
        self.size += len(data)

    def _part_end(self) -> int:
        return self.part * self.weights.part_size + self.weights.part_length(self.part)

    def _part_is_valid(self) -> bool:
        return self._hash.hexdigest() == self.weights.parts[self.part]

    def _next_part(self) -> None:
        self.part += 1
        self._hash = hashlib.sha256()

    def _truncate(self, part: int) -> None:
        """Truncate the file to the start of `part`."""
        self.part = part
        self.size = part * self.weights.part_size if part < len(self.weights.parts) else self.weights.size
        os.ftruncate(self._file, self.size)
        self._hash = hashlib.sha256()

"""The file while it is being fetched: always a prefix of the right bytes, whichever sources they came from.

What is on disk is the only record. After a crash the finished parts are hashed again and kept, the first wrong one and
all behind it are dropped, and fetching goes on from there.
"""

import hashlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from surefoot.errors import WeightsError
from surefoot.models.weights_known import Weights

BLOCK = 1 << 20


class PartialFile:
    def __init__(self, path: Path, weights: Weights) -> None:
        self.path = path
        self.weights = weights
        self.size = 0
        self.part = 0
        """The part that is being filled, from 0; the number of parts when all are there."""
        self._hash = hashlib.sha256()
        # Unbuffered, so that what was appended survives the end of this process, however it comes.
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._keep_what_is_right()

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
        """Add the next bytes. At the end of each part its hash must be right, else the part is dropped again."""
        view = memoryview(data)
        while view:
            if self.complete:
                raise WeightsError(f"more than the expected {self.weights.size:,} bytes came")
            taken = view[: self._part_end() - self.size]
            written = os.pwrite(self._file, taken, self.size)
            self._count(view[:written])
            view = view[written:]
            if self.size == self._part_end():
                self._end_part()

    def drop_started_part(self) -> None:
        """For a source that gives whole parts only."""
        self._truncate(self.part)

    def restart(self) -> None:
        self._truncate(0)

    def _end_part(self) -> None:
        if not self._part_is_right():
            number = self.part + 1
            self._truncate(self.part)
            raise WeightsError(f"part {number} of {len(self.weights.parts)} came damaged: its hash is wrong")
        os.fsync(self._file)
        self._next_part()

    def _keep_what_is_right(self) -> None:
        found = min(os.fstat(self._file).st_size, self.weights.size)
        os.ftruncate(self._file, found)
        while self.size < found:
            upto = min(found, self._part_end(), self.size + BLOCK)
            self._count(memoryview(os.pread(self._file, upto - self.size, self.size)))
            if self.size == self._part_end():
                if not self._part_is_right():
                    self._truncate(self.part)
                    return
                self._next_part()

    def _count(self, data: memoryview) -> None:
        self._hash.update(data)
        self.size += len(data)

    def _part_end(self) -> int:
        return self.part * self.weights.part_size + self.weights.part_length(self.part)

    def _part_is_right(self) -> bool:
        return self._hash.hexdigest() == self.weights.parts[self.part]

    def _next_part(self) -> None:
        self.part += 1
        self._hash = hashlib.sha256()

    def _truncate(self, part: int) -> None:
        """Back to the start of `part`."""
        self.part = part
        self.size = part * self.weights.part_size if part < len(self.weights.parts) else self.weights.size
        os.ftruncate(self._file, self.size)
        self._hash = hashlib.sha256()

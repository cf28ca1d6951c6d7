"""What every contender of the engine benchmark is measured with: the payload, the bare commit, memory, sizes."""

import os
import random
import sqlite3
import string
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

Sync: TypeAlias = Literal["normal", "full"]
"""SQLite's `synchronous`: an acknowledged commit outlives the process, or also a power cut. Always in WAL mode."""

PAYLOAD_BYTES = 1024
_TEXT = "".join(random.Random(0).choices(string.ascii_letters + string.digits, k=PAYLOAD_BYTES))

Work: TypeAlias = Callable[[], object]


def payload(number: int) -> str:
    """1 KB, different for every step, that does not shrink much when it is packed."""
    return f"{number:08d}" + _TEXT[8:]


class Contender(Protocol):
    """One engine with its own database in one folder, opened and warmed up."""

    def __init__(self, folder: Path, sync: Sync) -> None: ...

    def chain(self, steps: int) -> Work:
        """Prepares that many steps, each after the one before; the work is to run them and make each durable."""
        ...

    def fan_out(self, steps: int) -> Work:
        """The same for steps that do not depend on each other."""
        ...

    def die_in_step(self, number: int) -> None:
        """Runs a chain whose step with that number ends the process on the spot."""
        ...

    def resume(self, number: int) -> float:
        """In a new process: seconds from opening the database to the beginning of that step."""
        ...

    def close(self) -> None: ...


class Bare:
    """The least that makes 1 KB durable: INSERT and commit, with the driver that comes with Python."""

    def __init__(self, folder: Path, sync: Sync) -> None:
        self.connection = opened(folder / "bare.db", sync)
        self.connection.execute("CREATE TABLE IF NOT EXISTS steps (id INTEGER PRIMARY KEY, body BLOB)")
        self.connection.commit()

    def seconds_each(self, count: int) -> float:
        body, connection = payload(0).encode(), self.connection
        started = time.perf_counter()
        for _ in range(count):
            connection.execute("INSERT INTO steps (body) VALUES (?)", (body,))
            connection.commit()
        return (time.perf_counter() - started) / count

    def close(self) -> None:
        self.connection.close()


def opened(path: Path, sync: Sync) -> sqlite3.Connection:
    """A connection of the standard library with the settings that all share, usable from every thread."""
    connection = sqlite3.connect(path, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={sync}")
    return connection


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def die() -> None:
    """As a kill would: nothing is closed, nothing is flushed."""
    os._exit(0)

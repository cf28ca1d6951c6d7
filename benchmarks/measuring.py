"""Shared by all contenders of the engine benchmark: the payload, the bare commit, memory and sizes."""

import os
import random
import sqlite3
import string
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

Sync: TypeAlias = Literal["normal", "full"]
"""SQLite's `synchronous` in WAL mode: commits survive a killed process (normal), or also a power cut (full)."""

PAYLOAD_BYTES = 1024
_TEXT = "".join(random.Random(0).choices(string.ascii_letters + string.digits, k=PAYLOAD_BYTES))

Work: TypeAlias = Callable[[], object]


def payload(number: int) -> str:
    """Return 1 KB of text that differs for every step and hardly compresses."""
    return f"{number:08d}" + _TEXT[8:]


class Contender(Protocol):
    """An engine with its own database in a folder."""

    def __init__(self, folder: Path, sync: Sync) -> None: ...

    def chain(self, steps: int) -> Work:
        """Prepare a chain of steps. The returned function runs them and makes each durable."""
        ...

    def fan_out(self, steps: int) -> Work:
        """Prepare independent steps. The returned function runs them and makes each durable."""
        ...

    def die_in_step(self, number: int) -> None:
        """Run a chain whose step with that number ends the process abruptly."""
        ...

    def resume(self, number: int) -> float:
        """Resume in a new process. Return the seconds from opening the database to the start of that step."""
        ...

    def close(self) -> None: ...


class Bare:
    """The minimum that makes 1 KB durable: INSERT and commit with Python's own driver."""

    def __init__(self, folder: Path, sync: Sync) -> None:
        self.connection = open_database(folder / "bare.db", sync)
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


def open_database(path: Path, sync: Sync) -> sqlite3.Connection:
    """Open a connection with the common settings, usable from every thread."""
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
    """End the process like a kill: nothing is closed or flushed."""
    os._exit(0)

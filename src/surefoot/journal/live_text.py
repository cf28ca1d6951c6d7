"""Streams text that is being written from the process of a run to its watchers. It is not stored, and may be lost.

A watcher binds a datagram socket, named after the run, in the folder `live` of the state folder. The run checks the
modification time of that folder four times a second. Without watchers, the only other cost is keeping the last 2,000
characters of each stream. Sending never blocks: a message that does not fit a watcher's buffer is dropped. A socket
whose owner was killed is removed by the run or by the next watcher.
"""

import asyncio
import contextlib
import json
import os
import secrets
import socket
import stat
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.journal.bus import Bus, Source

LOOK_SECONDS = 0.25
SEND_SECONDS = 0.1
"""Text is collected for this long, so a run sends at most ten messages a second for each source."""
MAX_CHARS = 4_000
"""The maximum length of the text in a message. Of longer text, the end is sent; the offset shows what is missing."""
KEPT_CHARS = 2_000
"""How much of the latest text a new watcher gets."""
MAX_SOURCES = 8
"""How many answers and commands are kept at once. If there are more, the oldest are dropped."""
MAX_DATAGRAM = 64_000
MAX_RECEIVED = 64
"""How many messages are read before the event loop gets control again."""
KINDS = ("text", "output", "call")
SETTLED_NS = 100_000_000
ABANDONED_SECONDS = 2.0
"""A newer socket is not removed, because it may not be ready yet."""


@dataclass(slots=True)
class _Stream:
    source: Source
    end: int = 0
    """How many characters were written in total."""
    kept: str = ""
    """The last characters that were written."""
    unsent: int = 0
    """How many characters have not been sent."""

    def add(self, piece: str) -> None:
        if self.source.kind == "call":
            self.kept, self.end, self.unsent = piece[:KEPT_CHARS], 0, len(piece[:KEPT_CHARS])
            return
        self.end += len(piece)
        self.unsent += len(piece)
        self.kept = (self.kept + piece)[-max(KEPT_CHARS, min(self.unsent, MAX_CHARS)) :]

    def message(self, run_id: str, chars: int) -> bytes:
        """Encode the last `chars` characters as a message."""
        text = self.kept[-min(chars, MAX_CHARS) :]
        source = self.source
        body = {
            "run": run_id,
            "id": source.id,
            "step": source.step,
            "kind": source.kind,
            "offset": max(self.end - len(text), 0),
            # Lone surrogates cannot be encoded.
            "text": text.encode("utf-8", "replace").decode(),
        }
        return json.dumps(body, ensure_ascii=False).encode()


class LiveTextSender:
    """Sends the text that a run's bus streams, which is already redacted. Never raises, never blocks."""

    def __init__(self, home: Path, run_id: str) -> None:
        self._folder, self._run_id = home / "live", run_id
        self._streams: OrderedDict[str, _Stream] = OrderedDict()
        self._watchers: tuple[str, ...] = ()
        self._folder_time = 0
        self._socket: socket.socket | None = None

    @contextlib.asynccontextmanager
    async def sending(self, bus: Bus) -> AsyncIterator[None]:
        unsubscribe = bus.subscribe(on_stream=self._on_stream)
        sending = asyncio.create_task(self._keep_sending())
        try:
            yield
        finally:
            unsubscribe()
            sending.cancel()
            self._send()
            if self._socket is not None:
                self._socket.close()
                self._socket = None

    def _on_stream(self, source: Source, piece: str) -> None:
        # Calls of one answer replace each other.
        key = "call" if source.kind == "call" else source.id
        stream = self._streams.get(key)
        if stream is None or stream.source.kind == "call":
            stream = self._streams[key] = _Stream(source)
            while len(self._streams) > MAX_SOURCES:
                self._streams.popitem(last=False)
        self._streams.move_to_end(key)
        stream.add(piece)

    def _send(self) -> None:
        for stream in list(self._streams.values()):
            if stream.unsent and self._watchers:
                self._send_to(self._watchers, stream.message(self._run_id, stream.unsent))
            stream.unsent = 0

    async def _keep_sending(self) -> None:
        while True:
            self._send()
            self._find_watchers()
            await asyncio.sleep(SEND_SECONDS if self._watchers else LOOK_SECONDS)

    def _find_watchers(self) -> None:
        """Update the list of watchers. The folder's time changes whenever a socket is added or removed."""
        try:
            changed = self._folder.stat(follow_symlinks=False).st_mtime_ns
        except OSError:
            changed = 0
        if changed == self._folder_time:
            return
        # The folder may change again without a new time if this one is very recent.
        self._folder_time = changed if time.time_ns() - changed > SETTLED_NS else -1
        before, self._watchers = self._watchers, tuple(_sockets(self._folder, self._run_id)) if changed else ()
        new = tuple(name for name in self._watchers if name not in before)
        if new and self._streams:
            latest = next(reversed(self._streams.values()))
            self._send_to(new, latest.message(self._run_id, KEPT_CHARS))

    def _send_to(self, names: tuple[str, ...], message: bytes) -> None:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.setblocking(False)
        with contextlib.suppress(OSError), _opened(self._folder) as place:
            for name in names:
                try:
                    self._socket.sendto(message, f"{place}/{name}")
                except ConnectionRefusedError:
                    _remove(self._folder / name)
                except OSError:
                    # The buffer is full, or the watcher is gone. Live text may be lost.
                    continue


class LiveTextListener:
    """Receives the text that a run is writing, until it is closed. `on_text` gets whole, validated messages."""

    def __init__(self, home: Path, run_id: str, on_text: Callable[[dict[str, Any]], None]) -> None:
        self._on_text, self._run_id = on_text, run_id
        folder = home / "live"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = folder / f"{run_id}.{secrets.token_hex(4)}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            with _opened(folder) as place:
                _remove_abandoned(folder, place)
                self._socket.bind(f"{place}/{self._path.name}")
            self._path.chmod(0o600)
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._socket.fileno(), self._on_readable)
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _on_readable(self) -> None:
        for _ in range(MAX_RECEIVED):
            try:
                data = self._socket.recv(MAX_DATAGRAM)
            except OSError:
                return
            if (message := _checked(data, self._run_id)) is not None:
                self._on_text(message)


@contextlib.contextmanager
def listening(home: Path, run_id: str, on_text: Callable[[dict[str, Any]], None]) -> Iterator[None]:
    """Listen to a run. If that is not possible, nothing is received: everything important is in the journal."""
    try:
        listener = LiveTextListener(home, run_id, on_text)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        listener.close()


def _checked(data: bytes, run_id: str) -> dict[str, Any] | None:
    """Decode a message with valid fields and sizes; None for anything else."""
    try:
        fields = json.loads(data)
        offset, text, kind = fields["offset"], fields["text"], fields["kind"]
        names = [fields["id"], fields["step"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    is_valid = fields["run"] == run_id and kind in KINDS and type(offset) is int and 0 <= offset < 1 << 53
    is_valid = is_valid and isinstance(text, str) and 0 < len(text) <= MAX_CHARS
    if not is_valid or not all(isinstance(name, str) and len(name) <= 200 for name in names):
        return None
    return {"run": run_id, "id": names[0], "step": names[1], "kind": kind, "offset": offset, "text": text}


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[str]:
    """Yield a short path to the folder, because socket addresses are limited in length. Raises PermissionError if other
    users can access the folder."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise PermissionError(f"{folder} is open to others")
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)


def _sockets(folder: Path, run_id: str) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        yield from (entry.name for entry in entries if entry.name.rpartition(".")[0] == run_id)


def _remove_abandoned(folder: Path, place: str) -> None:
    """Remove the sockets of watchers that were killed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe, os.scandir(folder) as entries:
        for entry in list(entries):
            try:
                probe.connect(f"{place}/{entry.name}")
            except ConnectionRefusedError:
                _remove(folder / entry.name)
            except OSError:
                continue


def _remove(path: Path) -> None:
    """Remove a socket without a receiver, unless it is new."""
    with contextlib.suppress(OSError):
        status = path.lstat()
        if stat.S_ISSOCK(status.st_mode) and time.time() - status.st_ctime > ABANDONED_SECONDS:
            path.unlink()

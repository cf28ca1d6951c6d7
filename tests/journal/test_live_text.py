"""Live text between two ends in one process, and with watchers that are slow, dead or hostile."""

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from surefoot.journal import live_text
from surefoot.journal.bus import Bus, Source
from surefoot.journal.live_text import MAX_CHARS, LiveTextListener, LiveTextSender, listening
from surefoot.journal.redact import Redactor
from surefoot.journal.redacted_stream import RedactedStream

RUN = "1117-090000-abcd"


async def until(met: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not met():  # noqa: ASYNC110 - changed by the reader
            await asyncio.sleep(0.01)


def joined(messages: list[dict[str, Any]]) -> str:
    """The text of messages that must follow each other without a gap."""
    text = ""
    for message in messages:
        assert message["offset"] == len(text), "a gap"
        text += message["text"]
    return text


@pytest.mark.req("A7")
async def test_what_is_written_reaches_who_watches_and_who_comes_later_gets_the_end(tmp_path: Path) -> None:
    bus, first, second = Bus(), list[dict[str, Any]](), list[dict[str, Any]]()
    source = Source("output", "s1", "action:s1.a1")
    async with LiveTextSender(tmp_path, RUN).sending(bus):
        with listening(tmp_path, RUN, first.append):
            bus.text(source, "one\n")
            await until(lambda: first)
            bus.text(source, "zwei 😀\n")
            await until(lambda: len(first) == 2)
            with listening(tmp_path, RUN, second.append):
                await until(lambda: second)
                bus.text(source, "three\n")
                await until(lambda: len(second) == 2)
        await until(lambda: len(first) == 3)
        bus.call("write_file", "adder.py", "s2")
        with listening(tmp_path, RUN, second.append):
            await until(lambda: len(second) == 3)
    assert joined(first) == joined(second[:2]) == "one\nzwei 😀\nthree\n"
    assert first[0] == {"run": RUN, "id": "action:s1.a1", "step": "s1", "kind": "output", "offset": 0, "text": "one\n"}
    assert {**second[2], "id": ""} == {
        "run": RUN, "id": "", "step": "s2", "kind": "call", "offset": 0, "text": "write_file adder.py",
    }  # fmt: skip
    assert list((tmp_path / "live").iterdir()) == []


async def test_a_run_that_nobody_watches_opens_no_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    bus, other = Bus(), tmp_path / "live" / "1117-090000-0000.aa"
    async with LiveTextSender(tmp_path, RUN).sending(bus):
        bus.text(Source(), "nobody reads this")
        await asyncio.sleep(0.3)
        other.parent.mkdir(mode=0o700)
        other.touch()
        bus.text(Source(), "and somebody watches another run")
        await asyncio.sleep(0.6)


@pytest.mark.attack("the server's door")
async def test_a_flood_is_cut_to_its_end_and_a_watcher_that_does_not_read_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus, seen = Bus(), list[dict[str, Any]]()
    place = tmp_path / "live"
    place.mkdir(mode=0o700)
    stuck = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with contextlib.closing(stuck):
        monkeypatch.chdir(place)
        stuck.bind(f"{RUN}.stuck")
        with listening(tmp_path, RUN, seen.append):
            async with LiveTextSender(tmp_path, RUN).sending(bus):
                await asyncio.sleep(0.4)
                sources = [Source("output", f"s{n}") for n in range(40)]
                started = time.monotonic()
                for number in range(200):
                    bus.text(sources[number % 40], f"{number}\ud800\x1b]0;x\x07" + "x" * 100_000)
                    if number % 10 == 0:
                        await asyncio.sleep(0.02)
                spent = time.monotonic() - started
                await asyncio.sleep(0.3)
            await asyncio.sleep(0.1)
    assert seen
    assert all(0 < len(message["text"]) <= MAX_CHARS for message in seen)
    # Ten sends a second, each of at most as many messages as there are sources in progress.
    assert len(seen) <= (spent / live_text.SEND_SECONDS + 8) * live_text.MAX_SOURCES


async def test_the_socket_of_a_watcher_that_was_killed_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_text, "ABANDONED_SECONDS", 0.0)
    place = tmp_path / "live"
    place.mkdir(mode=0o700)

    def abandon(name: str) -> None:
        with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as dead:
            monkeypatch.chdir(place)
            dead.bind(name)

    abandon(f"{RUN}.dead")
    bus, seen = Bus(), list[dict[str, Any]]()
    async with LiveTextSender(tmp_path, RUN).sending(bus):
        await asyncio.sleep(0.4)
        bus.text(Source(), "into the void")
        await until(lambda: not list(place.iterdir()))
        abandon("another-run.dead")
        with listening(tmp_path, RUN, seen.append):
            assert [path.name for path in place.iterdir() if "dead" in path.name] == []
            bus.text(Source(), "heard")
            await until(lambda: seen)


@pytest.mark.attack("the server's door")
async def test_what_is_no_message_of_the_run_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[dict[str, Any]]()
    good = {"run": RUN, "id": "a", "step": "", "kind": "text", "offset": 0, "text": "good"}
    bad: list[Any] = [
        [], "text", None, {}, {**good, "run": "other"}, {**good, "kind": "html"}, {**good, "offset": -1},
        {**good, "offset": True}, {**good, "offset": 1 << 60}, {**good, "text": ""}, {**good, "text": 7},
        {**good, "text": "x" * (MAX_CHARS + 1)}, {**good, "id": "x" * 300}, {**good, "step": None},
    ]  # fmt: skip
    listener = LiveTextListener(tmp_path, RUN, seen.append)
    (path,) = (tmp_path / "live").iterdir()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    monkeypatch.chdir(path.parent)
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as sender:
        for message in [b"\xff\x00", b"[" * 20_000, *(json.dumps(item).encode() for item in [*bad, good])]:
            sender.sendto(message, path.name)
            await asyncio.sleep(0.005)
    await until(lambda: seen)
    listener.close()
    assert seen == [good]


@pytest.mark.attack("the server's door")
async def test_a_folder_that_others_may_use_gets_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "live"
    place.mkdir(mode=0o755)
    place.chmod(0o755)
    bus = Bus()
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as spy:
        monkeypatch.chdir(place)
        spy.bind(f"{RUN}.spy")
        spy.setblocking(False)
        async with LiveTextSender(tmp_path, RUN).sending(bus):
            await asyncio.sleep(0.4)
            bus.text(Source(), "private")
            await asyncio.sleep(0.3)
        with pytest.raises(BlockingIOError):
            spy.recv(1000)
    with pytest.raises(PermissionError):
        LiveTextListener(tmp_path, RUN, lambda _: None)


@pytest.mark.attack("leak by output")
async def test_a_secret_that_arrives_in_pieces_does_not_leave_the_process(tmp_path: Path) -> None:
    secret = "hunter2-hunter2-hunter2"
    bus, seen = Bus(), list[dict[str, Any]]()
    stream = RedactedStream(Redactor([secret]), bus.writer(Source("output")))
    with listening(tmp_path, RUN, seen.append):
        async with LiveTextSender(tmp_path, RUN).sending(bus):
            await asyncio.sleep(0.3)
            for letter in f"the password is {secret}, keep it\n":
                stream.feed(letter)
                await asyncio.sleep(0.01)
            await until(lambda: "keep it" in joined(seen))
    assert secret[:8] not in json.dumps(seen)

"""Damage to a file is detected: reading returns what was written, or raises an error."""

import asyncio
import random
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.samples import created, finished_with, warned
from surefoot.core.transitions import Stage
from surefoot.errors import JournalBroken, JournalError, JournalVersion
from surefoot.journal.events import StageEntered
from surefoot.journal.messages import ControlMessage
from surefoot.journal.store.sqlite import SqliteJournal

MESSAGE = ControlMessage(command="pause", why="a message of some length")


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with every kind of content, all of it in the main file."""
    path = tmp_path_factory.mktemp("intact") / "journal.db"

    async def write() -> None:
        journal = SqliteJournal(path)
        for run_id in ("r1", "r2"):
            await journal.append(run_id, [created(run_id, text=f"the task of {run_id}")])
            for n in range(12):
                digest = journal.put_blob(f"{run_id} content {n} ".encode() * (n * 10 + 1))
                await journal.append(run_id, [warned(f"message {n} " * 20), finished_with(digest)])
            await journal.append(run_id, [StageEntered(stage=Stage.EXECUTION)])
            journal.send(run_id, MESSAGE)
        await journal.aclose()

    asyncio.run(write())
    assert not path.with_name("journal.db-wal").exists()
    return path


def _read_all(path: Path) -> Any:
    journal = SqliteJournal(path, read_only=True)
    try:
        runs = [summary.run_id for summary in journal.summaries()]
        events = {run_id: list(journal.read(run_id)) for run_id in ("r1", "r2")}
        blobs = {
            record.event.output: journal.get_blob(record.event.output)
            for records in events.values()
            for record in records
            if record.event.type == "action_finished"
        }
        found = [journal.find("last"), journal.find("r1"), journal.find("r2")]
        # A message can be lost with its page, and is then sent again. It must not turn into a different one.
        assert all(item.body == MESSAGE for run_id in runs for item in journal.receive(run_id))
        return runs, events, blobs, journal.summaries(), found
    finally:
        journal.close()


def _read_all_or_error(path: Path) -> Any:
    try:
        return _read_all(path)
    except JournalError as error:
        return error


def test_a_flipped_byte_is_detected(intact: Path, tmp_path: Path) -> None:
    truth = _read_all(intact)
    content = intact.read_bytes()
    rng = random.Random(6)
    detected = 0
    for _ in range(500):
        offset = rng.randrange(len(content))
        damaged = tmp_path / "journal.db"
        damaged.write_bytes(content[:offset] + bytes([content[offset] ^ rng.randrange(1, 256)]) + content[offset + 1 :])
        result = _read_all_or_error(damaged)
        if isinstance(result, (JournalBroken, JournalVersion)):
            detected += 1
            assert str(damaged) in str(result)
            assert result.remedy
        else:
            assert result == truth, f"byte {offset}"
        for file in tmp_path.iterdir():
            file.unlink()
    assert detected > 100, "most of the file is content"


@pytest.mark.parametrize("offset", range(0, 100, 3))
def test_a_damaged_header_is_detected(intact: Path, tmp_path: Path, offset: int) -> None:
    damaged = tmp_path / "journal.db"
    content = bytearray(intact.read_bytes())
    content[offset] ^= 0xFF
    damaged.write_bytes(content)
    result = _read_all_or_error(damaged)
    if isinstance(result, JournalError):
        assert result.remedy
    else:
        assert result == _read_all(intact)


@pytest.mark.parametrize("size", [1, 99, 4095, 4096, 8192, 20_000])
def test_a_truncated_file_is_detected(intact: Path, tmp_path: Path, size: int) -> None:
    damaged = tmp_path / "journal.db"
    damaged.write_bytes(intact.read_bytes()[:size])
    with pytest.raises(JournalBroken):
        _read_all(damaged)


def _altered(intact: Path, tmp_path: Path, *statements: str) -> SqliteJournal:
    path = tmp_path / "journal.db"
    shutil.copy(intact, path)
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()
    return SqliteJournal(path)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM events WHERE id = (1 << 32) + 5",
        "DELETE FROM events WHERE id = (1 << 32) + 1",
        "DELETE FROM events WHERE id >> 32 = 1",
        "DELETE FROM events WHERE id = (1 << 32) + 26",
        "UPDATE events SET body = CAST(replace(body, 'message 2', 'message 3') AS BLOB) WHERE id >> 32 = 1",
        "UPDATE events SET at = at + 1 WHERE id = (1 << 32) + 5",
        "UPDATE events SET kind = 'warned', crc = crc WHERE id = (1 << 32) + 1",
        "UPDATE runs SET workspace = '/elsewhere' WHERE run_id = 'r1'",
    ],
)
def test_changed_and_deleted_rows_are_detected(intact: Path, tmp_path: Path, statement: str) -> None:
    journal = _altered(intact, tmp_path, statement)
    with pytest.raises(JournalBroken, match="r1"):
        list(journal.read("r1"))
    assert len(list(journal.read("r2"))) == 26, "the other run is intact"
    journal.close()


@pytest.mark.parametrize("statement", ["UPDATE runs SET stage = 'done'", "UPDATE runs SET verdict = 'good'"])
def test_an_unknown_status_is_detected(intact: Path, tmp_path: Path, statement: str) -> None:
    with pytest.raises(JournalBroken, match="status"):
        _altered(intact, tmp_path, statement).summaries()


@pytest.mark.parametrize("prefix", ["last", "x", "r2"])
def test_a_changed_run_id_is_detected(intact: Path, tmp_path: Path, prefix: str) -> None:
    journal = _altered(intact, tmp_path, "UPDATE runs SET run_id = 'x2' WHERE run_id = 'r2'")
    with pytest.raises(JournalBroken, match="was changed"):
        journal.find(prefix)
    journal.close()


def test_deleted_content_is_detected(intact: Path, tmp_path: Path) -> None:
    journal = _altered(intact, tmp_path, "DELETE FROM blobs")
    with pytest.raises(JournalBroken, match="no content under the hash"):
        journal.get_blob(next(r.event.output for r in journal.read("r1") if r.event.type == "action_finished"))
    journal.close()


def test_a_changed_message_is_detected(intact: Path, tmp_path: Path) -> None:
    journal = _altered(intact, tmp_path, """UPDATE inbox SET body = CAST('{"command": "cancel"}' AS BLOB)""")
    with pytest.raises(JournalBroken, match="message 1 for run r1"):
        journal.receive("r1")
    journal.close()


async def test_a_damaged_file_is_not_written_to(intact: Path, tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    content = b"\0" * 4096 + intact.read_bytes()[4096:]
    path.write_bytes(content)
    with pytest.raises(JournalBroken):
        await SqliteJournal(path).append("r3", [created("r3")])
    assert path.read_bytes() == content

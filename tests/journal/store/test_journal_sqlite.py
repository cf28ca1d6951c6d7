"""The SQLite journal: group commits, syncing, and several connections to one file."""

import asyncio
import errno
import os
import stat
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.disk import registered_disk
from support.samples import created, finished_with, messages, seqs, warned
from surefoot.errors import JournalBroken, JournalBusy, JournalError, UnknownRun
from surefoot.journal.messages import ControlMessage
from surefoot.journal.store import sqlite
from surefoot.journal.store.blobs import LARGE
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.journal.store.writing import JournalWriter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
async def journal(path: Path) -> AsyncIterator[SqliteJournal]:
    journal = SqliteJournal(path, busy_timeout=0.05)
    await journal.append("r1", [created("r1")])
    yield journal
    await journal.aclose()


# -- commits -------------------------------------------------------------------------------------------------------


async def test_a_commit_syncs_once_with_durability_power_and_never_with_process(tmp_path: Path) -> None:
    with registered_disk() as disk:
        for durability, expected in (("power", 1), ("process", 0)):
            journal = SqliteJournal(tmp_path / f"{durability}.db", durability=durability)  # type: ignore[arg-type]
            await journal.append("r1", [created("r1")])
            for together in (1, 3):
                before = disk.syncs
                for n in range(50):
                    journal.note("r1", warned("with it"))
                    journal.put_blob(f"content {together} {n}".encode())
                    await journal.append("r1", [warned("x" * 1000)] * together)
                assert disk.syncs - before == 50 * expected
            await journal.aclose()


async def test_concurrent_appends_share_a_commit(path: Path) -> None:
    with registered_disk() as disk:
        journal = SqliteJournal(path, durability="power")
        await journal.append("r1", [created("r1")])
        before = disk.syncs
        records = await asyncio.gather(*(journal.append("r1", [warned(str(n))]) for n in range(1000)))
        assert disk.syncs - before <= 3
        assert [seqs(some) for some in records] == [[n] for n in range(2, 1002)]
        assert messages(journal.read("r1")) == [str(n) for n in range(1000)]

        async def step(n: int) -> None:
            await journal.append("r1", [warned("intent")])
            await journal.append("r1", [warned("result")])

        before = disk.syncs
        await asyncio.gather(*(step(n) for n in range(300)))
        assert disk.syncs - before <= 6
        await journal.aclose()


async def test_a_task_that_appends_in_a_loop_lets_others_run(journal: SqliteJournal) -> None:
    steps = 0

    async def other() -> None:
        nonlocal steps
        while True:
            steps += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    for _ in range(sqlite.MAX_COMMITS_ALONE * 4):
        await journal.append("r1", [warned("on and on")])
    task.cancel()
    assert steps >= 4


async def test_cancelling_a_waiting_append_withdraws_nothing(journal: SqliteJournal) -> None:
    tasks = [asyncio.create_task(journal.append("r1", [warned(str(n))])) for n in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(result, asyncio.CancelledError) for result in done] == [False, True, False, False]
    assert messages(journal.read("r1")) == ["0", "1", "2", "3"]


def test_the_journal_works_after_its_event_loop_has_ended(path: Path) -> None:
    journal = SqliteJournal(path)

    async def begin_and_die() -> None:
        await journal.append("r1", [created("r1")])
        waiting = asyncio.ensure_future(journal.append("r1", [warned("left waiting")]))
        await asyncio.sleep(0)
        assert not waiting.done()
        raise SystemExit

    loop = asyncio.new_event_loop()
    with pytest.raises(SystemExit):
        loop.run_until_complete(begin_and_die())
    loop.close()

    assert messages(journal.read("r1")) == []
    asyncio.run(journal.append("r1", [warned("after")]))
    journal.close()
    assert messages(SqliteJournal(path).read("r1")) == ["left waiting", "after"]


# -- other connections ---------------------------------------------------------------------------------------------


async def test_a_locked_journal_raises_and_works_again_afterwards(path: Path, journal: SqliteJournal) -> None:
    other = apsw.Connection(str(path))
    journal.send("r1", ControlMessage(command="pause"))
    (item,) = journal.receive("r1")
    other.execute("BEGIN IMMEDIATE")

    journal.note("r1", warned("noted"))
    journal.acknowledge("r1", [item.id])
    with pytest.raises(JournalBusy, match="locked") as raised:
        await journal.append("r1", [warned("not written")])
    assert str(path) in str(raised.value)
    assert "fuser" in raised.value.remedy
    for _ in range(2):  # alone, and in a group
        results = await asyncio.gather(
            *(journal.append("r1", [warned("nor these")]) for _ in range(3)), return_exceptions=True
        )
        assert [type(result) for result in results] == [JournalBusy] * 3
    with pytest.raises(JournalBusy):
        journal.send("r1", ControlMessage(command="cancel"))
    with pytest.raises(JournalBusy):
        await journal.flush()
    assert journal.receive("r1") == [item], "the event for it was not written"

    other.execute("ROLLBACK")
    assert seqs(await journal.append("r1", [warned("written")])) == [3]
    assert messages(journal.read("r1")) == ["noted", "written"]


async def test_a_single_event_gets_no_number_while_the_file_is_locked(path: Path, journal: SqliteJournal) -> None:
    await journal.append("r1", [warned("this task is alone now")])
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalBusy):
        await journal.append("r1", [warned("not written")])
    other.execute("ROLLBACK")
    assert seqs(await journal.append("r1", [warned("written")])) == [3]


async def test_a_new_run_that_could_not_be_written_can_be_created_again(path: Path, journal: SqliteJournal) -> None:
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalBusy):
        await journal.append("r2", [created("r2"), warned("a")])
    other.execute("ROLLBACK")
    with pytest.raises(UnknownRun):
        await journal.append("r2", [warned("b")])
    await journal.append("r2", [created("r2"), warned("c")])
    assert messages(journal.read("r2")) == ["c"]


@pytest.mark.parametrize("in_group", [True, False])
async def test_a_run_that_another_process_continued_is_not_written(
    path: Path, journal: SqliteJournal, in_group: bool
) -> None:
    await journal.append("r1", [warned("mine")])
    await journal.append("r2", [created("r2")])
    journal.send("r1", ControlMessage(command="pause"))
    other = SqliteJournal(path)
    await other.append("r1", [warned("theirs")])

    if in_group:
        journal.note("r1", warned("noted"))
        journal.acknowledge("r1", [item.id for item in journal.receive("r1")])
        refused, unharmed = await asyncio.gather(
            journal.append("r1", [warned("too late")]),
            journal.append("r2", [warned("unharmed")]),
            return_exceptions=True,
        )
        assert isinstance(refused, JournalBusy)
        assert not isinstance(unharmed, BaseException)
        assert messages(journal.read("r2")) == ["unharmed"]
    else:
        await journal.append("r2", [warned("this task is alone now")])
        with pytest.raises(JournalBusy, match="another process is writing run r1"):
            await journal.append("r1", [warned("too late")])

    assert messages(journal.read("r1")) == ["mine", "theirs"]
    assert [item.body for item in other.receive("r1")] == [ControlMessage(command="pause")], (
        "the other process still receives it"
    )
    assert seqs(await journal.append("r1", [warned("mine again")])) == [4]
    await other.aclose()


async def test_an_append_continues_from_the_events_that_were_read(path: Path, journal: SqliteJournal) -> None:
    """Another process may continue the run, and end, between reading it and appending to it."""
    await journal.append("r1", [warned("a")])
    late, quick = SqliteJournal(path), SqliteJournal(path)
    assert messages(late.read("r1")) == ["a"]
    await quick.append("r1", [warned("b")])
    await quick.aclose()
    with pytest.raises(JournalBusy, match="another process is writing run r1"):
        await late.append("r1", [warned("not knowing of b")])
    assert messages(late.read("r1")) == ["a", "b"]
    assert seqs(await late.append("r1", [warned("knowing of b")])) == [4]
    await late.aclose()


async def test_a_lost_note_raises_at_the_next_call(path: Path, journal: SqliteJournal) -> None:
    await journal.append("r2", [created("r2")])
    other = SqliteJournal(path)
    await other.append("r1", [warned("theirs")])
    journal.note("r1", warned("lost"))
    await journal.append("r2", [warned("another run takes the note along")])

    with pytest.raises(JournalBusy, match="another process is writing run r1"):
        journal.note("r1", warned("too late"))
    assert seqs(await journal.append("r1", [warned("knowing that")])) == [3]
    assert messages(journal.read("r1")) == ["theirs", "knowing that"]
    await other.aclose()


async def test_a_lost_note_raises_with_the_next_append_of_the_same_task(path: Path, journal: SqliteJournal) -> None:
    await journal.append("r1", [warned("this task is alone now")])
    other = SqliteJournal(path)
    await other.append("r1", [warned("theirs")])
    journal.note("r1", warned("lost"))
    with pytest.raises(JournalBusy, match="another process is writing run r1"):
        await journal.append("r1", [warned("too late")])
    await other.aclose()


@pytest.mark.parametrize("method", ["write_one", "write"])
async def test_an_interrupt_after_the_commit_is_not_mistaken_for_another_process(
    journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    await journal.append("r1", [warned("this task is alone now")])
    write = getattr(JournalWriter, method)

    def interrupted(*arguments: Any) -> None:
        write(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(JournalWriter, method, interrupted)
    with pytest.raises(KeyboardInterrupt):
        await journal.append("r1", [warned("written")] * (1 if method == "write_one" else 2))
    monkeypatch.undo()
    await journal.append("r1", [warned("after")])
    assert messages(journal.read("r1"))[1:] == ["written"] * (1 if method == "write_one" else 2) + ["after"]


async def test_an_unexpected_error_is_raised_in_all_waiting_appends(
    journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JournalWriter, "write", lambda *_: 1 / 0)
    results = await asyncio.gather(*(journal.append("r1", [warned("a")]) for _ in range(2)), return_exceptions=True)
    assert [type(result) for result in results] == [ZeroDivisionError] * 2


async def test_closing_raises_if_a_note_could_not_be_written(path: Path, journal: SqliteJournal) -> None:
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    journal.note("r1", warned("lost"))
    with pytest.raises(JournalBusy):
        await journal.aclose()
    other.close()
    assert seqs(await journal.append("r1", [warned("opened again")])) == [2]


async def test_two_processes_cannot_create_the_same_run(path: Path, journal: SqliteJournal) -> None:
    other = SqliteJournal(path)
    journal.note("r2", created("r2", text="mine"))
    await other.append("r2", [created("r2", text="theirs")])
    with pytest.raises(JournalBusy):
        await journal.append("r2", [warned("too late")])
    assert [summary.task for summary in journal.summaries()] == ["theirs", "make it work"]
    await other.aclose()


async def test_a_half_read_stream_does_not_block_others(path: Path, journal: SqliteJournal) -> None:
    await journal.append("r1", [warned(str(n)) for n in range(100)])
    stream = journal.read("r1")
    next(stream)
    other = SqliteJournal(path)
    await other.append("r2", [created("r2")])
    await journal.append("r1", [warned("more")])
    assert seqs(journal.read("r1"))[-1] == 102
    assert [summary.run_id for summary in journal.summaries()] == ["r2", "r1"]
    assert seqs(stream) == list(range(2, 102)), "it shows the state at its start"
    await other.aclose()


async def test_a_reader_follows_a_writer(path: Path, journal: SqliteJournal) -> None:
    reader = SqliteJournal(path, read_only=True)
    assert reader.find("last") == "r1"
    digest = journal.put_blob(b"content")
    await journal.append("r1", [warned("a"), finished_with(digest)])
    assert messages(reader.read("r1")) == ["a"]
    assert reader.get_blob(digest) == b"content"
    assert reader.summaries()[0].events == 3
    for write in (
        lambda: reader.note("r1", warned("b")),
        lambda: reader.put_blob(b"other"),
        lambda: reader.send("r1", ControlMessage(command="pause")),
        lambda: reader.acknowledge("r1", [1]),
    ):
        with pytest.raises(JournalError, match="opened for reading"):
            write()
    reader.close()


def test_reading_does_not_create_the_file(path: Path) -> None:
    journal = SqliteJournal(path)
    assert journal.summaries() == []
    with pytest.raises(UnknownRun, match="no runs yet"):
        journal.find("last")
    with pytest.raises(UnknownRun):
        journal.read("r1")
    journal.close()
    assert list(path.parent.iterdir()) == []


async def test_a_reader_sees_a_journal_that_is_created_later(path: Path) -> None:
    reader = SqliteJournal(path, read_only=True)
    assert reader.summaries() == []
    journal = SqliteJournal(path)
    await journal.append("r1", [created("r1")])
    assert reader.find("last") == "r1"
    await journal.aclose()
    reader.close()


# -- secrets -------------------------------------------------------------------------------------------------------


# -- content -------------------------------------------------------------------------------------------------------


async def test_only_large_content_is_stored_in_files(path: Path, journal: SqliteJournal) -> None:
    noise = os.urandom(LARGE + 1)
    digests = [journal.put_blob(data) for data in (noise, b"long and dull " * 10_000, noise[:-1])]
    files = [file for file in path.with_name("journal.db-blobs").rglob("*") if file.is_file()]
    assert [file.name for file in files] == [f"{digests[0]}.plain"]
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600
    await journal.append("r1", [finished_with(digest) for digest in digests])
    await journal.aclose()
    assert path.stat().st_size < 3 * LARGE

    later = SqliteJournal(path)
    assert [len(later.get_blob(digest)) for digest in digests] == [LARGE + 1, 140_000, LARGE]
    files[0].write_bytes(noise[:-1] + b"!")
    with pytest.raises(JournalBroken, match="missing or was changed"):
        later.get_blob(digests[0])
    files[0].unlink()
    with pytest.raises(JournalBroken, match="missing or was changed"):
        later.get_blob(digests[0])
    later.close()


async def test_content_that_cannot_be_stored_is_an_error(path: Path, journal: SqliteJournal) -> None:
    path.with_name("journal.db-blobs").write_text("in the way")
    with pytest.raises(JournalError, match="could not be stored") as raised:
        journal.put_blob(os.urandom(LARGE + 1))
    assert raised.value.remedy


async def test_content_that_could_not_be_stored_leaves_no_files(
    path: Path, journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    data = os.urandom(LARGE + 1)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(JournalError, match="No space left"):
        journal.put_blob(data)
    monkeypatch.undo()
    assert not [file for file in path.with_name("journal.db-blobs").rglob("*") if file.is_file()]
    assert journal.get_blob(journal.put_blob(data)) == data


# -- opening -------------------------------------------------------------------------------------------------------


async def test_the_files_are_readable_by_their_owner_only(path: Path, journal: SqliteJournal) -> None:
    for file in (path, path.with_name("journal.db-wal"), path.with_name("journal.db-shm")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_creating_the_file_waits_for_a_concurrent_reader(path: Path) -> None:
    path.touch()
    other = apsw.Connection(str(path))
    other.execute("BEGIN; SELECT * FROM sqlite_schema")
    with pytest.raises(JournalBusy):
        await SqliteJournal(path, busy_timeout=0.02).append("r1", [created("r1")])
    leaving = threading.Timer(0.1, other.execute, ["COMMIT"])
    leaving.start()
    journal = SqliteJournal(path, busy_timeout=60)
    await journal.append("r1", [created("r1")])
    await journal.aclose()
    leaving.join()


async def test_a_sqlite_version_with_a_known_bug_is_rejected(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(JournalError, match=r"3\.51\.2.*3\.51\.3 or newer") as raised:
        await SqliteJournal(path).append("r1", [created("r1")])
    assert "apsw" in raised.value.remedy
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.52.0")
    await SqliteJournal(path).append("r1", [created("r1")])


async def test_an_unusable_path_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "journal.db", tmp_path / "nul\x00"):
        journal = SqliteJournal(place)
        with pytest.raises(JournalError, match="cannot be opened") as raised:
            await journal.append("r1", [created("r1")])
        assert raised.value.remedy

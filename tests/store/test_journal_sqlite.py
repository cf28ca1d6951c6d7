"""What is particular to the journal in a file: sharing commits, syncing, redacting, and several who have it open."""

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

from store.disk import registered_disk
from store.samples import created, messages, named, numbers, said
from surefoot.errors import JournalBroken, JournalBusy, JournalError, UnknownRun
from surefoot.store import sqlite
from surefoot.store.blobs import LARGE
from surefoot.store.sqlite import SqliteJournal
from surefoot.store.writing import JournalWriter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
async def journal(path: Path) -> AsyncIterator[SqliteJournal]:
    made = SqliteJournal(path, busy_timeout=0.05)
    await made.append("r1", [created("r1")])
    yield made
    await made.aclose()


# commits


async def test_a_commit_is_one_sync_when_it_must_outlive_a_power_cut_and_none_otherwise(tmp_path: Path) -> None:
    with registered_disk() as disk:
        for durability, expected in (("power", 1), ("process", 0)):
            journal = SqliteJournal(tmp_path / f"{durability}.db", durability=durability)  # type: ignore[arg-type]
            await journal.append("r1", [created("r1")])
            for together in (1, 3):
                before = disk.syncs
                for n in range(50):
                    journal.note("r1", said("with it"))
                    journal.put_blob(f"content {together} {n}".encode())
                    await journal.append("r1", [said("x" * 1000)] * together)
                assert disk.syncs - before == 50 * expected
            await journal.aclose()


async def test_appends_of_the_same_moment_share_a_commit(path: Path) -> None:
    with registered_disk() as disk:
        journal = SqliteJournal(path, durability="power")
        await journal.append("r1", [created("r1")])
        before = disk.syncs
        records = await asyncio.gather(*(journal.append("r1", [said(str(n))]) for n in range(1000)))
        assert disk.syncs - before <= 3
        assert [numbers(some) for some in records] == [[n] for n in range(2, 1002)]
        assert messages(journal.read("r1")) == [str(n) for n in range(1000)]

        async def step(n: int) -> None:
            await journal.append("r1", [said("intent")])
            await journal.append("r1", [said("result")])

        before = disk.syncs
        await asyncio.gather(*(step(n) for n in range(300)))
        assert disk.syncs - before <= 6
        await journal.aclose()


async def test_one_that_appends_without_end_lets_others_run(journal: SqliteJournal) -> None:
    steps = 0

    async def other() -> None:
        nonlocal steps
        while True:
            steps += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    for _ in range(sqlite.TURNS_ALONE * 4):
        await journal.append("r1", [said("on and on")])
    task.cancel()
    assert steps >= 4


async def test_a_cancelled_waiter_harms_nobody_and_takes_nothing_back(journal: SqliteJournal) -> None:
    tasks = [asyncio.create_task(journal.append("r1", [said(str(n))])) for n in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(result, asyncio.CancelledError) for result in done] == [False, True, False, False]
    assert messages(journal.read("r1")) == ["0", "1", "2", "3"]


def test_a_loop_that_ended_in_the_middle_does_not_hold_up_the_next(path: Path) -> None:
    journal = SqliteJournal(path)

    async def begin_and_die() -> None:
        await journal.append("r1", [created("r1")])
        waiting = asyncio.ensure_future(journal.append("r1", [said("left waiting")]))
        await asyncio.sleep(0)
        assert not waiting.done()
        raise SystemExit

    loop = asyncio.new_event_loop()
    with pytest.raises(SystemExit):
        loop.run_until_complete(begin_and_die())
    loop.close()

    assert messages(journal.read("r1")) == []
    asyncio.run(journal.append("r1", [said("after")]))
    journal.close()
    assert messages(SqliteJournal(path).read("r1")) == ["left waiting", "after"]


# others who have the same file open


async def test_a_locked_journal_says_so_and_goes_on_afterwards(path: Path, journal: SqliteJournal) -> None:
    other = apsw.Connection(str(path))
    journal.send("r1", {"command": "pause"})
    (item,) = journal.receive("r1")
    other.execute("BEGIN IMMEDIATE")

    journal.note("r1", said("noted"))
    journal.acknowledge("r1", [item.id])
    with pytest.raises(JournalBusy, match="locked") as caught:
        await journal.append("r1", [said("not written")])
    assert str(path) in str(caught.value)
    assert "fuser" in caught.value.remedy
    for _ in range(2):  # one commits by itself, the other has company
        results = await asyncio.gather(
            *(journal.append("r1", [said("nor these")]) for _ in range(3)), return_exceptions=True
        )
        assert [type(result) for result in results] == [JournalBusy] * 3
    with pytest.raises(JournalBusy):
        journal.send("r1", {"command": "cancel"})
    with pytest.raises(JournalBusy):
        await journal.flush()
    assert journal.receive("r1") == [item], "the event that answers it was not written"

    other.execute("ROLLBACK")
    assert numbers(await journal.append("r1", [said("written")])) == [3]
    assert messages(journal.read("r1")) == ["noted", "written"]


async def test_a_single_event_that_meets_a_lock_takes_no_number(path: Path, journal: SqliteJournal) -> None:
    await journal.append("r1", [said("this task is alone now")])
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalBusy):
        await journal.append("r1", [said("not written")])
    other.execute("ROLLBACK")
    assert numbers(await journal.append("r1", [said("written")])) == [3]


async def test_a_new_run_that_could_not_be_written_can_be_created_again(path: Path, journal: SqliteJournal) -> None:
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalBusy):
        await journal.append("r2", [created("r2"), said("a")])
    other.execute("ROLLBACK")
    with pytest.raises(UnknownRun):
        await journal.append("r2", [said("b")])
    await journal.append("r2", [created("r2"), said("c")])
    assert messages(journal.read("r2")) == ["c"]


@pytest.mark.parametrize("company", [True, False])
async def test_a_run_that_another_process_went_on_with_is_left_to_it(
    path: Path, journal: SqliteJournal, company: bool
) -> None:
    await journal.append("r1", [said("mine")])
    await journal.append("r2", [created("r2")])
    journal.send("r1", {"command": "pause"})
    other = SqliteJournal(path)
    await other.append("r1", [said("theirs")])

    if company:
        journal.note("r1", said("noted"))
        journal.acknowledge("r1", [item.id for item in journal.receive("r1")])
        mine, unharmed = await asyncio.gather(
            journal.append("r1", [said("too late")]), journal.append("r2", [said("unharmed")]), return_exceptions=True
        )
        assert isinstance(mine, JournalBusy)
        assert not isinstance(unharmed, BaseException)
        assert messages(journal.read("r2")) == ["unharmed"]
    else:
        await journal.append("r2", [said("this task is alone now")])
        with pytest.raises(JournalBusy, match="another process is writing run r1"):
            await journal.append("r1", [said("too late")])

    assert messages(journal.read("r1")) == ["mine", "theirs"]
    assert [item.body for item in other.receive("r1")] == [{"command": "pause"}], "it is for those who go on"
    assert numbers(await journal.append("r1", [said("mine again")])) == [4]
    await other.aclose()


async def test_who_goes_on_with_a_run_goes_on_from_what_was_read(path: Path, journal: SqliteJournal) -> None:
    """Between reading a run and writing to it another process may have gone on with it, and ended."""
    await journal.append("r1", [said("a")])
    late, quick = SqliteJournal(path), SqliteJournal(path)
    assert messages(late.read("r1")) == ["a"]
    await quick.append("r1", [said("b")])
    await quick.aclose()
    with pytest.raises(JournalBusy, match="another process is writing run r1"):
        await late.append("r1", [said("not knowing of b")])
    assert messages(late.read("r1")) == ["a", "b"]
    assert numbers(await late.append("r1", [said("knowing of b")])) == [4]
    await late.aclose()


async def test_one_who_only_noted_is_told_at_the_next_call(path: Path, journal: SqliteJournal) -> None:
    await journal.append("r2", [created("r2")])
    other = SqliteJournal(path)
    await other.append("r1", [said("theirs")])
    journal.note("r1", said("lost"))
    await journal.append("r2", [said("another run takes the note along")])

    with pytest.raises(JournalBusy, match="another process is writing run r1"):
        journal.note("r1", said("too late"))
    assert numbers(await journal.append("r1", [said("knowing that")])) == [3]
    assert messages(journal.read("r1")) == ["theirs", "knowing that"]
    await other.aclose()


async def test_one_alone_with_a_note_is_told(path: Path, journal: SqliteJournal) -> None:
    await journal.append("r1", [said("this task is alone now")])
    other = SqliteJournal(path)
    await other.append("r1", [said("theirs")])
    journal.note("r1", said("lost"))
    with pytest.raises(JournalBusy, match="another process is writing run r1"):
        await journal.append("r1", [said("too late")])
    await other.aclose()


@pytest.mark.parametrize("method", ["write_one", "write"])
async def test_an_interrupt_just_after_the_commit_is_not_taken_for_another_process(
    journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    await journal.append("r1", [said("this task is alone now")])
    write = getattr(JournalWriter, method)

    def interrupted(*arguments: Any) -> None:
        write(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(JournalWriter, method, interrupted)
    with pytest.raises(KeyboardInterrupt):
        await journal.append("r1", [said("written")] * (1 if method == "write_one" else 2))
    monkeypatch.undo()
    await journal.append("r1", [said("after")])
    assert messages(journal.read("r1"))[1:] == ["written"] * (1 if method == "write_one" else 2) + ["after"]


async def test_a_fault_of_ours_is_told_to_all_who_wait(journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JournalWriter, "write", lambda *_: 1 / 0)
    results = await asyncio.gather(*(journal.append("r1", [said("a")]) for _ in range(2)), return_exceptions=True)
    assert [type(result) for result in results] == [ZeroDivisionError] * 2


async def test_closing_says_what_could_not_be_written(path: Path, journal: SqliteJournal) -> None:
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    journal.note("r1", said("lost"))
    with pytest.raises(JournalBusy):
        await journal.aclose()
    other.close()
    assert numbers(await journal.append("r1", [said("opened again")])) == [2]


async def test_two_cannot_create_the_same_run(path: Path, journal: SqliteJournal) -> None:
    other = SqliteJournal(path)
    journal.note("r2", created("r2", text="mine"))
    await other.append("r2", [created("r2", text="theirs")])
    with pytest.raises(JournalBusy):
        await journal.append("r2", [said("too late")])
    assert [summary.task for summary in journal.summaries()] == ["theirs", "make it work"]
    await other.aclose()


async def test_a_stream_that_is_half_read_hinders_nobody(path: Path, journal: SqliteJournal) -> None:
    await journal.append("r1", [said(str(n)) for n in range(100)])
    stream = journal.read("r1")
    next(stream)
    other = SqliteJournal(path)
    await other.append("r2", [created("r2")])
    await journal.append("r1", [said("more")])
    assert numbers(journal.read("r1"))[-1] == 102
    assert [summary.run_id for summary in journal.summaries()] == ["r2", "r1"]
    assert numbers(stream) == list(range(2, 102)), "it shows the moment at which it was begun"
    await other.aclose()


async def test_a_reader_follows_a_writer(path: Path, journal: SqliteJournal) -> None:
    reader = SqliteJournal(path, read_only=True)
    assert reader.find("last") == "r1"
    digest = journal.put_blob(b"content")
    await journal.append("r1", [said("a"), named(digest)])
    assert messages(reader.read("r1")) == ["a"]
    assert reader.get_blob(digest) == b"content"
    assert reader.summaries()[0].events == 3
    for write in (
        lambda: reader.note("r1", said("b")),
        lambda: reader.put_blob(b"other"),
        lambda: reader.send("r1", {}),
        lambda: reader.acknowledge("r1", [1]),
    ):
        with pytest.raises(JournalError, match="opened for reading"):
            write()
    reader.close()


def test_reading_where_nothing_was_written_makes_no_file(path: Path) -> None:
    journal = SqliteJournal(path)
    assert journal.summaries() == []
    with pytest.raises(UnknownRun, match="no runs yet"):
        journal.find("last")
    with pytest.raises(UnknownRun):
        journal.read("r1")
    journal.close()
    assert list(path.parent.iterdir()) == []


async def test_a_reader_that_came_first_sees_what_is_written_later(path: Path) -> None:
    reader = SqliteJournal(path, read_only=True)
    assert reader.summaries() == []
    journal = SqliteJournal(path)
    await journal.append("r1", [created("r1")])
    assert reader.find("last") == "r1"
    await journal.aclose()
    reader.close()


# secrets


def _hide(text: str) -> str:
    return text.replace("hunter2", "[secret]")


async def test_secrets_reach_neither_the_file_nor_the_records(path: Path) -> None:
    journal = SqliteJournal(path, redact=_hide)
    records = await journal.append("r1", [created("r1", text="log in with hunter2"), said('say "hunter2" \\ 汉')])
    records.append(journal.note("r1", said("plain")))
    text, binary = journal.put_blob(b"the password is hunter2"), journal.put_blob(b"\xff hunter2")
    await journal.flush()

    assert messages(records) == ['say "[secret]" \\ 汉', "plain"]
    assert list(journal.read("r1")) == records
    assert journal.summaries()[0].task == "log in with [secret]"
    assert journal.get_blob(text) == b"the password is [secret]"
    assert journal.get_blob(binary) == b"\xff hunter2", "what is not text is kept as it is"
    await journal.aclose()
    assert path.read_bytes().count(b"hunter2") == 1


async def test_a_redaction_that_breaks_an_event_is_an_error(path: Path) -> None:
    journal = SqliteJournal(path, redact=lambda text: text.replace("message", "[secret]"))
    await journal.append("r1", [created("r1")])
    with pytest.raises(JournalError, match="could not be read any more"):
        await journal.append("r1", [said("a")])
    assert numbers(journal.read("r1")) == [1]
    await journal.aclose()


# content


async def test_large_content_is_a_file_and_small_content_is_not(path: Path, journal: SqliteJournal) -> None:
    noise = os.urandom(LARGE + 1)
    digests = [journal.put_blob(data) for data in (noise, b"long and dull " * 10_000, noise[:-1])]
    files = [file for file in path.with_name("journal.db-blobs").rglob("*") if file.is_file()]
    assert [file.name for file in files] == [f"{digests[0]}.plain"]
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600
    await journal.append("r1", [named(digest) for digest in digests])
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


async def test_content_that_cannot_be_kept_is_an_error(path: Path, journal: SqliteJournal) -> None:
    path.with_name("journal.db-blobs").write_text("in the way")
    with pytest.raises(JournalError, match="could not be kept") as caught:
        journal.put_blob(os.urandom(LARGE + 1))
    assert caught.value.remedy


async def test_content_that_could_not_be_kept_leaves_nothing_behind(
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


# opening


async def test_the_file_is_for_its_owner_only(path: Path, journal: SqliteJournal) -> None:
    for file in (path, path.with_name("journal.db-wal"), path.with_name("journal.db-shm")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_one_that_looks_at_a_new_file_is_waited_for(path: Path) -> None:
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


async def test_a_sqlite_with_a_known_fault_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(JournalError, match=r"3\.51\.2.*3\.51\.3 or newer") as caught:
        await SqliteJournal(path).append("r1", [created("r1")])
    assert "apsw" in caught.value.remedy
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.52.0")
    await SqliteJournal(path).append("r1", [created("r1")])


async def test_a_place_where_no_journal_can_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "journal.db", tmp_path / "nul\x00"):
        journal = SqliteJournal(place)
        with pytest.raises(JournalError, match="cannot be opened") as caught:
            await journal.append("r1", [created("r1")])
        assert caught.value.remedy

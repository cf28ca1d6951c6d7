"""A disk that fails at any moment: no acknowledged event is lost, none is partly written, and writing can go on."""

import asyncio
import shutil
from pathlib import Path

import apsw
import pytest

from support.disk import Disk, registered_disk
from support.samples import created, events, finished_with, messages, output_of, seqs, warned, worker
from surefoot.errors import JournalError
from surefoot.journal.events import ActionFinished, Event, Record
from surefoot.journal.store.sqlite import SqliteJournal


class Writer:
    """Makes every kind of write, and records the result of each."""

    def __init__(self, path: Path) -> None:
        self.journal = SqliteJournal(path, durability="power")
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self.noted: list[str] = []
        self.errors: list[JournalError] = []

    async def append(self, *texts: str, digest: str = "") -> None:
        events: list[Event] = [warned(text) for text in texts]
        try:
            await self.journal.append("r1", [*events, finished_with(digest)] if digest else events)
        except JournalError as error:
            self.errors.append(error)
            self.refused += texts
        else:
            self.acknowledged += texts

    def note(self, text: str) -> None:
        self.journal.note("r1", warned(text))
        self.noted.append(text)

    async def write_all(self) -> None:
        await self.append("alone")
        await self.append("still alone")
        self.note("n1")
        await self.append("with a note")
        await self.append("long " * 2000)
        await asyncio.gather(*(self.append(f"together {n}") for n in range(3)))
        self.note("n2")
        await self.append("with content", digest=self.journal.put_blob(b"content " * 100))
        self.note("n3")
        await self.append("end")


async def _check_copy(writer: Writer, path: Path) -> None:
    """Compare with a copy of the files, opened as after a crash."""
    copy = path.parent / "copy"
    copy.mkdir()
    for file in path.parent.glob("journal.db*"):
        if file.is_file() and not file.name.endswith("-shm"):
            shutil.copy(file, copy)
    fresh = SqliteJournal(copy / path.name)
    records = list(fresh.read("r1"))
    written = messages(records)
    assert seqs(records) == list(range(1, len(records) + 1))
    assert [text for text in written if text in writer.acknowledged] == writer.acknowledged
    assert [text for text in written if text in writer.noted] == writer.noted
    assert not set(writer.refused) & set(written)
    for record in records:
        if isinstance(record.event, ActionFinished):
            assert fresh.get_blob(record.event.output) == b"content " * 100
    assert seqs(await fresh.append("r1", [warned("continued")])) == [len(records) + 1]
    await fresh.aclose()
    shutil.rmtree(copy)


@pytest.mark.parametrize("error", [apsw.FullError("full"), apsw.IOError("broken")], ids=["full", "io"])
async def test_a_failure_of_any_write_or_sync_raises_and_leaves_nothing_partly_written(
    tmp_path: Path, error: Exception
) -> None:
    with registered_disk() as disk:
        operation = 0
        while True:
            operation += 1
            writer = await _write_with_a_failure_at(disk, operation, error, tmp_path / str(operation))
            if not writer.errors:
                break
            expected = "the disk is full" if isinstance(error, apsw.FullError) else "the disk failed"
            assert all(expected in str(error) and error.remedy for error in writer.errors)
    assert operation > 20, "a commit takes about three operations"


async def _write_with_a_failure_at(disk: Disk, operation: int, error: Exception, folder: Path) -> Writer:
    folder.mkdir()
    path = folder / "journal.db"
    writer = Writer(path)
    await writer.journal.append("r1", [created("r1")])
    disk.fail_from(operation, error)
    await writer.write_all()
    disk.repair()
    await writer.append("after the disk was repaired")
    assert writer.acknowledged[-1] == "after the disk was repaired"
    await _check_copy(writer, path)
    await writer.journal.aclose()
    return writer


async def test_a_failure_while_the_file_is_created_leaves_a_valid_journal_or_none(tmp_path: Path) -> None:
    with registered_disk() as disk:
        operation, failures = 0, 1
        while failures:
            operation, failures = operation + 1, 0
            journal = SqliteJournal(tmp_path / f"{operation}.db")
            disk.fail_from(operation)
            try:
                await journal.append("r1", [created("r1")])
            except JournalError:
                failures += 1
            disk.repair()
            if failures:
                await journal.append("r1", [created("r1")])
            assert len(list(journal.read("r1"))) == 1
            await journal.aclose()
    assert operation > 5


_FILL = """
import asyncio, resource, sys
from pathlib import Path
from support.samples import created, warned
from surefoot.errors import JournalError
from surefoot.journal.store.sqlite import SqliteJournal

async def main():
    journal = SqliteJournal(Path(sys.argv[1]))
    await journal.append("r1", [created("r1")])
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    written = 0
    try:
        while written < 10_000:
            await journal.append("r1", [warned("x" * 1000)])
            written += 1
    except JournalError as error:
        print(written, type(error).__name__, error, error.remedy, sep="|")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await journal.append("r1", [warned("there is room again")])
    await journal.aclose()

asyncio.run(main())
"""


async def test_a_file_size_limit_of_the_system_is_reported(tmp_path: Path) -> None:
    (line,) = output_of(worker(_FILL, tmp_path / "journal.db"))
    written, name, message, remedy = line.split("|")
    assert 10 < int(written) < 1000
    assert name == "JournalError"
    assert "the disk failed" in message
    assert "quota" in remedy
    journal = SqliteJournal(tmp_path / "journal.db")
    assert messages(journal.read("r1")) == ["x" * 1000] * int(written) + ["there is room again"]
    journal.close()


async def test_acknowledged_events_survive_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only synced data survives a power cut. Checked repeatedly, over several checkpoints."""
    path = tmp_path / "journal.db"
    with registered_disk() as disk:
        monkeypatch.setattr("surefoot.journal.store.connection.sync_folder", lambda folder: disk.folder_synced())
        journal = SqliteJournal(path, durability="power")
        survivors = disk.survivors = tmp_path / "survivors"
        survivors.mkdir()
        acknowledged: list[Record] = await journal.append("r1", [created("r1")])
        for n in range(120):
            if n % 5 == 0:
                acknowledged.append(journal.note("r1", warned("noted")))
            acknowledged += await journal.append("r1", [warned(f"{n} " + "x" * 40_000)])
            if n % 7 == 0:
                disk.survivors = None
                await _check_survivors(survivors, tmp_path / "after", acknowledged)
                disk.survivors = survivors
        assert path.stat().st_size > 1_000_000, "no checkpoint happened"
        await journal.aclose()


async def _check_survivors(survivors: Path, folder: Path, acknowledged: list[Record]) -> None:
    shutil.copytree(survivors, folder)
    after = SqliteJournal(folder / "journal.db")
    assert list(after.read("r1")) == acknowledged
    await after.append("r1", [warned("continued")])
    await after.aclose()
    shutil.rmtree(folder)


async def test_a_power_cut_while_the_file_is_created_leaves_a_usable_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cut leaves a rollback file, which a read-only connection cannot apply."""

    def cut(folder: Path) -> None:
        raise SystemExit

    with registered_disk() as disk:
        survivors = disk.survivors = tmp_path / "survivors"
        survivors.mkdir()
        journal = SqliteJournal(tmp_path / "journal.db")
        monkeypatch.setattr("surefoot.journal.store.connection.sync_folder", cut)
        with pytest.raises(SystemExit):
            await journal.append("r1", [created("r1")])
        monkeypatch.undo()
    assert sorted(file.name for file in survivors.iterdir()) == ["journal.db", "journal.db-journal"]

    reader = SqliteJournal(survivors / "journal.db", read_only=True)
    assert reader.summaries() == []
    journal = SqliteJournal(survivors / "journal.db")
    await journal.append("r1", [created("r1")])
    assert reader.find("last") == "r1"
    await journal.aclose()
    reader.close()


async def test_reading_a_truncated_file_raises(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "journal.db")
    await journal.append("r1", [created("r1")])
    await journal.aclose()
    (tmp_path / "journal.db").chmod(0o600)
    with (tmp_path / "journal.db").open("r+b") as file:
        file.truncate(5000)
    with pytest.raises(JournalError) as raised:
        events(SqliteJournal(tmp_path / "journal.db"), "r1")
    assert raised.value.remedy

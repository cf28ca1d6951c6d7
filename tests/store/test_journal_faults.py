"""A disk that fails at any moment: nothing acknowledged is lost, nothing is half there, and it goes on when it can."""

import asyncio
import shutil
from pathlib import Path

import apsw
import pytest

from store.disk import Disk, registered_disk
from store.samples import created, events, messages, named, numbers, output_of, said, worker
from surefoot.errors import JournalError
from surefoot.events import ActionFinished, Event, Record
from surefoot.store.sqlite import SqliteJournal


class Story:
    """Writes a run of every kind of write, and keeps the books on what it was told."""

    def __init__(self, path: Path) -> None:
        self.journal = SqliteJournal(path, durability="power")
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self.noted: list[str] = []
        self.errors: list[JournalError] = []

    async def append(self, *texts: str, digest: str = "") -> None:
        some: list[Event] = [said(text) for text in texts]
        try:
            await self.journal.append("r1", [*some, named(digest)] if digest else some)
        except JournalError as error:
            self.errors.append(error)
            self.refused += texts
        else:
            self.acknowledged += texts

    def note(self, text: str) -> None:
        self.journal.note("r1", said(text))
        self.noted.append(text)

    async def tell(self) -> None:
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


async def _check_books(story: Story, path: Path) -> None:
    """Read by someone who opens the files afresh, as after a crash."""
    copy = path.parent / "copy"
    copy.mkdir()
    for file in path.parent.glob("journal.db*"):
        if file.is_file() and not file.name.endswith("-shm"):
            shutil.copy(file, copy)
    fresh = SqliteJournal(copy / path.name)
    records = list(fresh.read("r1"))
    written = messages(records)
    assert numbers(records) == list(range(1, len(records) + 1))
    assert [text for text in written if text in story.acknowledged] == story.acknowledged
    assert [text for text in written if text in story.noted] == story.noted
    assert not set(story.refused) & set(written)
    for record in records:
        if isinstance(record.event, ActionFinished):
            assert fresh.get_blob(record.event.output) == b"content " * 100
    assert numbers(await fresh.append("r1", [said("it can be gone on with")])) == [len(records) + 1]
    await fresh.aclose()
    shutil.rmtree(copy)


@pytest.mark.parametrize("error", [apsw.FullError("full"), apsw.IOError("broken")], ids=["full", "io"])
async def test_a_failure_of_any_write_or_sync_is_told_and_leaves_nothing_half_done(
    tmp_path: Path, error: Exception
) -> None:
    with registered_disk() as disk:
        operation = 0
        while True:
            operation += 1
            story = await _told_with_a_failure_at(disk, operation, error, tmp_path / str(operation))
            if not story.errors:
                break
            expected = "the disk is full" if isinstance(error, apsw.FullError) else "the disk failed"
            assert all(expected in str(told) and told.remedy for told in story.errors)
    assert operation > 20, "there are about three operations to a commit"


async def _told_with_a_failure_at(disk: Disk, operation: int, error: Exception, folder: Path) -> Story:
    folder.mkdir()
    path = folder / "journal.db"
    story = Story(path)
    await story.journal.append("r1", [created("r1")])
    disk.fail_from(operation, error)
    await story.tell()
    disk.heal()
    await story.append("after it was healed")
    assert story.acknowledged[-1] == "after it was healed"
    await _check_books(story, path)
    await story.journal.aclose()
    return story


async def test_a_failure_while_the_file_is_made_leaves_a_journal_or_none(tmp_path: Path) -> None:
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
            disk.heal()
            if failures:
                await journal.append("r1", [created("r1")])
            assert len(list(journal.read("r1"))) == 1
            await journal.aclose()
    assert operation > 5


_FILL = """
import asyncio, resource, sys
from pathlib import Path
from store.samples import created, said
from surefoot.errors import JournalError
from surefoot.store.sqlite import SqliteJournal

async def main():
    journal = SqliteJournal(Path(sys.argv[1]))
    await journal.append("r1", [created("r1")])
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    written = 0
    try:
        while written < 10_000:
            await journal.append("r1", [said("x" * 1000)])
            written += 1
    except JournalError as error:
        print(written, type(error).__name__, error, error.remedy, sep="|")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await journal.append("r1", [said("there is room again")])
    await journal.aclose()

asyncio.run(main())
"""


async def test_a_file_that_may_not_grow_is_told_by_a_real_system(tmp_path: Path) -> None:
    (line,) = output_of(worker(_FILL, tmp_path / "journal.db"))
    written, name, message, remedy = line.split("|")
    assert 10 < int(written) < 1000
    assert name == "JournalError"
    assert "the disk failed" in message
    assert "quota" in remedy
    journal = SqliteJournal(tmp_path / "journal.db")
    assert messages(journal.read("r1")) == ["x" * 1000] * int(written) + ["there is room again"]
    journal.close()


async def test_all_that_was_acknowledged_outlives_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a cut only what was synced is left. Looked at again and again, over several checkpoints."""
    path = tmp_path / "journal.db"
    with registered_disk() as disk:
        monkeypatch.setattr("surefoot.store.connection.sync_folder", lambda folder: disk.folder_synced())
        journal = SqliteJournal(path, durability="power")
        survivors = disk.survivors = tmp_path / "survivors"
        survivors.mkdir()
        told: list[Record] = await journal.append("r1", [created("r1")])
        for n in range(120):
            if n % 5 == 0:
                told.append(journal.note("r1", said("noted")))
            told += await journal.append("r1", [said(f"{n} " + "x" * 40_000)])
            if n % 7 == 0:
                disk.survivors = None
                await _check_survivors(survivors, tmp_path / "after", told)
                disk.survivors = survivors
        assert path.stat().st_size > 1_000_000, "a checkpoint must have been part of it"
        await journal.aclose()


async def _check_survivors(survivors: Path, folder: Path, told: list[Record]) -> None:
    shutil.copytree(survivors, folder)
    after = SqliteJournal(folder / "journal.db")
    assert list(after.read("r1")) == told
    await after.append("r1", [said("it can be gone on with")])
    await after.aclose()
    shutil.rmtree(folder)


async def test_a_cut_while_the_file_is_made_leaves_one_that_can_be_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left then has a rollback file, which one who only reads cannot use."""

    def cut(folder: Path) -> None:
        raise SystemExit

    with registered_disk() as disk:
        survivors = disk.survivors = tmp_path / "survivors"
        survivors.mkdir()
        journal = SqliteJournal(tmp_path / "journal.db")
        monkeypatch.setattr("surefoot.store.connection.sync_folder", cut)
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


async def test_reading_from_a_failing_disk_is_told_too(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "journal.db")
    await journal.append("r1", [created("r1")])
    await journal.aclose()
    (tmp_path / "journal.db").chmod(0o600)
    with (tmp_path / "journal.db").open("r+b") as file:
        file.truncate(5000)
    with pytest.raises(JournalError) as caught:
        events(SqliteJournal(tmp_path / "journal.db"), "r1")
    assert caught.value.remedy

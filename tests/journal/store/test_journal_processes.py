"""Several processes share a journal: each writes its own runs, all can read and send messages."""

import asyncio
import os
from pathlib import Path

import pytest

from support.samples import created, messages, output_of, seqs, warned, worker
from surefoot.journal.messages import ControlMessage, InboxMessage, UnreadableMessage
from surefoot.journal.store.sqlite import SqliteJournal

pytestmark = pytest.mark.slow

_DRIVER = """
import asyncio, sys
from pathlib import Path
from support.samples import created, warned
from surefoot.journal.store.sqlite import SqliteJournal

async def main(path, run_id, count):
    journal = SqliteJournal(Path(path))
    print("ready", flush=True)
    sys.stdin.readline()
    await journal.append(run_id, [created(run_id)])
    for n in range(int(count)):
        journal.note(run_id, warned(f"note {n}"))
        await journal.append(run_id, [warned(f"{run_id} {n}")])
        if n % 10 == 0:
            assert [record.seq for record in journal.read(run_id)][-1] == 2 * n + 3
    await journal.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("exists", [False, True], ids=["new file", "old file"])
async def test_processes_write_their_own_runs_into_one_file(tmp_path: Path, exists: bool) -> None:
    path = tmp_path / "journal.db"
    if exists:
        before = SqliteJournal(path)
        await before.append("r", [created("r")])
        await before.aclose()
    count = 150
    drivers = [worker(_DRIVER, path, f"p{n}", str(count)) for n in range(3)]
    for driver in drivers:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "ready\n"
    for driver in drivers:
        assert driver.stdin is not None
        driver.stdin.write("go\n")
        driver.stdin.flush()
    list(output_of(*drivers))

    journal = SqliteJournal(path)
    for n in range(3):
        texts = messages(journal.read(f"p{n}"))
        assert texts[1::2] == [f"p{n} {m}" for m in range(count)]
        assert seqs(journal.read(f"p{n}")) == list(range(1, 2 * count + 2))
    assert {summary.events for summary in journal.summaries()} == ({1} if exists else set()) | {2 * count + 1}
    journal.close()


def _create_run(path: Path, run_id: str, start: int) -> None:
    os.read(start, 1)

    async def write() -> None:
        journal = SqliteJournal(path, busy_timeout=60)
        await journal.append(run_id, [created(run_id)])
        await journal.aclose()

    asyncio.run(write())


def _exit_codes(path: Path, processes: int) -> list[int]:
    """The exit codes of processes that create the same journal at the same time."""
    start, go = os.pipe()
    children = []
    for n in range(processes):
        child = os.fork()
        if child == 0:
            os.close(go)
            code = 1
            try:
                _create_run(path, f"p{n}", start)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    os.close(start)
    os.close(go)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_processes_can_create_the_file_at_the_same_time(tmp_path: Path) -> None:
    for n in range(20):
        path = tmp_path / f"{n}.db"
        assert _exit_codes(path, 6) == [0] * 6
        journal = SqliteJournal(path)
        assert {summary.run_id for summary in journal.summaries()} == {f"p{m}" for m in range(6)}
        journal.close()


_SENDER = """
import sys
from pathlib import Path
from surefoot.journal.messages import ControlMessage
from surefoot.journal.store.sqlite import SqliteJournal

journal = SqliteJournal(Path(sys.argv[1]))
assert journal.find("last") == "r1"
for n in range(50):
    journal.send("r1", ControlMessage(command="pause", why=str(n)))
journal.close()
"""


@pytest.mark.req("A8")
async def test_messages_from_another_process_reach_the_driver_once_each(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    await journal.append("r1", [created("r1")])
    sender = worker(_SENDER, path)
    received: list[InboxMessage | UnreadableMessage] = []
    while len(received) < 50 and (sender.poll() is None or journal.receive("r1")):
        items = journal.receive("r1")
        received += [item.body for item in items]
        journal.acknowledge("r1", [item.id for item in items])
        await journal.append("r1", [warned("taken") for _ in items])
        await asyncio.sleep(0.001)
    list(output_of(sender))
    assert received == [ControlMessage(command="pause", why=str(n)) for n in range(50)]
    assert journal.receive("r1") == []
    assert messages(journal.read("r1")) == ["taken"] * 50
    await journal.aclose()


async def test_a_message_is_received_again_if_the_driver_dies_before_its_append(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    first = SqliteJournal(path)
    await first.append("r1", [created("r1")])
    first.send("r1", ControlMessage(command="cancel"))
    (item,) = first.receive("r1")
    first.acknowledge("r1", [item.id])
    # The driver dies here: nothing more is called on it.
    second = SqliteJournal(path)
    assert second.receive("r1") == [item]
    second.close()

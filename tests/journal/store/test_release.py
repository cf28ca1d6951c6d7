"""A run of a journal in PostgreSQL can be given back while the journal stays open."""

import pytest

from support.samples import created, warned
from surefoot.errors import JournalBusy
from surefoot.journal.store.postgres.journal import PostgresJournal


@pytest.mark.req("X6")
async def test_a_released_run_can_be_owned_by_another_at_once(database: str) -> None:
    first, second = PostgresJournal(database, owner="one"), PostgresJournal(database, owner="another")
    await first.append("r", [created("r")])
    first.note("r", warned("noted"))
    with pytest.raises(JournalBusy):
        await second.append("r", [warned("too early")])
    await first.release("r")
    await second.append("r", [warned("second")])
    assert [record.seq for record in first.read("r")] == [1, 2, 3]
    with pytest.raises(JournalBusy):
        await first.append("r", [warned("no longer ours")])
    await second.release("r")
    await second.release("r")
    await first.append("r", [warned("ours again")])
    assert len(list(second.read("r"))) == 4
    await first.aclose()
    await second.aclose()

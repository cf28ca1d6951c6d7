"""The contract of `Journal`, tested with every implementation."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.samples import created, events, finished_with, messages, seqs, warned
from surefoot.core.outcome import Outcome, Verdict
from surefoot.core.transitions import Stage
from surefoot.errors import JournalBroken, JournalError, UnknownRun
from surefoot.journal.events import ActionStarted, RunEnded, RunInterrupted, RunResumed, StageEntered
from surefoot.journal.messages import AnswerMessage, ControlMessage
from surefoot.journal.store.base import Journal, OpenJournal
from surefoot.journal.store.memory import MemoryJournal
from surefoot.journal.store.postgres.journal import PostgresJournal
from surefoot.journal.store.sqlite import SqliteJournal


@pytest.fixture(params=["memory", "sqlite", "sqlite-power", "postgres"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    journal: Journal
    if request.param == "memory":
        journal = MemoryJournal()
    elif request.param == "postgres":
        journal = PostgresJournal(request.getfixturevalue("database"))
    else:
        durability = "power" if request.param == "sqlite-power" else "process"
        journal = SqliteJournal(tmp_path / "journal.db", durability=durability)  # type: ignore[arg-type]
    yield journal
    await journal.aclose()


@pytest.mark.req("P14", "O10")
async def test_appended_events_are_read_back_in_order(journal: Journal) -> None:
    first = await journal.append("r1", [created("r1"), warned("one")])
    second = await journal.append("r1", [warned("two")])

    assert seqs([*first, *second]) == [1, 2, 3]
    assert list(journal.read("r1")) == [*first, *second]
    assert list(journal.read("r1", after=2)) == second
    assert list(journal.read("r1", after=3)) == []


async def test_each_run_has_its_own_sequence(journal: Journal) -> None:
    await journal.append("r1", [created("r1")])
    await journal.append("r2", [created("r2"), warned("b")])
    assert seqs(await journal.append("r1", [warned("a")])) == [2]
    assert messages(journal.read("r1")) == ["a"]
    assert messages(journal.read("r2")) == ["b"]


async def test_a_note_is_written_with_the_next_append_and_before_its_events(journal: Journal) -> None:
    await journal.append("r1", [created("r1")])
    noted = journal.note("r1", warned("noted"))
    assert noted.seq == 2
    assert messages(journal.read("r1")) == []

    assert seqs(await journal.append("r1", [warned("appended")])) == [3]
    assert messages(journal.read("r1")) == ["noted", "appended"]


async def test_flush_writes_notes(journal: Journal) -> None:
    await journal.append("r1", [created("r1")])
    journal.note("r1", warned("a"))
    journal.note("r1", warned("b"))
    await journal.flush()
    assert messages(journal.read("r1")) == ["a", "b"]
    await journal.flush()
    assert messages(journal.read("r1")) == ["a", "b"]


async def test_a_run_can_be_created_with_a_note(journal: Journal) -> None:
    assert journal.note("r1", created("r1")).seq == 1
    with pytest.raises(UnknownRun):
        journal.read("r1")
    assert journal.summaries() == []
    await journal.append("r1", [warned("a")])
    assert seqs(journal.read("r1")) == [1, 2]


async def test_many_tasks_can_append_concurrently(journal: Journal) -> None:
    await asyncio.gather(*(journal.append(f"r{n}", [created(f"r{n}")]) for n in range(5)))
    await asyncio.gather(*(journal.append(f"r{n % 5}", [warned(f"{n}")]) for n in range(200)))
    for n in range(5):
        assert messages(journal.read(f"r{n}")) == [str(m) for m in range(n, 200, 5)]
        assert seqs(journal.read(f"r{n}")) == list(range(1, 42))


async def test_a_run_starts_with_its_creation_and_is_created_once(journal: Journal) -> None:
    with pytest.raises(UnknownRun, match="there is no run r1"):
        await journal.append("r1", [warned("a")])
    with pytest.raises(UnknownRun):
        await journal.append("r1", [])
    with pytest.raises(UnknownRun):
        journal.note("r1", warned("a"))
    with pytest.raises(JournalError, match="cannot be written as run r1"):
        await journal.append("r1", [created("r2")])

    await journal.append("r1", [created("r1")])
    with pytest.raises(JournalError, match="exists already") as raised:
        await journal.append("r1", [warned("not written"), created("r1")])
    assert "resume r1" in raised.value.remedy
    assert seqs(await journal.append("r1", [warned("a")])) == [2]
    assert messages(journal.read("r1")) == ["a"]


async def test_an_empty_append_makes_notes_durable(journal: Journal) -> None:
    await journal.append("r1", [created("r1")])
    journal.note("r1", warned("a"))
    assert await journal.append("r1", []) == []
    assert messages(journal.read("r1")) == ["a"]


async def test_reading_an_unknown_run_raises_before_iteration(journal: Journal) -> None:
    await journal.append("r1", [created("r1")])
    with pytest.raises(UnknownRun) as raised:
        journal.read("r2")
    assert "surefoot list" in raised.value.remedy


async def test_an_event_that_cannot_be_encoded_is_rejected_and_gets_no_number(journal: Journal) -> None:
    await journal.append("r1", [created("r1")])
    bad = ActionStarted(action_id="a", step_id="s", tool="t", arguments={"text": "half \ud800 a pair"})
    with pytest.raises(JournalError, match="action_started"):
        await journal.append("r1", [warned("with it"), bad])
    with pytest.raises(JournalError):
        journal.note("r1", bad)
    assert seqs(await journal.append("r1", [warned("a")])) == [2]


@pytest.mark.parametrize(
    "text",
    [
        "修复 wordstats.py 的错误 🧗",
        "NUL \x00 inside",
        'quote " backslash \\ newline \n',
        "x" * 1_000_000,
        "e\u0301 \u2028 \uffff",
    ],
    ids=["unicode", "nul", "escapes", "1MB", "odd"],
)
async def test_text_is_read_back_unchanged(journal: Journal, text: str) -> None:
    await journal.append("r1", [created("r1", text="t"), warned(text)])
    assert messages(journal.read("r1")) == [text]


async def test_events_do_not_change_with_the_objects_of_the_caller(journal: Journal) -> None:
    arguments: dict[str, Any] = {"path": "a.py"}
    await journal.append(
        "r1", [created("r1"), ActionStarted(action_id="a", step_id="s", tool="t", arguments=arguments)]
    )
    arguments["path"] = "b.py"
    (_, started) = events(journal, "r1")
    assert isinstance(started, ActionStarted)
    assert started.arguments == {"path": "a.py"}


# -- the list of runs ----------------------------------------------------------------------------------------------


async def test_summaries_describe_runs_newest_first(journal: Journal) -> None:
    assert journal.summaries() == []
    await journal.append("r1", [created("r1", text="first line\nsecond line", workspace="/w", model="m")])
    await journal.append("r2", [created("r2", text="x" * 300)])
    (last,) = await journal.append("r1", [warned("a")])

    second, first = journal.summaries()
    assert (first.run_id, first.task, first.workspace, first.model) == ("r1", "first line", "/w", "m")
    assert (first.stage, first.verdict, first.events) == (Stage.UNDERSTANDING, None, 2)
    assert first.created_at <= first.updated_at == last.at
    assert (second.run_id, second.task, second.events) == ("r2", "x" * 200, 1)
    assert [summary.run_id for summary in journal.summaries(limit=1)] == ["r2"]


async def test_summaries_of_some_workspaces_are_the_newest_of_these(journal: Journal) -> None:
    assert journal.workspaces() == {}
    for run_id, workspace in (("r1", "/w"), ("r2", "/w/ä b"), ("r3", "/w"), ("r4", "/x")):
        await journal.append(run_id, [created(run_id, workspace=workspace)])
    assert journal.workspaces() == {"/w": 2, "/w/ä b": 1, "/x": 1}
    assert [summary.run_id for summary in journal.summaries(workspaces=["/w"])] == ["r3", "r1"]
    assert [summary.run_id for summary in journal.summaries(2, ("/w", "/w/ä b"))] == ["r3", "r2"]
    assert journal.summaries(workspaces=()) == []


async def test_summaries_follow_stages_ends_and_resumes(journal: Journal) -> None:
    async def after(*happened: Any) -> tuple[Stage, Verdict | None]:
        await journal.append("r1", happened)
        (summary,) = journal.summaries()
        return summary.stage, summary.verdict

    assert await after(created("r1"), StageEntered(stage=Stage.EXECUTION)) == (Stage.EXECUTION, None)
    assert await after(RunInterrupted(reason="Ctrl-C")) == (Stage.EXECUTION, Verdict.INTERRUPTED)
    assert await after(RunResumed(model="m", surefoot="0")) == (Stage.EXECUTION, None)
    failed = RunEnded(outcome=Outcome(verdict=Verdict.FAILED, summary="no"))
    assert await after(StageEntered(stage=Stage.FAILED), failed) == (Stage.FAILED, Verdict.FAILED)
    assert await after(warned("a remark")) == (Stage.FAILED, Verdict.FAILED)
    assert await after(StageEntered(stage=Stage.EXECUTION)) == (Stage.EXECUTION, None)
    verified = RunEnded(outcome=Outcome(verdict=Verdict.VERIFIED, summary="yes"))
    assert await after(verified, StageEntered(stage=Stage.COMPLETED)) == (Stage.COMPLETED, Verdict.VERIFIED)


async def test_a_run_is_found_by_a_prefix_of_its_id(journal: Journal) -> None:
    with pytest.raises(UnknownRun, match="no runs yet"):
        journal.find("last")
    for run_id in ("aa1", "aa2", "b", "bc"):
        await journal.append(run_id, [created(run_id)])
    assert journal.find("aa2") == "aa2"
    assert journal.find("b") == "b"
    assert journal.find("bc") == "bc"
    assert journal.find("last") == "bc"
    with pytest.raises(UnknownRun, match="several runs begin with 'a': aa2, aa1"):
        journal.find("a")
    for unknown in ("c", "%", "bcd", "未", "\udcff"):
        with pytest.raises(UnknownRun, match="the newest are bc, b, aa2, aa1"):
            journal.find(unknown)


async def test_only_a_few_candidates_are_listed(journal: Journal) -> None:
    for n in range(9):
        await journal.append(f"a{n}", [created(f"a{n}")])
    with pytest.raises(UnknownRun, match=r"(?m)a8, a7, a6, a5, a4, \.\.\.$"):
        journal.find("a")
    with pytest.raises(UnknownRun, match=r"(?m)a8, a7, a6, a5, a4, \.\.\.$"):
        journal.find("b")


# -- content -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [b"", b"short", b"x" * 1_000_000, bytes(range(256)) * 4, "汉字".encode() * 100],
    ids=["empty", "short", "1MB", "binary", "utf8"],
)
async def test_content_is_found_by_its_hash(journal: Journal, data: bytes) -> None:
    digest = journal.put_blob(data)
    assert len(digest) == 64
    assert journal.get_blob(digest) == data
    assert journal.put_blob(data) == digest
    await journal.append("r1", [created("r1"), finished_with(digest)])
    assert journal.get_blob(digest) == data
    assert journal.put_blob(data) == digest
    await journal.flush()
    assert journal.get_blob(digest) == data


@pytest.mark.parametrize("digest", ["0" * 64, "", "no hash", "0" * 63])
async def test_missing_content_is_an_error(journal: Journal, digest: str) -> None:
    with pytest.raises(JournalBroken, match="no content under the hash"):
        journal.get_blob(digest)


# -- the inbox -----------------------------------------------------------------------------------------------------


@pytest.mark.req("A8", "P12")
async def test_messages_are_received_until_they_are_acknowledged(journal: Journal) -> None:
    await journal.append("r1", [created("r1")])
    await journal.append("r2", [created("r2")])
    assert journal.receive("r1") == []
    journal.send("r1", ControlMessage(command="pause"))
    journal.send("r1", AnswerMessage(question_id="q", answer="是"))
    journal.send("r2", ControlMessage(command="cancel"))

    first, second = journal.receive("r1")
    assert first.body == ControlMessage(command="pause")
    assert second.body == AnswerMessage(question_id="q", answer="是")
    assert journal.receive("r1") == [first, second]

    journal.acknowledge("r1", [first.id])
    assert journal.receive("r1") == [second]
    await journal.append("r1", [warned("paused")])
    journal.acknowledge("r1", [second.id])
    await journal.flush()
    assert journal.receive("r1") == []
    journal.send("r1", ControlMessage(command="resume"))
    (third,) = journal.receive("r1")
    assert third.id not in (first.id, second.id)
    assert [item.body for item in journal.receive("r2")] == [ControlMessage(command="cancel")]


async def test_messages_need_an_existing_run_and_must_be_json(journal: Journal) -> None:
    with pytest.raises(UnknownRun):
        journal.send("r1", ControlMessage(command="pause"))
    with pytest.raises(UnknownRun):
        journal.receive("r1")
    await journal.append("r1", [created("r1")])
    with pytest.raises(JournalError, match="JSON"):
        journal.send("r1", ControlMessage(command="pause", why=object()))  # type: ignore[arg-type]
    assert journal.receive("r1") == []


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_closing_writes_notes(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    def opened() -> OpenJournal:
        if kind == "postgres":
            return PostgresJournal(request.getfixturevalue("database"))
        return SqliteJournal(tmp_path / "journal.db")

    journal = opened()
    await journal.append("r1", [created("r1")])
    journal.note("r1", warned("a"))
    await journal.aclose()
    again = opened()
    assert messages(again.read("r1")) == ["a"]
    again.close()

"""The official MCP client against `surefoot mcp`: runs in real processes with a scripted model."""

import asyncio
import contextlib
import json
import os
import signal
import sysconfig
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitResult

from support.kit import Bench
from support.stories import UNDERSTANDING
from surefoot.config.paths import journal_file
from surefoot.core.questions import Question
from surefoot.errors import ModelError, UnknownRun, UsageError
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.server.hub import Hub
from surefoot.server.mcp.runs import Runs

pytestmark = pytest.mark.req("X8")

PROGRAM = Path(sysconfig.get_path("scripts")) / "surefoot"
TASK = "Write adder.py with add(a, b)."
CHECK = "python3 -c 'from adder import add; assert add(2, 3) == 5'"
# By rules, because a run that was answered goes on in a new process, in which a list would begin anew.
SCRIPT = [
    {"when": "Say what the task wants", "answer": UNDERSTANDING},
    {"when": "content of `adder.py`", "answer": "```python\ndef add(a, b):\n    return a + b\n```"},
]


@dataclass
class Site:
    home: Path
    work: Path
    options: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    progress: list[tuple[float, str]] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def client(self, *, elicits: bool, mode: str = "auto") -> AsyncIterator[Client]:
        script = self.home / "script.json"
        script.write_text(json.dumps(SCRIPT))
        state = {"SUREFOOT_HOME": str(self.home / "state"), "SUREFOOT_EXECUTION__APPROVE": "ask"}
        environ = {"HOME": str(self.home), "PATH": os.environ["PATH"], **state}
        words = ["mcp", "-C", str(self.work), "-m", f"scripted:{script}", *self.options]
        parameters = StdioServerParameters(command=str(PROGRAM), args=words, env=environ, cwd=self.home)

        async def answer(_: Any, params: Any) -> ElicitResult:
            assert isinstance(params, ElicitRequestFormParams)
            self.asked.append(params.message)
            return ElicitResult(action="accept", content={"answer": "yes"})

        callback: Any = answer if elicits else None
        async with Client(parameters, mode=mode, elicitation_callback=callback, read_timeout_seconds=600) as client:
            yield client

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, message or ""))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    return Site(home, work)


def data(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def refusal(result: CallToolResult) -> str:
    assert result.is_error
    return str(getattr(result.content[0], "text", ""))


@pytest.mark.slow
async def test_a_run_with_a_question_to_the_clients_user(site: Site) -> None:
    async with site.client(elicits=True) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"run", "status", "answer", "diff", "undo", "cancel", "list"}
        hints = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
        assert hints == {"status", "diff", "list"}

        arguments = {"task": TASK, "checks": [CHECK]}
        run = data(await client.call_tool("run", arguments, progress_callback=site.on_progress))
        ended = (run["status"], run["verdict"], run["proof"], run["exit_code"])
        assert ended == ("done", "verified", "A", 0), run["summary"]
        assert "failed before and passes now" in run["proof_text"]
        assert run["checks"][0] == {"check": CHECK, "passed": True}
        assert run["created"] == ["adder.py"]
        assert "write_file in" in site.asked[0]
        assert "+    return a + b" in site.asked[0]
        numbers = [number for number, _ in site.progress]
        assert numbers == sorted(set(numbers)), "progress only grows"
        assert "1 of 1 steps done" in site.progress[-1][1]

        journal = SqliteJournal(journal_file(site.home / "state"), read_only=True)
        assert [summary.run_id for summary in journal.summaries()] == [run["run"]], "it is a run like any other"
        assert numbers[-1] == list(journal.read(run["run"]))[-1].seq, "its end is reported too"
        journal.close()

        diff = data(await client.call_tool("diff", {"run": run["run"]}))
        assert "+    return a + b" in diff["diff"]
        undone = data(await client.call_tool("undo", {"run": run["run"]}))
        assert undone["status"] == "undone"
        assert [undone[name] for name in ("verdict", "proof", "exit_code")] == [None] * 3, "it is not there any more"
        assert undone["created"] == undone["modified"] == []
        assert "resume" not in undone["next"]
        assert not (site.work / "adder.py").exists()
        listed = data(await client.call_tool("list", {}))
        (row,) = listed["runs"]
        assert (row["run"], row["status"], row["verdict"]) == (run["run"], "undone", None)

        assert "no run of this folder" in refusal(await client.call_tool("status", {"run": "nothing"}))
        assert "task" in refusal(await client.call_tool("run", {"task": ""}))


@pytest.mark.slow
async def test_a_waiting_run_is_answered_by_the_tool_and_a_run_is_cancelled(site: Site) -> None:
    async with site.client(elicits=False, mode="legacy") as client:
        run = data(await client.call_tool("run", {"task": TASK, "checks": [CHECK]}))
        assert (run["status"], run["verdict"], run["proof"]) == ("waiting", None, None)
        (question,) = run["questions"]
        assert question["kind"] == "approval"
        assert {"yes", "no"} <= set(question["options"])
        assert "the tool answer" in run["next"]
        assert not (site.work / "adder.py").exists()
        wrong = await client.call_tool("answer", {"run": run["run"], "answer": "perhaps"})
        assert "is not a valid answer to this question" in refusal(wrong)
        answered = data(await client.call_tool("answer", {"run": run["run"], "answer": "yes"}))
        assert (answered["verdict"], answered["proof"]) == ("verified", "A")

        unknown = await client.call_tool("run", {"task": "Go on.", "continues": "0101"})
        assert "no run of this folder" in refusal(unknown)
        more = data(await client.call_tool("run", {"task": "Go on.", "continues": run["run"]}))
        journal = SqliteJournal(journal_file(site.home / "state"), read_only=True)
        state = fold(journal.read(more["run"]))
        journal.close()
        assert state.context is not None
        assert state.context.run == run["run"]
        assert state.task is not None
        assert [check.label for check in state.task.checks] == [CHECK]

        # The check runs before anything else, and takes for ever.
        begun = asyncio.Event()

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            begun.set()

        arguments = {"task": "Write more.py.", "checks": ["sleep 1000"]}
        call = asyncio.create_task(client.call_tool("run", arguments, progress_callback=on_progress))
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        newest = data(await client.call_tool("list", {"limit": 1}))["runs"][0]["run"]
        status = data(await client.call_tool("status", {"run": newest}))
        while status["status"] == "running":
            await asyncio.sleep(0.2)
            status = data(await client.call_tool("status", {"run": newest}))
        assert status["verdict"] == "cancelled"


async def test_other_folders_are_out_of_reach(tmp_path: Path) -> None:
    home, work, other = (tmp_path / name for name in ("home", "work", "other"))
    for folder in (home, work, other):
        folder.mkdir()
    bench = Bench(other, home, SqliteJournal(journal_file(home)))
    state = await bench.run("carry out nothing", [ModelError("no model")])
    bench.journal.close()  # type: ignore[attr-defined]
    async with Hub(home) as hub:
        with pytest.raises(UnknownRun, match="no run of this folder"):
            await Runs(hub, work).view(state.run_id)
        assert await Runs(hub, work).listed(10) == []
        assert (await Runs(hub, other).view(state.run_id[:8])).state.run_id == state.run_id


@pytest.mark.parametrize("approvals", [True, False])
async def test_approvals_can_be_kept_from_the_clients_model(tmp_path: Path, approvals: bool) -> None:
    async with Hub(tmp_path) as hub:
        runs = Runs(hub, tmp_path, approvals=approvals)
        question = Question("q", "approval", "write_file in x", ("yes", "no"), "s", "")
        expected = "is not a valid answer" if approvals else "approvals are not accepted from this tool"
        with pytest.raises(UsageError, match=expected):
            await runs.answer("run", question, "perhaps", by_person=False)


@pytest.mark.slow
async def test_a_client_that_goes_away_stops_no_run(site: Site) -> None:
    go_on, begun = site.home / "go on", asyncio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        begun.set()

    check = f"while [ ! -e '{go_on}' ]; do sleep 0.05; done; {CHECK}"
    async with site.client(elicits=False) as client:
        arguments = {"task": TASK, "checks": [check]}
        call = asyncio.ensure_future(client.call_tool("run", arguments, progress_callback=on_progress))
        await begun.wait()
        # The client's process and its server end here, as when an editor is closed.
        os.kill(_server_of(site), signal.SIGKILL)
        with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the library says of a connection that is lost
            await call
    journal = SqliteJournal(journal_file(site.home / "state"), read_only=True)
    (run,) = journal.summaries()
    go_on.touch()
    while not [record for record in journal.read(run.run_id) if isinstance(record.event, e.QuestionAsked)]:  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    journal.close()
    async with site.client(elicits=False) as client:
        answered = data(await client.call_tool("answer", {"run": run.run_id, "answer": "yes"}))
        assert answered["verdict"] == "verified", "another client finds the run, and it goes on"


def _server_of(site: Site) -> int:
    """The process of `surefoot mcp`."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"mcp" in words and str(site.work).encode() in words:
                return int(folder.name)
    raise AssertionError("there is no server")

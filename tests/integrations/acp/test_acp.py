"""Surefoot in an editor: the protocol's own client, scripted answers of a model, everything else real."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process, text_block
from acp.core import AgentSideConnection, ClientSideConnection
from acp.helpers import embedded_text_resource, image_block, resource_block, resource_link_block
from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

from support.hanging import Hanging
from support.kit import Bench, act, done, fenced, understanding
from support.otlp import receiving
from surefoot.api import Agent
from surefoot.integrations.acp.agent import EditorAgent, Opened, text_of
from surefoot.integrations.acp.person import EditorPerson
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.models.testing.scripted import ScriptedModel

pytestmark = pytest.mark.slow

TASK = "Write adder.py with a function add(a, b) that adds two numbers."
CHECK = "python3 -B -c 'import adder; assert adder.add(1, 2) == 3'"
UNDERSTOOD = {**understanding("adder.py"), "understanding": TASK}
RIGHT = fenced("def add(a, b):\n    return a + b")


class Editor:
    """The client's side: keeps what it is sent, and answers requests for permission."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.updates: list[Any] = []
        self.asked: list[tuple[str, list[str]]] = []

    def on_connect(self, conn: Any) -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.asked.append((tool_call.content[0].content.text, [option.option_id for option in options]))
        answer = self.answers.pop(0)
        if answer == "(cancel)":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=answer))

    def of(self, kind: str) -> list[Any]:
        return [update for update in self.updates if update.session_update == kind]

    @property
    def text(self) -> str:
        return "".join(update.content.text for update in self.of("agent_message_chunk"))


@asynccontextmanager
async def connected(bench: Bench, editor: Any, answers: Any, **config: Any) -> AsyncIterator[Any]:
    """An editor and an agent in one process, over a pair of sockets."""

    async def make_agent(folder: Path, person: EditorPerson) -> Opened:
        model = answers if isinstance(answers, ScriptedModel) else ScriptedModel(answers)
        settings = bench.config(**config)
        return Opened(Agent(model, settings, bench.journal, workspace=folder, home=bench.home, person=person))

    ends = [await asyncio.open_connection(sock=end) for end in socket.socketpair()]
    agent: Any = EditorAgent(make_agent, [CHECK])
    ours = AgentSideConnection(agent, ends[0][1], ends[0][0], listening=True)
    theirs = ClientSideConnection(editor, ends[1][1], ends[1][0])
    try:
        yield theirs
    finally:
        await theirs.close()
        await ours.close()


async def begun(connection: Any, bench: Bench) -> str:
    """Initialize the connection and open a session."""
    answer = await connection.initialize(protocol_version=PROTOCOL_VERSION)
    assert answer.agent_info.name == "surefoot"
    return str((await connection.new_session(cwd=str(bench.root), mcp_servers=[])).session_id)


async def test_a_prompt_is_a_run_with_its_plan_its_calls_and_its_diffs(bench: Bench) -> None:
    editor = Editor()
    bench.write(adder__py="def add(a, b):\n    return a - b\n")
    async with connected(bench, editor, [UNDERSTOOD, RIGHT]) as connection:
        session = await begun(connection, bench)
        response = await connection.prompt(session_id=session, prompt=[text_block(TASK)])
    assert response.stop_reason == "end_turn"
    plans = [[(entry.content, entry.status) for entry in update.entries] for update in editor.of("plan")]
    assert plans[0] == [("Write adder.py", "pending")]
    assert plans[-1] == [("Write adder.py", "completed")]
    calls = {call.tool_call_id: call for call in editor.of("tool_call")}
    (write,) = [call for call in calls.values() if call.kind == "edit"]
    assert write.title == "write_file adder.py"
    assert write.locations[0].path == str(bench.root / "adder.py")
    (done,) = [update for update in editor.of("tool_call_update") if update.tool_call_id == write.tool_call_id]
    assert done.status == "completed"
    (diff,) = done.content
    assert (diff.path, diff.type) == (str(bench.root / "adder.py"), "diff")
    assert (diff.old_text, diff.new_text) == (
        "def add(a, b):\n    return a - b\n",
        "def add(a, b):\n    return a + b\n",
    )
    assert [call.status for call in calls.values() if call.title.startswith("check: ")][-1] == "completed"
    assert editor.text.startswith("**Verified**")
    (run,) = bench.journal.summaries()
    assert f"surefoot undo {run.run_id}" in editor.text


async def test_approvals_are_requests_for_permission(bench: Bench) -> None:
    editor = Editor("yes")
    async with connected(bench, editor, [UNDERSTOOD, RIGHT], approve="ask") as connection:
        session = await begun(connection, bench)
        await connection.prompt(session_id=session, prompt=[text_block(TASK)])
    ((text, options),) = editor.asked
    assert "+    return a + b" in text
    assert options == ["yes", "always write_file(adder.py)", "no"]
    assert bench.files()["adder.py"] == "def add(a, b):\n    return a + b\n"


async def test_a_request_that_is_cancelled_leaves_the_run_waiting(bench: Bench) -> None:
    editor = Editor("(cancel)")
    async with connected(bench, editor, [UNDERSTOOD, RIGHT], approve="ask") as connection:
        session = await begun(connection, bench)
        await connection.prompt(session_id=session, prompt=[text_block(TASK)])
        assert bench.files() == {}
        assert "Waiting: run" in editor.text
        # The next message is the answer.
        await connection.prompt(session_id=session, prompt=[text_block("yes")])
    assert bench.files() != {}
    assert len(bench.journal.summaries()) == 1
    assert "**Verified**" in editor.text


async def test_an_open_question_is_answered_by_the_next_message(bench: Bench) -> None:
    asks = {**UNDERSTOOD, "questions": ["Should it take floats?"]}
    editor = Editor()
    async with connected(bench, editor, [asks, UNDERSTOOD, RIGHT, RIGHT]) as connection:
        session = await begun(connection, bench)
        await connection.prompt(session_id=session, prompt=[text_block(TASK)])
        assert "Should it take floats?" in editor.text
        await connection.prompt(session_id=session, prompt=[text_block("Yes, floats too.")])
    (run,) = bench.journal.summaries()
    answers = [r.event.answer for r in bench.journal.read(run.run_id) if isinstance(r.event, e.QuestionAnswered)]
    assert answers == ["Yes, floats too."]
    assert "**Verified**" in editor.text


async def test_a_message_that_is_no_answer_leaves_the_question_open(bench: Bench) -> None:
    editor = Editor("(cancel)")
    async with connected(bench, editor, [UNDERSTOOD, RIGHT, RIGHT], approve="ask") as connection:
        session = await begun(connection, bench)
        for message in (TASK, "what?", "yes"):
            await connection.prompt(session_id=session, prompt=[text_block(message)])
    assert "'what?' is not a valid answer" in editor.text
    (run,) = bench.journal.summaries()
    assert run.verdict == "verified"


async def test_a_message_after_the_end_of_a_run_continues_it(bench: Bench) -> None:
    editor, model = Editor(), ScriptedModel([UNDERSTOOD, RIGHT, UNDERSTOOD, RIGHT])
    async with connected(bench, editor, model) as connection:
        session = await begun(connection, bench)
        await connection.prompt(session_id=session, prompt=[text_block(TASK)])
        await connection.prompt(session_id=session, prompt=[text_block("Now with a docstring.")])
        other = await begun(connection, bench)
        await connection.prompt(session_id=other, prompt=[text_block("Something else.")])
    states = [fold(bench.journal.read(run.run_id)) for run in bench.journal.summaries()]
    context = {state.task.text: state.context and state.context.run for state in states if state.task}
    (first,) = [state.run_id for state in states if state.task and state.task.text == TASK]
    assert context == {TASK: None, "Now with a docstring.": first, "Something else.": None}
    assert any("The task before was" in m.content for request in model.requests for m in request.messages)


async def test_a_turn_can_be_cancelled(bench: Bench) -> None:
    editor, model = Editor(), Hanging(UNDERSTOOD)
    async with connected(bench, editor, model) as connection:
        session = await begun(connection, bench)
        turn = asyncio.create_task(connection.prompt(session_id=session, prompt=[text_block(TASK)]))
        await model.hangs.wait()
        with pytest.raises(RequestError, match="working already"):
            await connection.prompt(session_id=session, prompt=[text_block("Another one.")])
        await connection.cancel(session_id=session)
        assert (await turn).stop_reason == "cancelled"
    (run,) = bench.journal.summaries()
    assert run.verdict == "cancelled"


async def test_errors_name_their_remedy(bench: Bench) -> None:
    async with connected(bench, Editor(), []) as connection:
        with pytest.raises(RequestError) as refused:
            await connection.new_session(cwd="relative", mcp_servers=[])
        assert "not an absolute path" in str(refused.value)
        assert refused.value.data == {"remedy": "send the whole path"}
        with pytest.raises(RequestError):
            await connection.prompt(session_id="unknown", prompt=[text_block("x")])


async def test_a_run_that_cannot_start_says_why(bench: Bench) -> None:
    editor = Editor()
    async with connected(bench, editor, []) as connection:
        session = await begun(connection, bench)
        bench.root.rmdir()
        response = await connection.prompt(session_id=session, prompt=[text_block(TASK)])
    assert response.stop_reason == "end_turn"
    assert "is not a folder" in editor.text


def test_what_a_prompt_refers_to_is_part_of_the_task() -> None:
    blocks = [
        text_block("Explain "),
        resource_link_block("a.py", "file:///work/a.py"),
        resource_block(embedded_text_resource("file:///work/b.py", "x = 1")),
    ]
    assert text_of(blocks) == "Explain (/work/a.py)\n\n/work/b.py:\nx = 1"
    with pytest.raises(Exception, match="a prompt with image cannot be used"):
        text_of([image_block("aGk=", "image/png")])


async def test_the_command_serves_an_editor(tmp_path: Path) -> None:
    folder, script = tmp_path / "work", tmp_path / "answers.json"
    folder.mkdir()
    script.write_text(json.dumps([UNDERSTOOD, RIGHT]))
    environ = {**os.environ, "SUREFOOT_HOME": str(tmp_path / "state")}
    editor: Any = Editor("yes")
    arguments = ["-m", "surefoot", "acp", "-m", f"scripted:{script}", "--check", CHECK, "--approve", "ask"]
    async with spawn_agent_process(editor, sys.executable, *arguments, env=environ) as (connection, _):
        await connection.initialize(protocol_version=PROTOCOL_VERSION)
        session = await connection.new_session(cwd=str(folder), mcp_servers=[])
        response = await connection.prompt(session_id=session.session_id, prompt=[text_block(TASK)])
    assert response.stop_reason == "end_turn"
    assert "**Verified**" in editor.text
    assert (folder / "adder.py").exists()


@pytest.mark.slow
async def test_a_session_has_what_the_settings_name(tmp_path: Path) -> None:
    """The tools of an MCP server, telemetry; and no secret of a server in what the editor is shown."""
    task, secret = "Find out how the weather is.", "wombat-4455-heron"
    folder, script, config = tmp_path / "work", tmp_path / "answers.json", tmp_path / ".config/surefoot/config.toml"
    folder.mkdir()
    looked = [act("own__look", topic=f"the weather, {secret},"), done()]
    script.write_text(json.dumps([{**understanding(), "understanding": task}, *looked]))
    config.parent.mkdir(parents=True)
    server = Path(__file__).parents[2] / "support" / "mcp_server.py"
    config.write_text(
        f"[telemetry]\nenabled = true\n"
        f"[mcp.servers.own]\ncommand = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(server))}]\n"
        "start_seconds = 300\n"
        '[mcp.servers.away]\nurl = "http://127.0.0.1:1/mcp"\nheaders_env = { Authorization = "AWAY_HEADER" }\n'
    )
    editor: Any = Editor()
    with receiving() as receiver:
        own = {"HOME": str(tmp_path), "SUREFOOT_HOME": str(tmp_path / "state"), "AWAY_HEADER": f"Bearer {secret}"}
        environ = {**os.environ, **own, **receiver.variables}
        arguments = ["-m", "surefoot", "acp", "-m", f"scripted:{script}", "--sandbox", "off"]
        async with spawn_agent_process(editor, sys.executable, *arguments, env=environ) as (connection, _):
            await connection.initialize(protocol_version=PROTOCOL_VERSION)
            session = await connection.new_session(cwd=str(folder), mcp_servers=[])
            await connection.prompt(session_id=session.session_id, prompt=[text_block(task)])
            # Before the process ends: an editor may kill it.
            spans = {span.name for span in receiver.spans()}
    assert {"invoke_agent surefoot", "execute_tool own__look"} <= spans
    (call,) = [call for call in editor.of("tool_call") if call.title.startswith("own__look")]
    (update,) = [update for update in editor.of("tool_call_update") if update.tool_call_id == call.tool_call_id]
    assert update.status == "completed"
    assert "the weather" in update.model_dump_json()
    assert "the MCP server away" in editor.text
    assert secret not in "".join(update.model_dump_json() for update in editor.updates)


@pytest.mark.parametrize("given", [os.devnull, "a file"])
@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_files_instead_of_pipes_are_refused(tmp_path: Path, stream: str, given: str) -> None:
    script, environ = tmp_path / "answers.json", {**os.environ, "SUREFOOT_HOME": str(tmp_path / "state")}
    script.write_text("[]")
    command = [sys.executable, "-m", "surefoot", "acp", "-m", f"scripted:{script}"]
    (tmp_path / "a file").touch()
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (tmp_path / given).open("r+") as file:
        ended = subprocess.run(command, cwd=tmp_path, env=environ, text=True, check=False, **{**streams, stream: file})
    assert ended.returncode == 2
    assert "over pipes" in ended.stderr

"""Bad input gets one clear line, the remedy and the right exit code; nothing is lost and nobody sees a traceback."""

import ctypes
import socket
import sqlite3
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cli import recorded
from cli.conftest import Ended, Surefoot
from cli.stories import TASK, UNDERSTANDING, adder

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def refused(ended: Ended, code: int, *parts: str) -> None:
    """It ended with this code and said this, first what is wrong and then what to do."""
    assert ended.code == code, (ended.code, ended.out, ended.err)
    assert ended.lines[0].startswith("surefoot: "), ended.err
    assert ended.lines[1].startswith("          "), "the remedy follows"
    assert "Traceback" not in ended.err
    for part in parts:
        assert part in ended.err, ended.err


def usable(surefoot: Surefoot) -> list[str]:
    return ["run", TASK, "-m", surefoot.script(UNDERSTANDING, adder("+"))]


# -- models --------------------------------------------------------------------------------------------------------


def test_no_model_lists_the_quickest_ways_to_get_one(surefoot: Surefoot) -> None:
    ended = surefoot("run", TASK)
    refused(ended, 2, "no model", "surefoot model pull", "OPENAI_API_KEY", "http://")
    assert ended.lines[2].strip().startswith("surefoot model pull"), "the first way needs no account"


@pytest.fixture
def unauthorized() -> Iterator[str]:
    """A server that refuses every key."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._refuse()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._refuse()

        def _refuse(self) -> None:
            body = b'{"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}'
            self.send_response(401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_a_wrong_key_is_told_by_its_variable_and_never_shown(surefoot: Surefoot, unauthorized: str) -> None:
    surefoot.environ |= {
        "SUREFOOT_MODEL__BASE_URL": unauthorized,
        "SUREFOOT_MODEL__API_KEY_ENV": "MY_KEY",
        "MY_KEY": "sk-wrong-0123456789abcdef0123",
    }
    ended = surefoot("run", TASK, "-m", f"{unauthorized}#some-model")
    said = ended.out + ended.err
    assert ended.code == 1, said
    assert "MY_KEY" in said
    assert "sk-wrong" not in said
    assert "Traceback" not in said


def test_a_server_that_is_down_is_named(surefoot: Surefoot) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    surefoot.environ["SUREFOOT_REFLECTION__BACKOFF_SECONDS"] = "0"
    ended = surefoot("run", TASK, "-m", f"http://127.0.0.1:{port}/v1#some-model")
    said = ended.out + ended.err
    assert ended.code == 1, said
    assert f"127.0.0.1:{port}" in said
    assert "Traceback" not in said


def test_a_model_that_nobody_knows(surefoot: Surefoot) -> None:
    refused(surefoot("run", TASK, "-m", "gpt-next"), 2, "gpt-next", "openai/gpt-next")


# -- tasks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], [""], ["   ", "\n"]])
def test_an_empty_task(surefoot: Surefoot, words: list[str]) -> None:
    refused(surefoot("run", *words, "-m", surefoot.script()), 2, "the task is empty", "surefoot run")
    refused(surefoot("run", "-", "-m", surefoot.script(), stdin=" \n"), 2, "the task is empty")


def test_a_task_of_a_megabyte(surefoot: Surefoot) -> None:
    ended = surefoot("run", "-", "-m", surefoot.script(), stdin="write " * 180_000)
    refused(ended, 2, "1,079,999 characters long", "put the long part into a file")


def test_a_task_that_is_not_text(surefoot: Surefoot) -> None:
    process = surefoot.start("run", "-", "-m", surefoot.script(), stdin=-1)
    assert process.stdin is not None
    process.stdin.buffer.write(b"\xff\xfe\x00" * 100)  # type: ignore[attr-defined]
    _, err = process.communicate(timeout=120)
    assert "Traceback" not in err


# -- workspaces ----------------------------------------------------------------------------------------------------


def test_a_workspace_that_is_missing(surefoot: Surefoot) -> None:
    refused(surefoot(*usable(surefoot), "-C", "nowhere"), 2, "there is no folder", "mkdir -p")


def test_a_workspace_that_is_a_file(surefoot: Surefoot) -> None:
    (surefoot.workspace / "a.txt").write_text("")
    refused(surefoot(*usable(surefoot), "-C", "a.txt"), 2, "a.txt is not a folder")


def without_the_rights_of_root() -> None:
    """Root may write everywhere; without two capabilities it is held to the permissions of files like anyone else."""
    prctl = ctypes.CDLL(None).prctl
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        prctl(PR_CAPBSET_DROP, capability)


def test_a_workspace_that_cannot_be_written(surefoot: Surefoot) -> None:
    arguments = usable(surefoot)
    surefoot.workspace.chmod(0o555)
    try:
        ended = surefoot(*arguments, preexec_fn=without_the_rights_of_root)
    finally:
        surefoot.workspace.chmod(0o755)
    refused(ended, 2, "cannot be written to", "permissions")


# -- the journal ---------------------------------------------------------------------------------------------------


async def test_a_journal_that_another_process_holds(surefoot: Surefoot) -> None:
    await surefoot.keep(recorded.whole_run())
    before = surefoot.journal_file.stat().st_size
    holder = sqlite3.connect(surefoot.journal_file)
    holder.execute("BEGIN IMMEDIATE")
    try:
        refused(surefoot(*usable(surefoot)), 1, str(surefoot.journal_file))
        assert surefoot("list").code == 0, "reading is possible meanwhile"
    finally:
        holder.close()
    assert surefoot.journal_file.stat().st_size == before
    assert surefoot(*usable(surefoot)).code == 3


@pytest.mark.parametrize("arguments", [["list"], ["show"], ["run", TASK]])
def test_a_journal_that_is_none(surefoot: Surefoot, arguments: list[str]) -> None:
    surefoot.state.mkdir(parents=True)
    surefoot.journal_file.write_bytes(b"no database " * 1000)
    if arguments[0] == "run":
        arguments = usable(surefoot)
    refused(surefoot(*arguments), 1, str(surefoot.journal_file))
    assert surefoot.journal_file.read_bytes() == b"no database " * 1000, "it is left as it is"


async def test_a_journal_of_a_newer_version(surefoot: Surefoot) -> None:
    await surefoot.keep(recorded.whole_run())
    with sqlite3.connect(surefoot.journal_file) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    refused(surefoot("list"), 1, "schema 999", "newer")
    refused(surefoot(*usable(surefoot)), 1, "schema 999", "newer")


@pytest.mark.parametrize("command", ["show", "resume", "answer"])
async def test_a_run_that_does_not_exist(surefoot: Surefoot, command: str) -> None:
    refused(surefoot(command, "nothing"), 2, "no run")
    run_id = await surefoot.keep(recorded.whole_run())
    refused(surefoot(command, "nothing"), 2, "there is no run 'nothing'", run_id)


async def test_a_run_to_base_on_that_does_not_exist(surefoot: Surefoot) -> None:
    await surefoot.keep(recorded.whole_run())
    refused(surefoot("run", "--based-on", "nothing", "-m", surefoot.script()), 2, "there is no run 'nothing'")


def test_a_cassette_that_cannot_be_written(surefoot: Surefoot) -> None:
    refused(surefoot(*usable(surefoot), "--record", "/proc/nowhere/run.jsonl"), 2, "/proc/nowhere", "--record")


# -- settings and arguments ----------------------------------------------------------------------------------------


def test_a_broken_config_file_is_told_with_its_line(surefoot: Surefoot) -> None:
    config = surefoot.home / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[execution]\nmax_plan_steps = 12\nnetwork = perhaps\n")
    refused(surefoot(*usable(surefoot)), 2, f"{config}:3: not valid TOML")
    config.write_text("[execution]\nmax_plan_stepz = 12\n")
    refused(surefoot("config"), 2, f"{config}:2: ", "did you mean max_plan_steps?")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["rum", "x"], ["No such command 'rum'", "Did you mean 'run'?"]),
        (["fix the bug"], ["No such command", "surefoot run 'fix the bug'"]),
        (["run", "x", "--chek", "y"], ["--chek", "--check", "surefoot run --help"]),
        (["run", "x", "--max-time", "soon"], ["--max-time", "10m"]),
        (["run", "x", "--max-tokens", "few"], ["--max-tokens", "50k"]),
        (["run", "x", "--max-cost", "-1"], ["--max-cost", "above 0"]),
        (["run", "x", "--phases", "all"], ["--phases", "auto"]),
        (["run", "x", "--json", "--live"], ["--json stands alone"]),
        (["resume", "x", "--last"], ["--last"]),
    ],
)
def test_wrong_arguments_are_told_with_what_would_be_right(
    surefoot: Surefoot, arguments: list[str], parts: list[str]
) -> None:
    refused(surefoot(*arguments), 2, *parts)


def test_a_message_cannot_steer_the_terminal(surefoot: Surefoot) -> None:
    ended = surefoot("run", TASK, "-C", "a\x1b[2Jb")
    refused(ended, 2)
    assert "\x1b" not in ended.err


def test_the_traceback_is_there_for_those_who_ask(surefoot: Surefoot) -> None:
    surefoot.environ["SUREFOOT_DEBUG"] = "1"
    ended = surefoot("run", "", "-m", surefoot.script())
    assert ended.code == 2
    assert "Traceback" in ended.err

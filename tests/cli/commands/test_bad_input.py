"""Invalid input ends with one clear line, the remedy and the right exit code, and without a traceback."""

import ctypes
import socket
import sqlite3
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cli.conftest import Result, Surefoot
from support import recorded
from support.stories import TASK, UNDERSTANDING, adder

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def assert_refused(result: Result, code: int, *parts: str) -> None:
    """The command ended with this code, and printed the problem, the remedy and these texts."""
    assert result.code == code, (result.code, result.out, result.err)
    assert result.lines[0].startswith("surefoot: "), result.err
    assert result.lines[1].startswith("          "), "the remedy follows"
    assert "Traceback" not in result.err
    for part in parts:
        assert part in result.err, result.err


def valid_arguments(surefoot: Surefoot) -> list[str]:
    return ["run", TASK, "-m", surefoot.script(UNDERSTANDING, adder("+"))]


# -- models --------------------------------------------------------------------------------------------------------


def test_without_a_model_the_ways_to_get_one_are_listed(surefoot: Surefoot) -> None:
    result = surefoot("run", TASK)
    assert_refused(result, 2, "no model", "surefoot model pull", "OPENAI_API_KEY", "http://")
    assert result.lines[2].strip().startswith("surefoot model pull"), "the first way needs no account"


@pytest.fixture
def unauthorized() -> Iterator[str]:
    """The URL of a server that refuses every key."""

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


def test_a_wrong_key_is_named_by_its_variable_and_never_shown(surefoot: Surefoot, unauthorized: str) -> None:
    surefoot.environ |= {
        "SUREFOOT_MODEL__BASE_URL": unauthorized,
        "SUREFOOT_MODEL__API_KEY_ENV": "MY_KEY",
        "MY_KEY": "sk-wrong-0123456789abcdef0123",
    }
    result = surefoot("run", TASK, "-m", f"{unauthorized}#some-model")
    output = result.out + result.err
    assert result.code == 1, output
    assert "MY_KEY" in output
    assert "sk-wrong" not in output
    assert "Traceback" not in output


def test_an_unreachable_server_is_named(surefoot: Surefoot) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    surefoot.environ["SUREFOOT_REFLECTION__BACKOFF_SECONDS"] = "0"
    result = surefoot("run", TASK, "-m", f"http://127.0.0.1:{port}/v1#some-model")
    output = result.out + result.err
    assert result.code == 1, output
    assert f"127.0.0.1:{port}" in output
    assert "Traceback" not in output


def test_an_unknown_model(surefoot: Surefoot) -> None:
    assert_refused(surefoot("run", TASK, "-m", "gpt-next"), 2, "gpt-next", "openai/gpt-next")


# -- tasks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], [""], ["   ", "\n"]])
def test_an_empty_task(surefoot: Surefoot, words: list[str]) -> None:
    assert_refused(surefoot("run", *words, "-m", surefoot.script()), 2, "the task is empty", "surefoot run")
    assert_refused(surefoot("run", "-", "-m", surefoot.script(), stdin=" \n"), 2, "the task is empty")


def test_a_task_that_is_too_long(surefoot: Surefoot) -> None:
    result = surefoot("run", "-", "-m", surefoot.script(), stdin="write " * 180_000)
    assert_refused(result, 2, "1,079,999 characters long", "put the long part into a file")


def test_a_task_that_is_not_valid_utf8(surefoot: Surefoot) -> None:
    process = surefoot.start("run", "-", "-m", surefoot.script(), stdin=-1)
    assert process.stdin is not None
    process.stdin.buffer.write(b"\xff\xfe\x00" * 100)  # type: ignore[attr-defined]
    _, err = process.communicate(timeout=120)
    assert "Traceback" not in err


# -- workspaces ----------------------------------------------------------------------------------------------------


def test_a_missing_workspace(surefoot: Surefoot) -> None:
    assert_refused(surefoot(*valid_arguments(surefoot), "-C", "nowhere"), 2, "there is no folder", "mkdir -p")


def test_a_workspace_that_is_a_file(surefoot: Surefoot) -> None:
    (surefoot.workspace / "a.txt").write_text("")
    assert_refused(surefoot(*valid_arguments(surefoot), "-C", "a.txt"), 2, "a.txt is not a folder")


def drop_capabilities() -> None:
    """Without these two capabilities, file permissions apply to root too."""
    prctl = ctypes.CDLL(None).prctl
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        prctl(PR_CAPBSET_DROP, capability)


def test_a_workspace_that_is_not_writable(surefoot: Surefoot) -> None:
    arguments = valid_arguments(surefoot)
    surefoot.workspace.chmod(0o555)
    try:
        result = surefoot(*arguments, preexec_fn=drop_capabilities)
    finally:
        surefoot.workspace.chmod(0o755)
    assert_refused(result, 2, "cannot be written to", "permissions")


# -- the journal ---------------------------------------------------------------------------------------------------


async def test_a_journal_that_another_process_has_locked(surefoot: Surefoot) -> None:
    await surefoot.store(recorded.whole_run())
    before = surefoot.journal_file.stat().st_size
    holder = sqlite3.connect(surefoot.journal_file)
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert_refused(surefoot(*valid_arguments(surefoot)), 1, str(surefoot.journal_file))
        assert surefoot("list").code == 0, "reading is still possible"
    finally:
        holder.close()
    assert surefoot.journal_file.stat().st_size == before
    assert surefoot(*valid_arguments(surefoot)).code == 3


@pytest.mark.parametrize("arguments", [["list"], ["show"], ["run", TASK]])
def test_a_journal_that_is_not_a_database(surefoot: Surefoot, arguments: list[str]) -> None:
    surefoot.state.mkdir(parents=True)
    surefoot.journal_file.write_bytes(b"no database " * 1000)
    if arguments[0] == "run":
        arguments = valid_arguments(surefoot)
    assert_refused(surefoot(*arguments), 1, str(surefoot.journal_file))
    assert surefoot.journal_file.read_bytes() == b"no database " * 1000, "the file is not touched"


async def test_a_journal_of_a_newer_version(surefoot: Surefoot) -> None:
    await surefoot.store(recorded.whole_run())
    with sqlite3.connect(surefoot.journal_file) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    assert_refused(surefoot("list"), 1, "schema 999", "newer")
    assert_refused(surefoot(*valid_arguments(surefoot)), 1, "schema 999", "newer")


@pytest.mark.parametrize("command", ["show", "resume", "answer"])
async def test_an_unknown_run(surefoot: Surefoot, command: str) -> None:
    assert_refused(surefoot(command, "nothing"), 2, "no run")
    run_id = await surefoot.store(recorded.whole_run())
    assert_refused(surefoot(command, "nothing"), 2, "there is no run 'nothing'", run_id)


async def test_a_misspelt_last(surefoot: Surefoot) -> None:
    await surefoot.store(recorded.whole_run())
    assert_refused(surefoot("undo", "lastt"), 2, "there is no run 'lastt'", "did you mean last? Otherwise see")
    assert "did you mean" not in surefoot("undo", "1115").err


def test_an_option_before_the_command(surefoot: Surefoot) -> None:
    remedy = "options come after the command: surefoot run --json; see: surefoot --help"
    assert_refused(surefoot("--json", "run", TASK), 2, "surefoot: No such option '--json'.\n", remedy)
    assert_refused(surefoot("-m", "local", "plan", TASK), 2, "options come after the command: surefoot plan -m; ")
    for words in (("--no-such-option", "run", TASK), ("--json",), ("--json", "undo", "last")):
        assert "after the command" not in surefoot(*words).err


async def test_based_on_an_unknown_run(surefoot: Surefoot) -> None:
    await surefoot.store(recorded.whole_run())
    assert_refused(surefoot("run", "--based-on", "nothing", "-m", surefoot.script()), 2, "there is no run 'nothing'")


def test_a_cassette_that_is_not_writable(surefoot: Surefoot) -> None:
    assert_refused(
        surefoot(*valid_arguments(surefoot), "--record", "/proc/nowhere/run.jsonl"), 2, "/proc/nowhere", "--record"
    )


# -- settings and arguments ----------------------------------------------------------------------------------------


def test_an_invalid_config_file_is_reported_with_its_line(surefoot: Surefoot) -> None:
    config = surefoot.home / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[execution]\nmax_plan_steps = 12\nnetwork = perhaps\n")
    assert_refused(surefoot(*valid_arguments(surefoot)), 2, f"{config}:3: not valid TOML")
    config.write_text("[execution]\nmax_plan_stepz = 12\n")
    assert_refused(surefoot("config"), 2, f"{config}:2: ", "did you mean max_plan_steps?")


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
        (["run", "x", "--json", "--live"], ["--json cannot be combined with"]),
        (["resume", "x", "--last"], ["--last"]),
    ],
)
def test_wrong_arguments_are_reported_with_a_correction(
    surefoot: Surefoot, arguments: list[str], parts: list[str]
) -> None:
    assert_refused(surefoot(*arguments), 2, *parts)


def test_error_messages_contain_no_control_characters(surefoot: Surefoot) -> None:
    result = surefoot("run", TASK, "-C", "a\x1b[2Jb")
    assert_refused(result, 2)
    assert "\x1b" not in result.err


def test_debug_mode_prints_the_traceback(surefoot: Surefoot) -> None:
    surefoot.environ["SUREFOOT_DEBUG"] = "1"
    result = surefoot("run", "", "-m", surefoot.script())
    assert result.code == 2
    assert "Traceback" in result.err


def test_the_home_folder_and_a_script_that_is_not_there_get_remedies_that_fit(surefoot: Surefoot) -> None:
    in_home = surefoot(*valid_arguments(surefoot), "-C", str(surefoot.home))
    assert_refused(in_home, 2, "is inside the workspace")
    assert in_home.lines[1].strip().startswith("go into a project folder, or name one with -C; or set SUREFOOT_HOME")
    missing = surefoot("run", TASK, "-m", "scripted:gone.json")
    assert missing.lines == [
        "surefoot: cannot read the script gone.json: No such file or directory",
        "          name a file that can be read: scripted:FILE",
    ]
    (surefoot.workspace / "broken.json").write_text("[")
    assert_refused(surefoot("run", TASK, "-m", "scripted:broken.json"), 2, "is not JSON", "give a JSON list of answers")
    unknown = surefoot("run", TASK, "-m", "foo/bar")
    assert_refused(unknown, 2, "begin with the name of a provider, as in openai/gpt-", "the providers are local")
    assert "/foo/bar" not in unknown.err


def test_a_task_that_is_typed_is_asked_for(surefoot: Surefoot) -> None:
    terminal = surefoot.on_terminal("run", "-")
    terminal.wait_for("type the task; Ctrl-D on a line of its own ends it")
    terminal.type("\x04")
    assert terminal.end() == 2
    assert "the task is empty" in terminal.output

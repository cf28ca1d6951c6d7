"""Problems of the set-up: each is named with its own cause and remedy, at the end of a run or before it begins."""

import asyncio
import json
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Surefoot
from support.kit import fenced, understanding
from support.loopback import Loopback, Request, Response, closed_port, json_response, serving

pytestmark = pytest.mark.slow

Respond = Callable[[Request], Response]
KEY = "sk-a-key-that-nobody-has-0123456789"
PAGE = Response([b"<html><title>Welcome to nginx!</title></html>"], headers={"content-type": "text/html"})
QUOTA = {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}
NO_MODEL = {"message": "The model `m` does not exist", "code": "model_not_found"}


def failing(status: int, error: Any = "") -> Response:
    return json_response({"error": error if isinstance(error, dict) else {"message": error}}, status, retry_after="0")


def listing(answer: Response) -> Respond:
    """A server that lists its models and answers every question like this."""

    def respond(request: Request) -> Response:
        return json_response({"data": [{"id": "mm"}]}) if request.path == "/v1/models" else answer

    return respond


def redirecting(request: Request) -> Response:
    return PAGE if request.path == "/login" else Response([], 302, {"location": "/login"})


def with_key(surefoot: Surefoot) -> None:
    surefoot.environ |= {"MY_KEY": KEY, "SUREFOOT_MODEL__API_KEY_ENV": "MY_KEY"}
    surefoot.environ["SUREFOOT_REFLECTION__MAX_TEMPORARY_RETRIES"] = "0"


async def run(surefoot: Surefoot, server: Loopback, *more: str) -> Any:
    return await asyncio.to_thread(surefoot, "run", "Write a.py.", "-m", f"{server.address}/v1#m", *more)


@pytest.mark.parametrize(
    ("respond", "cause", "message", "remedy"),
    [
        (listing(failing(401, f"Incorrect API key provided: {KEY}")), "key_rejected", "does not accept the API key",
         "check the key in MY_KEY: export MY_KEY=..."),
        (listing(failing(403, "Your organization is not verified")), "not_permitted", "does not permit the use of m",
         "allow the key in MY_KEY to use the model"),
        (listing(failing(402, "Insufficient credits")), "quota_exhausted", "no quota left", "add credit"),
        (listing(failing(429, QUOTA)), "quota_exhausted", "no quota left", "use another key in MY_KEY"),
        (listing(failing(429, "slow down")), "rate_limited", "limiting the rate", "model.tokens_per_minute"),
        (listing(failing(404, NO_MODEL)), "unknown_model", "has no model m", "choose one that it has with -m: mm"),
        (listing(failing(503, "overloaded")), "server_failing", "status 503", "try again later"),
        (listing(PAGE), "not_a_model_server", "it sent a web page", "correct the address, from -m"),
        (lambda request: failing(404, "Not Found"), "not_a_model_server", "status 404", "correct the address, from -m"),
        (redirecting, "not_a_model_server", "it sent a web page", "correct the address, from -m"),
    ],
    ids=["wrong key", "no permission", "no credit", "no quota", "rate limit", "unknown model", "server error", "page",
         "wrong path", "redirect"],
)  # fmt: skip
async def test_a_run_that_ends_by_the_set_up_says_what_to_repair(
    surefoot: Surefoot, respond: Respond, cause: str, message: str, remedy: str
) -> None:
    with_key(surefoot)
    async with serving(respond) as server:
        ended = (await run(surefoot, server, "--json")).objects[-1]
    assert (ended["type"], ended["verdict"], ended["exit_code"]) == ("outcome", "failed", 1)
    assert ended["diagnosis"]["cause"] == cause
    assert message in ended["diagnosis"]["what_failed"]
    repair, resume = ended["diagnosis"]["next_steps"]
    assert remedy in repair
    assert f"surefoot resume {ended['run_id']}" in resume
    assert "stronger" not in ended["diagnosis_text"]
    assert KEY not in json.dumps(ended)


async def test_the_text_is_short_and_the_run_goes_on_when_it_is_repaired(surefoot: Surefoot) -> None:
    with_key(surefoot)
    async with serving(listing(failing(404, NO_MODEL))) as server:
        failed = await run(surefoot, server, "--check", "grep -q 1 a.py")
    assert failed.code == 1
    shown = failed.out[failed.out.index("What failed") :].splitlines()
    run_id = failed.lines[0].split(" run ")[1].split(":")[0]
    assert [line.strip() for line in shown] == [
        f"What failed: the model could not be asked: {server.address}/v1 has no model m",
        "Left in the workspace:",
        "- nothing: no changes remain",
        "What to do next:",
        "- choose one that it has with -m: mm",
        f"- then continue from here: surefoot resume {run_id} -m MODEL",
    ]
    script = surefoot.script(understanding("a.py"), fenced("a = 1\n"))
    resumed = await asyncio.to_thread(surefoot, "resume", run_id, "-m", script)
    assert resumed.code == 0, resumed.out + resumed.err


async def test_a_step_that_loses_its_server_says_the_same(surefoot: Surefoot) -> None:
    """The ladder gives up on a step whose model is gone; the remedy is that of the error, not of the ladder."""
    with_key(surefoot)
    plan = surefoot.home / "plan.json"
    step = {"id": "s", "name": "write a.txt", "description": "write a.txt", "step_type": "code_generation"}
    plan.write_text(json.dumps({"plan": {"steps": [step]}}))
    async with serving(listing(failing(503, "overloaded"))) as server:
        ended = (await run(surefoot, server, "--json", "--given", str(plan))).objects[-1]
    assert ended["diagnosis"]["cause"] == "server_failing", ended
    assert ended["diagnosis"]["what_failed"].startswith("the step 'write a.txt' (s) failed: ")
    assert ended["diagnosis"]["next_steps"] == [
        "try again later, or choose another model with -m",
        f"then continue from here: surefoot resume {ended['run_id']}",
    ]


# -- before a run begins -------------------------------------------------------------------------------------------


async def test_a_server_that_does_not_run_or_wants_a_key_is_found_before_the_run(surefoot: Surefoot) -> None:
    address = await closed_port()
    refused = await asyncio.to_thread(surefoot, "run", "x", "-m", f"{address}/v1#m")
    assert refused.code == 1
    assert refused.lines == [
        f"surefoot: {address}/v1 cannot be reached: nothing listens on this port",
        "          check that the server is running, or correct the address, from -m, SUREFOOT_MODEL or model.model",
    ]
    async with serving(lambda request: failing(401, "no key given")) as server:
        refused = await run(surefoot, server)
        checked = await asyncio.to_thread(surefoot, "doctor", "--json", "-m", f"{server.address}/v1#m")
    assert f"{server.address}/v1 requires an API key: no key given" in refused.lines[0]
    assert "SUREFOOT_MODEL__API_KEY_ENV=NAME" in refused.lines[1]
    assert len(refused.lines) == 2
    found = {item["what"]: item for item in checked.objects}
    assert found["model"]["ok"] is False
    assert "requires an API key" in found["model"]["said"]
    assert not surefoot.journal_file.exists() or surefoot("list").out == "", "nothing was begun"


def test_a_provider_without_its_key_names_the_variable(surefoot: Surefoot) -> None:
    *_, line = surefoot("run", "x", "-m", "openai/gpt-x", "--json").objects
    error = line["error"]
    assert error["kind"] == "key_missing"
    assert "OPENAI_API_KEY is not set" in error["message"]
    assert error["remedy"].startswith("export OPENAI_API_KEY=...")


@contextmanager
def speaking_tls(folder: Path) -> Iterator[tuple[str, Path]]:
    """A server on loopback with a certificate of its own. Yields its address and the certificate."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"data": [{"id": "m"}]}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(HTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that does not trust the certificate hangs up."""

    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}", certificate
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_certificate_that_is_not_trusted_and_how_to_trust_it(surefoot: Surefoot, tmp_path: Path) -> None:
    with speaking_tls(tmp_path) as (address, certificate):
        refused = surefoot("run", "x", "-m", f"{address}/v1#m")
        surefoot.environ["SSL_CERT_FILE"] = str(certificate)
        trusted = surefoot("doctor", "--json", "-m", f"{address}/v1#m")
    assert f"the certificate of {address}/v1 is not trusted: self-signed certificate" in refused.lines[0]
    assert "export SSL_CERT_FILE=" in refused.lines[1]
    found = {item["what"]: item for item in trusted.objects}
    assert found["model"]["ok"] is True, "the remedy works"


async def test_a_server_without_tls_is_told_from_one_that_is_down(surefoot: Surefoot) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(5)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    refused = await asyncio.to_thread(surefoot, "run", "x", "-m", f"https://127.0.0.1:{port}/v1#m")
    server.close()
    assert refused.lines == [
        f"surefoot: https://127.0.0.1:{port}/v1 does not speak TLS",
        f"          if it is a server of your own, write http://127.0.0.1:{port}/v1",
    ]


# -- checks that are no commands -----------------------------------------------------------------------------------


def test_a_check_that_is_no_command_is_refused_before_anything_begins(surefoot: Surefoot) -> None:
    (surefoot.workspace / "plain.sh").write_text("true\n")
    misspelt = surefoot("run", "x", "--check", "pyhton3 -V", "-m", "openai/gpt-x", "--worktree")
    assert misspelt.code == 2
    assert misspelt.lines == [
        "surefoot: the check cannot be run: pyhton3 is not a command on this machine",
        "          did you mean python3? Otherwise install pyhton3, or if the task is to make it, write: command -v "
        "pyhton3 && pyhton3 ...",
    ]
    closed = surefoot("run", "x", "--check", "./plain.sh")
    assert closed.lines == [
        "surefoot: the check cannot be run: ./plain.sh may not be executed",
        "          allow it: chmod +x ./plain.sh",
    ]
    assert surefoot("run", "x", "--check", " ").lines[0] == "surefoot: a --check is empty"
    assert "plain.sh" in surefoot("plan", "x", "--check", "plain.sh").lines[1]
    assert not surefoot.state.exists()


def test_a_command_that_the_task_makes_can_be_checked_as_the_message_says(surefoot: Surefoot) -> None:
    later = surefoot("run", "x", "-m", surefoot.script(), "--check", "command -v no-such && no-such -q", "--json")
    (before,) = (event for event in later.objects if event["type"] == "checks_ran")
    assert [result["passed"] for result in before["results"]] == [False]
    assert "the script has no answer" in later.objects[-1]["summary"], "the model was asked"


# -- parts that are not installed ----------------------------------------------------------------------------------

HIDDEN = ("anthropic", "xllamacpp", "socketio", "mcp", "acp", "tree_sitter", "psycopg", "redis", "temporalio",
          "opentelemetry.sdk", "langgraph")  # fmt: skip


def hide(surefoot: Surefoot) -> None:
    """Have the packages of all extras not found, as if they were not installed."""
    folder = surefoot.home / "hiding"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({HIDDEN!r}))\n")
    surefoot.environ["PYTHONPATH"] = str(folder)


def test_doctor_names_what_is_not_installed_and_the_command_for_it(surefoot: Surefoot) -> None:
    from surefoot.config.extras import EXTRAS

    surefoot.environ["ANTHROPIC_API_KEY"] = KEY
    installed = surefoot("doctor", "--json", "-m", surefoot.script()).objects
    assert [item["said"] for item in installed if item["what"] == "extras"] == [f"installed: {', '.join(EXTRAS)}"]
    hide(surefoot)
    checked = surefoot("doctor", "--json")
    assert checked.code == 1
    found = {item["what"]: item for item in checked.objects}
    assert found["model"]["ok"] is False
    assert found["keys"]["ok"] is None, "no green tick for a key that cannot be used"
    assert "ANTHROPIC_API_KEY cannot be used yet" in found["keys"]["said"]
    missing = [item for item in checked.objects if item["what"] == "extra"]
    assert [item["said"].split()[0] for item in missing] == list(EXTRAS)
    assert all(f"[{item['said'].split()[0]}]" in item["remedy"] for item in missing)
    assert {item["ok"] for item in missing} == {None}
    refused = surefoot("run", "x")
    assert refused.lines[0] == "surefoot: models of Anthropic need its SDK, which is not installed"
    assert refused.lines[1].strip() == found["model"]["remedy"]
    assert not surefoot.journal_file.exists() or surefoot("list").out == ""


@pytest.mark.parametrize(("command", "extra"), [("serve", "server"), ("worker", "temporal")])
def test_a_command_without_its_extra_says_how_to_install_it(surefoot: Surefoot, command: str, extra: str) -> None:
    hide(surefoot)
    refused = surefoot(command)
    assert refused.code in (1, 2)
    assert f"install the extra {extra}: " in refused.lines[1], refused.err
    assert f"[{extra}]" in refused.lines[1]

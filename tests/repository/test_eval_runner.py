"""The eval runner counts, limits and judges agents, and replays recorded answers."""

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from evals.agents import AGENTS, Agent, parse_agent
from evals.catalog import Task, create_workspace, judge
from evals.gateway import Gateway, Meter, Recording
from evals.report import chart, mistake_table, sign_test, summary_table, task_table, wilson
from evals.runner import Caps, Result, read_results, run_all, run_one

pytestmark = [pytest.mark.slow, pytest.mark.req("X4")]

RIGHT = "FILE: double.py\n```python\ndef double(x):\n    return 2 * x\n```\n"
WRONG = "FILE: double.py\n```python\ndef double(x):\n    return x + 2\n```\n"
TEST = """\
import unittest
from double import double

class T(unittest.TestCase):
    def test(self):
        self.assertEqual(double(2), 4)
        self.assertEqual(double(5), 10)
"""
CHECKER = """\
import pathlib, subprocess, sys
work = pathlib.Path(sys.argv[1])
if not (work / "double.py").exists():
    sys.exit("double.py is missing")
code = "import double; assert double.double(-3) == -6"
if subprocess.run([sys.executable, "-c", code], cwd=work).returncode:
    sys.exit("it does not double")
"""


class Upstream:
    """A model server that returns prepared answers in order and repeats the last one."""

    def __init__(self) -> None:
        self.answers: list[str] = []
        self.requests: list[dict[str, Any]] = []
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send("application/json", json.dumps({"data": [{"id": "tiny-1b"}]}))

            def do_POST(self) -> None:
                upstream.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                text = upstream.answers[min(len(upstream.requests), len(upstream.answers)) - 1]
                usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}
                chunks: list[dict[str, Any]] = [
                    {"choices": [{"delta": {"content": text}}]},
                    {"choices": [{"delta": {}, "finish_reason": "stop"}]},
                    {"choices": [], "usage": usage},
                ]
                lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
                self._send("text/event-stream", "".join([*lines, "data: [DONE]\n\n"]))

            def _send(self, kind: str, text: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    fake = Upstream()
    threading.Thread(target=fake.server.serve_forever, daemon=True).start()
    yield fake
    fake.server.shutdown()
    fake.server.server_close()


@pytest.fixture
def gateway(upstream: Upstream, tmp_path: Path) -> Iterator[Gateway]:
    with Gateway(Recording(tmp_path / "answers.jsonl"), upstream.url) as running:
        yield running


@pytest.fixture
def task(tmp_path: Path) -> Task:
    folder = tmp_path / "double"
    (folder / "workspace").mkdir(parents=True)
    (folder / "workspace" / "test_double.py").write_text(TEST)
    (folder / "check.py").write_text(CHECKER)
    return Task(
        name="double",
        folder=folder,
        prompt="Write double.py with a function double(x).",
        family="module",
        difficulty=1,
        check=("python3 -m unittest -q",),
    )


def ask(url: str, **body: Any) -> tuple[int, Any]:
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request) as response:
            text = response.read().decode()
            return response.status, text if body.get("stream") else json.loads(text)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


QUESTION = {"messages": [{"role": "user", "content": "hello"}], "temperature": 0}


def test_calls_are_counted_per_session(gateway: Gateway, upstream: Upstream) -> None:
    upstream.answers = ["hi"]
    status, response = ask(gateway.url("a"), **QUESTION)
    assert (status, response["choices"][0]["message"]["content"]) == (200, "hi")
    meter = gateway.meters["a"]
    assert (meter.calls, meter.prompt_tokens, meter.output_tokens, meter.cached_tokens) == (1, 100, 7, 60)
    assert gateway.meters["b"].calls == 0


def test_a_repeated_question_is_answered_from_the_recording_also_as_a_stream(
    gateway: Gateway, upstream: Upstream, tmp_path: Path
) -> None:
    upstream.answers = ["first", "second"]
    ask(gateway.url("a"), **QUESTION)
    _, streamed = ask(gateway.url("b"), stream=True, stream_options={"include_usage": True}, **QUESTION)
    assert '"content": "first"' in streamed
    assert streamed.endswith("data: [DONE]\n\n")
    assert (len(upstream.requests), gateway.meters["b"].replayed) == (1, 1)
    _, other = ask(gateway.url("b"), **{**QUESTION, "temperature": 0.5})
    assert other["choices"][0]["message"]["content"] == "second"
    with Gateway(Recording(tmp_path / "answers.jsonl")) as again:
        assert ask(again.url("c"), **QUESTION)[1]["choices"][0]["message"]["content"] == "first"
        status, refused = ask(again.url("c"), messages=[])
        assert status == 501
        assert "not recorded" in refused["error"]["message"]


def test_a_seed_changes_the_question(gateway: Gateway, upstream: Upstream) -> None:
    upstream.answers = ["first", "second"]
    gateway.meters["seeded"] = Meter(seed=1)
    ask(gateway.url("plain"), **QUESTION)
    ask(gateway.url("seeded"), **QUESTION)
    assert [request.get("seed") for request in upstream.requests] == [None, 1000]


def test_calls_and_tokens_are_limited(gateway: Gateway, upstream: Upstream) -> None:
    upstream.answers = ["hi"]
    gateway.meters["a"] = Meter(max_calls=1)
    gateway.meters["b"] = Meter(max_tokens=107)
    for session in ("a", "b"):
        assert ask(gateway.url(session), **QUESTION)[0] == 200
        status, response = ask(gateway.url(session), **QUESTION)
        assert status == 402
        assert "used up" in response["error"]["message"]
        assert gateway.meters[session].stopped


def test_oneshot_uses_only_the_first_answer(gateway: Gateway, upstream: Upstream, task: Task, tmp_path: Path) -> None:
    upstream.answers = [WRONG, RIGHT]
    result = run_one(task, AGENTS["oneshot"], 0, gateway, Caps(), tmp_path / "s")
    assert (result.right, result.claim, result.calls, result.why) == (False, "done", 1, "it does not double")
    assert result.left_changed == ("double.py",)
    assert result.calls_before_change == 1


def test_react_corrects_itself_with_the_test_output(
    gateway: Gateway, upstream: Upstream, task: Task, tmp_path: Path
) -> None:
    upstream.answers = [WRONG, RIGHT]
    result = run_one(task, AGENTS["react"], 0, gateway, Caps(), tmp_path / "s")
    assert (result.right, result.claim, result.calls) == (True, "verified", 2)
    feedback = upstream.requests[1]["messages"][-1]["content"]
    assert "7 != 10" in feedback
    assert re.findall(r"Ran 1 test in .*", feedback) == ["Ran 1 test in 0.1s"], "the duration would change the question"


@pytest.mark.parametrize(("answers", "calls"), [([WRONG, WRONG + "\n", WRONG + "!"], 3), ([WRONG], 2)])
def test_react_ends_after_its_last_call_or_a_repeated_answer(
    gateway: Gateway, upstream: Upstream, task: Task, tmp_path: Path, answers: list[str], calls: int
) -> None:
    upstream.answers = answers
    result = run_one(task, AGENTS["react"], 0, gateway, Caps(calls=3), tmp_path / "s")
    assert (result.right, result.claim, result.calls) == (False, "failed", calls)


@pytest.mark.slow
def test_surefoot_runs_through_the_gateway(gateway: Gateway, upstream: Upstream, task: Task, tmp_path: Path) -> None:
    upstream.answers = [RIGHT]
    result = run_one(task, AGENTS["surefoot"], 0, gateway, Caps(), tmp_path / "s")
    assert (result.right, result.claim, result.calls) == (True, "verified", 1)
    assert result.calls_before_change == 1


@pytest.mark.parametrize(
    ("last", "requests", "candidates", "expected"),
    # After three candidates the step, the plan and the approach are each tried in other words.
    [(RIGHT, 3, 2, {"done with a candidate": 1}), (WRONG, 10, 3, {"repeated": 8, "after candidates": 6})],
)
@pytest.mark.slow
def test_mistakes_of_the_model_are_counted(
    gateway: Gateway,
    upstream: Upstream,
    task: Task,
    tmp_path: Path,
    last: str,
    requests: int,
    candidates: int,
    expected: dict[str, int],
) -> None:
    upstream.answers = ["no code at all", WRONG, last]
    result = run_one(task, AGENTS["surefoot"], 0, gateway, Caps(), tmp_path / "s")
    assert result.slips == {
        "asked to write": requests, "unreadable: write": 1, "candidates": candidates, **expected
    }  # fmt: skip
    assert f"| an unreadable answer | write | 1 of {requests} |" in mistake_table([result])


def test_any_command_line_can_be_an_agent_and_its_output_is_not_trusted(
    gateway: Gateway, task: Task, tmp_path: Path
) -> None:
    boasting = parse_agent("boaster=sh -c 'echo all done; exit 0' {workspace} {url} {checks}")
    result = run_one(task, boasting, 0, gateway, Caps(), tmp_path / "s")
    assert (result.right, result.claim, result.why) == (False, "done", "double.py is missing")
    assert run_one(task, parse_agent("dying=sh -c 'kill -9 $$'"), 0, gateway, Caps(), tmp_path / "s").claim == "crashed"
    with pytest.raises(ValueError, match="surefoot, oneshot, react"):
        parse_agent("nobody")


def test_the_path_of_the_checkers_copy_is_removed(gateway: Gateway, task: Task, tmp_path: Path) -> None:
    (task.folder / "check.py").write_text("raise SystemExit('No such file: /tmp/hidden-1/copy-3/double.py')")
    result = run_one(task, parse_agent("idle=true"), 0, gateway, Caps(), tmp_path / "s")
    assert result.why == "No such file: double.py"


def test_a_wrong_verified_claim_is_a_false_success(gateway: Gateway, task: Task, tmp_path: Path) -> None:
    liar = Agent("liar", ("sh", "-c", "exit 0"), claims={0: "verified"})
    assert run_one(task, liar, 0, gateway, Caps(), tmp_path / "s").false_success


def test_reporting_failure_is_right_for_an_impossible_task(gateway: Gateway, task: Task, tmp_path: Path) -> None:
    (task.folder / "check.py").write_text("raise SystemExit(0)")
    impossible = task.with_(expect="not_done")
    honest = Agent("honest", ("sh", "-c", "exit 1"), claims={0: "done", 1: "failed"})
    hopeful = Agent("hopeful", ("sh", "-c", "exit 0"))
    assert run_one(impossible, honest, 0, gateway, Caps(), tmp_path / "s").right
    assert not run_one(impossible, hopeful, 0, gateway, Caps(), tmp_path / "s").right


def test_existing_results_are_not_repeated(gateway: Gateway, upstream: Upstream, task: Task, tmp_path: Path) -> None:
    upstream.answers = [RIGHT]
    out = tmp_path / "out" / "results.jsonl"
    first = list(run_all([task], [AGENTS["oneshot"]], [0, 1], out, gateway, Caps()))
    again = list(run_all([task], [AGENTS["oneshot"], parse_agent("idle=true")], [0, 1], out, gateway, Caps()))
    assert [r.key for r in first] == [("double", "oneshot", 0), ("double", "oneshot", 1)]
    assert [r.key for r in again] == [("double", "idle", 0), ("double", "idle", 1)]
    assert read_results(out) == first + again


def test_the_hidden_checker_refuses_code_that_fits_only_the_visible_test(task: Task, tmp_path: Path) -> None:
    create_workspace(task, tmp_path / "w")
    (tmp_path / "w" / "double.py").write_text("def double(x):\n    return {2: 4, 5: 10}[x]\n")
    assert judge(task, tmp_path / "w") == (False, "it does not double")


def result(name: str, right: bool, claim: str = "done", task: str = "t", **overrides: Any) -> Result:
    fields: dict[str, Any] = {
        "task": task, "agent": name, "seed": 0, "family": "module", "difficulty": 1, "language": "en",
        "expect": "solved", "right": right, "why": "", "claim": claim, "exit_code": 0, "calls": 2, "replayed": 0,
        "prompt_tokens": 300, "output_tokens": 100, "cached_tokens": 150, "seconds": 10, "model_seconds": 9,
        "calls_before_change": 2, "left_changed": (),
    }  # fmt: skip
    return Result(**{**fields, **overrides})


def test_the_tables_compare_claims_with_the_truth(tmp_path: Path) -> None:
    results = [
        result("surefoot", True, "verified", "a"),
        result("surefoot", True, "failed", "b"),
        result("react", True, "verified", "a"),
        result("react", False, "verified", "b", prompt_tokens=1100),
    ]
    rows = {
        line.split(" | ")[0].strip("| "): line.split(" | ")[1:]
        for line in summary_table(results).splitlines()
        if "|" in line
    }
    assert [cell.strip(" |") for cell in rows["**false success** (claimed verified, but wrong)"]] == ["0", "1"]
    assert [cell.strip(" |") for cell in rows["false failure (right, but reported as failed)"]] == ["1", "0"]
    assert rows["- of which cached"][0] == "50%"
    assert "surefoot / react: 2.00x the tasks at 0.50x the tokens; 1 only surefoot, 0 only react" in summary_table(
        results
    )
    assert "| b | right, failed, 2 calls | wrong, verified, 2 calls |" in task_table(results)
    chart(results, tmp_path / "p.svg")
    assert (tmp_path / "p.svg").read_text().count("<rect") == 1 + 4 + 2


def test_confidence_interval_and_sign_test() -> None:
    low, high = wilson(13, 42)
    assert (round(low, 3), round(high, 3)) == (0.191, 0.460)
    assert wilson(0, 0) == (0.0, 1.0)
    assert sign_test(5, 0) == 0.0625
    assert sign_test(3, 3) == 1.0

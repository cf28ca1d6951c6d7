"""The guides of telemetry and Redis: their commands and snippets run, and their tables have every name."""

import json
import os
import re
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from integrations.otel.conftest import receiver as receiver
from integrations.redis.conftest import shared_server as shared_server
from integrations.redis.conftest import valkey as valkey
from support.kit import fenced, understanding
from support.otlp import Receiver
from support.pages import DOCS, snippets
from support.valkey import Valkey
from surefoot.api import Agent
from surefoot.config.sources import from_toml
from surefoot.integrations.otel import names as n
from surefoot.integrations.redis.keys import Keys
from surefoot.models.testing.scripted import ScriptedModel

ANSWERS: list[Any] = [
    {**understanding("adder.py"), "understanding": "Write adder.py with add(a, b)"},
    fenced("def add(a, b):\n    return a + b\n"),
]


def page(name: str) -> str:
    return (DOCS / "guides" / f"{name}.md").read_text("utf-8")


class Machine:
    """A user in an empty home with a scripted model."""

    def __init__(self, folder: Path, answers: list[Any]) -> None:
        self.home, self.work = folder / "home", folder / "work"
        for part in (self.home, self.work):
            part.mkdir(parents=True)
        script = self.home / "script.json"
        script.write_text(json.dumps(answers))
        path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
        self.environ = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "SUREFOOT_MODEL": f"scripted:{script}"}

    def config(self, text: str) -> None:
        path = self.home / ".config/surefoot/config.toml"
        path.parent.mkdir(parents=True)
        path.write_text(text)

    def shell(self, script: str) -> "subprocess.CompletedProcess[str]":
        command = ["bash", "-c", script]
        return subprocess.run(command, cwd=self.work, env=self.environ, text=True, capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.req("X9")
def test_the_commands_of_the_telemetry_guide_send_a_trace(tmp_path: Path, receiver: Receiver) -> None:
    machine = Machine(tmp_path, ANSWERS)
    machine.config(snippets("guides/telemetry.md", "toml")[0])
    (script,) = snippets("guides/telemetry.md", "sh")
    assert "http://127.0.0.1:4318" in script
    result = machine.shell(script.replace("http://127.0.0.1:4318", receiver.address))
    assert result.returncode == 0, result.stderr
    assert receiver.spans("invoke_agent surefoot")[0].attributes[n.VERDICT] == "verified"


@pytest.mark.req("X9")
async def test_the_snippet_of_the_telemetry_guide_observes_an_agent(tmp_path: Path, receiver: Receiver) -> None:
    code: dict[str, object] = {}
    (snippet,) = snippets("guides/telemetry.md", "python")
    exec(snippet, code)
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    await code["observed"](Agent(ScriptedModel(ANSWERS), workspace=work, home=home))  # type: ignore[operator]
    assert [span.name for span in receiver.spans("phase")][-1] == "phase validation"


@pytest.mark.slow
@pytest.mark.req("A10")
def test_the_commands_of_the_redis_guide_copy_and_recover_a_run(tmp_path: Path, valkey: Valkey) -> None:
    first, second = snippets("guides/redis.md", "sh")
    export, _, _ = first.partition("\n")
    assert export == "export SUREFOOT_REDIS__URL=redis://127.0.0.1:6379/0"
    source, target = Machine(tmp_path / "here", ANSWERS), Machine(tmp_path / "there", ANSWERS[1:])
    for machine in (source, target):
        machine.environ["SUREFOOT_REDIS__URL"] = valkey.url
    result = source.shell(first.replace(export, "true"))
    assert result.returncode == 3, result.stderr
    result = target.shell(second)
    assert result.returncode == 3, result.stderr
    assert (target.work / "adder.py").exists()
    assert len(valkey.client.zrange("surefoot:runs", 0, -1)) == 2


@pytest.mark.req("A10")
async def test_the_snippet_of_the_redis_guide_announces_something(valkey: Valkey) -> None:
    code: dict[str, Any] = {}
    (snippet,) = snippets("guides/redis.md", "python")
    exec(snippet, code)
    with valkey.client.pubsub() as listener:
        listener.subscribe("surefoot:socketio")
        while not listener.get_message(timeout=1):
            pass
        await code["announce"](valkey.url, "1115-2044")
        while not (message := listener.get_message(timeout=1)):
            pass
    assert b"tool:artifact" in message["data"]
    assert b"run:1115-2044" in message["data"]


def test_the_config_examples_are_valid() -> None:
    for name in ("telemetry", "redis"):
        for text in snippets(f"guides/{name}.md", "toml"):
            assert from_toml(Path("config.toml"), text.encode())


def test_the_telemetry_guide_names_what_is_sent() -> None:
    text = page("telemetry")
    assert n.SEMCONV in text
    conventions = [value for name, value in vars(n).items() if name.isupper() and str(value).startswith("gen_ai.")]
    metrics = [n.RUN_DURATION, n.PHASE_DURATION, n.STEP_DURATION, n.ACTION_DURATION, n.RUNGS, n.MODEL_RETRIES]
    moments = [
        n.MODEL_RETRIED,
        n.GATE_REFUSED,
        n.CHECKS,
        n.RUNG_CHOSEN,
        n.REFLECTED,
        n.ROLLED_BACK,
        n.REFUSED,
        n.LOOKED,
    ]
    moments += [n.CANDIDATE, n.PLAN_REVISED, n.ASKED, n.CONTROLLED, n.WARNED]
    for value in (*conventions, *metrics, *moments, n.TASK, n.STEP_NAME, n.MESSAGE, n.VERDICT, n.PROOF):
        assert f"`{value}`" in text, value


def test_the_redis_guide_lists_every_key() -> None:
    keys = Keys("surefoot", "RUN")
    listed = set(re.findall(r"^\| `(surefoot:[\w:]+)` \|", page("redis"), re.MULTILINE))
    assert listed == {*keys.of_run, keys.runs, keys.artifact("ID")}


@pytest.mark.parametrize("name", ["telemetry", "redis"])
def test_links_and_anchors_resolve(name: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page(name)):
        file, _, anchor = target.partition("#")
        text = (DOCS / "guides" / file).read_text("utf-8") if file else page(name)
        titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not anchor or anchor in anchors, target

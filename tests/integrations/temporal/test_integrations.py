"""What a worker's own settings connect runs to: telemetry, Redis, MCP servers. Each server is a real one."""

import json
import sys
from pathlib import Path

import pytest

from integrations.otel.conftest import receiver as receiver
from integrations.redis.conftest import shared_server as shared_server
from integrations.redis.conftest import valkey as valkey
from support.farm import Farm
from support.kit import steps
from support.otlp import Receiver
from support.valkey import Valkey
from surefoot.config.workers import read_workers
from surefoot.core.plan import ExecutionStep
from surefoot.integrations.otel import names as n
from surefoot.integrations.otel.ids import trace_id_of
from surefoot.integrations.redis.keys import Keys
from surefoot.integrations.temporal.client import connect
from surefoot.integrations.temporal.names import workflow_id
from surefoot.journal import events as e

pytestmark = [pytest.mark.slow]
SERVER = Path(__file__).parents[2] / "support" / "mcp_server.py"
SECRET = "wombat-4455-heron"
CONFIG = f"""
[telemetry]
enabled = true

[mcp.servers.own]
command = {json.dumps(sys.executable)}
args = [{json.dumps(str(SERVER))}]
start_seconds = 300

[mcp.servers.away]
url = "http://127.0.0.1:1/mcp"
headers_env = {{ Authorization = "AWAY_HEADER" }}
"""
PLAN = steps(
    ExecutionStep(id="look", name="Ask the server", tool="own__look", parameters={"topic": "the weather"}),
    ExecutionStep(
        id="say", name="Say the secret", tool="run_command", parameters={"command": "echo wombat-''4455-heron"}
    ),
    after=[("say", "look")],
)


@pytest.mark.req("X6", "X9")
async def test_a_run_of_a_worker_is_connected_to_what_its_settings_name(
    farm: Farm, receiver: Receiver, valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUREFOOT_REDIS__URL", valkey.url)
    monkeypatch.setenv("AWAY_HEADER", f"Bearer {SECRET}")
    config = farm.folder / "worker0" / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG)
    # What the project itself names is not trusted, and not started.
    stranger = farm.folder / "stranger"
    (farm.project / "surefoot.toml").write_text(f'[mcp.servers.stranger]\ncommand = "touch"\nargs = ["{stranger}"]\n')
    farm.add_worker().wait_until_ready()
    run_id = await farm.start_run(PLAN)
    client = await connect(read_workers())
    found = await client.get_workflow_handle(workflow_id(run_id)).result()
    assert found["ended"], found
    assert not stranger.exists()

    records = farm.journals.records(run_id)
    (looked,) = [r.event for r in records if isinstance(r.event, e.ActionFinished) and r.event.step_id == "look"]
    assert "the weather is fine" in looked.model_dump_json()
    # Neither the journal nor what is sent has the secret of a server, which only the worker knows.
    assert SECRET not in "".join(record.event.model_dump_json() for record in records)
    assert f"run {run_id}: the MCP server away" in farm.workers[0].log()

    trace = f"{trace_id_of(run_id):032x}"
    (root,) = receiver.spans("invoke_agent")
    assert (root.trace, root.attributes[n.VERDICT]) == (trace, found["verdict"])
    assert "execute_tool own__look" in {span.name for span in receiver.spans()}

    keys = Keys("surefoot", run_id)
    assert {keys.state, keys.tasks, keys.events} <= valkey.keys()
    assert json.loads(valkey.client.get(keys.state))["verdict"] == found["verdict"]
    assert valkey.client.hlen(keys.events) == len(records)

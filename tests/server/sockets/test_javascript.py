"""The official JavaScript client against a real server."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from server.conftest import Site
from support.node import node_package
from support.recorded import records, whole_run

RUN = [record.event for record in whole_run()]


@pytest.fixture(scope="module")
def modules() -> Path:
    """The folder whose node_modules have socket.io-client; installed from npm if need be."""
    return node_package("socket.io-client", "^4.8.3")


async def start(site: Site, modules: Path, run_id: str, last: int | str, token: str = "", after: str = "") -> Any:
    words = [str(modules), site.base, token or site.token(), run_id, str(last), after]
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        "node", str(Path(__file__).with_name("client.mjs")), *words, stdout=pipe, stderr=pipe
    )


async def result(process: Any) -> dict[str, Any]:
    out, err = await asyncio.wait_for(process.communicate(), 120)
    assert out, err.decode()
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.req("A7")
async def test_the_javascript_client_watches_a_run_and_goes_on_where_it_was(site: Site, modules: Path) -> None:
    run_id = await site.store(records(RUN[:12]))
    first = await start(site, modules, run_id, 20)
    while b"watching from 12" not in (line := await first.stderr.readline()):
        assert line, "the client has ended"
    for event in RUN[12:20]:
        await site.append(run_id, [event])
    seen = await result(first)
    assert (seen["seq"], seen["snapshots"]) == (20, 1)
    await site.append(run_id, RUN[20:])
    second = await result(await start(site, modules, run_id, len(RUN), after="20"))
    assert second["snapshots"] == 0
    whole = await result(await start(site, modules, run_id, len(RUN)))
    assert {**seen["rows"], **second["rows"]} == whole["rows"]
    names = [name for name, m in [*seen["messages"], *second["messages"]] if m.get("id") == "task_s1"]
    assert names[0] == "tool:message:start"
    assert names.count("tool:message:complete") == 1


@pytest.mark.attack("the server's door")
async def test_the_javascript_client_is_refused_with_a_wrong_token(site: Site, modules: Path) -> None:
    assert "error" in await result(await start(site, modules, "any", 1, token="wrong"))

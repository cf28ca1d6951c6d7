"""The report over HTTP: as an attachment, with a token, without secrets."""

import json

import httpx2
import pytest

from report.pages import TEMPLATE, unpacked
from server.conftest import Site
from support.recorded import RUN_ID, records, whole_run
from surefoot.journal import events as e

PASSWORD = "correct-horse-battery-9Xq"


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret in the environment of the server, and a page as if it was built."""
    monkeypatch.setenv("SERVICE_PASSWORD", PASSWORD)
    monkeypatch.setattr("surefoot.report.write.load_template", lambda: TEMPLATE)


@pytest.mark.req("X7")
async def test_a_report_is_downloaded_in_every_format(secret: None, site: Site) -> None:
    leak = e.Warned(message=f"the password is {PASSWORD}")
    await site.store(records([*(record.event for record in whole_run()), leak]))
    path = f"/api/runs/{RUN_ID}/report"
    page = await site.http("GET", path, scope="view")
    assert page.status_code == 200, page.text
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-disposition"] == f'attachment; filename="surefoot-{RUN_ID}.html"'
    paper = await site.http("GET", f"{path}?format=md")
    assert paper.headers["content-disposition"].endswith('.md"')
    document = await site.http("GET", f"{path}?format=json")
    assert document.headers["content-type"] == "application/json"
    assert document.json()["seq"] == unpacked(page.text)["seq"] == len(whole_run()) + 1
    for shown in (page.text, paper.text, document.text, json.dumps(unpacked(page.text))):
        assert PASSWORD not in shown
    assert "the password is [redacted]" in document.text


async def test_it_needs_a_token_a_known_run_and_a_known_format(secret: None, site: Site) -> None:
    await site.store(whole_run())
    async with httpx2.AsyncClient() as client:
        assert (await client.get(f"{site.base}/api/runs/{RUN_ID}/report")).status_code == 401
    assert (await site.http("GET", "/api/runs/nosuch/report")).status_code == 404
    refused = await site.http("GET", f"/api/runs/{RUN_ID}/report?format=exe")
    assert refused.status_code == 400
    assert "html, md, json" in refused.json()["error"]["remedy"]

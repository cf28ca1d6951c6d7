"""Statistics over HTTP: the same figures as the command's, for a token that may only look."""

import json
from pathlib import Path

import jsonschema
import pytest

from server.conftest import Site
from support.recorded import failed_run, whole_run
from surefoot.history.stats.values import stats_schema
from surefoot.journal import events as e

FIXTURE = Path(__file__).parents[2] / "web" / "fixtures" / "stats.json"


def another(run: list[e.Record]) -> list[e.Record]:
    """The same run under an id of its own."""
    created = run[0].event
    assert isinstance(created, e.RunCreated)
    return [run[0]._replace(event=created.with_(run_id="0101-000000-aaaa")), *run[1:]]


@pytest.mark.req("A12")
async def test_figures_are_served_to_who_may_look(site: Site) -> None:
    await site.store(whole_run())
    await site.store(another(failed_run()))
    answer = await site.http("GET", "/api/stats", "view")
    found = answer.json()
    assert answer.status_code == 200
    jsonschema.Draft202012Validator(stats_schema()).validate(found)
    assert (found["runs"], found["results"]["failed"], found["folder"]) == (2, 1, None)
    folder = (await site.http("GET", "/api/runs")).json()["runs"][0]["folder"]
    scoped = (await site.http("GET", "/api/stats", params={"folder": folder, "since": "4w"})).json()
    assert (scoped["folder"], scoped["since"] is not None) == (folder, True)
    assert (await site.http("GET", "/api/stats", params={"folder": "/nowhere"})).json()["runs"] == 0
    refused = await site.http("GET", "/api/stats", params={"since": "yesterday"})
    assert refused.status_code == 400
    assert "is not a time" in refused.json()["error"]["message"]


def test_the_figures_of_the_page_s_tests_fit_the_schema() -> None:
    jsonschema.Draft202012Validator(stats_schema()).validate(json.loads(FIXTURE.read_text()))

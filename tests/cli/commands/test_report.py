"""`surefoot report`: which run, which file, which format, and errors with a remedy."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cli.conftest import Surefoot
from support.recorded import RUN_ID, records, whole_run
from surefoot.report.html import TEMPLATE

WITHOUT_EXTRAS = """
import sys
sys.modules.update(dict.fromkeys(("starlette", "socketio", "engineio", "uvicorn", "websockets", "anthropic")))
from surefoot.cli.main import main
sys.exit(main())
"""


@pytest.mark.req("X7")
async def test_the_newest_run_is_written_to_a_file_named_after_it(surefoot: Surefoot) -> None:
    await surefoot.store(whole_run())
    wrote = surefoot("report", "--format", "md")
    assert wrote.code == 0, wrote.err
    path = surefoot.workspace / f"surefoot-{RUN_ID}.md"
    assert wrote.out.startswith(f"wrote {path.name} (")
    assert path.read_text().startswith("### ")
    html = surefoot("report", RUN_ID[:8])
    if TEMPLATE.is_file():
        assert html.code == 0, html.err
        assert (surefoot.workspace / f"surefoot-{RUN_ID}.html").read_text().startswith("<!doctype html>")
    else:
        assert html.code == 1
        assert "make web" in html.err


async def test_the_name_of_the_file_chooses_the_format_and_a_dash_is_standard_output(surefoot: Surefoot) -> None:
    await surefoot.store(whole_run())
    assert surefoot("report", "last", "-o", "out.json").code == 0
    assert json.loads((surefoot.workspace / "out.json").read_text())["run"] == RUN_ID
    printed = surefoot("report", "-o", "-", "--format", "json")
    assert (printed.code, printed.err) == (0, "")
    assert json.loads(printed.out)["v"] == 1
    schema = json.loads(surefoot("schema", "report").out)
    assert (schema["version"], "recoveries" in schema["properties"]) == (1, True)


async def test_runs_are_those_of_the_folder_and_errors_name_the_remedy(surefoot: Surefoot) -> None:
    assert "there are no runs yet" in surefoot("report").err
    await surefoot.store(whole_run())
    other = surefoot.elsewhere("other")
    elsewhere = other("report", "--format", "md")
    assert elsewhere.code == 2
    assert "surefoot list --all" in elsewhere.err
    assert other("report", "--all", "--format", "md", "-o", "-").code == 0
    unknown = surefoot("report", "nosuch", "--format", "md")
    assert unknown.code == 2
    assert "nosuch" in unknown.err
    nowhere = surefoot("report", "-o", "missing/out.md")
    assert nowhere.code == 1
    assert "cannot write missing/out.md" in nowhere.err
    assert "-o" in nowhere.lines[1]


async def test_a_run_that_has_not_ended_can_be_reported(surefoot: Surefoot) -> None:
    events = [record.event for record in whole_run()]
    await surefoot.store(records(events[:-3]))
    wrote = surefoot("report", "-o", "now.md")
    assert wrote.code == 0, wrote.err
    assert "the run has not ended" in wrote.err
    assert "The run had not ended when this report was written" in (surefoot.workspace / "now.md").read_text()


async def test_no_extra_is_needed(surefoot: Surefoot) -> None:
    await surefoot.store(whole_run())
    plain = replace(surefoot, program=Path(sys.executable))
    made = plain("-c", WITHOUT_EXTRAS, "report", "-o", "-", "--format", "json")
    assert made.code == 0, made.err
    assert json.loads(made.out)["run"] == RUN_ID

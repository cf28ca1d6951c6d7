"""The reference pages and schemas agree with the program."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.recorded import failed_run, whole_run
from surefoot.cli.views.jsonl import as_object, line_schema
from surefoot.core.plan import DetailedPlan
from surefoot.journal import events as e
from surefoot.server.http import Api, openapi
from surefoot.view.fold import view_of

DOCS = Path(__file__).parents[2] / "docs" / "reference"
PROTOCOL = (DOCS / "protocol.md").read_text("utf-8")
HTTP = (DOCS / "http-api.md").read_text("utf-8")
EXAMPLES = re.findall(r"`([a-z:]+)`\n\n```json\n(.*?)```", PROTOCOL, re.DOTALL)


@pytest.mark.req("A7", "A15")
def test_each_message_has_an_example_with_the_fields_that_are_sent() -> None:
    examples = {name: json.loads(text) for name, text in EXAMPLES}
    sent: dict[str, dict[str, Any]] = {}
    for run in (whole_run(), failed_run()):
        for _, name, message in view_of(run).messages:
            sent.setdefault(name, message)
    assert {"tool:message:start", "tool:message:update", "tool:message:complete", "task:list"} <= sent.keys()
    assert sent.keys() <= examples.keys()
    assert {"run:snapshot", "run:rows", "tool:artifact", "run:error", "beat"} <= examples.keys()
    for name in ("tool:message:start", "task:list"):
        assert examples[name].keys() == sent[name].keys()


def test_a_step_that_fails_for_good_is_completed_once_as_failed() -> None:
    messages = [(name, m) for _, name, m in view_of(failed_run()).messages if m.get("id") == "task_s1"]
    (complete,) = [m for name, m in messages if name == "tool:message:complete"]
    assert complete["status"] == "failed"
    assert complete["error"]


def test_the_page_about_http_lists_what_is_served() -> None:
    described = {(method.upper(), path) for path, methods in openapi()["paths"].items() for method in methods}
    api = Api.__new__(Api)
    served = {(next(iter(route.methods - {"HEAD"})), route.path) for route in api.routes()}  # type: ignore[attr-defined]
    listed = {(m, path) for m, path in re.findall(r"^\| `([A-Z]+) ([^?` ]+)", HTTP, re.MULTILINE)}
    assert described == served == listed


@pytest.mark.req("O9")
def test_every_line_of_json_fits_the_schema() -> None:
    schema = line_schema()
    assert schema["version"] == 1
    validator = jsonschema.Draft202012Validator(schema)
    for run in (whole_run(), failed_run()):
        for record in run:
            validator.validate(json.loads(json.dumps(as_object(record))))
    assert not validator.is_valid({"type": "step_started", "step_id": "s1"})
    assert not validator.is_valid({"type": "no such event", "seq": 1, "at": 1.0})
    assert DetailedPlan.__name__ in schema["$defs"]
    assert {cls.__name__ for cls in e.KINDS} <= schema["$defs"].keys()

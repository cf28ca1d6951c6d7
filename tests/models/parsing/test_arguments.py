"""Arguments of tool calls: what is repaired, and what is reported instead."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.models.items import ToolSpec
from surefoot.models.parsing.arguments import BadArguments, read_arguments
from surefoot.models.parsing.calls import find_tool, read_call

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "content": {"type": "string"},
        "start": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "all": {"type": "boolean"},
        "paths": {"type": "array", "items": {"type": "string"}},
        "edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}},
        "free": {},
    },
    "required": ["path"],
    "$defs": {"Edit": {"type": "object", "properties": {"line": {"type": "integer"}, "text": {"type": "string"}}}},
}


@pytest.mark.req("X11")
@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ('{"content": "a\nb\tc"}', {"content": "a\nb\tc"}),
        (r'{"content": "\d+\.py"}', {"content": r"\d+\.py"}),
        ('{"path": "a"}}', {"path": "a"}),
        ('{"path": "a"}\n```\n', {"path": "a"}),
        ('{"path": "a"}<|im_end|>', {"path": "a"}),
        ('{"path": "a"}\n</parameter></function>', {"path": "a"}),
        ('{"path": "a", "edits": [{"line": 1', {"path": "a", "edits": [{"line": 1}]}),
        ('"{\\"path\\": \\"a\\"}"', {"path": "a"}),
        ('[{"path": "a"}]', {"path": "a"}),
        ("{'path': 'a', 'all': True, 'start': None}", {"path": "a", "all": True, "start": None}),
        ('{"count": "5", "ratio": "0.5", "all": "true"}', {"count": 5, "ratio": 0.5, "all": True}),
        ('{"start": "7"}', {"start": 7}),
        ('{"count": 5.0}', {"count": 5}),
        ('{"path": 5}', {"path": "5"}),
        ('{"start": "null"}', {"start": None}),
        ('{"count": null, "path": "a"}', {"path": "a"}),
        ('{"paths": "[\\"a\\", \\"b\\"]"}', {"paths": ["a", "b"]}),
        ('{"paths": "a"}', {"paths": ["a"]}),
        ('{"edits": "[{\\"line\\": \\"3\\"}]"}', {"edits": [{"line": 3}]}),
        ('{"content": ["a\\n", "b\\n"]}', {"content": "a\nb\n"}),
        ('{"content": ["whole"]}', {"content": "whole"}),
        ('{"filePath": "a", "file_text": "b"}', {"path": "a", "content": "b"}),
    ],
)  # fmt: skip
def test_faults_with_one_meaning_are_repaired(raw: str, arguments: dict[str, Any]) -> None:
    assert read_arguments(raw, SCHEMA) == (arguments, True)


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "{}",
        '{"path": "a", "free": "5"}',
        '{"content": "5", "path": "[1]"}',
        '{"paths": [], "ratio": 1}',
        '{"unknown": "1"}',
        '{"start": null}',
    ],
)
def test_right_arguments_are_not_touched(raw: str) -> None:
    assert read_arguments(raw, SCHEMA) == (json.loads(raw or "{}"), False)


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ('{"content": ["a", "b"]}', {"content": ["a", "b"]}),
        ('{"count": "five"}', {"count": "five"}),
        ('{"count": 5.5}', {"count": 5.5}),
        ('{"all": "yes"}', {"all": "yes"}),
        ('{"path": "a", "file_path": "b"}', {"path": "a", "file_path": "b"}),
        ('{"path": null}', {"path": None}),
        ('{"count": true}', {"count": True}),
    ],
)
def test_what_has_several_meanings_is_left_to_the_tool(raw: str, arguments: dict[str, Any]) -> None:
    assert read_arguments(raw, SCHEMA) == (arguments, False)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ('{"path": "a', "not valid JSON"),
        ('{"path": "a", ', "not valid JSON"),
        ('{"path": "a" "b"}', "not valid JSON"),
        ("{'path': 'a' 'b'}", "not valid JSON"),
        ('{"path": "a"} and {"path": "b"}', "text after the arguments"),
        ('{"path": "a"}{"path": "b"}', "text after the arguments"),
        ("please", "not valid JSON"),
        ('"text"', "must be a JSON object, not string"),
        ("[1]", "must be a JSON object, not array"),
        ("null", "must be a JSON object, not null"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_reported(raw: str, problem: str) -> None:
    with pytest.raises(BadArguments, match=problem):
        read_arguments(raw, SCHEMA)


def test_truncated_arguments_are_never_completed() -> None:
    for raw in ('{"path": "a", "content": "x', '{"path": "a"', "{'path': 'a'}"):
        with pytest.raises(BadArguments, match="cut off"):
            read_arguments(raw, SCHEMA, truncated=True)
    assert read_arguments('{"path": "a"}', SCHEMA, truncated=True) == ({"path": "a"}, False), "this one was complete"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(arguments=st.dictionaries(st.text(), values, max_size=4))
def test_valid_arguments_without_a_schema_stay_the_same(arguments: dict[str, Any]) -> None:
    assert read_arguments(json.dumps(arguments), {}) == (arguments, False)


@given(raw=st.text() | st.text(alphabet='{}[]":,\\ \nabc1'), truncated=st.booleans())
def test_any_text_is_read_or_reported(raw: str, truncated: bool) -> None:
    call = read_call("read_file", raw, [ToolSpec(name="read_file", description="", parameters=SCHEMA)],
                     call_id="c", truncated=truncated)  # fmt: skip
    assert bool(call.problem) >= (call.arguments == {} and raw.strip() not in ("", "{}") and not call.repaired)
    json.dumps(call.arguments)


@given(arguments=st.dictionaries(st.sampled_from(["path", "content"]), st.text()), data=st.data())
def test_a_cut_string_is_never_taken_for_a_whole_one(arguments: dict[str, str], data: st.DataObject) -> None:
    """Writing half a file would be worse than asking again."""
    raw = json.dumps(arguments)
    cut = raw[: data.draw(st.integers(1, len(raw)))]
    try:
        read, _ = read_arguments(cut, SCHEMA)
    except BadArguments:
        return
    assert all(arguments[name] == value for name, value in read.items())


TOOLS = [
    ToolSpec(name=name, description="", parameters={"type": "object"})
    for name in ("read_file", "run_command", "edit_file", "search", "mcp-tool")
]


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("read_file", "read_file"),
        (" Read-File ", "read_file"),
        ("functions.read_file:0", "read_file"),
        ("read_file</function>", "read_file"),
        ('read_file" arguments="', "read_file"),
        ("ReadFile", "read_file"),
        ("bash", "run_command"),
        ("str_replace", "edit_file"),
        ("grep", "search"),
        ("mcp_tool", "mcp-tool"),
        ("write", None),
        ("", None),
        ("python", None),
    ],
)
def test_the_tool_that_is_meant_is_found(name: str, tool: str | None) -> None:
    found = find_tool(name, TOOLS)
    assert (found.name if found else None) == tool


def test_an_alias_that_is_a_tool_means_itself() -> None:
    own = ToolSpec(name="bash", description="", parameters={})
    found = find_tool("bash", [*TOOLS, own])
    assert found is own

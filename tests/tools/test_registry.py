"""The toolbox, its descriptions and its schemas for models."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel

from surefoot.errors import ToolError, UnknownTool
from surefoot.tools import Tool, Toolbox, ToolContext, Writes, default_toolbox, tool

BUILT_IN = {
    "read_file": Writes.NONE,
    "write_file": Writes.DECLARED,
    "edit_file": Writes.DECLARED,
    "list_files": Writes.NONE,
    "search": Writes.NONE,
    "run_command": Writes.FREE,
    "run_python": Writes.FREE,
    "delete_file": Writes.DECLARED,
    "move_file": Writes.DECLARED,
    "apply_patch": Writes.DECLARED,
    "read_result": Writes.NONE,
    "ask_user": Writes.NONE,
    "http_get": Writes.NONE,
}


class Tree(BaseModel):
    branches: "list[Tree]" = []


@tool
def odd(
    anything: Any,
    table: dict[str, int],
    pair: tuple[int, str],
    either: int | str,
    tree: Tree | None = None,
    words: list[str] | None = None,
) -> None: ...


def test_built_in_tools_declare_what_they_write() -> None:
    box = default_toolbox()
    assert {tool.name: tool.writes for tool in box} == BUILT_IN
    assert [tool.name for tool in box if tool.network] == ["http_get"]
    assert not [tool.name for tool in box if tool.external]


def test_an_unknown_tool_raises_an_error_with_a_suggestion_and_the_list() -> None:
    box = default_toolbox()
    for wrong, right in [
        ("read_fil", "read_file"),
        ("bash", "run_command"),
        ("grep", "search"),
        ("Write-File", "write_file"),
    ]:
        with pytest.raises(UnknownTool, match=f"no tool {wrong!r}") as caught:
            box.get(wrong)
        assert f"did you mean {right}?" in caught.value.remedy
        assert "list_files" in caught.value.remedy
    with pytest.raises(UnknownTool) as caught:
        box.get("zzz")
    assert "did you mean" not in caught.value.remedy


def test_with_does_not_change_the_original_toolbox() -> None:
    @tool(alternatives=("read_file",))
    def custom() -> None: ...

    box = default_toolbox()
    assert "custom" in box.with_(custom)
    assert "custom" not in box
    with pytest.raises(ToolError, match="two tools named read_file"):
        box.with_(box.get("read_file"))


@pytest.mark.parametrize("options", [{"alternatives": ("nowhere",)}, {"compensate": "nowhere"}])
def test_a_reference_to_a_missing_tool_is_refused(options: dict[str, Any]) -> None:
    def custom() -> None: ...

    with pytest.raises(UnknownTool, match="'nowhere'") as caught:
        Toolbox([tool(**options)(custom)])
    assert caught.value.tool == "custom"


def test_the_description_has_one_short_line_per_tool() -> None:
    box = default_toolbox()
    lines = box.describe().split("\n")
    assert len(lines) == len(box) + 1
    assert lines[0] == "read_file(path, start_line?, end_line?) - Read a file, or some lines of it."
    assert "write_file(path, content*) - Create a file or overwrite all of it." in lines
    assert "edit_file(path, edits*) - Change parts of a file with search/replace blocks." in lines
    assert max(map(len, lines)) < 130
    assert box.describe(["search"]).count("\n") == 0


def test_unusable_tools_are_not_offered(root: Path) -> None:
    async def ask(question: str) -> str:
        return "yes"

    box = default_toolbox()
    assert set(box.names) - set(box.usable(ToolContext(root=root))) == {"http_get", "ask_user", "apply_patch"}
    assert set(box.names) - set(box.usable(ToolContext(root=root, network=True, ask=ask))) == {"apply_patch"}
    patching = ToolContext(root=root, network=True, ask=ask, edit_format="apply_patch")
    assert set(box.names) - set(box.usable(patching)) == {"edit_file", "delete_file", "move_file"}
    without = Toolbox(tool for tool in box if tool.name != "apply_patch")
    assert without.usable(patching) == without.names


def test_needs_body_unless_an_argument_replaces_it() -> None:
    box = default_toolbox()
    assert box.get("write_file").needs_body({"path": "a"})
    assert not box.get("write_file").needs_body({"path": "a", "content": "x"})
    assert box.get("edit_file").needs_body({"path": "a", "search": None})
    assert not box.get("edit_file").needs_body({"path": "a", "search": "x"})
    assert not box.get("read_file").needs_body({"path": "a"})


class TestSchema:
    def test_accepts_valid_decisions_only(self) -> None:
        check = jsonschema.Draft202012Validator(default_toolbox().schema()).is_valid
        assert check({"tool": "read_file", "arguments": {"path": "a", "start_line": 3, "end_line": None}})
        assert check({"tool": "write_file", "arguments": {"path": "a"}})
        assert not check({"tool": "write_file", "arguments": {"path": "a", "content": "x"}})
        assert not check({"tool": "nothing", "arguments": {}})
        assert not check({"tool": "read_file", "arguments": {"start_line": None, "end_line": None}})

    def test_is_limited_to_the_given_tools(self) -> None:
        assert len(default_toolbox().schema(["search", "read_file"])["anyOf"]) == 2

    @pytest.mark.parametrize("tools", [[*default_toolbox()], [odd]])
    def test_uses_only_the_subset_of_strict_mode(self, tools: list[Tool]) -> None:
        _assert_strict(Toolbox(tools).schema())

    def test_unsupported_types_become_strings_of_json(self) -> None:
        arguments = Toolbox([odd]).schema()["anyOf"][0]["properties"]["arguments"]["properties"]
        assert arguments["table"] == arguments["pair"] == arguments["anything"] == {"type": "string"}
        assert arguments["tree"] == {"type": ["string", "null"]}
        assert arguments["either"] == {"type": ["integer", "string"]}
        assert arguments["words"] == {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}


def _assert_strict(schema: dict[str, Any]) -> None:
    """The rules of strict mode: closed objects, every property required, only these keywords."""
    assert set(schema) <= {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf"}
    if schema.get("type") == "object":
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
    assert schema, "an empty schema allows anything"
    for part in [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]:
        _assert_strict(part)
    if "items" in schema:
        _assert_strict(schema["items"])

"""Schemas for servers that enforce them: everything that a draft can hold may be written, and strict mode is only asked
for where it is kept."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from surefoot.models.json_schema import map_schema, schemas_in
from surefoot.models.providers.wire.schema import fits_strict_mode
from surefoot.prompting.conversation.specifications import specifications
from surefoot.prompting.drafts import short
from surefoot.prompting.drafts.short import Draft, schema_of
from surefoot.prompting.drafts.verbs import DRAFTS
from surefoot.tools.registry import default_toolbox

pytestmark = pytest.mark.slow

VERBS = {spec.name: spec.parameters for spec in specifications(default_toolbox(), ()) if spec.name in DRAFTS}
JSON_DRAFTS = [d for d in vars(short).values() if isinstance(d, type) and issubclass(d, Draft) and d is not Draft]
UNSUPPORTED = {
    *("default", "minLength", "maxLength", "pattern", "format", "oneOf", "allOf", "not", "if", "then", "else"),
    *("prefixItems", "patternProperties", "uniqueItems", "dependentRequired", "multipleOf", "$ref", "$defs"),
}
"""Keywords that OpenAI's strict mode, vLLM or llama.cpp refuse or ignore."""
FREE = {"type": "object", "additionalProperties": True}


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as a grammar reads it: an object has no properties but those that are named."""

    def close(part: dict[str, Any]) -> dict[str, Any]:
        return {"additionalProperties": False, **part} if "properties" in part else part

    read = map_schema(schema, close)
    assert isinstance(read, dict)
    return read


def values(draft: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Arguments with any of the fields of a draft, also those that are seldom needed."""
    return st.builds(lambda full, left: {k: v for k, v in full.items() if k in left}, _full(draft), _some(draft))


def _full(draft: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    schema = draft.model_json_schema()
    definitions = schema.get("$defs", {})

    def of(node: dict[str, Any]) -> st.SearchStrategy[Any]:
        if "$ref" in node:
            return of(definitions[node["$ref"].rpartition("/")[2]])
        if "enum" in node:
            return st.sampled_from(node["enum"])
        match node.get("type"):
            case "array":
                return st.lists(of(node["items"]), min_size=1, max_size=2)
            case "object" if "properties" in node:
                return st.fixed_dictionaries({name: of(part) for name, part in node["properties"].items()})
            case "object":
                return st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
            case "string":
                return st.text(min_size=1, max_size=4)
            case "integer":
                return st.integers(0, 3)
            case "number":
                return st.floats(0, 1)
            case "boolean":
                return st.booleans()
        return st.none() | st.integers()

    return of(schema)


def _some(draft: type[BaseModel]) -> st.SearchStrategy[set[str]]:
    needed = set(draft.model_json_schema().get("required", ()))
    return st.sets(st.sampled_from(sorted(draft.model_fields) or [""])).map(lambda names: names | needed)


@pytest.mark.req("X11", "P21")
@pytest.mark.parametrize("verb", sorted(VERBS))
@given(data=st.data())
def test_a_server_that_enforces_schemas_lets_every_field_pass(verb: str, data: st.DataObject) -> None:
    arguments = data.draw(values(DRAFTS[verb]))
    jsonschema.validate(arguments, closed(VERBS[verb]))
    DRAFTS[verb].model_validate(arguments)


@pytest.mark.req("X11")
@pytest.mark.parametrize("verb", sorted(VERBS))
def test_schemas_of_submissions_have_only_keywords_that_grammars_know(verb: str) -> None:
    for part in schemas_in(VERBS[verb]):
        assert not part.keys() & UNSUPPORTED
        assert set(part.get("required", ())) <= set(part.get("properties", {}))


@pytest.mark.req("X5")
@pytest.mark.parametrize("draft", JSON_DRAFTS, ids=lambda draft: draft.__name__)
def test_strict_mode_is_asked_for_only_where_all_is_required_and_closed(draft: type[Draft]) -> None:
    schema = schema_of(draft)
    parts = schemas_in(schema)
    assert not [part for part in parts if part.keys() & UNSUPPORTED]
    for part in parts:
        if "properties" in part:
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
    assert fits_strict_mode(schema) is (FREE not in parts)


@pytest.mark.req("X5")
@pytest.mark.parametrize("keyword", sorted(UNSUPPORTED - {"$ref", "$defs"}))
def test_a_schema_with_a_keyword_that_strict_mode_does_not_know_is_not_sent_as_strict(keyword: str) -> None:
    inner = {"type": "string"}
    schema = {"type": "object", "properties": {keyword: inner}, "required": [keyword], "additionalProperties": False}
    assert fits_strict_mode(schema), "a property may have the name of a keyword"
    inner[keyword] = "x"
    assert not fits_strict_mode(schema)

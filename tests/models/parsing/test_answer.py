"""Parsing answers: the forms that models use, malformed JSON and garbage."""

import json
import sys
from enum import StrEnum
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, TypeAdapter

from surefoot.core.values import Value
from surefoot.errors import UnreadableAnswer
from surefoot.models.parsing import json_text
from surefoot.models.parsing.answer import find_body, read_control, read_fenced, read_json


class Kind(StrEnum):
    FILE = "file"
    COMMAND = "command"


class Step(Value):
    id: str
    kind: Kind = Kind.FILE
    after: tuple[str, ...] = ()


class Plan(Value):
    title: str
    steps: tuple[Step, ...]
    confident: bool = False
    note: str | None = None


PLAN = Plan(title="t", steps=(Step(id="a"), Step(id="b", after=("a",))))
PLAIN = '{"title": "t", "steps": [{"id": "a"}, {"id": "b", "after": ["a"]}]}'

READABLE = {
    "as it is": PLAIN,
    "in a fence": f"```json\n{PLAIN}\n```",
    "in a fence without a language": f"```\n{PLAIN}\n```",
    "in a fence never closed": f"```json\n{PLAIN}",
    "with prose around": f"Sure! Here is the plan:\n\n{PLAIN}\n\nTell me if it's fine.",
    "with lone quotes and brackets in the prose": f'The 5" pipe (see [1] and {{x}}): {PLAIN} :-]',
    "behind a lone bracket": f"An opening {'{'} in prose, and then {PLAIN}",
    "with trailing commas": '{"title": "t", "steps": [{"id": "a",}, {"id": "b", "after": ["a",],},],}',
    "with single quotes": "{'title': 't', 'steps': [{'id': 'a'}, {'id': 'b', 'after': ['a']}]}",
    "with Python literals": "{'title': 't', 'steps': [{'id': 'a'}, {'id': 'b', 'after': ['a']}], "
    "'confident': False, 'note': None}",
    "with comments": '{"title": "t", // the title\n "steps": [{"id": "a"}, # first\n {"id": "b", "after": ["a"]}]}',
    "with unquoted keys": '{title: "t", steps: [{id: "a"}, {id: "b", after: ["a"]}]}',
    "with a bracket forgotten": '{"title": "t", "steps": [{"id": "a"}, {"id": "b", "after": ["a"]}',
    "with a comma forgotten": '{"title": "t" "steps": [{"id": "a"} {"id": "b", "after": ["a"]}]}',
    "wrapped": f'{{"plan": {PLAIN}}}',
    "in a list of one": f"[{PLAIN}]",
    "after thinking": f"<think>Maybe {{'title': 'x'}}?</think>\n{PLAIN}",
    "after thinking that the template opened": f"first I... \n</think>\n\n{PLAIN}",
    "with Windows line ends": PLAIN.replace(", ", ",\r\n"),
    "with a byte order mark": "\ufeff" + PLAIN,
    "with full-width punctuation": PLAIN.replace(":", "：").replace(",", "，"),
    "with curly quotes": PLAIN.replace('"t"', "“t”"),
    "after a draft": f'{{"title": "draft", "steps": []}}\nNo, better:\n{PLAIN}',
    "after the schema": f'{{"type": "object", "properties": {{"title": {{}}}}}}\n{PLAIN}',
}


@pytest.mark.req("O2")
@pytest.mark.parametrize("answer", READABLE.values(), ids=READABLE)
def test_json_is_read_in_every_form(answer: str) -> None:
    assert read_json(answer, Plan) == PLAN


@pytest.mark.req("O2")
@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("", "the answer is empty"),
        ("I cannot do that.", 'there is no JSON in the answer, which begins "I cannot do that."'),
        ('{"title": "t"}', "steps: is missing"),
        ('{"title": "t", "steps": [{"id": "a"}, {"kind": "file"}]}', "steps[1].id: is missing"),
        (
            '{"title": "t", "steps": [{"id": "a", "kind": "check_file_exists(x)"}]}',
            "steps[0].kind: input should be 'file' or 'command', but it is \"check_file_exists(x)\"",
        ),
        ('{"title": "t", "steps": [], "colour": 1}', "colour: is not a known field, leave it out"),
        ('{"title": 7, "steps": "none"}', "title: input should be a valid string, but it is 7; steps: input"),
        ("<think>I am still thinking", "the answer is empty"),
    ],
)
def test_the_problem_is_described_for_the_model(answer: str, problem: str) -> None:
    with pytest.raises(UnreadableAnswer) as caught:
        read_json(answer, Plan)
    assert problem in caught.value.problem
    assert caught.value.problem.count("\n") == 0
    assert caught.value.answer == answer


def test_the_problem_is_that_of_the_closest_value() -> None:
    with pytest.raises(UnreadableAnswer, match=r"^title: input should be a valid string, but it is 1; steps: "):
        read_json('{} {"title": 1, "steps": 2, "confident": 3} [{"id": "x"}]', Plan)


def test_further_problems_are_counted() -> None:
    with pytest.raises(UnreadableAnswer, match=r"and 3 more of this kind"):
        read_json(json.dumps({"title": "t", "steps": [{}] * 5}), Plan)


@pytest.mark.req("O2")
def test_a_truncated_list_is_refused() -> None:
    cut = PLAIN[: PLAIN.index('"after"')]
    with pytest.raises(UnreadableAnswer, match="cut off at the token limit"):
        read_json(cut, Plan, truncated=True)
    with pytest.raises(UnreadableAnswer, match="cut off"):
        read_json("Let me think about", Plan, truncated=True)
    assert read_json(cut, Plan, truncated=True, allow_truncated=True).steps[0].id == "a"


@pytest.mark.req("O2")
def test_json_that_is_complete_before_the_truncation_is_read() -> None:
    assert read_json(PLAIN + "\n\nThis plan first", Plan, truncated=True) == PLAN


def test_an_object_inside_a_broken_one_is_not_the_answer() -> None:
    class Loose(Value):
        id: str = "none"

    with pytest.raises(UnreadableAnswer):
        read_json('{"title": "t", "steps": [{"id": "a"}, {"id": "b"}', Loose)


class Draft(BaseModel):
    """Accepts any object, as the drafts of the engine do."""

    model_config = ConfigDict(extra="ignore")
    thought: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}


DECISION = '{"thought": "write it", "tool": "write_file", "arguments": {"path": "a.py"}}'


@pytest.mark.req("O2", "X5")
@pytest.mark.parametrize(
    "answer",
    [
        f"{DECISION}\n```python\ncache = {{}}\nx = {{'tool': 'hammer'}}\n```",
        f"```json\n{DECISION}\n```\n```python\ncache = {{}}\n```",
        f"{DECISION[:-1]},}}\n```json\n{{}}\n```",
        f'{{"answer": {DECISION}}}',
        f'Of {{}} and {{"thought": "draft", "tool": "", "arguments": {{}}}}: {DECISION}',
    ],
)
def test_the_answer_is_distinguished_from_the_code_below_it(answer: str) -> None:
    draft = read_json(answer, Draft)
    assert (draft.thought, draft.tool, draft.arguments) == ("write it", "write_file", {"path": "a.py"})


def test_an_unrelated_object_is_refused_even_if_every_field_has_a_default() -> None:
    with pytest.raises(UnreadableAnswer, match="none of the fields that were asked for: thought, tool, arguments"):
        read_json('{"steps": [{"name": "x"}], "title": "a plan"}', Draft)
    assert read_json("{}", Draft) == Draft()


def test_a_truncated_body_below_a_complete_decision_is_ignored() -> None:
    answer = f"{DECISION}\n```python\nTABLE = {{'a': [1,"
    assert read_json(answer, Draft, truncated=True).tool == "write_file"


def test_any_pydantic_type_can_be_read() -> None:
    assert read_json("The list: [1, 2, 3,]", list[int]) == [1, 2, 3]
    adapter: TypeAdapter[Literal["yes", "no"] | int] = TypeAdapter(Literal["yes", "no"] | int)
    assert read_json('"yes"', adapter) == "yes"
    assert read_json("12", int) == 12


garbage = st.text(alphabet=st.sampled_from("{}[]\"':,\\\n`ax1 =<>~#/“：，"), max_size=400) | st.text(max_size=200)


@pytest.mark.req("O2")
@settings(max_examples=150, deadline=None)
@given(text=garbage)
def test_garbage_raises_only_unreadable_answer(text: str) -> None:
    for truncated in (False, True):
        try:
            read_json(text, Plan, truncated=truncated)
        except UnreadableAnswer as error:
            error.problem.encode()
    read_fenced(text)
    for path in ("a.py", "b.json", "README.md"):
        body = read_fenced(text, path)
        assert body is None or isinstance(body, str)
    read_control(text)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(
    value=st.dictionaries(st.text(max_size=8), json_values, min_size=2, max_size=4), indent=st.sampled_from([None, 2])
)
def test_valid_json_in_a_fence_is_read_unchanged(value: dict[str, Any], indent: int | None) -> None:
    answer = f"Here you are:\n```json\n{json.dumps(value, indent=indent, ensure_ascii=False)}\n```\nDone."
    assert read_json(answer, dict[str, Any]) == value


@pytest.mark.parametrize(
    "text",
    [
        "{" * 1_000_000,
        "[" * 1_000_000,
        '{"a":' * 200_000,
        "{'a' " * 200_000,
        "x{y] " * 200_000,
        '{"a":"' + '\\"' * 500_000,
        "{x}" * 300_000,
        "{}" * 500_000,
        "```a\n" * 200_000,
        "```\n" * 250_000,
        "# a.py\n\n" * 120_000,
        "```python\n" + "# a.py\n\n" * 120_000,
        "# " + "-" * 1_000_000,
        "```python\n# " + "-" * 1_000_000,
        "```python\n" + "# --- " * 200_000,
        "<<<<<<< SEARCH\n" * 60_000,
        "<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n" * 20_000,
        "=" * 1_000_000,
        '"' * 1_000_000,
        "control: " * 100_000,
        "[STEP_DONE " * 90_000,
        "1" * 1_000_000,
    ],
    ids=lambda text: repr(text[:16]),
)
def test_a_megabyte_of_garbage_is_parsed_in_limited_time(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the limits this would run for hours."""
    monkeypatch.setattr(json_text, "REPAIR_SECONDS", 0.05)
    with pytest.raises(UnreadableAnswer):
        read_json(text, Plan)
    find_body(text, "src/b.py")
    find_body(text, "b.md")
    read_control(text)


def test_a_repair_is_stopped_after_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    profiles: list[Any] = []
    monkeypatch.setattr(json_text, "REPAIR_SECONDS", 0.02)
    for garbage in ("{" * 2_000, "{'a' " * 2_000, "x{y] " * 2_000):
        with pytest.raises(UnreadableAnswer):
            read_json(garbage, Plan)
        profiles.append(sys.getprofile())
    assert profiles == [None] * 3


def test_a_number_that_is_too_long_is_unreadable() -> None:
    with pytest.raises(UnreadableAnswer):
        read_json('{"title": ' + "9" * 10_000 + "}", Plan)


def test_a_problem_with_a_lone_surrogate_can_be_encoded() -> None:
    with pytest.raises(UnreadableAnswer) as caught:
        read_json('{"title": {"x": "\\ud800"}, "steps": []}', Plan)
    caught.value.problem.encode()

"""The tools' descriptions and schemas: short, because every request begins with them, and complete."""

import json
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

from support.kit import Bench
from support.talk import results, submit
from surefoot.core.plan import CommandCheck
from surefoot.core.transitions import StepStatus
from surefoot.journal import events as e
from surefoot.models.providers.families import family_of
from surefoot.models.providers.wire.chat import chat_tools
from surefoot.prompting.conversation.specifications import specifications
from surefoot.prompting.drafts.full import FullPlanDraft, FullStepDraft
from surefoot.tools.context import ToolContext
from surefoot.tools.registry import default_toolbox

MAX_CHARS = 9_300
Format = Literal["edit_file", "apply_patch"]


async def _ask(question: str) -> str:
    return question


def rendered(edit_format: Format) -> list[dict[str, Any]]:
    """All tools as chat completions get them, also those for the network and for a person who can be asked."""
    toolbox = default_toolbox()
    context = ToolContext(root=Path(), network=True, ask=_ask, edit_format=edit_format)
    return chat_tools(specifications(toolbox, toolbox.usable(context)), family_of("gpt-5"))


@pytest.mark.req("X11")
@pytest.mark.parametrize("edit_format", get_args(Format))
def test_the_tools_are_a_small_part_of_a_request(edit_format: Format) -> None:
    described = rendered(edit_format)
    assert len(json.dumps(described, ensure_ascii=False, separators=(",", ":"))) < MAX_CHARS


@pytest.mark.parametrize("draft", [FullStepDraft, FullPlanDraft])
def test_no_field_of_a_plan_is_left_out(draft: type[FullStepDraft] | type[FullPlanDraft]) -> None:
    (plan,) = (tool["function"] for tool in rendered("edit_file") if tool["function"]["name"] == "submit_plan")
    text = json.dumps(plan)
    assert not [name for name in draft.model_fields if name not in text]


def test_what_the_gate_demands_is_required() -> None:
    (submitted,) = (t["function"] for t in rendered("edit_file") if t["function"]["name"] == "submit_understanding")
    assert submitted["parameters"]["required"] == ["understanding", "requirements"]


def test_every_array_and_object_says_what_it_holds() -> None:
    """Some servers refuse arrays without items, and objects inside of others without properties."""

    def check(schema: Any, path: str) -> None:
        if schema.get("type") == "array":
            assert "items" in schema, path
            check(schema["items"], f"{path}[]")
        if schema.get("type") == "object":
            assert schema.get("properties") or "." not in path, path
            for name, part in schema["properties"].items():
                check(part, f"{path}.{name}")

    for tool in rendered("edit_file"):
        check(tool["function"]["parameters"], tool["function"]["name"])


@pytest.mark.req("D3", "P21")
async def test_added_and_changed_steps_have_all_fields_of_a_plan(bench: Bench) -> None:
    later = {"name": "Later", "description": "later", "after": [1], "checks": [{"value": "true"}], "priority": 3}
    checks = [{"value": "test -e a.txt"}]
    added = {"name": "More", "files": ["a.txt"], "critical": False, "rollback_steps": ["true"], "checks": checks}
    changed = {"step": "Later", "description": "not so late", "requires_confirmation": True}
    revise = [("add_steps", {"steps": [added]}), ("change_steps", {"steps": [changed]})]
    stop = [("cannot", {"reason": "enough"})]
    state = await bench.talk("Look at it.", [submit({"name": "First"}, later), revise, stop, *[stop] * 9])
    assert ["the plan is now" in text for text in results(bench.talker.requests[2])] == [True, True]
    revisions = bench.events(e.PlanRevised)
    (new,), (old,) = revisions[0].added, revisions[1].changed
    assert (new.name, new.critical, new.expected_outputs, new.rollback_steps) == ("More", False, ("a.txt",), ("true",))
    assert new.checks == (CommandCheck(command="test -e a.txt"),)
    assert (old.description, old.requires_confirmation) == ("not so late", True)
    assert (old.name, old.priority, old.checks) == ("Later", 3, (CommandCheck(command="true"),)), "others stay"
    assert state.steps[new.id].status is not StepStatus.SUCCEEDED

"""Calls whose arguments have the wrong types: each gets a result, and none ends the run with a traceback."""

from typing import Any

import pytest

from support.kit import NO_RETRIES, Bench, PreparedPerson
from support.talk import Call, submit
from surefoot.core.outcome import Verdict
from surefoot.journal import events as e
from surefoot.tools import Toolbox, tool
from surefoot.tools.registry import default_toolbox

VALUES: tuple[Any, ...] = (
    *(None, True, 3, -1, 2.5, 10**40, "", "a.txt", "\0", "a\nb", "\ud800", "x" * 5_000, [], {}),
    *([1], [None], ["a.txt", 2], [["a.txt"]], {"path": "a.txt"}, {"a": {"b": [1]}}),
)
GOOD = {
    "path": "a.txt", "content": "text", "command": "true", "code": "1", "pattern": "a", "url": "http://127.0.0.1:9/",
    "source": "a.txt", "target": "b.txt", "question": "which?", "patch": "x", "action_id": "a1",
    "edits": [{"search": "a", "replace": "b"}],
}  # fmt: skip
STEP = submit({"name": "First", "checks": [{"value": "test -e never"}]})


def calls_of(name: str) -> list[Call]:
    """Each parameter of a tool with each value, the others as they should be."""
    parameters = default_toolbox().get(name).parameters["properties"]
    usual = {key: GOOD[key] for key in parameters if key in GOOD}
    return [(name, {**usual, key: value}) for key in parameters for value in VALUES]


@pytest.mark.req("D11", "O2")
@pytest.mark.parametrize("name", default_toolbox().names)
async def test_no_type_of_an_argument_ends_the_run(bench: Bench, name: str) -> None:
    bench.write(a__txt="a\n")
    bench.person = PreparedPerson(*["yes"] * 200)
    calls = calls_of(name)
    turns = [calls[start : start + 6] for start in range(0, len(calls), 6)]
    limits: dict[str, Any] = {"max_actions_per_step": 1_000, "budget": {"max_tool_calls": None}, "network": True}
    script = [STEP, *turns, *[[("cannot", {"reason": "enough"})]] * 3]
    state = await bench.talk("Look at it.", script, reflection=NO_RETRIES, **limits)
    assert state.outcome is not None
    assert state.outcome.verdict in (Verdict.FAILED, Verdict.BLOCKED, Verdict.LOOP)
    assert not bench.events(e.RunInterrupted)
    assert bench.talker.left <= 2, "every call was made"


@pytest.mark.req("D11", "X2")
async def test_a_call_whose_writes_are_unknown_is_not_carried_out(bench: Bench) -> None:
    """Its changes could not be undone."""
    carried_out = []

    @tool(writes=lambda arguments: [f"{name}.txt" for name in arguments["names"]])
    def make_files(names: Any) -> str:
        """Make files."""
        carried_out.append(names)
        return "made"

    bench.toolbox = Toolbox([*default_toolbox(), make_files])
    calls: list[Call] = [("make_files", {"names": ["a"]}), ("make_files", {"names": 3})]
    state = await bench.talk("Make files.", [STEP, calls, *[[("cannot", {"reason": "x"})]] * 3], reflection=NO_RETRIES)
    assert carried_out == [["a"]]
    *_, last = bench.events(e.ActionFinished)
    assert not last.ok
    assert "not known what make_files would write" in last.summary
    assert state.outcome is not None

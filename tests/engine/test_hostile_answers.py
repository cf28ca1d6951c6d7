"""Answers of a model that would block the run, or end it with a traceback."""

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from support.kit import Bench, act, done, fenced, steps, understanding
from surefoot.core.plan import Check, ExecutionStep, ExpressionCheck, JsonSchemaCheck, ParsesCheck, StepType, TextCheck
from surefoot.engine.scheduler.conditions import evaluate
from surefoot.engine.verifier import file_checks
from surefoot.errors import PlanError
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.models.base import ModelReply
from surefoot.models.items import AssistantTurn, ReasoningPart, TextPart, ToolCall, dump_item
from surefoot.models.parsing.json_text import candidates

ENDLESS = r"(a+)+$"
STEP = ExecutionStep(
    id="s", name="make x.txt", description="make x.txt", step_type=StepType.COMMAND_EXECUTION,
    checks=(TextCheck(path="x.txt", pattern="y"),),
)  # fmt: skip
MAKE_X = act("run_command", command="echo y > x.txt")


async def judged(bench: Bench, check: Any) -> str:
    return await file_checks.problem_with(check, file_checks.see(bench.root, check))


@pytest.mark.parametrize(
    "check",
    [
        TextCheck(path="x.txt", pattern=ENDLESS),
        JsonSchemaCheck(path="x.txt", json_schema={"pattern": ENDLESS}),
        JsonSchemaCheck(path="x.txt", json_schema={"patternProperties": {ENDLESS: False}, "type": "string"}),
    ],
    ids=["text", "schema", "schema of keys"],
)
@pytest.mark.req("D4")
@pytest.mark.attack("hang")
async def test_endless_pattern_ends_and_does_not_block_the_loop(
    bench: Bench, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "a" * 60 + "!"
    is_schema = isinstance(check, JsonSchemaCheck)
    keys = is_schema and "patternProperties" in check.json_schema
    if keys:
        check = check.with_(json_schema={"patternProperties": {ENDLESS: False}})
    bench.write(x__txt=f'{{"{text}": 1}}' if keys else f'"{text}"' if is_schema else text)
    monkeypatch.setattr(file_checks, "JUDGE_SECONDS", 1.0)
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0.05)

    beating = asyncio.create_task(beat())
    problem = await judged(bench, check)
    beating.cancel()
    assert "not decided within 1 seconds" in problem
    assert beats > 5, "the loop went on meanwhile"


async def test_patterns_are_matched_as_before(bench: Bench) -> None:
    bench.write(x__txt="one\r\ntwo 22\r\n", x__json='{"a": [1, 2]}')
    for pattern, passes in [("^two", True), ("two$", False), (r"two \d+$", True), (r"th.*ree", False), ("[", None)]:
        problem = await judged(bench, TextCheck(path="x.txt", pattern=pattern))
        assert (problem == "") is bool(passes)
        assert passes is not None or "error" in problem
    schema = {"properties": {"a": {"items": {"maximum": 1}}}}
    assert "$.a[1]: 2 is greater" in await judged(bench, JsonSchemaCheck(path="x.json", json_schema=schema))
    assert await judged(bench, JsonSchemaCheck(path="x.json", json_schema={"type": "object"})) == ""


async def test_schema_fetches_nothing(bench: Bench) -> None:
    """By default jsonschema loads what a `$ref` names, from the network or from a file."""
    bench.write(x__json="1", secret__json='{"const": "s3cret"}')
    check = JsonSchemaCheck(path="x.json", json_schema={"$ref": (bench.root / "secret.json").as_uri()})
    problem = await judged(bench, check)
    assert "Unresolvable" in problem
    assert "s3cret" not in problem


@pytest.mark.attack("hang")
async def test_huge_file_is_not_loaded_by_a_check(bench: Bench) -> None:
    with (bench.root / "x.txt").open("wb") as file:
        file.truncate(50_000_000_000)
    assert "too large" in await judged(bench, TextCheck(path="x.txt", pattern="y"))


@pytest.mark.attack("hang")
def test_expression_cannot_fill_the_memory() -> None:
    assert evaluate("7 % 4", {}) == 3
    with pytest.raises(PlanError, match="is not a number"):
        evaluate("'%9999999999d' % 1", {})


def special_file(bench: Bench, kind: str) -> None:
    path = bench.root / "special"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        folder_before = Path.cwd()
        os.chdir(bench.root)  # the path of a socket is short
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("special")
        os.chdir(folder_before)
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
@pytest.mark.parametrize(
    "answer",
    [
        act("read_file", path="special"),
        act("write_file", path="special", content="x"),
        act("edit_file", path="special", search="a", replace="b"),
        act("edit_file", path="special"),
        act("write_file", path="special"),
        act("search", pattern="a", path="special"),
        act("list_files", path="special"),
        act("delete_file", path="special"),
        act("move_file", source="special", target="other"),
    ],
    ids=lambda answer: f"{answer['tool']}-{len(answer['arguments'])}",
)
@pytest.mark.attack("hang")
async def test_special_file_named_in_an_answer_does_not_block(bench: Bench, kind: str, answer: Any) -> None:
    special_file(bench, kind)
    async with asyncio.timeout(60):
        state = await bench.run_plan(steps(STEP), [answer, fenced("z", "text"), MAKE_X, MAKE_X, MAKE_X])
    assert state.outcome is not None


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
@pytest.mark.parametrize(
    "check",
    [
        TextCheck(path="special", pattern="y"),
        ParsesCheck(path="special"),
        JsonSchemaCheck(path="special", json_schema={}),
        ExpressionCheck(expression="outputs['special']"),
    ],
    ids=lambda check: check.kind,
)
@pytest.mark.attack("hang")
async def test_special_file_named_in_a_plan_does_not_block(bench: Bench, kind: str, check: Check) -> None:
    special_file(bench, kind)
    step = STEP.with_(writes=("special",), checks=(check,))
    reflection = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
    async with asyncio.timeout(60):
        await bench.run_plan(steps(step), [fenced("z", "text"), *[MAKE_X] * 3], reflection=reflection)
    assert bench.events(e.RunEnded)


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
@pytest.mark.attack("hang")
async def test_special_file_named_in_the_understanding_does_not_block(bench: Bench, kind: str) -> None:
    special_file(bench, kind)
    async with asyncio.timeout(60):
        await bench.run("Change special.", [understanding("special"), *[fenced("z", "text")] * 8])
    assert bench.events(e.RunEnded)


LONE = "\ud800"
"""As a server sends it in raw text, and as an escape in the model's own JSON."""


@pytest.mark.parametrize(
    "answer",
    [
        f"talk {LONE} talk",
        '{"decision": "act", "tool": "run_command", "thought": "\\ud800", "arguments": {"command": "echo \\ud800"}}',
        '{"decision": "act", "tool": "read_file", "arguments": {"path": "\\udfff"}}',
        '{"decision": "act", "tool": "write_file", "arguments": {"path": "a\\ud800.txt", "content": "\\ud800"}}',
        '{"decision": "act", "tool": "search", "arguments": {"pattern": "\\ud800"}}',
        '{"decision": "act", "tool": "ask\\ud800", "arguments": {"\\ud800": 1}}',
        "{'decision': 'act', 'tool': 'run_command', 'arguments': {'command': 'echo \\ud800',}}",
        '{"decision": "replan", "reason": "\\udc00"}',
        '{"decision": "done", "reason": "\\udc00"}',
    ],
)
@pytest.mark.attack("hang")
async def test_lone_surrogate_in_an_answer_does_not_end_the_run(bench: Bench, answer: str) -> None:
    bench.journal = SqliteJournal(bench.home / "journal.sqlite")
    state = await bench.run_plan(steps(STEP), [answer, MAKE_X, MAKE_X, MAKE_X, done()])
    assert state.outcome is not None
    for record in bench.journal.read(state.run_id):
        e.encode(record.event).decode()
    await bench.journal.aclose()


@pytest.mark.attack("hang")
async def test_lone_surrogates_in_phases_do_not_end_the_run(bench: Bench) -> None:
    answers = [understanding(f"x{LONE}.txt", understanding=LONE * 20, requirements=[LONE]), fenced(LONE, "text")]
    state = await bench.run("Write x.txt.", [*answers, *[fenced(LONE, "text")] * 8])
    assert state.outcome is not None


def test_surrogate_pairs_stay() -> None:
    assert ModelReply(text="\ud83d\ude00 é").text == "😀 é"
    assert candidates('{"a": "\\ud83d\\ude00\\ud83d"}')[0].value == {"a": "😀\ufffd"}


def test_tool_calls_have_no_lone_surrogates() -> None:
    call = ToolCall(id="\ud800", name="x\udfff", arguments={"a\ud800": ["b\ud800"]}, raw="\ud800", problem="\ud800")
    assert call.arguments == {"a\ufffd": ["b\ufffd"]}
    parts = (call, TextPart(text="\ud800"), ReasoningPart(data={"a": "\ud800"}, text="\ud800"))
    dump_item(AssistantTurn(parts=parts))
    deep: Any = "\ud800"
    for _ in range(2_000):
        deep = [deep]
    assert ToolCall(id="1", name="x", arguments={"a": deep}).arguments == {}

"""Reading earlier results, and asking the user."""

from pathlib import Path

import pytest

from surefoot.errors import ToolError
from surefoot.tools import ToolContext, call
from surefoot.tools.builtin.recall import ask_user, read_result


@pytest.mark.req("D5")
async def test_a_result_can_be_read_in_parts(root: Path) -> None:
    blobs = {"hash": "".join(f"line {n}\n" for n in range(1, 3001)).encode()}
    context = ToolContext(root=root, read_blob=blobs.__getitem__, results={"a7": "hash"}, read_chars=500)
    first = (await call(read_result, context, {"action_id": "a7"})).summary
    assert first.startswith("the output of a7, lines 1 to ")
    assert "read_result with start_line=" in first
    part = (await call(read_result, context, {"action_id": "a7", "start_line": 2000, "end_line": 2001})).summary
    assert part == "the output of a7, lines 2000 to 2001 of 3000:\nline 2000\nline 2001"


async def test_step_outputs_can_be_read(root: Path) -> None:
    context = ToolContext(root=root, step_outputs={"load": {"rows": 3, "名": "值"}, "note": "text"})
    assert '"rows": 3,\n "名": "值"' in (await call(read_result, context, {"action_id": "load"})).summary
    assert (await call(read_result, context, {"action_id": "note"})).summary.endswith("text")


async def test_an_unknown_result_lists_the_known_ones(root: Path) -> None:
    context = ToolContext(root=root, results={"a1": "x"}, step_outputs={"load": 1})
    with pytest.raises(ToolError, match="no result 'a9'") as caught:
        await call(read_result, context, {"action_id": "a9"})
    assert caught.value.remedy == "results so far: a1, load"


async def test_ask_user(root: Path) -> None:
    questions: list[str] = []

    async def ask(question: str) -> str:
        questions.append(question)
        return "blue"

    result = await call(ask_user, ToolContext(root=root, ask=ask), {"question": "Which colour?"})
    assert questions == ["Which colour?"]
    assert (result.summary, result.data) == ("the user answered: blue", {"answer": "blue"})
    for context, question in [(ToolContext(root=root), "Which?"), (ToolContext(root=root, ask=ask), " ")]:
        with pytest.raises(ToolError) as caught:
            await call(ask_user, context, {"question": question})
        assert caught.value.remedy

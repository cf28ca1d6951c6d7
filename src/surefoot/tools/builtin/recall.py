"""Tools about the run itself: read earlier results, and ask the user."""

import json

from surefoot.errors import ToolError
from surefoot.tools.builtin.files import show_lines
from surefoot.tools.context import ToolContext
from surefoot.tools.text.summary import clean
from surefoot.tools.tool import ToolResult, tool


@tool
def read_result(
    context: ToolContext, action_id: str, start_line: int | None = None, end_line: int | None = None
) -> ToolResult:
    """Read the whole output of an earlier action or step, or some lines of it."""
    if action_id in context.results:
        text = context.read_blob(context.results[action_id]).decode("utf-8", errors="replace")
    elif action_id in context.step_outputs:
        output = context.step_outputs[action_id]
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=1, default=str)
    else:
        known = ", ".join([*context.results, *context.step_outputs][-20:]) or "there are none yet"
        raise ToolError(f"there is no result {action_id!r}", argument="action_id", remedy=f"results so far: {known}")
    name = f"the output of {action_id}"
    lines = show_lines(name, clean(text), start_line, end_line, context.read_chars, how="read_result")
    return ToolResult(ok=True, summary=lines, output=lines)


@tool
async def ask_user(context: ToolContext, question: str) -> ToolResult:
    """Ask the user something that only they can know."""
    if not question.strip():
        raise ToolError("the question is empty", argument="question", remedy="say what you want to know")
    if context.ask is None:
        raise ToolError("this run cannot ask questions", remedy="choose the most likely answer yourself and say so")
    answer = await context.ask(question)
    return ToolResult(ok=True, summary=f"the user answered: {answer}", output=answer, data={"answer": answer})

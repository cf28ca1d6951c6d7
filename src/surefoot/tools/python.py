"""The tool that runs a piece of Python."""

import sys

from surefoot.errors import ToolError
from surefoot.tools.base import ToolContext, ToolResult, Writes, tool
from surefoot.tools.shell import run_in_sandbox

# Isolated (-I), so no setting of the user's changes what the snippet means; the workspace comes last on the path, so
# that its modules can be imported and none of them stands in for one of the standard library. The source is handed to
# linecache so that tracebacks quote it, and they begin in the snippet, not here.
_START = """\
import linecache, os, sys, traceback
source = sys.stdin.read()
sys.path.append(os.getcwd())
linecache.cache["snippet.py"] = (len(source), None, source.splitlines(True), "snippet.py")
try:
    exec(compile(source, "snippet.py", "exec"), {"__name__": "__main__"})
except Exception as error:
    traceback.print_exception(error.with_traceback(error.__traceback__.tb_next))
    sys.exit(1)
"""


@tool(writes=Writes.FREE, body_argument="code", alternatives=("run_command",))
async def run_python(context: ToolContext, code: str) -> ToolResult:
    """Run a Python snippet in the workspace; print what you want to see."""
    if not code.strip():
        raise ToolError("the code is empty", argument="code", remedy="write the Python code to run")
    try:
        source = code.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(
            f"the code is no valid text: {error.reason}", argument="code", remedy="write plain Unicode text"
        ) from error
    argv = [sys.executable, "-I", "-B", "-X", "utf8", "-c", _START]
    return await run_in_sandbox(context, argv, at_most=None, command="python snippet.py", stdin=source)

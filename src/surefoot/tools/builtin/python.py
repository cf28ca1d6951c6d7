"""The tool that runs a Python snippet."""

from surefoot.errors import ToolError
from surefoot.tools.builtin.shell import run_in_sandbox
from surefoot.tools.context import ToolContext
from surefoot.tools.fs.fileio import refuse_placeholders
from surefoot.tools.tool import ToolResult, Writes, tool
from surefoot.workspace.process.launch import own_python

# Isolated mode (-I) keeps the user's settings out. The workspace is last on the path, so that its modules can be
# imported but cannot shadow the standard library. The source is put into linecache so that tracebacks quote it, and
# the frame of this launcher is removed from them.
_LAUNCHER = """\
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
            f"the code is not valid text: {error.reason}", argument="code", remedy="write plain Unicode text"
        ) from error
    refuse_placeholders(context.has_hidden, "code", code)
    argv = [own_python(), "-I", "-B", "-X", "utf8", "-c", _LAUNCHER]
    return await run_in_sandbox(context, argv, timeout=None, command="python snippet.py", stdin=source)

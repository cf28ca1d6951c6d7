"""The time limit of a run holds although something blocks its event loop, or refuses to stop."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.conftest import TIMEOUT, Surefoot
from support.stories import CHECK, TEST, UNDERSTANDING
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal

pytestmark = pytest.mark.slow

CHILD = """
import asyncio, ctypes, os, sys, time
from pathlib import Path
from surefoot.engine.runtime import run, watchdog
from surefoot.tools import tool
from surefoot.tools.registry import default_toolbox
from surefoot.workspace.process.process import command_env, run_process

watchdog.GRACE_SECONDS, watchdog.STOP_SECONDS = 1.0, 3.0
if os.environ["BLOCK"] == "holds the lock":
    watchdog.LOOK_SECONDS = 600  # the tool blocks before the thread has looked for the first time

@tool
async def block(how: str) -> str:
    "Block."
    command = ["sh", "-c", "echo $$ > started; exec sleep 600"]
    running = asyncio.create_task(run_process(command, cwd=Path.cwd(), env=command_env()))
    while not Path("started").exists():
        await asyncio.sleep(0.05)
    if how == "sleep":
        time.sleep(600)
    if how == "holds the lock":
        ctypes.PyDLL(None).sleep(600)  # like a long match of a regular expression, without its load
    while True:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            pass

toolbox = default_toolbox().with_(block)
run.default_toolbox = lambda: toolbox
from surefoot.cli.main import main
sys.exit(main())
"""

LIMITS = ("--max-time", "10s", "--sandbox", "off", "--approve", "auto")
WRITE = "printf 'def add(a, b):\\n    return a + b\\n' > adder.py"


def run_with_block(surefoot: Surefoot, how: str) -> subprocess.CompletedProcess[str]:
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    (surefoot.home / "child.py").write_text(CHILD)
    blocking = {"thought": "x", "decision": "act", "reason": "", "tool": "block", "arguments": {"how": how}}
    script = surefoot.script({**UNDERSTANDING, "files": [], "task_type": "shell"}, blocking, blocking, blocking)
    program = (sys.executable, str(surefoot.home / "child.py"))
    return subprocess.run(
        [*program, "run", "Wait for the adder.", "-m", script, "--check", CHECK, *LIMITS],
        cwd=surefoot.workspace, env={**surefoot.variables(), "BLOCK": how}, timeout=TIMEOUT,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.req("O4")
@pytest.mark.parametrize("how", ["sleep", "never stops", "holds the lock"])
@pytest.mark.attack("hang")
def test_time_limit_holds_although_a_tool_blocks(surefoot: Surefoot, how: str) -> None:
    result = run_with_block(surefoot, how)
    assert (surefoot.workspace / "started").exists(), result.stderr
    # The interpreter's lock keeps every other thread from running, so that nothing can be recorded or explained.
    assert result.returncode == (1 if how == "holds the lock" else 124), result.stderr
    limit = "surefoot: the time limit is over and"
    reasons = {"sleep": "the event loop does not answer", "never stops": "the run does not stop"}
    assert ("Timeout" if how == "holds the lock" else f"{limit} {reasons[how]}") in result.stderr
    command = int((surefoot.workspace / "started").read_text())
    deadline = time.monotonic() + TIMEOUT
    while is_running(command):
        assert time.monotonic() < deadline, "the command outlived its run"
        time.sleep(0.05)
    journal = SqliteJournal(surefoot.journal_file, read_only=True)
    recorded = [record.event for record in journal.read(journal.find("last"))]
    journal.close()
    if how != "holds the lock":
        assert isinstance(recorded[-1], e.RunInterrupted)
    write = {"thought": "x", "decision": "act", "reason": "", "tool": "run_command", "arguments": {"command": WRITE}}
    resumed = surefoot("resume", "-m", surefoot.script(write, write, write), "--max-time", "10m")
    assert resumed.code == 0, resumed.err

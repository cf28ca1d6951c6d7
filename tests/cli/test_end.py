"""How the command ends its process when a library has threads that outlive it."""

import subprocess
import sys

SCRIPT = """
import atexit, sys, types
atexit.register(lambda: print("taken apart", flush=True))
if {loaded}: sys.modules["temporalio"] = types.ModuleType("temporalio")
sys.argv = ["surefoot", *{words}]
from surefoot.cli.main import main
main()
"""


def _ends(words: list[str], *, loaded: bool) -> "subprocess.CompletedProcess[str]":
    script = SCRIPT.format(words=words, loaded=loaded)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def test_a_command_that_used_temporal_ends_without_taking_python_apart() -> None:
    done = _ends(["--help"], loaded=True)
    assert done.returncode == 0, done.stderr
    assert "Usage: surefoot" in done.stdout
    assert "taken apart" not in done.stdout
    assert (
        _ends(["no-such-command"], loaded=True).returncode == _ends(["no-such-command"], loaded=False).returncode != 0
    )


def test_other_commands_end_as_usual() -> None:
    assert "taken apart" in _ends(["--help"], loaded=False).stdout

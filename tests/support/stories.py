"""Command lines for small tasks with a scripted model; everything else in these runs is real."""

from typing import Any

from cli.conftest import Surefoot

TEST = """
from adder import add

assert add(2, 3) == 5, f"add(2, 3) gives {add(2, 3)}, not 5"
"""
"""Not for unittest, which takes four times as long to start as Python itself."""
TASK = "Write adder.py with add(a, b)."
CHECK = "python3 check_adder.py"
UNDERSTANDING: dict[str, Any] = {
    "understanding": "Write adder.py with a function that adds a and b",
    "requirements": ["add(a, b) gives the sum"],
    "files": ["adder.py"],
    "task_type": "write_code",
    "complexity": "simple",
    "risks": [],
    "questions": [],
}


def adder(sign: str) -> str:
    return f"```python\ndef add(a, b):\n    return a {sign} b\n```"


def good_script(surefoot: Surefoot) -> list[str]:
    """Arguments for a run that ends verified: the first answer is wrong, the second is right."""
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    return ["run", TASK, "-m", surefoot.script(UNDERSTANDING, adder("-"), adder("+")), "--check", CHECK]


def slow_script(surefoot: Surefoot, seconds: int = 600) -> list[str]:
    """Arguments for a run whose first step executes a slow command, so that it can be interrupted there."""
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    command = f"touch {surefoot.workspace}/begun && sleep {seconds}"
    slow = {
        "thought": "wait",
        "decision": "act",
        "reason": "",
        "tool": "run_command",
        "arguments": {"command": command},
    }
    understanding = {**UNDERSTANDING, "files": [], "task_type": "shell"}
    return ["run", "Wait for the adder.", "-m", surefoot.script(understanding, slow, slow, slow), "--check", CHECK]

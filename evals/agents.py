"""Start each agent and read its claim. An agent is a command line, so others can be added:

    python -m evals run --agent "mine=my-agent --api {url} --folder {workspace} {prompt}"

`{url}` is the OpenAI-compatible address, `{workspace}` the folder, `{prompt}` the task, `{checks}` the visible checks
joined with &&, `{seconds}` and `{calls}` the caps. Exit code 0 is read as "done".
"""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from evals.catalog import Task

Claim = Literal["verified", "done", "asked", "failed", "crashed"]
"""What an agent reports at the end. verified: done and checked. done: done, but unchecked. asked: waits for a person.
failed: not done. crashed: ended without a usable report."""

SUREFOOT_CLAIMS: Mapping[int, Claim] = {
    0: "verified",
    1: "failed",
    3: "done",
    4: "asked",
    5: "failed",
    6: "failed",
    124: "failed",
}


@dataclass(frozen=True)
class Agent:
    name: str
    argv: tuple[str, ...]
    check_option: str = ""
    """The option that passes a visible check, once per check; empty if the agent has none."""
    claims: Mapping[int, Claim] = field(default_factory=lambda: {0: "done"})
    prints_claim: bool = False
    """Whether the last line on stdout is the claim."""

    def command(self, task: Task, workspace: Path, url: str, seconds: float, calls: int) -> list[str]:
        values = {
            "url": url,
            "workspace": str(workspace),
            "prompt": task.prompt,
            "checks": " && ".join(task.check) or "true",
            "seconds": f"{seconds:g}",
            "calls": str(calls),
            "python": sys.executable,
        }
        words = [word.format_map(values) for word in self.argv]
        return words + [word for check in task.check if self.check_option for word in (self.check_option, check)]

    def claim(self, exit_code: int, output: str) -> Claim:
        if self.prints_claim:
            last = output.strip().splitlines()[-1] if output.strip() else ""
            if exit_code == 0 and last in ("verified", "done", "failed"):
                return last  # type: ignore[return-value]
            return "crashed"
        return self.claims.get(exit_code, "crashed" if exit_code < 0 else "failed")


_PYTHON = ("{python}", "-m")
_SUREFOOT_OPTIONS = ("-C", "{workspace}", "-m", "{url}", "--yes")
_BASELINE = ("-C", "{workspace}", "--url", "{url}", "--calls", "{calls}", "{prompt}")

AGENTS = {
    "surefoot": Agent(
        "surefoot",
        (*_PYTHON, "surefoot", "run", *_SUREFOOT_OPTIONS, "--max-time", "{seconds}", "{prompt}"),
        check_option="--check",
        claims=SUREFOOT_CLAIMS,
    ),
    "oneshot": Agent("oneshot", (*_PYTHON, "evals.baselines", "oneshot", *_BASELINE), prints_claim=True),
    "react": Agent(
        "react",
        (*_PYTHON, "evals.baselines", "react", *_BASELINE),
        check_option="--check",
        prints_claim=True,
    ),
}  # fmt: skip


def parse_agent(spec: str) -> Agent:
    """Return the agent for a known name or for `name=command line`."""
    name, equals, command_line = spec.partition("=")
    if equals:
        return Agent(name, tuple(shlex.split(command_line)))
    if name not in AGENTS:
        raise ValueError(f"there is no agent {name!r}: use one of {', '.join(AGENTS)}, or NAME=COMMAND LINE")
    return AGENTS[name]

"""Run each agent on each task in a fresh workspace and append one line of results. Results that exist are kept."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import Field

from evals.agents import Agent, Claim
from evals.catalog import Task, create_workspace, judge
from evals.gateway import Gateway, Meter
from evals.slips import count_slips
from surefoot.core.values import Value


class Caps(Value):
    seconds: float = 600
    calls: int = 12
    tokens: int = 40_000


class Result(Value):
    task: str
    agent: str
    seed: int
    family: str
    difficulty: int
    language: str
    expect: str
    right: bool
    """The hidden checker accepts the result. For a task that cannot be done: nothing was faked, and the agent did not
    claim that it was done."""
    why: str
    claim: Claim
    exit_code: int
    calls: int
    replayed: int
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int
    seconds: float
    """The duration as if no answer had been replayed."""
    model_seconds: float
    calls_before_change: int | None
    """Model calls before the first change in the workspace; None if nothing changed."""
    left_changed: tuple[str, ...]
    """Files that a wrong attempt left changed."""
    stopped: str = ""
    slips: dict[str, int] = Field(default_factory=dict)
    """The model's mistakes, for an agent with a journal; see `slips.py`."""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.task, self.agent, self.seed

    @property
    def false_success(self) -> bool:
        return self.claim == "verified" and not self.right

    @property
    def false_failure(self) -> bool:
        return self.claim == "failed" and self.right and self.expect == "solved"


def read_results(path: Path) -> list[Result]:
    if not path.exists():
        return []
    return [Result.model_validate_json(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def run_all(
    tasks: Iterable[Task], agents: Iterable[Agent], seeds: Iterable[int], out: Path, gateway: Gateway, caps: Caps
) -> Iterator[Result]:
    """Run what has no result yet. Each result is written to the file before it is yielded."""
    done = {result.key for result in read_results(out)}
    agents, seeds = list(agents), list(seeds)
    for task in tasks:
        for seed in seeds:
            for agent in agents:
                if (task.name, agent.name, seed) in done:
                    continue
                result = run_one(task, agent, seed, gateway, caps)
                out.parent.mkdir(parents=True, exist_ok=True)
                with out.open("a", encoding="utf-8") as file:
                    file.write(result.model_dump_json() + "\n")
                yield result


def run_one(task: Task, agent: Agent, seed: int, gateway: Gateway, caps: Caps, scratch: Path | None = None) -> Result:
    # Always the same folder: its name may occur in prompts, and a recorded answer is found only for the same prompt.
    folder = (scratch or Path("/tmp/surefoot-evals")) / f"{task.name}-{agent.name}"
    shutil.rmtree(folder, ignore_errors=True)
    workspace, home = folder / "work", folder / "home"
    home.mkdir(parents=True)
    create_workspace(task, workspace)
    before = _contents(workspace)
    session = f"{task.name}-{agent.name}-{seed}"
    first_change: list[int] = []

    def record_first_change() -> None:
        if not first_change and _contents(workspace) != before:
            first_change.append(meter.calls)

    meter = gateway.meters[session] = Meter(
        max_calls=caps.calls, max_tokens=caps.tokens, seed=seed, on_call=record_first_change
    )
    limit = min(task.time or caps.seconds, caps.seconds)
    started = time.monotonic()
    command = agent.command(task, workspace, gateway.url(session), limit, caps.calls)
    exit_code, output = _run(command, folder, home, limit)
    seconds = time.monotonic() - started - meter.waited_seconds + meter.model_seconds
    record_first_change()
    claim = agent.claim(exit_code, output)
    judgement = judge(task, workspace)
    right = judgement.right and (task.expect == "solved" or claim in ("failed", "asked"))
    # Remove the path of the checker's temporary copy.
    why = re.sub(r"(?:/[\w.-]+)*/copy-\d+/", "", judgement.why) or (
        "" if right else f"the task cannot be done, but the claim was {claim}"
    )
    after = _contents(workspace)
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return Result(
        task=task.name,
        agent=agent.name,
        seed=seed,
        family=task.family,
        difficulty=task.difficulty,
        language=task.language,
        expect=task.expect,
        right=right,
        why=why,
        claim=claim,
        exit_code=exit_code,
        calls=meter.calls,
        replayed=meter.replayed,
        prompt_tokens=meter.prompt_tokens,
        output_tokens=meter.output_tokens,
        cached_tokens=meter.cached_tokens,
        seconds=round(seconds, 1),
        model_seconds=round(meter.model_seconds, 1),
        calls_before_change=first_change[0] if first_change else None,
        left_changed=tuple(changed) if not right else (),
        stopped=meter.stopped,
        slips=count_slips(home),
    )


def _run(command: list[str], folder: Path, home: Path, seconds: float) -> tuple[int, str]:
    """Run the agent and return its exit code and output. After the time limit, kill it with all its processes."""
    root = Path(__file__).parent.parent
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SUREFOOT_", "XDG_"))},
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)]),
        "OPENAI_API_KEY": "none",
        "NO_COLOR": "1",
    }
    with (folder / "output.txt").open("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=(folder / "errors.txt").open("w"),
            start_new_session=True,
        )
        try:
            # The agent's own limit ends it earlier; this is for agents without one.
            exit_code = process.wait(seconds + 60)
        except subprocess.TimeoutExpired:
            exit_code = 124
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return exit_code, output.read()


def _contents(workspace: Path) -> dict[str, bytes]:
    """Return the content of every file except caches, to detect changes."""
    return {
        str(path.relative_to(workspace)): path.read_bytes()
        for path in sorted(workspace.rglob("*"))
        if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts
    }

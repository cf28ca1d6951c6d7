"""Run a command of a finished workspace with resource limits and a minimal environment, and leave nothing running.

This is not a sandbox: it stops runaway code, not code that tries to escape.
"""

import contextlib
import os
import resource
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

CPU_SECONDS = 5
WALL_SECONDS = 60  # far above the CPU limit: it ends code that sleeps, and must not trigger on a busy machine
MEMORY_BYTES = 1 << 30
OUTPUT_BYTES = 8 << 20
TIMED_OUT = 124


@dataclass(frozen=True)
class Completed:
    """The exit code and the output of a command, and the copy of the workspace it ran in."""

    code: int
    out: str
    err: str
    folder: Path


def run_confined(command: list[str], folder: Path, scratch: Path, stdin: str = "") -> Completed:
    """Run a command in a folder. Its output goes to files in `scratch`, so that no pipe can fill or hang."""
    out, err, input_file = scratch / "out", scratch / "err", scratch / "in"
    input_file.write_text(stdin)
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(scratch), "LC_ALL": "C.UTF-8"}
    with out.open("wb") as to_out, err.open("wb") as to_err, input_file.open("rb") as from_in:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=from_in,
            stdout=to_out,
            stderr=to_err,
            start_new_session=True,
            preexec_fn=_limit,
        )
        try:
            code = process.wait(WALL_SECONDS)
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
        finally:
            _kill_group(process)
    return Completed(code, read_capped(out), read_capped(err), folder)


def read_capped(path: Path) -> str:
    with path.open("rb") as source:
        return source.read(OUTPUT_BYTES).decode(errors="replace")


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill the command and all processes that it left running."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

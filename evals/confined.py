"""Run a command of a finished workspace where it can do little harm: limits, a bare environment, nothing left running.

It is no sandbox: it stops what runs away, not what breaks out.
"""

import contextlib
import os
import resource
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

CPU_SECONDS = 5
WALL_SECONDS = 60  # far above the CPU limit: it is for code that sleeps, and a busy machine must not trip it
MEMORY_BYTES = 1 << 30
OUTPUT_BYTES = 8 << 20
TOO_LONG = 124


@dataclass(frozen=True)
class Ran:
    """What a command left: its exit code, what it printed, and the copy of the workspace it ran in."""

    code: int
    out: str
    err: str
    folder: Path


def run_confined(command: list[str], folder: Path, scratch: Path, stdin: str = "") -> Ran:
    """Run a command in a folder; what it prints goes through files in `scratch`, so that no pipe can fill or hang."""
    out, err, fed = scratch / "out", scratch / "err", scratch / "in"
    fed.write_text(stdin)
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(scratch), "LC_ALL": "C.UTF-8"}
    with out.open("wb") as to_out, err.open("wb") as to_err, fed.open("rb") as from_in:
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
            code = TOO_LONG
        finally:
            _end_group(process)
    return Ran(code, read_capped(out), read_capped(err), folder)


def read_capped(path: Path) -> str:
    with path.open("rb") as source:
        return source.read(OUTPUT_BYTES).decode(errors="replace")


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """Also what the command left running: nothing of a workspace outlives its check."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

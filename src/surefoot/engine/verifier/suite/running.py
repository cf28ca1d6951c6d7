"""Runs test commands on copies of the workspace, and asks the runner for the result of each test."""

import os
import re
import secrets
import shlex
import stat
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from surefoot.config.model import ExecutionConfig
from surefoot.core.proof import SuiteEvidence
from surefoot.engine.verifier.scratch import Place, Scratch
from surefoot.engine.verifier.suite.report import SuiteReport, SuiteRun, read_junit, read_report
from surefoot.journal.state import RunState
from surefoot.workspace.process.process import Limits, ProcessResult, command_env, run_process, shell_argv
from surefoot.workspace.sandbox.bubblewrap import Bubblewrap
from surefoot.workspace.sandbox.sandbox import Sandbox

_NO_TEXTS: Mapping[str, str] = {}
MAX_REPORT_BYTES = 20_000_000
_PYTEST = re.compile(r"(?:^|[\s;&|(/])(?:pytest|py\.test)(?=$|[\s;&|)])")
_UNITTEST = re.compile(r"(-m\s+unittest(?:\s+discover)?)(?=$|\s)")


class Copy(NamedTuple):
    """A copy of the workspace: where commands see it, and its path outside the sandbox."""

    place: Place
    folder: Path


class SuiteRunner:
    """Runs commands on snapshots of one run's workspace. The same command on the same tree runs once."""

    def __init__(self, scratch: Scratch, sandbox: Sandbox | None, state: RunState) -> None:
        self._scratch = scratch
        self._sandbox = sandbox
        self._state = state
        self._known: dict[tuple[str, str, tuple[tuple[str, str], ...]], SuiteRun] = {}
        self._spent = 0.0

    @property
    def seconds_left(self) -> float:
        """The rest of the time for comparing the project's tests."""
        return self._state.config.baseline_seconds - self._spent

    @property
    def can_run(self) -> bool:
        return self._scratch.can_copy(often=False)

    def recorded_evidence(self) -> SuiteEvidence | None:
        """Return the evidence that a replay has recorded; None if the tests have to be run."""
        return None

    async def run(
        self,
        command: str,
        snapshot: str,
        texts: Mapping[str, str] = _NO_TEXTS,
        *,
        limited: bool = True,
        again: bool = False,
    ) -> SuiteRun:
        """Run a test command on a copy of a snapshot, with some files replaced by `texts`.

        `limited`: run within `seconds_left`, and count the time. `again`: run even if the result is known.
        """
        key = (command, snapshot, tuple(sorted(texts.items())))
        if key in self._known and not again:
            return self._known[key]
        seconds = self._state.config.command_timeout_seconds
        if limited and (seconds := min(seconds, self.seconds_left)) <= 0:
            return SuiteRun(SuiteReport(), None, "", "the time for it (baseline_seconds) is used up")
        started = time.monotonic()
        async with self.copy(snapshot) as copy:
            for name, text in texts.items():
                (copy.folder / name).write_text(text, "utf-8", errors="surrogateescape")
            result = await self.run_in(copy, command, seconds)
        self._spent += time.monotonic() - started if limited else 0
        self._known[key] = result
        return result

    @asynccontextmanager
    async def copy(self, snapshot: str) -> AsyncIterator[Copy]:
        """Provide a copy of a snapshot inside the `with` block.

        With bubblewrap, commands see it at the workspace's own path, so that an installation that points there uses it.
        """
        if isinstance(self._sandbox, Bubblewrap):
            async with self._scratch.copy_in_place("suite", snapshot, self._sandbox, ()) as (place, folder):
                yield Copy(place, folder)
        else:
            async with self._scratch.copy("suite", snapshot) as place:
                yield Copy(place, place.root)

    async def run_in(self, copy: Copy, command: str, seconds: float | None = None) -> SuiteRun:
        """Run a test command on an existing copy."""
        config, place = self._state.config, copy.place
        seconds = config.command_timeout_seconds if seconds is None else seconds
        name = f"surefoot-report-{secrets.token_hex(4)}.xml"
        process = await run_on_copy(place, naming_tests(command), config, seconds, environment(command, copy, name))
        if process.timed_out:
            return SuiteRun(SuiteReport(), None, process.output, f"did not end within {seconds:.0f} s")
        if process.exit_code in (126, 127):
            return SuiteRun(SuiteReport(), process.exit_code, process.output, "the command cannot be run")
        report = _reported(copy.folder / name) or read_report(process.output)
        if report.counts is None and process.exit_code != 0 and not report.tests:
            last = next((line.strip() for line in reversed(process.output.splitlines()) if line.strip()), "no output")
            return SuiteRun(
                report, process.exit_code, process.output, f"no result of a test in its output: {last[:200]}"
            )
        return SuiteRun(report, process.exit_code, process.output)


async def run_on_copy(
    place: Place, command: str, config: ExecutionConfig, seconds: float, env: Mapping[str, str] = MappingProxyType({})
) -> ProcessResult:
    """Run a command on a copy of the workspace, with the limits of the settings and this time limit."""
    return await run_process(
        shell_argv(command),
        cwd=place.root,
        env={**command_env(), **env},
        limits=Limits(timeout=seconds, memory_bytes=config.command_memory_bytes, processes=config.command_processes),
        sandbox=place.sandbox,
        network=config.network,
    )


def naming_tests(command: str) -> str:
    """Return the command with options that make its runner name every test. It runs the same tests."""
    if _UNITTEST.search(command):
        return re.sub(r"\s(?:-q|--quiet)(?=\s|$)", "", _UNITTEST.sub(r"\1 -v", command))
    if re.search(r"\bgo test\b", command) and not re.search(r"\s-(?:v|json)\b", command):
        return re.sub(r"\bgo test\b", "go test -v", command)
    if re.search(r"\bcargo test\b", command):
        return re.sub(r"(\bcargo test\b.*?)\s(?:-q|--quiet)(?=\s|$)", r"\1", command)
    return command


def environment(command: str, copy: Copy, report: str) -> dict[str, str]:
    """Return the environment variables for tests on a copy.

    They keep tests from leaving files behind, make pytest write a report, and put the code of the copy before that of
    an installation that points to the workspace.
    """
    options = "-p no:cacheprovider --continue-on-collection-errors"
    root = copy.place.root
    if "junit" not in command and not _configures_reports(copy.folder):
        options += f" --junitxml={shlex.quote(str(root / report))}"
    folders = [str(root / name) for name in ("src", ".") if (copy.folder / name).is_dir()]
    inherited = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    return {
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_ADDOPTS": options,
        "PYTHONPATH": ":".join([*folders, *inherited]),
    }


def _configures_reports(root: Path) -> bool:
    """Whether the project's own configuration of pytest mentions such reports. It is then left alone."""
    names = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
    return any("junit" in _text(root / name) for name in names)


def _reported(path: Path) -> SuiteReport | None:
    text = _text(path)
    return read_junit(text) if text else None


def _text(path: Path) -> str:
    """Read a regular file of the copy, without following links: a test may have put anything there."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_REPORT_BYTES:
            return ""
        return file.read().decode("utf-8", "replace")


def runs_pytest(command: str) -> bool:
    return _PYTEST.search(command) is not None


def runs_unittest(command: str) -> bool:
    return _UNITTEST.search(command) is not None

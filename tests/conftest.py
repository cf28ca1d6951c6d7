"""Fixtures for all tests, and what the end of a test run says."""

import contextlib
import gc
import os
import shutil
import signal
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from support.kit import Bench
from support.requirements import requirements
from support.summary import add_servers, summary
from support.trees import NIGHTLY

if TYPE_CHECKING:
    from support.postgres import PostgresServer

# A busy machine is no failure, so there is no deadline. The nightly run has the most examples.
settings.register_profile("tests", deadline=None, max_examples=1_000 if NIGHTLY else 50)
settings.load_profile("tests")

LONGEST = (
    "tests/crash/",
    "tests/cli/session/test_hang.py",
    "tests/faults/test_bounds.py",
    "tests/faults/test_diagnosis.py",
)
"""What has single tests of many seconds."""
PYTEST_PACKAGES = ("pytest", "_pytest", "py.py", "pluggy", "iniconfig", "packaging", "pygments")
"""pytest and what it imports."""


def pytest_configure() -> None:
    _heed_ctrl_c()
    _use_bare_python()


def _heed_ctrl_c() -> None:
    """A shell script that starts the tests in the background lets them ignore Ctrl-C, and with them all processes that
    they start: tests that send it would wait for ever."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def _use_bare_python() -> None:
    """Let `python3` be an interpreter that loads nothing when it starts, which takes a third of the time.

    The machine's own may be a script of a version manager, or run code of installed packages. The programs of the
    environment that runs the tests come next, before those of the machine.
    """
    folder = Path(sys.prefix, "bare")
    if not folder.exists():
        if sys.prefix == sys.base_prefix or not os.access(sys.prefix, os.W_OK):
            return  # the tests run in no virtual environment, or in one of another user
        _make_bare_environment(folder)
    bare, own = str(folder / "bin"), str(Path(sys.prefix, "bin"))
    others = [entry for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if entry not in (bare, own)]
    os.environ["PATH"] = os.pathsep.join([bare, own, *others])


def _make_bare_environment(folder: Path) -> None:
    """Make a virtual environment with pytest, without plugins, and nothing else."""
    new = Path(tempfile.mkdtemp(dir=sys.prefix))
    new.chmod(0o755)
    venv.create(new, symlinks=True)
    packages = Path(sysconfig.get_path("purelib"))
    for name in PYTEST_PACKAGES:
        (new / packages.relative_to(sys.prefix) / name).symlink_to(packages / name)
    with contextlib.suppress(OSError):  # another process was first
        new.rename(folder)
    shutil.rmtree(new, ignore_errors=True)


def pytest_collection_finish() -> None:
    """Keep thousands of tests and modules out of every later garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: two more than there are cores, because tests also wait for processes and timers."""
    return len(os.sched_getaffinity(0)) + 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The longest tests come first: one that begins last would leave the other cores idle.
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
    for item in items:
        if marker := item.get_closest_marker("attack"):
            item.user_properties.append(("attack", marker.args[0]))
        for marker in item.iter_markers("req"):
            item.user_properties += [("req", requirement) for requirement in marker.args]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> None:
    add_servers(item)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print which servers were used, figures, and how many attacks failed as they should."""
    for line in summary(terminalreporter.stats):
        terminalreporter.write_line(line)
    if "req" in terminalreporter.config.option.markexpr.split():
        _print_requirements(terminalreporter)


def _print_requirements(terminalreporter: Any) -> None:
    """Print the table of requirements and the tests that ran for them."""
    tests: dict[str, dict[str, str]] = {}
    for outcome in ("passed", "failed", "skipped"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, requirement in report.user_properties:
                if name == "req":
                    tests.setdefault(requirement, {})[report.nodeid.partition("[")[0]] = outcome
    terminalreporter.section("requirements")
    for requirement in requirements():
        proofs = tests.get(requirement.id, {})
        state = f"{len(proofs)} test{'' if len(proofs) == 1 else 's'}" if requirement.is_built else "not built yet"
        terminalreporter.write_line(f"{requirement.id:<4} {state:<14} {requirement.text}")
        for test, outcome in sorted(proofs.items()):
            terminalreporter.write_line(f"       {'' if outcome == 'passed' else outcome + ' '}{test}")


@pytest.fixture(scope="session")
def postgres_server() -> "Iterator[PostgresServer]":
    """A PostgreSQL server of this test process. There is no skipping: without the binaries the tests fail."""
    from support.postgres import PostgresServer

    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture
def database(postgres_server: "PostgresServer") -> str:
    """The URL of a new database with an empty journal."""
    return postgres_server.url(postgres_server.new_database())


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root, home = tmp_path / "work", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    return Bench(root, home)

"""Compare how Surefoot and other agent loops recover from faults: make bench-recovery

    python benchmarks/recovery.py [--only surefoot,react] [--faults garbage_twice,...] [--json FILE]

Every contender runs every fault of the test suite's library (tests/faults) twice: without the fault, to measure what
the work costs anyway, and with it. The model is scripted and the same for all, so the table compares engines, not
models. `truth` compares the files; it does not rely on what a contender reports.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from recovery_peers import Ended, PlanAndExecute, ReAct  # noqa: E402

from faults.library import BY_NAME  # noqa: E402
from faults.scenario import Scenario  # noqa: E402

CONTENDERS = {
    "surefoot": "Surefoot",
    "react": "ReAct loop",
    "react-checked": "ReAct loop, check fed back",
    "langgraph": "LangGraph plan-and-execute",
    "langgraph-checked": "LangGraph plan-and-execute, check fed back",
}
SECONDS = 120
"""The time limit of one run. A run that hangs counts as failed."""


@dataclass
class Row:
    """The result of one contender for one fault."""

    recovered: bool
    claims_success: bool
    truth: bool
    leftovers: list[str]
    calls: int
    tokens: int
    extra_calls: int = 0
    extra_tokens: int = 0
    why: str = ""


# -- one run -------------------------------------------------------------------------------


def run_contender(contender: str, scenario: Scenario, folder: Path) -> Ended:
    """Start the scenario, or continue it after the process was killed, if the contender can."""
    match contender:
        case "surefoot":
            return asyncio.run(_surefoot(scenario, folder))
        case "react" | "react-checked":
            return ReAct(scenario, checked=contender == "react-checked").run(folder)
        case "langgraph" | "langgraph-checked":
            return PlanAndExecute(scenario, checked=contender == "langgraph-checked").run(folder)
    raise KeyError(contender)


async def _surefoot(scenario: Scenario, folder: Path) -> Ended:
    from faults.surefoot_side import begin, services_for
    from surefoot.core.outcome import Verdict
    from surefoot.engine.loop import resume_run
    from surefoot.errors import UnknownRun
    from surefoot.journal.store.sqlite import SqliteJournal

    journal = SqliteJournal(folder / "home" / "journal.sqlite")
    services, _ = services_for(scenario, folder / "home", journal)
    try:
        state = await resume_run(services, journal.find("last"))
    except UnknownRun:
        state = await begin(services, scenario, "default")
    await journal.aclose()
    assert state.outcome is not None
    claims_success = state.outcome.verdict is Verdict.VERIFIED
    if not scenario.check and state.outcome.verdict is Verdict.UNVERIFIED:
        claims_success = True  # the best verdict that a task without a check can get
    return Ended(claims_success, state.outcome.summary, state.model_calls, state.tokens)


def run_scenario(contender: str, name: str, folder: Path, faulty: bool) -> Ended:
    for part in ("work", "home", "outside"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    started = folder / "begun"
    scenario_class = BY_NAME[name]
    if started.exists():  # the killed process left files: do not overwrite them
        scenario_class = type(scenario_class.__name__, (scenario_class,), {"files": {}})
    scenario = scenario_class(folder / "work", folder / "outside", faulty=faulty)
    started.touch()
    signal.signal(signal.SIGALRM, _raise_timeout)
    signal.alarm(SECONDS)
    try:
        return run_contender(contender, scenario, folder)
    except BaseException as error:
        return Ended(False, f"ended with {type(error).__name__}", 0, 0)
    finally:
        signal.alarm(0)


def _raise_timeout(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError


# -- all runs -------------------------------------------------------------------------------------------------------


def measure(contender: str, name: str, faulty: bool) -> Row:
    with tempfile.TemporaryDirectory(prefix="surefoot-faults-") as path:
        folder = Path(path)
        kills = faulty and BY_NAME[name].kills
        ended = run_in_processes(contender, name, folder) if kills else run_scenario(contender, name, folder, faulty)
        scenario = _reopen(name, folder)
        truth = scenario.truth()
        return Row(
            recovered=ended.claims_success and truth,
            claims_success=ended.claims_success,
            truth=truth,
            leftovers=scenario.leftovers(),
            calls=ended.calls,
            tokens=ended.tokens,
            why=ended.why[:200],
        )


def run_in_processes(contender: str, name: str, folder: Path) -> Ended:
    """Run a fault that kills its process, and start a new process after each kill."""
    command = [sys.executable, __file__, "--one", contender, name, str(folder)]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "benchmarks")])
    for _ in range(3):
        environ = {**os.environ, "PYTHONPATH": path}
        process = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        if process.returncode != -signal.SIGKILL:
            break
    try:
        return Ended(**json.loads(process.stdout.strip().splitlines()[-1]))
    except (ValueError, IndexError):
        return Ended(False, f"ended with status {process.returncode}: {process.stderr[-200:]}", 0, 0)


def _reopen(name: str, folder: Path) -> Scenario:
    """Create the scenario for a finished folder without changing its files."""
    before = {path: path.read_bytes() for path in (folder / "work").iterdir() if path.is_file()}
    scenario = BY_NAME[name](folder / "work", folder / "outside")
    for path in (folder / "work").iterdir():
        if path.is_file() and path not in before:
            path.unlink()
    for path, content in before.items():
        path.write_bytes(content)
    return scenario


def compare(contenders: Sequence[str], faults: Sequence[str]) -> dict[str, dict[str, dict[str, Any]]]:
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for contender in contenders:
        for name in faults:
            clean, row = measure(contender, name, False), measure(contender, name, True)
            row.extra_calls, row.extra_tokens = row.calls - clean.calls, row.tokens - clean.tokens
            results.setdefault(contender, {})[name] = asdict(row)
            print(f"{contender:<14} {name:<36} {_verdict(name, row)}", file=sys.stderr, flush=True)
    return results


def _verdict(name: str, row: Row) -> str:
    if row.claims_success and not row.truth:
        return "FALSE SUCCESS"
    if BY_NAME[name].recoverable:
        return "recovered" if row.recovered else "not recovered"
    return "reported as failed"


def table(results: dict[str, dict[str, dict[str, Any]]]) -> str:
    lines = [
        "| | recovered | unrecoverable, reported as failed | false success "
        "| runs that left files behind | extra calls | extra tokens |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for contender, rows in results.items():
        recoverable = [row for name, row in rows.items() if BY_NAME[name].recoverable]
        unrecoverable = [row for name, row in rows.items() if not BY_NAME[name].recoverable]
        recovered = [row for row in recoverable if row["recovered"]]
        reported = sum(not row["claims_success"] for row in unrecoverable)
        wrong = sum(row["claims_success"] and not row["truth"] for row in rows.values())
        left_files = sum(bool(row["leftovers"]) for row in rows.values())
        calls, tokens = (sum(row[field] for row in recovered) / max(len(recovered), 1) for field in _EXTRA)
        lines.append(
            f"| {CONTENDERS[contender]} | {len(recovered)} of {len(recoverable)} "
            f"| {reported} of {len(unrecoverable)} | {wrong} of {len(rows)} "
            f"| {left_files} of {len(rows)} | {calls:.1f} | {tokens:.0f} |"
        )
    return "\n".join(lines)


_EXTRA = ("extra_calls", "extra_tokens")


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare how Surefoot and other agent loops recover from faults.")
    parser.add_argument("--only", default=",".join(CONTENDERS))
    parser.add_argument("--faults", default=",".join(BY_NAME))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=3, metavar=("CONTENDER", "FAULT", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        contender, name, folder = args.one
        print(json.dumps(asdict(run_scenario(contender, name, Path(folder), faulty=True))))
        return
    results = compare(args.only.split(","), args.faults.split(","))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()

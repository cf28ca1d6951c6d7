"""Faults and what becomes of them, in Surefoot and beside it: make bench-recovery

    python benchmarks/recovery.py [--only surefoot,react] [--faults garbage_twice,...] [--json FILE]

Every fault of the test suite's library (tests/faults) is put to every contender twice: without the fault, for what the
work costs anyway, and with it. The model is scripted and the same for all, so the table says what the engines make of
faults, and nothing about models. `truth` looks at the files; no contender is asked how it went.
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
"""For one run: something that hangs has failed."""


@dataclass
class Row:
    """What one contender made of one fault."""

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


def carry_out(contender: str, scenario: Scenario, folder: Path) -> Ended:
    """Also after the process was killed in the middle of it, where the contender can go on."""
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
    from surefoot.engine import resume_run
    from surefoot.errors import UnknownRun
    from surefoot.outcome import Verdict
    from surefoot.store.sqlite import SqliteJournal

    journal = SqliteJournal(folder / "home" / "journal.sqlite")
    services, _ = services_for(scenario, folder / "home", journal)
    try:
        state = await resume_run(services, journal.find("last"))
    except UnknownRun:
        state = await begin(services, scenario, "default")
    await journal.aclose()
    assert state.outcome is not None
    ended_well = state.outcome.verdict is Verdict.VERIFIED
    if not scenario.check and state.outcome.verdict is Verdict.UNVERIFIED:
        ended_well = True  # done as far as can be said without a check, and called so
    return Ended(ended_well, state.outcome.summary, state.model_calls, state.tokens)


def one(contender: str, name: str, folder: Path, faulty: bool) -> Ended:
    for part in ("work", "home", "outside"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    begun = folder / "begun"
    kind = BY_NAME[name]
    if begun.exists():
        kind = type(kind.__name__, (kind,), {"files": {}})  # the files are there, in whatever state they are
    scenario = kind(folder / "work", folder / "outside", faulty=faulty)
    begun.touch()
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(SECONDS)
    try:
        return carry_out(contender, scenario, folder)
    except BaseException as error:
        return Ended(False, f"ended with {type(error).__name__}", 0, 0)
    finally:
        signal.alarm(0)


def _too_long(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError


# -- all of them ----------------------------------------------------------------------------------------------------


def measured(contender: str, name: str, faulty: bool) -> Row:
    with tempfile.TemporaryDirectory(prefix="surefoot-faults-") as place:
        folder = Path(place)
        kills = faulty and BY_NAME[name].kills
        ended = in_processes(contender, name, folder) if kills else one(contender, name, folder, faulty)
        # Only looked at: nothing is written to the folder from here on.
        scenario = _judge(name, folder)
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


def in_processes(contender: str, name: str, folder: Path) -> Ended:
    """A fault that kills its process: whoever can go on in a new one does, the others begin anew."""
    command = [sys.executable, __file__, "--one", contender, name, str(folder)]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "benchmarks")])
    for _ in range(3):
        environ = {**os.environ, "PYTHONPATH": path}
        ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        if ran.returncode != -signal.SIGKILL:
            break
    try:
        return Ended(**json.loads(ran.stdout.strip().splitlines()[-1]))
    except (ValueError, IndexError):
        return Ended(False, f"ended with status {ran.returncode}: {ran.stderr[-200:]}", 0, 0)


def _judge(name: str, folder: Path) -> Scenario:
    """The scenario again, without putting its files back."""
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
            clean, row = measured(contender, name, False), measured(contender, name, True)
            row.extra_calls, row.extra_tokens = row.calls - clean.calls, row.tokens - clean.tokens
            results.setdefault(contender, {})[name] = asdict(row)
            print(f"{contender:<14} {name:<36} {_said(name, row)}", file=sys.stderr, flush=True)
    return results


def _said(name: str, row: Row) -> str:
    if row.claims_success and not row.truth:
        return "FALSE SUCCESS"
    if BY_NAME[name].recoverable:
        return "recovered" if row.recovered else "not recovered"
    return "told as failed"


def table(results: dict[str, dict[str, dict[str, Any]]]) -> str:
    lines = [
        "| | recovered | told as failed, of those nothing can help | success claimed wrongly "
        "| files left by failed tries | extra calls | extra tokens |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for contender, rows in results.items():
        can = [row for name, row in rows.items() if BY_NAME[name].recoverable]
        cannot = [row for name, row in rows.items() if not BY_NAME[name].recoverable]
        recovered = [row for row in can if row["recovered"]]
        wrong = sum(row["claims_success"] and not row["truth"] for row in rows.values())
        littered = sum(bool(row["leftovers"]) for row in rows.values())
        calls, tokens = (sum(row[what] for row in recovered) / max(len(recovered), 1) for what in _EXTRA)
        lines.append(
            f"| {CONTENDERS[contender]} | {len(recovered)} of {len(can)} "
            f"| {sum(not row['claims_success'] for row in cannot)} of {len(cannot)} | {wrong} of {len(rows)} "
            f"| {littered} of {len(rows)} | {calls:.1f} | {tokens:.0f} |"
        )
    return "\n".join(lines)


_EXTRA = ("extra_calls", "extra_tokens")


def main() -> None:
    parser = argparse.ArgumentParser(description="Faults and what becomes of them, in Surefoot and beside it.")
    parser.add_argument("--only", default=",".join(CONTENDERS))
    parser.add_argument("--faults", default=",".join(BY_NAME))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=3, metavar=("CONTENDER", "FAULT", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        contender, name, folder = options.one
        print(json.dumps(asdict(one(contender, name, Path(folder), faulty=True))))
        return
    results = compare(options.only.split(","), options.faults.split(","))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()

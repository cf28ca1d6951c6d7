"""The benchmarks run, with Surefoot and few steps. The tests do not judge the figures."""

import importlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from support.temporal import TemporalServer

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "benchmarks"


def load_benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Import a benchmark script, and forget it and its helpers after the test."""
    monkeypatch.syspath_prepend(str(FOLDER))
    # The folder tests/engine is known under the same name, once a test in it has been imported.
    monkeypatch.delitem(sys.modules, name, raising=False)
    before = set(sys.modules)
    yield importlib.import_module(name)
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(FOLDER)):
            del sys.modules[module]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield from load_benchmark("engine", monkeypatch)


@pytest.fixture
def recovery(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield from load_benchmark("recovery", monkeypatch)


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield from load_benchmark("workers", monkeypatch)


@pytest.mark.parametrize(("shape", "sync"), [("chain", "normal"), ("chain", "full"), ("fan_out", "normal")])
def test_a_measurement_has_times_and_sizes(engine: Any, tmp_path: Path, shape: str, sync: str) -> None:
    measured = engine.measure(engine.Task("surefoot", shape, 12, sync), tmp_path / "own")
    assert measured["ratio"] == pytest.approx(measured["us"] / measured["bare_us"])
    assert measured["us"] > 0
    assert measured["bytes"] > 12 * 1024, "every step's payload is stored"


def test_resuming_an_interrupted_run_is_measured(engine: Any, tmp_path: Path) -> None:
    measured = engine.one_round(engine.Task("surefoot", "resume", 5, "normal"), tmp_path)
    assert measured["ms"] > 0


def test_a_power_safe_commit_is_one_fsync(engine: Any, tmp_path: Path) -> None:
    assert engine.one_round(engine.Task("surefoot", "syncs", 10, "full"), tmp_path) == {"syncs": 1.0}


def test_the_engine_table_shows_only_measured_cells(engine: Any) -> None:
    def row(us: float, steps: int) -> dict[str, float]:
        size = 5_000 + steps * 1_724
        return {"ratio": us / 50, "us": us, "bare_us": 50, "bytes": size, "resident_mb": 60, "grown_mb": 9}

    results = {"surefoot": {"chain 100 normal": row(250, 100), "chain 1000 normal": row(500, 1_000)}, "burr": {}}
    title, _, ours, theirs = (line.split("|") for line in engine.table(results).splitlines())
    cells = {name.strip(): value.strip() for name, value in zip(title, ours, strict=True)}
    assert (cells["chain 100"], cells["chain 1,000"], cells["chain 10,000"]) == ("5.0x", "10.0x", "-")
    assert cells["exponent"] == "1.30", "twice the time per step for ten times the steps"
    assert cells["B/step"] == "700", "without the payload and the size of an empty database"
    assert {value.strip() for value in theirs[2:-1]} == {"-"}


def test_contenders_are_compared_on_faults(recovery: Any) -> None:
    results = recovery.compare(["surefoot", "react", "react-checked"], ["claims_done", "claims_done_for_ever"])
    ours, plain, checked = (results[name] for name in ("surefoot", "react", "react-checked"))
    assert ours["claims_done"]["recovered"]
    assert not ours["claims_done_for_ever"]["claims_success"]
    assert plain["claims_done"]["claims_success"]
    assert not plain["claims_done"]["truth"], "a plain loop believes the model"
    assert checked["claims_done"]["recovered"], "the check's output corrects it"
    assert checked["claims_done"]["extra_calls"] == 1
    _, _, first, second, third = recovery.table(results).splitlines()
    assert first.startswith("| Surefoot | 1 of 1 | 1 of 1 | 0 of 2 | 0 of 2 |")
    assert second.startswith("| ReAct loop | 0 of 1 | 0 of 1 | 2 of 2 |")
    assert third.startswith("| ReAct loop, check fed back | 1 of 1 | 1 of 1 | 0 of 2 |")


def test_the_page_shows_the_table_of_the_stored_results(recovery: Any) -> None:
    results = json.loads((FOLDER / "results" / "recovery.json").read_text())
    in_order = {name: results[name] for name in recovery.CONTENDERS}
    page = (FOLDER.parent / "docs" / "benchmarks-recovery.md").read_text()
    assert recovery.table(in_order) in page
    assert set(results["surefoot"]) == set(recovery.BY_NAME), "every fault was measured"


def test_the_deployment_page_shows_the_table_of_the_stored_results(workers: Any) -> None:
    results = json.loads((FOLDER / "results" / "workers.json").read_text())
    assert workers.table(results) in (FOLDER.parent / "docs" / "deploy.md").read_text()
    assert [row["workers"] for row in results] == [1, 2, 4]


async def test_workers_are_measured_from_the_moment_when_all_are_ready(
    workers: Any, database: str, tmp_path: Path
) -> None:
    """The benchmark itself requires that no worker has begun when the clock starts."""
    temporal = TemporalServer()
    try:
        with mock.patch.dict(os.environ):
            measured = await workers.measure(tmp_path / "1", database, temporal, 1, 3)
    finally:
        temporal.stop()
    assert min(measured.values()) > 0

"""A Temporal server, a database, and workers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.farm import Farm
from support.temporal import TemporalServer


@pytest.fixture(scope="module")
def temporal() -> Iterator[TemporalServer]:
    server = TemporalServer()
    yield server
    server.stop()


@pytest.fixture
def farm(tmp_path: Path, database: str, temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Farm]:
    farm = Farm(tmp_path, database, temporal.address, f"queue-{tmp_path.name}")
    for name, value in farm.environ.items():
        monkeypatch.setenv(name, value)
    yield farm
    farm.close()

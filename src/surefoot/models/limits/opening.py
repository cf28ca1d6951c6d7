"""Apply the configured limits to a model. All models of a process share one table, and so one connection."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from surefoot.config import paths
from surefoot.config.model import ModelSettings
from surefoot.config.storage import read_storage
from surefoot.models.base import LanguageModel
from surefoot.models.limits.base import CallTable, Limits
from surefoot.models.limits.line import Line


@dataclass
class _OpenTable:
    """An open table, and how many models of this process use it."""

    table: CallTable
    users: int = 0
    lines: dict[tuple[asyncio.AbstractEventLoop, Limits], Line] = field(default_factory=dict)


_tables: dict[str, _OpenTable] = {}
"""Open tables by the URL of the database, or the path of the file."""
_tables_lock = threading.Lock()


def limited(model: LanguageModel, provider: str, settings: ModelSettings) -> LanguageModel:
    """Return the model itself if no limit is set, else a model that waits for the limits."""
    if settings.concurrent_calls is None and settings.tokens_per_minute is None:
        return model
    from surefoot.models.limits.limited import LimitedModel

    limits = Limits(provider, settings.concurrent_calls, settings.tokens_per_minute)
    calls, line = _borrow(limits)
    return LimitedModel(model, limits, calls, line=line)


class _Borrowed:
    """The handle of one model on a shared table. The table is closed with its last handle."""

    def __init__(self, place: str, table: CallTable) -> None:
        self._place: str | None = place
        self.begin, self.renew, self.end = table.begin, table.renew, table.end

    def close(self) -> None:
        with _tables_lock:
            place, self._place = self._place, None
            if place is None:
                return
            table = _tables[place]
            table.users -= 1
            if table.users:
                return
            del _tables[place]
        table.table.close()


def _borrow(limits: Limits) -> tuple[CallTable, Line]:
    place, make = _location()
    with _tables_lock:
        if place not in _tables:
            _tables[place] = _OpenTable(make())
        table = _tables[place]
        table.users += 1
        line = table.lines.setdefault((asyncio.get_running_loop(), limits), Line())
    return _Borrowed(place, table.table), line


def _location() -> tuple[str, Callable[[], CallTable]]:
    """Return the key of the configured table in `_tables`, and a function that opens the table."""
    storage = read_storage()
    if storage.database is None:
        from surefoot.models.limits.local import LocalCalls

        path: Path = paths.state_home() / "limits.sqlite"
        return str(path), lambda: LocalCalls(path)
    from surefoot.models.limits.shared import SharedCalls

    database = storage.database
    return database, lambda: SharedCalls(database)

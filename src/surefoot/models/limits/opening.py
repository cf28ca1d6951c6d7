"""Applies the limits of the settings to a model. All models of a process share one table, and so one connection."""

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
class _Open:
    """A table that models of this process use."""

    table: CallTable
    users: int = 0
    lines: dict[tuple[asyncio.AbstractEventLoop, Limits], Line] = field(default_factory=dict)


_open: dict[str, _Open] = {}
"""By the address of the database, or the path of the file."""
_changing = threading.Lock()


def limited(model: LanguageModel, provider: str, settings: ModelSettings) -> LanguageModel:
    """The model itself if there are no limits, else one that waits for them."""
    if settings.concurrent_calls is None and settings.tokens_per_minute is None:
        return model
    from surefoot.models.limits.limited import LimitedModel

    limits = Limits(provider, settings.concurrent_calls, settings.tokens_per_minute)
    calls, line = _borrow(limits)
    return LimitedModel(model, limits, calls, line=line)


class _Borrowed:
    """A table for one model. It is closed when no model uses it any more."""

    def __init__(self, place: str, table: CallTable) -> None:
        self._place: str | None = place
        self.begin, self.renew, self.end = table.begin, table.renew, table.end

    def close(self) -> None:
        with _changing:
            place, self._place = self._place, None
            if place is None:
                return
            found = _open[place]
            found.users -= 1
            if found.users:
                return
            del _open[place]
        found.table.close()


def _borrow(limits: Limits) -> tuple[CallTable, Line]:
    place, make = _table()
    with _changing:
        if place not in _open:
            _open[place] = _Open(make())
        found = _open[place]
        found.users += 1
        line = found.lines.setdefault((asyncio.get_running_loop(), limits), Line())
    return _Borrowed(place, found.table), line


def _table() -> tuple[str, Callable[[], CallTable]]:
    storage = read_storage()
    if storage.database is None:
        from surefoot.models.limits.local import LocalCalls

        path: Path = paths.state_home() / "limits.sqlite"
        return str(path), lambda: LocalCalls(path)
    from surefoot.models.limits.shared import SharedCalls

    database = storage.database
    return database, lambda: SharedCalls(database)

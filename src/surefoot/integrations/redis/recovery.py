"""Copies runs from Redis back into a journal that does not have them."""

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from surefoot.config.integrations import RedisSettings
from surefoot.errors import JournalError, SurefootError, UnknownRun, UsageError
from surefoot.integrations.redis.connection import connect, describe, failures
from surefoot.integrations.redis.copy import MAX_BLOB_BYTES
from surefoot.integrations.redis.keys import Keys, decode_record
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.base import LAST, select_run
from surefoot.journal.store.blobs import digest_of
from surefoot.journal.store.reading import JournalReader
from surefoot.journal.store.writing import import_run


@dataclass(frozen=True, slots=True)
class Recovered:
    run_id: str
    state: RunState
    blobs: int
    missing: int
    """How many of the last events could not be recovered."""

    @property
    def may_be_running(self) -> bool:
        return self.state.in_progress


async def recover(settings: RedisSettings, name: str, journal_file: Path) -> Recovered:
    """Write a run to the journal, with its original events. `name` is the beginning of its id, or `last`."""
    if settings.url is None:
        raise UsageError("no Redis server is configured", remedy="set SUREFOOT_REDIS__URL=redis://HOST:6379/0")
    client = connect(settings)
    try:
        run_id = await _find(client, settings, name)
        keys = Keys(settings.prefix, run_id)
        entries = {int(seq): body for seq, body in (await client.hgetall(keys.events)).items()}
        packed = await client.hgetall(keys.blobs)
    except failures() as error:
        raise SurefootError(describe(settings, error), remedy="check the address, and that the server runs") from error
    finally:
        await client.aclose()
    records = _records(run_id, entries)
    state = fold(records)
    blobs = [data for digest, body in packed.items() if (data := _unpacked(digest.decode(), body)) is not None]
    _refuse_known(journal_file, run_id)
    import_run(journal_file, run_id, records, blobs)
    return Recovered(run_id, state, len(blobs), max(entries) - len(records))


async def _find(client: Any, settings: RedisSettings, name: str) -> str:
    newest = [run_id.decode() for run_id in await client.zrevrange(Keys(settings.prefix).runs, 0, -1)]
    recoverable = [run_id for run_id in newest if await client.exists(Keys(settings.prefix, run_id).events)]
    if not recoverable:
        raise UnknownRun(
            "there are no runs in Redis that can be recovered",
            remedy="keys expire after redis.ttl_seconds, and events are copied only with redis.events = true",
        )
    matching = recoverable[:1] if name == LAST else [run_id for run_id in recoverable if run_id.startswith(name)]
    return select_run(name, matching, recoverable)


def _records(run_id: str, entries: dict[int, bytes]) -> list[e.Record]:
    """The events from the first one up to the first gap."""
    records: list[e.Record] = []
    try:
        while (seq := len(records) + 1) in entries:
            records.append(decode_record(seq, entries[seq]))
    except (ValueError, KeyError, TypeError, ValidationError) as error:
        raise JournalError(
            f"event {len(records) + 1} of run {run_id} in Redis cannot be read: {error}",
            remedy="it may be of another version; recover it with the version that wrote it",
        ) from error
    if not records or not isinstance(records[0].event, e.RunCreated) or records[0].event.run_id != run_id:
        raise JournalError(f"the beginning of run {run_id} is not in Redis any more", remedy="it cannot be recovered")
    return records


def _unpacked(digest: str, body: bytes) -> bytes | None:
    """The content; None if it does not match its hash."""
    try:
        data = zlib.decompressobj().decompress(body, MAX_BLOB_BYTES)
    except zlib.error:
        return None
    return data if digest_of(data) == digest else None


def _refuse_known(journal_file: Path, run_id: str) -> None:
    if not journal_file.exists():
        return
    reader = JournalReader(journal_file, busy_timeout=5.0)
    try:
        known = reader.position(run_id) is not None
    finally:
        reader.close()
    if known:
        raise UsageError(f"run {run_id} is in this journal already", remedy=f"see it: surefoot show {run_id}")

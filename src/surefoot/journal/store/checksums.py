"""The checksums of rows, and the keys of events.

SQLite has no checksums of its own, so every row carries one (blobs have their hash). A mismatch is an error.
"""

import json
import struct
from zlib import crc32

RUN_BITS = 32
"""The key of an event is the number of its run, shifted by this, plus its number in the run."""
_SEQ_AND_TIME = struct.Struct("<qd")


def event_crc(run_id: str, seq: int, at: float, kind: str, body: bytes) -> int:
    return crc32(body, crc32(_SEQ_AND_TIME.pack(seq, at), crc32((run_id + kind).encode())))


def fields_crc(*fields: str | int | float) -> int:
    return crc32(json.dumps(fields).encode())


def message_crc(run: int, body: bytes) -> int:
    return crc32(body, run)

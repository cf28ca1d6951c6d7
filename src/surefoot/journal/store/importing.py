"""Writes a run that comes from elsewhere into a journal file, with the numbers and times of its events."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from surefoot.journal.events import Record, encode
from surefoot.journal.store.blobs import LARGE, BlobFiles, digest_of, pack
from surefoot.journal.store.writing import Blob, Entry, JournalWriter, Run


def import_run(
    path: Path, run_id: str, records: Sequence[Record], blobs: Iterable[bytes], timeout: float = 5.0
) -> None:
    """Write all of it or nothing. The journal must not have the run."""
    run, files = Run(run_id), BlobFiles(path)
    stored: dict[str, Blob] = {}
    writer = JournalWriter(path, "process", timeout)
    try:
        for data in blobs:
            digest, (codec, body) = digest_of(data), pack(data)
            if len(body) > LARGE:
                files.write(digest, codec, body)
            stored[digest] = Blob(codec, None if len(body) > LARGE else body, data)
        entries = [Entry(run, record.seq, record.at, record.event, encode(record.event), False) for record in records]
        writer.write(entries, stored, ())
    finally:
        writer.close()

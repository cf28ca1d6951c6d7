"""The exception for a caller of `append` that was cancelled while it waited."""

import asyncio
from collections.abc import Sequence

from surefoot.journal.events import Record


class CancelledAfterAppend(asyncio.CancelledError):
    """The caller of `append` was cancelled, but its events were written.

    Process `records`, then raise a plain `CancelledError`: `asyncio.timeout` does not recognise a subclass.
    """

    def __init__(self, records: Sequence[Record], cause: asyncio.CancelledError) -> None:
        super().__init__(*cause.args)
        self.records = records

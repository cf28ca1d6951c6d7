"""The hub tells whoever runs the server what it cannot read."""

import asyncio
from pathlib import Path

import pytest

from surefoot.errors import JournalError
from surefoot.journal.redact import Redactor
from surefoot.server.hub import Hub

SECRET = "hunter2hunter2"


async def test_an_unreadable_journal_is_reported_once_and_so_is_its_return(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Hub(tmp_path, Redactor([SECRET])) as hub:
        looks, readable = 0, asyncio.Event()

        async def look() -> dict[str, int]:
            nonlocal looks
            looks += 1
            if looks <= 3:
                raise JournalError(f"no answer for {SECRET}")
            if looks > 4:
                readable.set()
            return {}

        hub._look = look  # type: ignore[method-assign]
        await readable.wait()
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["the journal cannot be read: no answer for [redacted]", "the journal can be read again"]

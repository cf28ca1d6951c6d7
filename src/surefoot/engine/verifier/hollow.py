"""Finds hollow checks, which would also pass for files without content: they prove the form of a file only.

`python -m json.tool out.json` fails while out.json is missing and passes for any JSON, even for invented data. Checks
that failed before and pass now therefore run once more, on a copy of the workspace as it was, with an empty file of the
right kind in place of every new file. A check that passes there proves nothing.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from surefoot.core.plan import CommandCheck
from surefoot.engine.runtime.run import Run

_EMPTY = frozenset({
    ".py", ".pyi", ".sh", ".bash", ".js", ".mjs", ".ts", ".rb", ".go", ".rs", ".c", ".h", ".java", ".toml", ".ini",
    ".cfg", ".db", ".sqlite", ".sqlite3",
})  # fmt: skip
"""Kinds of files that are valid when empty."""


async def hollow_checks(run: Run, checks: Sequence[CommandCheck], added: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of the checks that pass with an empty file for each in `added`.

    In a workspace too large to be copied, no check is found to be hollow.
    """
    if not checks or not added or not run.scratch.can_copy(often=False):
        return ()
    async with run.scratch.copy("hollow", run.state.snapshot) as place:
        await asyncio.to_thread(write_empty_files, run.root, place.root, added)
        results = await run.verifier.check_at(checks, place)
    return tuple(result.check.key for result in results if result.passed)


def write_empty_files(root: Path, copy: Path, added: Sequence[str]) -> None:
    """Write an empty file of the right kind to the copy for each regular file in `added`."""
    for name in added:
        written = root / name
        if written.is_symlink() or not written.is_file():
            continue
        path = copy / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(empty_file(name))
        path.chmod(written.stat().st_mode)


def empty_file(name: str) -> bytes:
    """Return the smallest valid content for a file of that kind."""
    match PurePosixPath(name).suffix.lower():
        case ".json" | ".yaml" | ".yml":
            return b"{}\n"
        case ".xml" | ".html" | ".htm" | ".svg":
            return b"<x/>\n"
        case kind if kind in _EMPTY:
            return b""
    return b"x\n"

"""Would a check also pass for files that hold nothing? Then that it passes proves their form, not their content.

`python -m json.tool out.json` fails before there is an out.json and passes for any, also for one that a model made up.
So the checks that were red before and are green now are run once more, on a copy of the folder as it was, with a
placebo in the place of every new file. What passes there has proved nothing.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from surefoot.copies import a_copy, can_be_copied
from surefoot.plan import CommandCheck
from surefoot.run import Run

_EMPTY = frozenset({
    ".py", ".pyi", ".sh", ".bash", ".js", ".mjs", ".ts", ".rb", ".go", ".rs", ".c", ".h", ".java", ".toml", ".ini",
    ".cfg", ".db", ".sqlite", ".sqlite3",
})  # fmt: skip
"""Kinds of which an empty file is a valid one."""


async def hollow_checks(run: Run, checks: Sequence[CommandCheck], added: Sequence[str]) -> tuple[str, ...]:
    """The keys of those `checks` that pass with a placebo for every file in `added`. In a folder too large to be
    copied, checks are taken at their word."""
    if not checks or not added or not can_be_copied(run, often=False):
        return ()
    async with a_copy(run, "placebo", run.state.snapshot) as place:
        await asyncio.to_thread(_lay_out, run.root, place.root, added)
        results = await run.verifier.judge(checks, place)
    return tuple(result.check.key for result in results if result.passed)


def _lay_out(root: Path, copy: Path, added: Sequence[str]) -> None:
    for name in added:
        made = root / name
        if made.is_symlink() or not made.is_file():
            continue
        path = copy / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(placebo(name))
        path.chmod(made.stat().st_mode)


def placebo(name: str) -> bytes:
    """A valid file of that kind with nothing in it."""
    match PurePosixPath(name).suffix.lower():
        case ".json" | ".yaml" | ".yml":
            return b"{}\n"
        case ".xml" | ".html" | ".htm" | ".svg":
            return b"<x/>\n"
        case kind if kind in _EMPTY:
            return b""
    return b"x\n"

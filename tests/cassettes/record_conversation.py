"""Records greet.cassette anew: a conversation with tool calls, answered by a scripted server on loopback.

Needed when prompts change, which a replay notices:

    PYTHONPATH=tests python tests/cassettes/record_conversation.py
"""

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

from support.talk import submit
from support.wire import Call, Said, scripted

HERE = Path(__file__).parent
EXAMPLE = HERE.parent.parent / "examples" / "greet"
CASSETTE = HERE / "greet.cassette"
TASK = "Make greet.sh do what README.md says."
CHECK = "sh test.sh"
WRONG = '#!/bin/sh\necho "Hello, $1!"\n'
SCRIPT = (
    Said("Let me look.", (Call("read_file", {"path": "greet.sh"}), Call("read_file", {"path": "test.sh"}))),
    Said(calls=tuple(Call(name, arguments) for name, arguments in submit())),
    Said(calls=(Call("write_file", {"path": "greet.sh", "content": WRONG}), Call("finish_step", {"summary": "done"}))),
    Said(calls=(Call("run_command", {"command": "pwd; time sh greet.sh"}),)),
    Said(
        "The name may be missing.",
        (
            Call("edit_file", {"path": "greet.sh", "search": "$1", "replace": "${1:-world}"}),
            Call("finish_step", {"summary": "greets by name"}),
        ),
    ),
)


def command(folder: Path, model: str, *more: str) -> list[str]:
    words = [sys.executable, "-m", "surefoot", "run", TASK, "--json", "-C", str(folder), "-m", model]
    return [*words, "--check", CHECK, *more]


async def record() -> None:
    CASSETTE.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "work"
        shutil.copytree(EXAMPLE, folder)
        async with scripted(*SCRIPT) as server:
            words = command(folder, f"{server.address}/v1#m", "--record", str(CASSETTE))
            environ = {"PATH": os.environ["PATH"], "HOME": home}
            process = await asyncio.create_subprocess_exec(*words, env=environ, stdout=asyncio.subprocess.DEVNULL)
            assert await process.wait() == 0


if __name__ == "__main__":
    asyncio.run(record())

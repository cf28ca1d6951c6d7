"""The run that `server.py` measures, as a process of its own: python server_work.py HOME FOLDER STEPS.

A plan of tool calls without a model. Prints CPU seconds (user and system, of this process) and wall seconds.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "tests")]

from support.kit import Bench, steps  # noqa: E402
from surefoot.core.plan import ExecutionStep  # noqa: E402
from surefoot.journal.store.sqlite import SqliteJournal  # noqa: E402


async def main() -> None:
    home, folder, count = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    folder.mkdir()
    bench = Bench(folder, home, journal=SqliteJournal(home / "journal.sqlite"))
    plan = steps(
        *(
            ExecutionStep(id=f"s{i}", name=f"Step {i}", tool="list_files", parameters={"path": "."})
            for i in range(count)
        )
    )
    cpu, wall = time.process_time(), time.perf_counter()
    await bench.run_plan(plan, max_plan_steps=count, budget={"max_tool_calls": 100_000}, baseline="off")
    print(json.dumps({"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}))
    await bench.journal.aclose()


if __name__ == "__main__":
    asyncio.run(main())

"""Runs one scenario in a process of its own, because the fault in it kills the process."""

import asyncio
import sys
from pathlib import Path

from faults.library import BY_NAME
from faults.surefoot_side import begin, services_for
from surefoot.journal.store.sqlite import SqliteJournal


def main(name: str, folder: Path, policy: str) -> None:
    scenario = BY_NAME[name](folder / "work", folder / "outside")
    services, _ = services_for(scenario, folder / "home", SqliteJournal(folder / "home" / "journal.sqlite"))
    asyncio.run(begin(services, scenario, policy))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])

"""Later files win, and null takes a key away."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require, same


def check(work: Submission) -> None:
    work.given_files_kept()
    wanted = {"host": "localhost", "port": 8080, "debug": True, "theme": "dark", "workers": 4}
    found = work.json("settings.json")
    require(same(found, wanted), f"settings.json holds {found}")


if __name__ == "__main__":
    judge(__file__, check)

"""Packing keeps the order of runs, and unpacking undoes it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    work.answers(
        "from runs import pack, unpack",
        {
            "pack('zz  Z')": [("z", 2), (" ", 2), ("Z", 1)],
            "pack('mississippi')": [("m", 1), ("i", 1), ("s", 2), ("i", 1), ("s", 2), ("i", 1), ("p", 2), ("i", 1)],
            "pack('q')": [("q", 1)],
            "unpack(pack('aabbbaaaa'))": "aabbbaaaa",
            "unpack([('-', 12)])": "-" * 12,
            "pack('a' * 1000)": [("a", 1000)],
            "pack('')": [],
        },
    )


if __name__ == "__main__":
    judge(__file__, check)

"""Each target comes once, as early as the rule says, and cycles are refused wherever they are."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["build.py"])
    work.answers(
        "from build import build_order",
        {
            "build_order({'z': [], 'y': ['z'], 'a': ['y'], 'b': []})": ["b", "z", "y", "a"],
            "build_order({'a': ['z'], 'b': ['z'], 'c': []})": ["c", "z", "a", "b"],
            "build_order({'z': [], 'b': [], 'c': ['b']})": ["b", "c", "z"],
            "build_order({'m': ['a', 'a']})": ["a", "m"],
            "build_order({'a': ['a']})": Raises("ValueError"),
            "build_order({'ok': [], 'x': ['y'], 'y': ['w'], 'w': ['x']})": Raises("ValueError"),
            "build_order({'d': ['b', 'c'], 'b': ['e'], 'c': [], 'e': []})": ["c", "e", "b", "d"],
            "build_order({str(n): [str(n + 1)] for n in range(300)})[:2]": ["300", "299"],
        },
    )


if __name__ == "__main__":
    judge(__file__, check)

"""Entries fade by their put, make room by their use, and a new put starts anew."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    work.answers(
        "from cache import Cache\nnow = [0]\nclock = lambda: now[0]\ndef at(t): now[0] = t\nc = Cache(3, 100, clock)",
        [
            ("c.put('a', None)", None),
            ("c.get('a', 'gone')", None),
            ("at(60)", None),
            ("c.put('a', 1)", None),
            ("at(120)", None),
            ("c.get('a')", 1),
            ("at(160)", None),
            ("c.get('a', 'gone')", "gone"),
            ("len(c)", 0),
            ("[c.put(k, k) for k in 'xyz']", [None, None, None]),
            ("c.put('x', 'X')", None),
            ("len(c)", 3),
            ("c.put('w', 'w')", None),
            ("[c.get(k) for k in 'xyzw']", ["X", None, "z", "w"]),
            ("at(200)", None),
            ("c.get('x')", "X"),
            ("at(260)", None),
            ("len(c)", 0),
            ("one = Cache(1, 5, clock)", None),
            ("[one.put(1, 'a'), one.put(2, 'b')]", [None, None]),
            ("[one.get(1), one.get(2), len(one)]", [None, "b", 1]),
            ("Cache(-1, 5, clock)", Raises("ValueError")),
        ],
    )


if __name__ == "__main__":
    judge(__file__, check)

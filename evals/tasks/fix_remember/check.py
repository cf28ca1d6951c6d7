"""Results are kept by all arguments, also None, and functions do not share them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["remember.py"])
    work.answers(
        "from remember import remember\nlog = []\n"
        "@remember\ndef f(*a, **k):\n    log.append(1)\n    return (a, sorted(k.items())) if a else None\n"
        "@remember\ndef g(x):\n    return -x\n@remember\ndef bad(x):\n    log.append(1)\n    raise OSError(x)\n",
        [
            ("[f(), f(), len(log)]", [None, None, 1]),
            ("[f(1, a=1, b=2), f(1, b=2, a=1), len(log)]", [((1,), [("a", 1), ("b", 2)])] * 2 + [2]),
            ("f(1)", ((1,), [])),
            ("f(1, c=None)", ((1,), [("c", None)])),
            ("f(('c', None), 1)", ((("c", None), 1), [])),
            ("[g(1), f(1)]", [-1, ((1,), [])]),
            ("len(log)", 5),
            ("bad(1)", Raises("OSError")),
            ("bad(1)", Raises("OSError")),
            ("len(log)", 7),
        ],
    )


if __name__ == "__main__":
    judge(__file__, check)

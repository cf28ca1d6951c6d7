"""initials() is there and right, although no visible test asks for it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["names.py", "test_names.py"])
    work.tests_pass(files={"test_names.py": (work.given / "test_names.py").read_text()})
    work.answers(
        "from names import initials, tidy",
        {
            "initials('Ada King Lovelace')": "A.K.L.",
            "initials('  grace   hopper ')": "G.H.",
            "initials('plato')": "P.",
            "initials('')": "",
            "initials('   ')": "",
            "tidy(' a  b ')": "a b",
        },
    )


if __name__ == "__main__":
    judge(__file__, check)

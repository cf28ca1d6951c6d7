"""The order is the one in which the tags came, not the alphabet's."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["tags.py"])
    work.answers(
        "from tags import tag_line",
        {
            "tag_line(['Zebra', 'ant', 'ZEBRA', 'mole'])": "#zebra #ant #mole",
            "tag_line(['b', 'B', 'a', 'b', 'A', 'c'])": "#b #a #c",
            "tag_line(list('qwertyuiopQWERTYUIOP'))": " ".join("#" + letter for letter in "qwertyuiop"),
            "tag_line([])": "",
        },
    )


if __name__ == "__main__":
    judge(__file__, check)

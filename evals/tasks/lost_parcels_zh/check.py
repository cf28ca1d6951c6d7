"""Lost parcels are counted per city, however their status is written."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require

WANTED = {"杭州": 12, "武汉": 17, "厦门": 10, "西安": 9, "成都": 5, "昆明": 13}


def check(work: Submission) -> None:
    work.given_files_kept()
    found = work.json("lost.json")
    require(found == WANTED, f"lost.json holds {found}")


if __name__ == "__main__":
    judge(__file__, check)

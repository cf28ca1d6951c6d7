"""Phone numbers are masked, and anything but eleven digits is refused."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    work.answers(
        "from mask import mask_phone",
        {
            "mask_phone('15011112222')": "150****2222",
            "mask_phone('18777770000')": "187****0000",
            "mask_phone('')": Raises("ValueError"),
            "mask_phone('138123456789')": Raises("ValueError"),
            "mask_phone('138 1234567')": Raises("ValueError"),
            "mask_phone('abcdefghijk')": Raises("ValueError"),
        },
    )


if __name__ == "__main__":
    judge(__file__, check)

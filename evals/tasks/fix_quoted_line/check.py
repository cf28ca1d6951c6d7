"""Quoted cells keep their commas and quotes, wherever they stand."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["lines.py"])
    work.answers(
        "from lines import split_line",
        {
            "split_line('\"a,b\"')": ["a,b"],
            "split_line('\"\",x')": ["", "x"],
            'split_line(\'"""",y\')': ['"', "y"],
            'split_line(\'a,"b,""c"",d",e\')': ["a", 'b,"c",d', "e"],
            'split_line(\'",",","\')': [",", ","],
            'split_line(\'"""x",y\')': ['"x', "y"],
            "split_line('one')": ["one"],
            "split_line('')": [""],
            "split_line(' a , b ')": [" a ", " b "],
        },
    )


if __name__ == "__main__":
    judge(__file__, check)

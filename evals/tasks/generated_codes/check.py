"""The source has the new code, and codes.py is what the generator makes of it."""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require


def check(work: Submission) -> None:
    work.given_files_kept(but=["codes.csv", "codes.py"])
    rows = sorted(tuple(cell.strip() for cell in row) for row in csv.reader(work.lines("codes.csv")))
    wanted = [("200", "fine"), ("404", "not here"), ("418", "teapot"), ("500", "broken"), ("code", "text")]
    require(rows == wanted, f"codes.csv holds {rows}")
    ran = work.run("make_codes.py")
    require(ran.code == 0, "make_codes.py fails")
    require((ran.folder / "codes.py").read_text() == work.text("codes.py"), "codes.py is not what the generator makes")


if __name__ == "__main__":
    judge(__file__, check)

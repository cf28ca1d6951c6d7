"""The option works in every place on the line, is described, and its test fails without it."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, refuse, require, same


def check(work: Submission) -> None:
    work.given_files_kept(but=["README.md", "stock_report.py"])
    stock = {"other.txt": "bolt 1\nalpha 2\nbolt 3\n"}
    for arguments in (["--json", "other.txt"], ["other.txt", "--json"]):
        ran = work.run("stock_report.py", *arguments, files=stock)
        require(ran.code == 0, f"{' '.join(arguments)} ends with status {ran.code}")
        try:
            found = json.loads(ran.out)
        except ValueError:
            refuse(f"{' '.join(arguments)} does not print JSON")
        require(same(found, {"alpha": 2, "bolt": 4}), f"--json prints {found}")
    ran = work.run("stock_report.py", "other.txt", files=stock)
    require(ran.out == "alpha: 2\nbolt: 4\n", "the text report changed")
    readme = work.text("README.md")
    require("--json" in readme and "stock_report.py" in readme, "README.md does not describe --json")
    work.text("test_json.py")
    work.tests_pass()
    work.tests_pass("test_json")
    before = {"stock_report.py": (work.given / "stock_report.py").read_text()}
    ran = work.run("-m", "unittest", "-q", "test_json", files=before)
    require(ran.code != 0, "test_json.py passes without the option, so it tests nothing")


if __name__ == "__main__":
    judge(__file__, check)

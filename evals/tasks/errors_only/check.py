"""Entries of level ERROR are copied with their indented lines, and no others."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require

SHOW = """
import subprocess, sys
subprocess.run([sys.executable, "errors_only.py", "in.txt", "out.txt"], check=True)
print("=====")
print(open("out.txt").read())
"""
LOG = "2025-05-01 10:00 ERROR a\n\tmore\n2025-05-01 10:01 DEBUG ERROR\n  ERROR\n2025-05-01 10:02 ERROR b\n"


def check(work: Submission) -> None:
    work.given_files_kept()
    work.text("errors_only.py")
    done = work.run("-c", SHOW, files={"in.txt": LOG})
    require(done.code == 0, f"errors_only.py failed: {done.err.strip()[-80:]}")
    found = [line.rstrip() for line in done.out.partition("=====\n")[2].split("\n") if line.strip()]
    require(found == ["2025-05-01 10:00 ERROR a", "\tmore", "2025-05-01 10:02 ERROR b"], f"it copied {found}")


if __name__ == "__main__":
    judge(__file__, check)

"""What is said about the checks before any work is done: where they come from, and why they fail."""

import os

import pytest

from cli.conftest import Surefoot
from support.forgeries import UNITTEST
from support.stories import TASK, TEST, UNDERSTANDING, adder, good_script


def test_the_projects_tests_are_named_as_the_check_if_none_is_given(surefoot: Surefoot) -> None:
    *words, _, _ = good_script(surefoot)
    (surefoot.workspace / "test_adder.py").write_text(UNITTEST)
    run = surefoot(*words)
    assert run.code == 0, run.err
    row = next(index for index, line in enumerate(run.lines) if "no --check was given" in line)
    assert "no --check was given: using the project's tests, python3 -m unittest discover" in run.lines[row]
    assert "fails before the run and must pass at the end" in run.lines[row + 1]
    assert "proof   A: the project's tests failed before and pass now" in run.out
    report = surefoot("report", "--format", "md", "-o", "-").out
    assert "Proof A: the project's tests failed before and pass now" in report
    assert "given check" not in run.out + run.err + report


@pytest.mark.parametrize(
    ("check", "why", "warning"),
    [
        ("python3 -m unitest -q", "No module named unitest", "had the module unitest, which the check "
         "'python3 -m unitest -q' runs; did you mean unittest?"),
        ("cd . && python3 -W error -m addr.cli", "No module named 'addr'", "the module addr.cli, which the check "),
        ("python3 chekcs/x.py", "can't open file", ""),
        ("python3 -m lib_of_mine", "No module named lib_of_mine", ""),
    ],
    ids=["module", "own module", "file", "in src"],
)  # fmt: skip
def test_a_check_that_fails_shows_why_before_the_model_works(
    surefoot: Surefoot, check: str, why: str, warning: str
) -> None:
    (surefoot.workspace / "src/lib_of_mine").mkdir(parents=True)
    (surefoot.workspace / "adder.py").write_text("")
    run = surefoot(
        "run", TASK, "-m", surefoot.script(UNDERSTANDING), "--until-phase", "understanding", "--check", check
    )
    failing = next(
        index for index, line in enumerate(run.lines) if "fails before the run and must pass at the end" in line
    )
    assert why in run.lines[failing + 1], run.err
    warnings = [line for line in run.lines if "warning:" in line]
    assert len(warnings) == bool(warning)
    assert warning in "".join(warnings)


def test_an_older_run_whose_check_cannot_run_is_not_worked_on(surefoot: Surefoot) -> None:
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    refused = surefoot("run", TASK, "-m", surefoot.script(), "--check", "pyhton3 -m unittest")
    assert refused.code == 2
    assert "pyhton3 is not a command on this machine" in refused.err
    assert "did you mean python3?" in refused.err
    tool = surefoot.workspace.parent / "bin/lookhere"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nexit 1\n")
    tool.chmod(0o755)
    surefoot.environ["PATH"] = f"{tool.parent}:{os.environ['PATH']}"
    words = ["run", TASK, "-m", surefoot.script(UNDERSTANDING), "--check", "lookhere now"]
    begun = surefoot(*words, "--until-phase", "understanding")
    assert "lookhere now fails before the run" in begun.err
    tool.unlink()
    resumed = surefoot("resume", "last", "-m", surefoot.script(adder("+")))
    assert resumed.code == 1, resumed.err
    assert "What failed: the check cannot be run: lookhere is not a command on this machine" in resumed.out
    assert "a corrected check needs a new run" in resumed.out
    assert not (surefoot.workspace / "adder.py").exists()

"""Submitted code cannot fool, hang or break the hidden checkers."""

import time
from pathlib import Path
from typing import Any

import pytest
from evals import confined
from evals.checking import Raises, Refused, Submission, same

GOOD = "def double(x):\n    if x is None:\n        raise TypeError(x)\n    return 2 * x\n"
CASES = {"double(2)": 4, "double(-1.5)": -3, "double('ab')": "abab", "double(None)": Raises("TypeError")}


@pytest.fixture
def work(tmp_path: Path) -> Submission:
    for name in ("given", "root", "scratch"):
        (tmp_path / name).mkdir()
    for name in ("given", "root"):
        (tmp_path / name / "data.txt").write_text("original")
    (tmp_path / "root" / "code.py").write_text(GOOD)
    return Submission(tmp_path / "root", tmp_path / "given", tmp_path / "scratch")


def check_answers(work: Submission, code: str) -> None:
    (work.root / "doubling.py").write_text(code)
    work.answers("from doubling import double", CASES)


def test_correct_code_that_prints_a_lot_is_accepted(work: Submission) -> None:
    check_answers(work, "import sys\nprint('noise' * 1000)\nsys.stdout = sys.stderr = None\n" + GOOD)
    assert not (work.root / "__pycache__").exists()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os\nos._exit(0)", "ended by itself with status 0"),
        ("import sys\nsys.exit(0)", "SystemExit"),
        ("import os\ndef double(x):\n    os._exit(0)", "instead of answering"),
        ("def double(x):\n    raise SystemExit(0)", "raised SystemExit"),
        ("class Same:\n    def __eq__(self, other):\n        return True\ndouble = lambda x: Same()", "gave <"),
        ("import json\njson.dumps = lambda *a: '{}'\nrepr = str\ndouble = lambda x: 4", "gave 4, not -3"),
        ("def double(x):\n    return '[' * 5000", "not 4"),
        ("class Deep:\n    __repr__ = lambda self: '[' * 9000\ndouble = lambda x: Deep()", "gave [["),
        ("def double(x) return", "SyntaxError"),
        ("", "ImportError"),
        ("double = lambda x: 4 if x == 2 else True", "gave True, not -3"),
        ("data = [0] * (1 << 28)\n" + GOOD, "MemoryError"),
        ("open('big', 'wb').write(b'x' * (9 << 20))\n" + GOOD, "File too large"),
    ],
)
def test_code_that_cheats_or_crashes_is_refused(work: Submission, code: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        check_answers(work, code)
    assert reason in str(refused.value)


def test_code_that_never_ends_is_killed(work: Submission, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confined, "CPU_SECONDS", 1)
    with pytest.raises(Refused):
        check_answers(work, "while True:\n    pass")
    monkeypatch.setattr(confined, "WALL_SECONDS", 1)
    with pytest.raises(Refused):
        check_answers(work, "import time\ntime.sleep(3600)")


def test_background_processes_are_killed(work: Submission) -> None:
    (work.root / "spawn.py").write_text(
        "import subprocess\nprint(subprocess.Popen(['sleep', '3600'], stdout=subprocess.DEVNULL).pid)\n"
    )
    pid = int(work.run("spawn.py").out)
    while Path(f"/proc/{pid}").exists() and "State:\tZ" not in Path(f"/proc/{pid}/status").read_text():
        time.sleep(0.01)


def test_changed_given_files_and_links_out_of_the_workspace_are_refused(work: Submission, tmp_path: Path) -> None:
    work.given_files_kept()
    (work.root / "data.txt").write_text("other")
    with pytest.raises(Refused, match=r"data\.txt was changed"):
        work.given_files_kept()
    work.given_files_kept(but=["data.txt"])
    (work.root / "data.txt").unlink()
    (work.root / "data.txt").symlink_to(tmp_path / "given" / "data.txt")
    with pytest.raises(Refused, match=r"data\.txt is gone"):
        work.given_files_kept()
    with pytest.raises(Refused, match="leads out"):
        work.run("code.py")
    with pytest.raises(Refused, match="no data"):
        work.text("data.txt")
    (work.root / "data.txt").unlink()
    (work.root / "folder").symlink_to(tmp_path / "given")
    with pytest.raises(Refused, match="folder leads out"):
        work.run("code.py")


@pytest.mark.parametrize(
    ("name", "before", "after", "accepted"),
    [
        ("test_a.py", "import a\n\n\nassert a.b(1) == 2\n", "import a\nassert a.b( 1 ) == 2  # yes", True),
        ("test_a.py", "assert b(1) == 2\n", "assert b(1) == 3\n", False),
        ("test_a.py", "assert b(1) == 2\n", "assert b(1) ==\n", False),
        ("data.csv", "a,b\n1,2\n", "a,b \r\n1,2", True),
        ("data.csv", "a,b\n1,2\n", "a,b\n1,3\n", False),
        ("data.csv", "a\n\nb\n", "a\nb\n", False),
        ("data.bin", "\0\xff", "\0\xfe", False),
    ],
)
def test_whitespace_in_a_given_file_may_change_but_not_its_content(
    work: Submission, name: str, before: str, after: str, accepted: bool
) -> None:
    (work.given / name).write_bytes(before.encode("latin-1"))
    (work.root / name).write_bytes(after.encode("latin-1"))
    if accepted:
        work.given_files_kept()
    else:
        with pytest.raises(Refused, match="was changed"):
            work.given_files_kept()


def test_added_files_are_refused_but_caches_are_ignored(work: Submission) -> None:
    (work.root / "__pycache__").mkdir()
    (work.root / "__pycache__" / "code.pyc").write_text("")
    work.nothing_added(but=["code.py"])
    with pytest.raises(Refused, match=r"code\.py was added"):
        work.nothing_added()


@pytest.mark.parametrize(
    ("actual", "expected", "equal"),
    [
        (0.1 + 0.2, 0.3, True),
        (2, 2.0, True),
        (True, 1, False),
        (1, True, False),
        ([1], (1,), False),
        ([1, [2.0]], [1, [2]], True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ("1", 1, False),
        (None, None, True),
        (None, 0, False),
    ],
)
def test_comparison_of_values(actual: Any, expected: Any, equal: bool) -> None:
    assert same(actual, expected) is equal

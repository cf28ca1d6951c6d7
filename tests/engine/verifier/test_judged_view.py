"""The tree on which final checks are judged: what it contains, where it is, and what the outcome says about it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.forgeries import GOOD, RUN_UNITTEST, TASK, UNITTEST, WRONG
from support.kit import NO_RETRIES, Bench, act, done, understanding
from support.sandboxes import bubblewrap_here
from surefoot.core.outcome import Verdict
from surefoot.core.phases import JudgedView
from surefoot.engine.verifier import judged_view, scratch
from surefoot.engine.verifier.judged_view import folders_to_keep
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.workspace.snapshots.manifest import Entry

pytestmark = [pytest.mark.slow, pytest.mark.req("X1", "X12")]
needs_bubblewrap = pytest.mark.skipif(isinstance(bubblewrap_here(), str), reason="this machine cannot use bubblewrap")
SANDBOXES = [pytest.param("auto", marks=needs_bubblewrap), "off"]
FIX = f"cat > adder.py <<'END'\n{GOOD}END"
NEW_TEST = "printf 'import unittest\\nclass B(unittest.TestCase):\\n    def test(self): pass\\n' > test_more.py"


async def play(
    bench: Bench, *programs: str, check: str = RUN_UNITTEST, task: str = TASK, sandbox: str = "auto", **config: object
) -> RunState:
    (bench.root / "adder.py").write_text(WRONG)
    (bench.root / "test_adder.py").write_text(UNITTEST)
    commands = [act("run_command", command=program) for program in programs]
    answers = [understanding(), *commands, *[done()] * 3]
    return await bench.run(task, answers, checks=[check], sandbox=sandbox, reflection=NO_RETRIES, **config)


def view_of(state: RunState) -> JudgedView | None:
    assert state.validation is not None
    assert state.validation.output is not None
    return state.validation.output.view


def final_passes(bench: Bench) -> int:
    return len([event for event in bench.events(e.ChecksRan) if event.when == "final"])


async def test_one_pass_is_enough_if_nothing_that_decides_changed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[str] = []
    monkeypatch.setattr(scratch.Scratch, "_fill", lambda self, copy, *rest, **more: copies.append(copy.parent.name))
    state = await play(bench, FIX, sandbox="off")
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert view_of(state) is None
    assert copies == []


@pytest.mark.parametrize("sandbox", SANDBOXES)
async def test_outcome_says_what_was_judged_differently(bench: Bench, sandbox: str) -> None:
    """An extended file of tests is judged as it was given, and a new test is no proof of level A."""
    extended = UNITTEST + "\n    def test_negative(self):\n        self.assertEqual(add(-2, -3), -5)\n"
    program = f"{FIX}\n{NEW_TEST}\ncat > test_adder.py <<'END'\n{extended}END"
    state = await play(bench, program, sandbox=sandbox)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome
    assert view_of(state) == JudgedView(restored=("test_adder.py",), left_out=("test_more.py",))
    assert "checked again with these files as they were before the run: test_adder.py" in state.outcome.warnings
    assert "checked again without these new files: test_more.py" in state.outcome.warnings
    assert bench.files()["test_adder.py"] == extended, "the workspace itself is left as it is"
    assert list((bench.home / "copies").iterdir()) == []


async def test_new_data_that_tests_read_verifies(bench: Bench) -> None:
    bench.write(test_data__py="import json, unittest\nclass D(unittest.TestCase):\n    def test_size(self):\n"
                "        self.assertEqual(json.load(open('data/config.json'))['size'], 3)\n")  # fmt: skip
    program = "mkdir data; echo '{\"size\": 3}' > data/config.json"
    state = await play(bench, f"{FIX}\n{program}", task="Make the failing tests pass by creating data/config.json.")
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome


async def test_file_that_the_task_asks_to_change_is_judged_as_it_is(bench: Bench) -> None:
    bench.write(Makefile="all:\n\ttrue\n")
    state = await play(
        bench, "printf 'lint:\\n\\tpython3 -c \"import adder\"\\n' >> Makefile", check="make -s lint",
        task="Add a target `lint` to the Makefile.",
    )  # fmt: skip
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome


async def test_files_that_the_task_says_to_leave_alone_still_cost_the_verdict(bench: Bench) -> None:
    bench.write(vendored__py="x = 1\n")
    state = await play(bench, f"{FIX}\necho 'x = 2' > vendored.py", task=f"{TASK} Do not touch vendored.py.")
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert "the task says to leave vendored.py alone, and it was modified" in state.outcome.summary


@pytest.mark.parametrize("sandbox", SANDBOXES)
async def test_what_one_check_plants_does_not_help_another(bench: Bench, sandbox: str) -> None:
    """The program under test changes a test when the first check runs it."""
    easy = "import unittest\nclass B(unittest.TestCase):\n    def test(self): pass\n"
    evil = f"import pathlib\nif pathlib.Path('mark').exists():\n    pathlib.Path('test_b.py').write_text({easy!r})\n"
    evil += "def add(a, b): return 5\n"
    bench.write(test_b__py=UNITTEST.replace("(2, 3), 5", "(1, 1), 2"))
    (bench.root / "adder.py").write_text(WRONG)
    (bench.root / "test_adder.py").write_text(UNITTEST)
    program = f"cat > adder.py <<'END'\n{evil}END\ntouch mark"
    checks = ["python3 -m unittest -q test_adder", "python3 -m unittest -q test_b"]
    answers = [understanding(), act("run_command", command=program), *[done()] * 3]
    state = await bench.run(TASK, answers, checks=checks, sandbox=sandbox, reflection=NO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED, state.outcome
    assert "test_b.py" in state.outcome.summary
    view = view_of(state)
    assert view is not None
    assert [result.check.label for result in view.red] == checks[1:]


@needs_bubblewrap
async def test_absolute_paths_lead_into_the_view(bench: Bench) -> None:
    check = f"cd / && PYTHONPATH={bench.root} python3 {bench.root}/test_adder.py -q"
    (bench.root / "test_adder.py").write_text("")
    text = UNITTEST + "\nunittest.main()\n"
    (bench.root / "adder.py").write_text(WRONG)
    (bench.root / "test_adder.py").write_text(text)
    answers = [understanding(), act("run_command", command="echo > test_adder.py"), *[done()] * 3]
    state = await bench.run(TASK, answers, checks=[check], sandbox="auto", reflection=NO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED, state.outcome
    view = view_of(state)
    assert view is not None
    assert [result.check.label for result in view.red] == [check], "it has run the test as it was"


@needs_bubblewrap
async def test_large_folders_are_shown_instead_of_copied(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged_view, "LARGE_FILES", 3)
    big = bench.root / "big"
    big.mkdir()
    for n in range(6):
        (big / f"{n}.txt").write_text("x")
    copied: list[Sequence[str]] = []
    fill = scratch.Scratch._fill

    def record(self: scratch.Scratch, copy: Path, snapshot: str, *rest: Sequence[str], link: bool = True) -> None:
        fill(self, copy, snapshot, *rest, link=link)
        copied.append(sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()))

    monkeypatch.setattr(scratch.Scratch, "_fill", record)
    check = f"{RUN_UNITTEST} && test -s big/5.txt && test -w big/5.txt"
    state = await play(bench, f"{FIX}\n{NEW_TEST}", check=check)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome
    assert copied[0] == ["adder.py", "test_adder.py"]


@pytest.mark.parametrize("sandbox", SANDBOXES)
async def test_workspace_that_is_too_large_for_a_view_is_not_verified(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, sandbox: str
) -> None:
    monkeypatch.setattr(scratch, "MAX_BYTES", 10)
    state = await play(bench, f"{FIX}\n{NEW_TEST}", sandbox=sandbox)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert "test_more.py changed, which decides what they do" in state.outcome.summary
    assert "too large to be copied" in state.outcome.summary


async def test_large_workspace_in_which_nothing_that_decides_changed_is_verified(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "MAX_BYTES", 10)
    state = await play(bench, FIX, sandbox="off")
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome


@pytest.mark.parametrize(("program", "verdict"), [
    (f"{FIX}", Verdict.VERIFIED), (f"{FIX}\necho x >> .venv/lib.py", Verdict.UNVERIFIED),
])  # fmt: skip
async def test_excluded_environment_must_not_change(bench: Bench, program: str, verdict: Verdict) -> None:
    (bench.root / ".venv").mkdir()
    (bench.root / ".venv" / "lib.py").write_text("x = 1\n")
    state = await play(bench, program, sandbox="off", snapshot_excludes=[".venv"])
    assert state.outcome is not None
    assert state.outcome.verdict is verdict, state.outcome
    assert verdict is Verdict.VERIFIED or ".venv/lib.py changed during the run" in state.outcome.summary


async def test_check_that_passed_before_needs_no_view(bench: Bench) -> None:
    state = await play(bench, NEW_TEST, check="true", sandbox="off")
    assert view_of(state) is None
    assert final_passes(bench) == 1


def test_folders_without_differences_are_kept_if_they_are_large() -> None:
    paths = ["a/x", "a/y", "b/c/x", "b/c/y", "b/d/x", "e"]
    entries = {path: Entry(path, "file", 0o644, 0, 30_000_000) for path in paths}
    assert folders_to_keep(entries, ["b/c/x"]) == ["a", "b/d"]
    assert folders_to_keep(entries, ["a/x", "b/d/x", "b/c/y"]) == []

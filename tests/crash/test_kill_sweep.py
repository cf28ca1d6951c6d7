"""Killed (SIGKILL) at every point where something was about to outlive the process, a run ends as if it had not been.

An undo at every point; a run at some of them, and at all in `make nightly`.
"""

from collections.abc import Iterator

import pytest

from crash.sweep import Sweep, sweeping

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning"),
]


@pytest.fixture(scope="module")
def sweep() -> Iterator[Sweep]:
    with sweeping() as made:
        yield made


@pytest.fixture(scope="module")
def replanning() -> Iterator[Sweep]:
    with sweeping(replans=True) as made:
        yield made


def report(sweep: Sweep, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{what}: {sweep.findings}", end="")
    assert not sweep.findings.problems, "\n".join(sweep.findings.problems)


@pytest.mark.req("X2", "A11", "P13")
@pytest.mark.parametrize("count", [12, pytest.param(0, marks=pytest.mark.nightly)], ids=["some", "all"])
def test_a_run_killed_anywhere_ends_the_same(sweep: Sweep, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    sweep.begin()
    for at in sweep.some(count):
        sweep.kill_at(at)
    report(sweep, "a run", capsys)


@pytest.mark.req("X2", "A11", "P13")
@pytest.mark.parametrize("count", [4, pytest.param(0, marks=pytest.mark.nightly)], ids=["some", "all"])
def test_a_run_that_repairs_and_replans(replanning: Sweep, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    replanning.begin()
    for at in replanning.some(count):
        replanning.kill_at(at)
    report(replanning, "a run that repairs and replans", capsys)


@pytest.mark.req("X2", "A11")
@pytest.mark.parametrize("every", [90, pytest.param(1, marks=pytest.mark.nightly)], ids=["some", "all"])
@pytest.mark.parametrize(("kind", "number"), [("spawned", 5), ("rmdir", 1)], ids=["in a command", "in a rollback"])
def test_what_resumes_it_may_be_killed_anywhere(
    sweep: Sweep, kind: str, number: int, every: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the run was killed in the middle of a command, and of a rollback."""
    sweep.begin()
    at = 1 + every // 2
    while sweep.kill_at(sweep.where(kind, number), at) == 2:
        at += every
    sweep.findings.points = at
    report(sweep, "what resumes it", capsys)


@pytest.mark.req("X2", "A11")
@pytest.mark.parametrize("count", [2, pytest.param(150, marks=pytest.mark.nightly)], ids=["some", "many"])
def test_it_may_be_killed_again_and_again(sweep: Sweep, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Each time at another point of the run, and then at several points of what resumes it."""
    sweep.begin()
    for number, at in enumerate(sweep.some(count)):
        sweep.kill_at(at, 9 + 7 * number % 120, 31, 63 + number)
    report(sweep, "again and again", capsys)


@pytest.mark.req("X2", "P13")
def test_an_undo_killed_anywhere_is_completed(sweep: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    sweep.begin()
    sweep.finish_run()
    points = sweep.count_undo()
    for at in range(1, points + 1):
        sweep.kill_undo_at(at)
    sweep.findings.points = points
    report(sweep, "an undo", capsys)

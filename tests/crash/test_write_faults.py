"""A disk that is full, broken or slow to take what it is given, at any write of a run: a typed error that says what to
do, nothing half-done, and the run can be resumed when the disk is well again."""

import pytest

from crash.faults import FAULTS, OK, TYPED, on_a_failing_disk
from crash.points import ENOUGH, killed
from crash.story import Story
from support.trees import assert_blobs_are_whole, photograph, scratch
from surefoot.core.outcome import Verdict
from surefoot.core.transitions import Stage
from surefoot.journal.reducers import fold

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning"),
]
SOME = 3
TELLING = ("disk", "space", "device", "I/O error", "Input/output")


@pytest.mark.req("X2", "A11")
@pytest.mark.parametrize("step", [0, pytest.param(1, marks=pytest.mark.nightly)], ids=["some", "all"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_on_a_failing_disk_is_told_and_goes_on_later(
    fault: str, step: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with scratch() as folder:
        story = Story(folder / "story")
        story.put_up()
        code, writes = on_a_failing_disk(story.begin_or_go_on, fault, ENOUGH)
        assert code == OK
        wanted = photograph(story.root, times=False)
        outcomes = []
        for at in range(7, writes + 1, step or writes // SOME):
            story.put_up_again()
            outcomes.append(_survives(story, fault, at, wanted))
    with capsys.disabled():
        failed = sum(outcomes)
        print(
            f"\n{fault}: {writes} writes, {len(outcomes)} tried, {failed} ended the run with an error, 0 lost", end=""
        )


def _survives(story: Story, fault: str, at: int, wanted: object) -> bool:
    """Whether the run ended with an error. Wherever it did, it said so, and it can be finished later."""
    code, _ = on_a_failing_disk(story.begin_or_go_on, fault, at)
    assert code in (OK, TYPED), f"write {at}: an error that is none of ours"
    if (story.home / "blobs").exists():
        assert_blobs_are_whole(story.home)
    records = story.records()
    assert len(records) >= story.last_acknowledged(), f"write {at}: something acknowledged is gone"
    ended = fold(records) if records else None
    if code == OK:
        assert ended is not None, f"write {at}: nothing was done, and nothing was said"
        assert ended.outcome is not None, f"write {at}: it stopped, and did not say why"
    if ended is not None and ended.outcome is not None and ended.stage is Stage.FAILED:
        assert ended.outcome.diagnosis is not None
        assert any(word in ended.outcome.summary for word in TELLING), f"write {at}: {ended.outcome.summary}"
    if _is_verified(story):
        assert photograph(story.root, times=False) == wanted, f"write {at}: it says that all is well, and it is not"
    assert not killed(story.begin_or_go_on, ENOUGH)
    assert _is_verified(story), f"write {at}: it did not come to its end afterwards"
    assert photograph(story.root, times=False) == wanted, f"write {at}: another tree at the end"
    return code == TYPED or (ended is not None and ended.stage is Stage.FAILED)


def _is_verified(story: Story) -> bool:
    outcome = fold(story.records()).outcome
    return outcome is not None and outcome.verdict is Verdict.VERIFIED

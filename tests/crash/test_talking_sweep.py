"""Killed anywhere, a conversation goes on with the request that an uninterrupted one sends, byte for byte.

At some points, and at all in `make nightly`.
"""

from collections import Counter
from collections.abc import Iterator

import pytest

from crash.sweep import Sweep
from crash.talking_story import TalkingStory
from support.trees import scratch

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning"),
]


@pytest.fixture(scope="module")
def sweep() -> Iterator[Sweep]:
    with scratch() as folder:
        yield Sweep(folder, story=TalkingStory(folder / "story"))


@pytest.mark.req("X11", "P14", "X2")
@pytest.mark.parametrize("count", [6, pytest.param(0, marks=pytest.mark.nightly)], ids=["some", "all"])
def test_a_conversation_killed_anywhere_goes_on_as_if_it_had_not_been(
    sweep: Sweep, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    story = sweep.story
    assert isinstance(story, TalkingStory)
    whole = sweep.requests
    assert len(set(whole)) == len(whole) > 8
    sweep.begin()
    interrupted = 0
    # On a busy machine a run has some points more, so that a command may be a little later.
    in_a_command = [sweep.where("spawned", number) + later for number in (2, 5) for later in (0, 1, 2)]
    between_check_and_answer = [sweep.where("journal", number) for number in (171, 178)]
    for at in [*sweep.some(count), *in_a_command, *between_check_and_answer]:
        killed = sweep.kill_at(at)
        recorded, sent = story.answered(), story.requests()
        if story.was_interrupted():
            # From there on the model is told that its call was undone: the requests before it are the same.
            interrupted += 1
            equal = next((n for n, (a, b) in enumerate(zip(recorded, whole, strict=False)) if a != b), len(whole))
            assert 2 < equal < len(whole), f"killed at {at}"
        else:
            assert recorded == whole, f"killed at {at}: another request was sent"
        # A request is sent again only if the answer to it was lost with the process.
        again = Counter(sent) - Counter(recorded)
        assert again.total() <= killed, f"killed at {at}: {again.total()} calls of the model were repeated"
    assert interrupted
    with capsys.disabled():
        print(f"\na conversation: {sweep.findings}, {interrupted} times in the middle of a call", end="")
    assert not sweep.findings.problems, "\n".join(sweep.findings.problems)

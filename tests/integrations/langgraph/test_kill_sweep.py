"""Killed (SIGKILL) between the nodes of the graph, inside them, and around the writes of its checkpointer, a run ends
as if it had not been: the checkpoint and the journal agree, and nothing that was recorded as done was done again.

At four points for each way of running the graph in `make test-slow`, at all in `make nightly`.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from crash.story import Story, essence
from crash.sweep import Sweep, first_difference
from integrations.langgraph.story import GraphStory
from support.trees import photograph, scratch
from surefoot.journal.reducers import fold

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning"),
]
WAYS: dict[str, Any] = {
    "alone": {"inside": False, "durability": "sync"},
    "in a graph": {"inside": True, "durability": "sync"},
    "checkpoints behind": {"inside": False, "durability": "async"},
}


@pytest.fixture(scope="module", params=WAYS)
def sweep(request: pytest.FixtureRequest) -> Iterator[Sweep]:
    with scratch() as folder:
        yield Sweep(folder, story=GraphStory(folder / "story", **WAYS[request.param]))


@pytest.mark.req("A9", "A11")
def test_the_graph_does_what_the_loop_does(sweep: Sweep) -> None:
    """The same events in the same order, and the same files."""
    seen: list[Any] = []
    # In the same folder, because the commands of the story name files in it.
    for story in (Story(sweep.story.folder), sweep.story):
        story.put_up_again()
        story.begin_or_go_on()
        kinds = [record.event.type for record in story.records()]
        seen.append((kinds, photograph(story.root, times=False), essence(fold(story.records()))))
    assert first_difference(*seen) == ""


@pytest.mark.req("A9", "A11", "P14")
@pytest.mark.parametrize("count", [4, pytest.param(0, marks=pytest.mark.nightly)], ids=["some", "all"])
def test_a_graph_killed_anywhere_ends_the_same(sweep: Sweep, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    sweep.begin()
    story = sweep.story
    assert isinstance(story, GraphStory)
    for at in sweep.some(count):
        sweep.kill_at(at)
        state = asyncio.run(story.final_state())
        end = {"seq": len(story.records()), "run_id": story.run_id(), "left": ()}
        if difference := first_difference(end, {key: state.get(key) for key in end}):
            sweep.findings.different.append(f"killed at {at}: in the checkpoint, {difference}")
    with capsys.disabled():
        print(f"\na graph: {sweep.findings}", end="")
    assert not sweep.findings.problems, "\n".join(sweep.findings.problems)


@pytest.mark.req("A9", "A11", "P14")
@pytest.mark.nightly
def test_a_graph_may_be_killed_again_and_again(sweep: Sweep) -> None:
    sweep.begin()
    for number, at in enumerate(sweep.some(20)):
        sweep.kill_at(at, 9 + 7 * number % 120, 31, 63 + number)
    assert not sweep.findings.problems, "\n".join(sweep.findings.problems)

"""When a worker leaves a waiting run alone, and when it drives it again."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from support import recorded
from surefoot.core.transitions import Stage
from surefoot.integrations.temporal.driving import Driver
from surefoot.journal import events as e
from surefoot.journal.reducers import fold

QUESTION = "q1"
WAITING = e.StageEntered(stage=Stage.WAITING, reason="waits for an answer")
ANSWERED = e.QuestionAnswered(question_id=QUESTION, answer="yes", by="the page")
PAUSED = e.ControlReceived(command="pause", by="the page")
RESUMED = e.RunResumed(run_id="r", model="m", surefoot="1", pid=1)


def rest(*after_the_question: e.Event) -> dict[str, Any] | None:
    """What the worker finds in a run that has asked, and then these events. Nothing is in its inbox."""
    asked = [event for event in recorded.asking() if isinstance(event, e.QuestionAsked)]
    records = recorded.records([*recorded.phases(), *asked, *after_the_question])
    journal = cast(Any, SimpleNamespace(receive=lambda _: []))
    return Driver(journal, None, print)._at_rest(fold(records), records, 0)


@pytest.mark.req("X6", "P12")
def test_a_run_that_waits_for_an_answer_is_left_alone() -> None:
    assert rest(WAITING) == {"ended": False, "seconds": None}


@pytest.mark.req("X6", "P12")
@pytest.mark.parametrize("events", [(WAITING, ANSWERED), (ANSWERED, WAITING)], ids=["after", "before"])
def test_an_answer_that_came_while_the_run_halted_is_acted_on(events: tuple[e.Event, ...]) -> None:
    """Nobody wakes the workflow for it: whoever sent it has seen that the process of the run has read it."""
    assert rest(*events) is None


@pytest.mark.req("X6", "A8")
@pytest.mark.parametrize(
    "events", [(ANSWERED, PAUSED, WAITING), (ANSWERED, RESUMED, WAITING)], ids=["paused", "resumed"]
)
def test_a_paused_run_is_left_alone(events: tuple[e.Event, ...]) -> None:
    assert rest(*events) == {"ended": False, "seconds": None}

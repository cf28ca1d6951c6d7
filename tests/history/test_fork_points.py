"""Forks at phases and questions, with another model, other settings or another answer; forks of conversations."""

from pathlib import Path
from typing import Any

import pytest

from support.kit import Bench, PreparedPerson
from support.talk import TalkingModel, submit
from surefoot.core.outcome import Verdict
from surefoot.core.transitions import Stage
from surefoot.engine.loop import resume_run
from surefoot.engine.runtime.services import Services
from surefoot.errors import UsageError
from surefoot.history.fork import Point, fork
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState

CHECK = "grep made x"
MAKE = [("run_command", {"command": "echo made > x"}), ("finish_step", {"summary": "made"})]


async def go_on(bench: Bench, run_id: str, script: list[Any]) -> tuple[RunState, TalkingModel]:
    model = TalkingModel(script)
    return await resume_run(Services(bench.journal, model, bench.home), run_id), model


async def made(bench: Bench) -> RunState:
    return await bench.talk("Make x.", [submit({"name": "One", "description": "make x"}), MAKE], checks=[CHECK])


@pytest.mark.req("X3")
@pytest.mark.parametrize(
    ("phase", "script"),
    [
        (Stage.UNDERSTANDING, [submit({"name": "Another", "description": "make x"}), MAKE]),
        (Stage.APPROACH, [submit({"name": "Another", "description": "make x"})[1:], MAKE]),
        (Stage.PLANNING, [submit({"name": "Another", "description": "make x"})[2:], MAKE]),
        (Stage.EXECUTION, [MAKE]),
        (Stage.VALIDATION, []),
    ],
)
async def test_fork_starts_with_any_phase(bench: Bench, tmp_path: Path, phase: Stage, script: list[Any]) -> None:
    state = await made(bench)
    target = tmp_path / "forked"
    new = await fork(bench.journal, bench.home, state.run_id, Point(phase=phase), target, model="talking")
    before = fold(bench.journal.read(new))
    assert before.stage is phase
    assert before.tokens == 0
    assert (target / "x").exists() == (phase is Stage.VALIDATION)
    after, model = await go_on(bench, new, script)
    assert after.outcome is not None
    assert after.outcome.verdict is Verdict.VERIFIED
    assert len(model.requests) == len(script), "every request was valid, and none was repeated"
    assert [run.step.name for run in after.steps.values()] == (["One"] if len(script) < 2 else ["Another"])


@pytest.mark.req("X3", "D9")
async def test_fork_in_the_middle_of_a_conversation_continues_it(bench: Bench, tmp_path: Path) -> None:
    plan = submit({"name": "One", "description": "make x"}, {"name": "Two", "description": "make two", "after": [1]})
    two = [("run_command", {"command": "touch two"}), ("finish_step", {"summary": "made two"})]
    state = await bench.talk("Make x.", [plan, MAKE, two], checks=[CHECK])
    new = await fork(bench.journal, bench.home, state.run_id, Point(step="s2"), tmp_path / "forked")
    after, model = await go_on(bench, new, [[("finish_step", {"summary": "x is enough"})]])
    assert "echo made > x" in str(model.requests[0].messages), "the model sees what was done before"
    assert after.steps["s1"].status == "succeeded"


@pytest.mark.req("X3", "P12")
async def test_fork_answers_a_question_differently_with_other_settings(bench: Bench, tmp_path: Path) -> None:
    ask = [("ask_user", {"question": "Which name?"})]

    class Answers:
        async def answer(self, question: Any) -> str:
            return "alpha-name"

    bench.person = Answers()
    finish = [("run_command", {"command": "echo made > x"}), ("finish_step", {"summary": "made"})]
    state = await bench.talk("Make x.", [submit(), ask, finish], checks=[CHECK])
    (question,) = state.questions.values()
    point = Point(question=question.id[:6])
    with pytest.raises(UsageError, match="no question begins with 'zz'"):
        await fork(bench.journal, bench.home, state.run_id, Point(question="zz"), tmp_path / "no", answer="b")
    new = await fork(
        bench.journal, bench.home, state.run_id, point, tmp_path / "forked", answer="omega-name",
        config=lambda config: config.with_(max_actions_per_step=7),
    )  # fmt: skip
    after, model = await go_on(bench, new, [finish])
    assert after.config.max_actions_per_step == 7
    assert "omega-name" in str(model.requests[-1].messages)
    assert "alpha-name" not in str(model.requests[-1].messages)
    assert after.outcome is not None
    assert after.outcome.verdict is Verdict.VERIFIED


@pytest.mark.req("X3", "P12")
async def test_fork_at_a_question_inside_a_step_has_the_files_of_that_moment(bench: Bench, tmp_path: Path) -> None:
    bench.person = PreparedPerson("alpha")
    ask = [("run_command", {"command": "echo half > half.txt"}), ("ask_user", {"question": "Which name?"})]
    state = await bench.talk("Make x.", [submit(), ask, MAKE], checks=[CHECK])
    (question,) = state.questions.values()
    target = tmp_path / "forked"
    await fork(bench.journal, bench.home, state.run_id, Point(question=question.id), target, answer="omega")
    assert {path.name: path.read_text() for path in target.iterdir()} == {"half.txt": "half\n"}

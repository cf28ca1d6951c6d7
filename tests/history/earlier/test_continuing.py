"""A run that continues another one has its conversation and its results, and no more than fits."""

from typing import Any

import pytest

from support.kit import Bench, act, done, fenced, understanding
from support.talk import CALC_TEST, TALKING, TalkingModel, submit
from surefoot.api import Agent
from surefoot.core.outcome import Verdict
from surefoot.engine.runtime.services import Services
from surefoot.errors import UsageError
from surefoot.history.earlier import continuing
from surefoot.history.earlier.continuing import start_continuing
from surefoot.history.undo import undo
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.models.base import ModelRequest, ModelTraits
from surefoot.models.items import AssistantTurn, Message, ToolResultMessage
from surefoot.view.conversation import Transcript

pytestmark = pytest.mark.slow

CHECK = "python3 test_calc.py"
FIX = ("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a + b"})
MORE = (
    "edit_file",
    {"path": "calc.py", "search": "a + b\n", "replace": "a + b\n\n\ndef sub(a, b):\n    return a - b\n"},
)
MUL = ("write_file", {"path": "mul.py", "content": "def mul(a, b):\n    return a * b\n"})
FINISH = ("finish_step", {"summary": "add now adds"})
WORK = [[("read_file", {"path": "calc.py"})], [*submit(), FIX, FINISH]]


@pytest.fixture
def calc(bench: Bench) -> Bench:
    bench.write(calc__py="def add(a, b):\n    return a - b\n", test_calc__py=CALC_TEST)
    return bench


async def go_on(
    bench: Bench,
    run_id: str,
    text: str,
    script: list[Any],
    *,
    traits: ModelTraits = TALKING,
    secret: str = "",
    check: str = CHECK,
) -> RunState:
    bench.talker = TalkingModel(script, traits)
    secrets = {"DEPLOY_TOKEN": secret} if secret else {}
    services = Services(bench.journal, bench.talker, bench.home, secrets=secrets)
    services.bus.subscribe(bench.records.append)
    records = list(bench.journal.read(run_id))
    return await start_continuing(
        services, bench.task(text, [check]), bench.config(), earlier=records, folder=bench.root
    )


def opening(request: ModelRequest) -> str:
    """The message with the task of the run itself."""
    return [item.content for item in request.messages if isinstance(item, Message) and "# Task\n" in item.content][-1]


async def test_a_follow_up_has_the_conversation_and_the_facts_of_the_run_before(calc: Bench) -> None:
    first = await calc.talk("Fix add.", WORK, checks=[CHECK])
    last_before = calc.talker.requests[-1].messages
    (calc.root / "notes.txt").write_text("mine\n")
    state = await go_on(calc, first.run_id, "Now also add sub.", [submit(), [MORE, FINISH]])
    asked = calc.talker.requests[0].messages
    assert asked[: len(last_before)] == last_before  # as it was, so that a server can use its cache
    assert calc.talker.requests[0].cache_key == first.run_id
    results = [item.text for item in asked if isinstance(item, ToolResultMessage)]
    assert "is done" in results[-1]
    first_prompt = opening(calc.talker.requests[0])
    facts = ("Now also add sub.", first.run_id, "> Fix add.", "done and verified", "\n~ calc.py", f"{CHECK} (passed)")
    for fact in (*facts, "Do it [done] - add now adds"):
        assert fact in first_prompt
    assert "somebody else; read these again:\n- notes.txt" in first_prompt
    assert state.context is not None
    assert (state.context.run, state.context.session) == (first.run_id, first.run_id)
    transcript = Transcript(calc.journal.get_blob, str)
    shown = [message["text"] for record in calc.journal.read(state.run_id) for message in transcript.messages(record)]
    assert [text[:24] for text in shown if text.startswith("# Task")] == ["# Task\nNow also add sub."]
    assert state.outcome is not None
    assert "def sub" in calc.files()["calc.py"]


async def test_submissions_and_looks_of_the_run_before_do_not_count_in_a_follow_up(calc: Bench) -> None:
    """The plan of the run before was kept while its understanding was judged; it must not become the new plan."""
    understood, approach, plan = submit({"name": "Old step", "description": "Fix add."})
    first = await calc.talk("Fix add.", [[plan], [understood, approach], [FIX, FINISH]], checks=[CHECK])
    look = ("read_file", {"path": "calc.py"})
    understood, approach, plan = submit({"name": "New step", "description": "Add sub."})
    script = [[look], [understood, approach], [plan], [MORE, FINISH]]
    state = await go_on(calc, first.run_id, "Now also add sub.", script)
    assert [run.step.name for run in state.steps.values()] == ["New step"]
    assert not calc.events(e.GateRefused)


async def test_an_undone_run_is_told_as_undone(calc: Bench) -> None:
    first = await calc.talk("Fix add.", WORK, checks=[CHECK])
    await undo(calc.journal, calc.home, first.run_id)
    await go_on(calc, first.run_id, "Do it with sum().", [submit(), [FIX, FINISH]])
    first_prompt = opening(calc.talker.requests[0])
    assert "THE USER UNDID IT: its changes are gone" in first_prompt
    assert "somebody else" not in first_prompt


async def test_a_run_whose_steps_were_all_skipped_is_not_told_as_done(calc: Bench) -> None:
    first = await calc.talk(
        "Fix add.", [submit({"name": "Fix add", "description": "Fix add.", "when": "False"})], checks=["true"]
    )
    await go_on(calc, first.run_id, "Do it now.", [submit(), [FIX, FINISH]])
    first_prompt = opening(calc.talker.requests[0])
    assert "nothing done: every step was skipped; " in first_prompt
    assert "done, but" not in first_prompt


def writes(count: int) -> list[Any]:
    """Turns of the model that are long themselves, so that masking results does not help."""
    return [[("write_file", {"path": f"f{n}.txt", "content": f"line of file {n}\n" * 300})] for n in range(count)]


async def test_a_conversation_that_does_not_fit_is_shortened(calc: Bench) -> None:
    (calc.root / "long.txt").write_text("a line of it\n" * 1_500)
    look = [("read_file", {"path": "long.txt"})]
    first = await calc.talk("Fix add.", [look, submit(), *writes(3), [FIX, FINISH]], checks=[CHECK])
    masked = TALKING.with_(context_tokens=24_000, max_output_tokens=1_000)
    await go_on(calc, first.run_id, "Now also add sub.", [submit(), [MORE, FINISH]], traits=masked)
    texts = [item.content for item in calc.talker.requests[0].messages]
    assert any(text.startswith("long.txt (") and "no longer shown" in text for text in texts)
    assert sum("# Task\n" in text for text in texts) == 2
    narrow = TALKING.with_(context_tokens=12_000, max_output_tokens=500)
    await go_on(calc, first.run_id, "Now also add mul.", [submit(), [MUL, FINISH]], traits=narrow)
    items = calc.talker.requests[0].messages
    assert "beginning of this conversation is left out" in items[1].content
    assert isinstance(items[2], AssistantTurn)
    assert "> Fix add." in opening(calc.talker.requests[0])


async def test_a_new_window_of_a_follow_up_has_the_facts_and_not_the_conversation_before(calc: Bench) -> None:
    first = await calc.talk("Fix add.", WORK, checks=[CHECK])
    work = writes(9)

    def notes_or_work(request: ModelRequest) -> Any:
        if "new window" in request.messages[-1].content:
            return "my notes"
        return work.pop(0) if work else [MORE, FINISH]

    traits = TALKING.with_(context_tokens=13_000, max_output_tokens=500)
    state = await go_on(calc, first.run_id, "Now also add sub.", [submit(), *[notes_or_work] * 16], traits=traits)
    assert state.outcome is not None
    assert state.conversations["c1"].earlier
    assert not list(state.conversations.values())[-1].earlier
    last = calc.talker.requests[-1].messages
    assert sum("# Task\n" in item.content for item in last) == 1
    assert any("my notes" in item.content for item in last)
    assert "> Fix add." in opening(calc.talker.requests[-1])


async def test_a_chain_of_follow_ups_is_bounded(calc: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continuing, "MAX_BEFORE", 2)
    state = await calc.talk("Task 0.", WORK, checks=["true"])
    first = state.run_id
    for number in range(1, 5):
        edit = ("write_file", {"path": f"f{number}.txt", "content": f"{number}\n"})
        state = await go_on(calc, state.run_id, f"Task {number}.", [[*submit(), edit, FINISH]], check="true")
    assert state.context is not None
    assert state.context.session == first
    assert state.context.before == tuple(f"Task {number}." for number in range(1, 3))
    first_prompt = opening(calc.talker.requests[0])
    assert "> Task 3." in first_prompt
    assert "- Task 2." in first_prompt
    assert "- Task 0." not in first_prompt


async def test_secrets_that_are_known_now_are_removed_from_what_was_said_before(calc: Bench) -> None:
    secret = "correct-horse-battery-9Xq"
    write = ("write_file", {"path": "notes.txt", "content": f"token {secret}\n"})
    first = await calc.talk("Fix add.", [[*submit(), write, FIX, FINISH]], checks=[CHECK])
    (calc.root / "notes.txt").unlink()
    await go_on(calc, first.run_id, "Now also add sub.", [submit(), [MORE, FINISH]], secret=secret)
    assert any("write_file" in str(item) for item in calc.talker.requests[0].messages)
    assert secret not in calc.talker.requests[0].model_dump_json()


@pytest.mark.parametrize("small", [False, True])
async def test_models_that_do_not_converse_get_a_few_lines(bench: Bench, small: bool) -> None:
    bench.write(a__txt="one\n")
    answers = [
        understanding("b.txt"),
        fenced("two\n", "text"),
        act("write_file", path="b.txt", content="two\n"),
        done(),
    ]
    first = await bench.run("Write b.txt.", answers if not small else answers[:2], checks=["grep -q two b.txt"])
    assert first.outcome is not None
    assert first.outcome.verdict is Verdict.VERIFIED
    traits = {"traits": ModelTraits(small=True)} if small else {}
    services = bench.services(
        [understanding("c.txt"), fenced("three\n", "text"), act("write_file", path="c.txt", content="three\n"), done()],
        **traits,
    )
    records = list(bench.journal.read(first.run_id))
    task = bench.task("Now also write c.txt.", ["grep -q three c.txt"])
    await start_continuing(services, task, bench.config(), earlier=records, folder=bench.root)
    prompts = ["\n".join(item.content for item in request.messages) for request in bench.model.requests]
    assert all("# Done before\nThe task before was: Write b.txt." in prompt for prompt in prompts)
    assert all("It changed: + b.txt" in prompt for prompt in prompts)
    assert not fold(records).conversations


async def test_an_agent_continues_a_run_of_its_workspace_with_its_checks(calc: Bench) -> None:
    model = TalkingModel([*WORK, submit(), [MORE, FINISH]])
    agent = Agent(model, calc.config(), calc.journal, workspace=calc.root, home=calc.home)
    first = await agent.execute_task("Fix add.", checks=[CHECK])
    after = len(model.requests)
    second = await agent.execute_task("Now also add sub.", continues=first)
    first_prompt = opening(model.requests[after])
    assert "Now also add sub." in first_prompt
    assert f"{CHECK} (passed)" in first_prompt
    state = fold(calc.journal.read(second.task_id))
    assert state.context is not None
    assert state.context.run == first.task_id
    assert state.task is not None
    assert [check.label for check in state.task.checks] == [CHECK]
    other = Agent(model, calc.config(), calc.journal, workspace=calc.home, home=calc.home)
    with pytest.raises(UsageError, match="its context cannot be used in another folder"):
        await other.execute_task("Now elsewhere.", continues=first.task_id)
    with pytest.raises(UsageError, match="cannot be combined"):
        await agent.execute_task("Again.", continues=first.task_id, given=first)
    with pytest.raises(UsageError, match="cannot be combined"):
        await agent.execute_task("Again.", continues=first.task_id, start_from="execution")
    elsewhere = Agent(model, calc.config(), workspace=calc.root, home=calc.home)
    for wrong in ("0101-000000-dead", first, first.outcome, ""):
        with pytest.raises(UsageError, match="in the journal of this agent") as raised:
            await elsewhere.execute_task("Again.", continues=wrong)  # type: ignore[arg-type]
        assert "state_store" in raised.value.remedy
    assert len(list(calc.journal.summaries())) == 2

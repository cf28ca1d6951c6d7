"""No prompt overflows: with a server that enforces its context, for every strategy, whatever the task names."""

import json
import random
from typing import Any

import pytest

from support.kit import Bench, understanding
from support.narrow import narrow, refused, tokens
from support.talk import submit
from surefoot.core.outcome import Verdict
from surefoot.engine.loop import start_run
from surefoot.engine.runtime.services import Services
from surefoot.journal.state import RunState
from surefoot.models.base import ModelTraits
from surefoot.models.providers.openai_compatible import OpenAICompatible
from surefoot.models.tokens import weigh
from surefoot.prompting.fit import shorten, without_middle

CHECK = "python3 -c \"assert open('total.txt').read().strip() == '5050'\""
TASK = "Sum the amounts in {} and write the sum to total.txt."
SUM = """\
import csv
total = sum(int(row["amount"]) for row in csv.DictReader(open("data.csv")))
print(total, file=open("total.txt", "w"))
"""


def numbers(rows: int = 100) -> str:
    """A table of digits: more tokens than a third of its characters."""
    noise = random.Random(7)
    lines = [f"{n},{n},{''.join(noise.choices('0123456789', k=110))}" for n in range(1, rows + 1)]
    return "id,amount,code\n" + "\n".join(lines) + "\n"


def chinese(rows: int = 100) -> str:
    return "编号,amount,说明\n" + "".join(f"{n},{n},{'这是一行很长的说明文字' * 11}\n" for n in range(1, rows + 1))


async def run(bench: Bench, server: Any, name: str, traits: ModelTraits, provider: str = "") -> RunState:
    model = OpenAICompatible(f"{server.address}/v1", "m", traits=traits, provider=provider)
    services = Services(bench.journal, model, bench.home)
    services.bus.subscribe(bench.records.append)
    try:
        return await start_run(services, bench.task(TASK.format(name), [CHECK]), bench.config())
    finally:
        await model.aclose()


def program(prompt: str) -> str:
    """What a model without tools answers."""
    if "Say what the task wants" in prompt:
        return json.dumps(understanding("total.txt"))
    if '"decision"' in prompt:
        return json.dumps(
            {"thought": "", "decision": "act", "reason": "", "tool": "run_python", "arguments": {"code": SUM}}
        )
    return f"```python\n{SUM}\n```"


@pytest.mark.req("X14")
@pytest.mark.parametrize(
    ("content", "small", "tokenizer"),
    [(numbers, True, True), (chinese, True, False), (numbers, False, False), (chinese, False, True)],
)
async def test_a_data_file_that_is_longer_than_the_window(
    bench: Bench, content: Any, small: bool, tokenizer: bool
) -> None:
    bench.write(data__csv=content())
    assert tokens(content()) > 11_000
    traits = ModelTraits(context_tokens=8_192, small=small, inline_bodies=False)
    async with narrow(8_192, program, tokenizer=tokenizer) as server:
        state = await run(bench, server, "data.csv", traits, "llamacpp")
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome.summary
    assert refused(server, 8_192) == 0
    assert any("100 rows, 3 columns" in str(body["messages"]) for body in server.bodies("/chat"))


@pytest.mark.req("X14")
@pytest.mark.parametrize("small", [True, False], ids=["small", "json_actions"])
async def test_a_file_to_be_changed_that_is_longer_than_the_window(bench: Bench, small: bool) -> None:
    """The known case: the whole file was quoted to be edited, 13,000 tokens for a window of 8,192."""
    # 200 lines, so that it is edited and not written anew.
    text = numbers(200).replace("200,200,", "200,199,")
    bench.write(data__csv=text)
    last = text.splitlines()[-1]
    check = "python3 -c \"assert open('data.csv').read().splitlines()[-1].startswith('200,200,')\""

    def answer(prompt: str) -> str:
        if "Say what the task wants" in prompt:
            return json.dumps(understanding("data.csv"))
        return f"<<<<<<< SEARCH\n{last}\n=======\n{last.replace('200,199', '200,200')}\n>>>>>>> REPLACE\n"

    traits = ModelTraits(context_tokens=8_192, small=small, inline_bodies=False)
    async with narrow(8_192, answer) as server:
        model = OpenAICompatible(f"{server.address}/v1", "m", traits=traits)
        services = Services(bench.journal, model, bench.home)
        task = bench.task("In data.csv, set the amount of row 200 to 200.", [check])
        state = await start_run(services, task, bench.config())
        await model.aclose()
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome.summary


@pytest.mark.req("X14")
@pytest.mark.parametrize("silent", [False, True], ids=["told", "not told"])
async def test_a_server_whose_context_is_smaller_than_it_said(bench: Bench, silent: bool) -> None:
    """Nothing tells beforehand; the refusals do, with numbers or without."""
    bench.write(data__csv=numbers(), notes__md="word " * 12_000)
    traits = ModelTraits(context_tokens=32_768, inline_bodies=False)
    async with narrow(3_000, program, silent=silent) as server:
        state = await run(bench, server, "data.csv, see notes.md,", traits)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome.summary
    assert 0 < refused(server, 3_000) <= 6


@pytest.mark.req("X14")
@pytest.mark.parametrize(
    ("content", "context_tokens", "silent"),
    [(numbers, 16_000, False), (chinese, 16_000, False), (numbers, 200_000, False), (chinese, 200_000, True)],
)
async def test_a_conversation(bench: Bench, content: Any, context_tokens: int, silent: bool) -> None:
    bench.write(data__csv=content())
    for number in range(3):
        (bench.root / f"part{number}.csv").write_text(content())
    looks = [[("read_file", {"path": f"part{number}.csv"})] for number in range(3)]
    work = [[("run_python", {"code": SUM})], [("finish_step", {"summary": "done"})]]
    script: list[Any] = [*looks, submit(), *looks, *work]

    def answer(prompt: str) -> Any:
        return "I need nothing else." if "nearly too long" in prompt else script.pop(0)

    traits = ModelTraits(context_tokens=context_tokens, tools="native", max_output_tokens=1_000)
    async with narrow(16_000, answer, silent=silent) as server:
        state = await run(bench, server, "data.csv", traits)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome.summary
    if context_tokens == 16_000:
        assert refused(server, 16_000) == 0


@pytest.mark.parametrize("limit", [150, 400, 2_000])
def test_a_text_is_cut_where_it_is_longest_and_keeps_its_ends(limit: int) -> None:
    long, short = "\n".join(map(str, range(4_000))), "x = 1"
    text = f"# Task\nDo it.\n\n# a.txt\n```\n{long}\n```\n\n# b.py\n```\n{short}\n```\n\nAnswer in JSON."
    cut = shorten(text, limit)
    assert weigh(cut) <= limit
    assert cut.startswith("# Task\nDo it.")
    assert cut.endswith("Answer in JSON.")
    assert short in cut
    assert "characters are left out here]" in cut
    assert shorten(short, limit) == short


def test_a_line_without_an_end_is_cut_too() -> None:
    cut = without_middle("一" * 50_000, 300)
    assert weigh(cut) <= 300
    assert cut.startswith("一一")
    assert cut.endswith("一一")

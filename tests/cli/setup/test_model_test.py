"""`surefoot model test`: three tasks through the engine, and an honest report about them."""

import asyncio
import json
import signal
import subprocess
from typing import Any

import pytest

from cli.conftest import Surefoot
from support.wire import Call, Said, scripted
from surefoot.cli.setup.model_tasks import TASKS

pytestmark = pytest.mark.slow

SHORTEN = """\
def shorten(text, limit):
    return text if len(text) <= limit else text[: limit - 3] + "..."
"""
LEDGER = """\
def parse(line):
    date, text, amount = (part.strip() for part in line.split(";"))
    euros, _, cents = amount.partition(",")
    return date, text, int(euros) * 100 + int(cents.ljust(2, "0"))
"""
SUMMARY = """\
from ledger import parse


def by_month(lines):
    totals = {}
    for line in lines:
        date, _, cents = parse(line)
        totals[date[:7]] = totals.get(date[:7], 0) + cents
    return totals
"""
MOVE = """\
        return self._counts.get(name, 0)

    def move(self, name, amount, other):
        self.take(name, amount)
        other.add(name, amount)
"""
MOVED = """\
    def test_move(self):
        here, there = Stock(), Stock()
        here.add("nail", 2)
        here.move("nail", 2, there)
        self.assertEqual((here.count("nail"), there.count("nail")), (0, 2))


if __name__ == "__main__":
"""


def answer(number: int, *work: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """One reply that plans a task and does it."""
    plan = {"steps": [{"name": "Do it", "description": "Do the task."}]}
    understood = {"understanding": TASKS[number].text, "requirements": ["the checks pass"]}
    calls = [("submit_understanding", understood), ("submit_plan", plan), *work, ("finish_step", {"summary": "done"})]
    return {"calls": calls}


WRITE = answer(0, ("write_file", {"path": "shorten.py", "content": SHORTEN}))
FIX = answer(
    1,
    ("write_file", {"path": "ledger.py", "content": LEDGER}),
    ("write_file", {"path": "summary.py", "content": SUMMARY}),
)
BEGINNING, END = "        return self._counts.get(name, 0)\n", 'if __name__ == "__main__":\n'
STOCK = ("edit_file", {"path": "stock.py", "search": BEGINNING, "replace": MOVE})
CHANGE = answer(2, STOCK, ("edit_file", {"path": "test_stock.py", "search": END, "replace": MOVED}))
NO_TEST = answer(2, STOCK)
CANNOT = {"calls": [["cannot", {"reason": "no test framework that I know"}]]}


def test_a_model_that_does_all_three_tasks(surefoot: Surefoot) -> None:
    result = surefoot("model", "test", "-m", surefoot.script(WRITE, FIX, CHANGE))
    assert result.code == 0, result.out + result.err
    before, _, _ = result.err.partition("1 of 3")
    assert "costs nothing" in before
    assert "400,000 tokens" in before
    rows = [line for line in result.out.splitlines() if "Verified" in line]
    assert [row[2:26].strip() for row in rows] == [task.name for task in TASKS]
    assert all("$0.00" in row for row in rows)
    assert "3 verified" in result.out
    assert "asked in a conversation" in result.out
    assert result.out.splitlines()[-1].startswith("It did single functions, fixes across files")
    assert "no runs" in surefoot("list").out + surefoot("list").err, "the run list of the user is not littered"
    assert list(surefoot.workspace.iterdir()) == []


def test_a_change_without_its_test_is_not_verified(surefoot: Surefoot) -> None:
    words = ("model", "test", "--json", "-m", surefoot.script(WRITE, FIX, NO_TEST, *[CANNOT] * 6))
    result = surefoot(*words)
    assert result.code == 3
    (document,) = result.objects
    assert (document["verified"], document["strategy"], document["interrupted"]) == (2, "conversation", False)
    assert [task["verified"] for task in document["tasks"]] == [True, True, False]
    first, _, last = document["tasks"]
    assert first["calls"] == 1
    assert first["tokens"]["prompt"] > 100
    assert first["tokens"]["output"] > 50
    assert first["seconds"] > 0
    assert first["cost_usd"] == document["cost_usd"] == 0
    assert last["why"]
    assert document["conclusion"].startswith("On the evidence of one try each, it is good for single functions, fixes")
    assert "changes with their tests failed" in document["conclusion"]


def test_the_budget_ends_the_test_and_an_unknown_price_is_said(surefoot: Surefoot) -> None:
    script = surefoot.script(WRITE, FIX, CHANGE)
    result = surefoot("model", "test", "--json", "--max-tokens", "10", "-m", script)
    assert result.code == 3
    (document,) = result.objects
    assert [task["verdict"] for task in document["tasks"]] == ["budget"]
    assert document["conclusion"] == "No task was finished, so this says nothing about the model."
    config = surefoot.home / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[prices."scripted"]\ninput = 1000\noutput = 1000\n')
    priced = surefoot("model", "test", "--json", "--max-cost", "0.5", "-m", script)
    assert "costs at most $0.50" in priced.err
    (document,) = priced.objects
    assert document["cost_usd"] > 0.5
    assert len(document["tasks"]) == 1, "nothing is left for the second task"


def test_a_model_that_cannot_be_asked_is_not_judged(surefoot: Surefoot) -> None:
    empty = surefoot("model", "test", "-m", surefoot.script())
    assert empty.code == 1
    assert "this says nothing about it" in empty.out
    assert empty.err.count(" of 3:") == 1, "the other tasks are not tried"
    nobody = surefoot("model", "test", "-m", "openai/gpt-5.4")
    assert (nobody.code, "OPENAI_API_KEY is not set" in nobody.err) == (2, True)


async def test_a_model_behind_a_server(surefoot: Surefoot) -> None:
    usage = {"prompt_tokens": 1_000, "completion_tokens": 100}
    calls = tuple(Call(name, arguments) for name, arguments in WRITE["calls"])
    refused = Said(calls=(Call("cannot", {"reason": "I do not know how"}),), usage=usage)
    async with scripted(Said(calls=calls, usage=usage), refused) as server:
        words = ("model", "test", "--json", "-m", f"{server.address}/v1#claude-sonnet-5-5")
        result = await asyncio.to_thread(surefoot, *words)
    assert result.code == 3
    assert "costs at most $1.00 (--max-cost)" in result.err, "a server on this machine can only pass this model on"
    (document,) = result.objects
    assert [task["verified"] for task in document["tasks"]] == [True, False, False]
    assert document["tasks"][0]["tokens"] == {"prompt": 1_000, "output": 100}
    assert document["tasks"][0]["cost_usd"] == 0.003
    assert document["tasks"][0]["tokens_per_second"] > 0
    assert "good for single functions; fixes across files, changes with their tests failed" in document["conclusion"]


def test_ctrl_c_ends_it_with_what_is_known(surefoot: Surefoot) -> None:
    slow = {**FIX, "seconds": 600}
    process = surefoot.start("model", "test", "--json", "-m", surefoot.script(WRITE, slow), stderr=subprocess.PIPE)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("2 of 3"):
            break
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    document = json.loads(out)
    assert (document["interrupted"], [task["verified"] for task in document["tasks"]]) == (True, [True])
    assert (
        "good for single functions; fixes across files, changes with their tests: not finished"
        in document["conclusion"]
    )

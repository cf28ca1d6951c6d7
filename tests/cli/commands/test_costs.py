"""Dollars: what a run cost is shown, limits of the cost are enforced or refused, and much of it needs a yes."""

import json
import re
from pathlib import Path

import pytest

from cli.conftest import Surefoot
from support.stories import TASK, UNDERSTANDING, adder
from surefoot.journal.events import ModelAnswered
from surefoot.journal.store.sqlite import SqliteJournal

pytestmark = pytest.mark.slow

ADDS = "python3 -c 'from adder import add; assert add(2, 3) == 5'"


def write_config(surefoot: Surefoot, text: str) -> Path:
    path = surefoot.home / ".config/surefoot/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run_of(surefoot: Surefoot, *answers: str) -> list[str]:
    return ["run", TASK, "-m", surefoot.script(UNDERSTANDING, *(answers or (adder("+"),))), "--check", ADDS]


def as_model(surefoot: Surefoot, name: str) -> list[str]:
    """Arguments for the same run with answers recorded from a model of this name."""
    cassette = surefoot.home / "recorded.jsonl"
    other = surefoot.elsewhere("recording/work")
    assert other(*run_of(other), "--record", str(cassette)).code == 0
    header, *exchanges = cassette.read_text().splitlines()
    cassette.write_text("\n".join([json.dumps({**json.loads(header), "model": name}), *exchanges, ""]))
    return ["run", TASK, "-m", f"cassette:{cassette}", "--check", ADDS]


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.req("O4")
def test_a_limit_of_the_cost_is_refused_if_the_price_is_unknown(surefoot: Surefoot) -> None:
    """Reported: --max-cost without known prices was ignored silently."""
    surefoot.environ["OPENAI_API_KEY"] = "no real key"
    refused = surefoot("run", TASK, "-m", "openai/gpt-99", "--max-cost", "0.5")
    assert refused.code == 2
    assert "the cost cannot be limited to $0.5: the price of openai/gpt-99 is not known" in refused.err
    assert '[prices."openai/gpt-99"] input = ..., output = ...' in refused.err
    assert "--max-tokens" in refused.err
    assert surefoot("list", "--all").out == "", "the run has not started"


def test_a_limit_in_a_config_file_is_refused_too(surefoot: Surefoot) -> None:
    write_config(surefoot, "[budget]\nmax_cost_usd = 2\n")
    refused = surefoot(*as_model_without_price(surefoot))
    assert refused.code == 2
    assert "cannot be limited to $2" in refused.err


def as_model_without_price(surefoot: Surefoot) -> list[str]:
    surefoot.environ["OPENAI_API_KEY"] = "no real key"
    return ["run", TASK, "-m", "openai/gpt-99"]


def test_a_run_ends_when_its_cost_reaches_the_limit(surefoot: Surefoot) -> None:
    write_config(surefoot, "[prices.scripted]\ninput = 1000\noutput = 1000\n")
    result = surefoot(*run_of(surefoot), "--max-cost", "0.01", "--json")
    assert result.code == 5
    outcome = result.objects[-1]
    assert outcome["summary"].startswith("the run has spent $")
    assert outcome["summary"].endswith(" of $0.01")
    assert outcome["cost_usd"] > 0.01
    assert surefoot("resume", "-m", surefoot.script(adder("+")), "--max-cost", "50").code == 0


def test_a_price_that_was_added_later_applies_to_a_resumed_run(surefoot: Surefoot) -> None:
    surefoot(*as_model(surefoot, "openai/gpt-99"), "--until-phase", "planning")
    model = f"cassette:{surefoot.home / 'recorded.jsonl'}"
    refused = surefoot("resume", "-m", model, "--max-cost", "1")
    assert refused.code == 2
    assert "the price of openai/gpt-99 is not known" in refused.err
    write_config(surefoot, '[prices."gpt-99"]\ninput = 1\noutput = 1\n')
    refused = surefoot("resume", "-m", model, "--max-cost", "1")
    assert "the price of 1 earlier model calls is not known" in refused.err
    assert surefoot("resume", "-m", model).code == 0
    assert "over $0.00" in surefoot("show").out


def test_a_free_model_can_have_a_limit(surefoot: Surefoot) -> None:
    assert surefoot(*run_of(surefoot), "--max-cost", "0.01").code == 0


# -- where the cost is shown -------------------------------------------------------------------------------------------


def test_the_cost_is_shown_wherever_tokens_are_shown(surefoot: Surefoot) -> None:
    result = surefoot(*as_model(surefoot, "openai/gpt-5.4-mini"), "--verbose")
    assert result.code == 0, result.err
    shown = json.loads(surefoot("show", "--json").out)
    tokens, cost = shown["tokens"], shown["cost_usd"]
    assert cost == pytest.approx((tokens["prompt"] * 0.75 + tokens["output"] * 4.5) / 1_000_000, abs=1e-6)
    assert f"output tokens, ${cost:.4f}" in result.out
    assert f"output tokens, ${cost:.4f}" in surefoot("show").out
    assert f"  ${cost:.4f}  " in surefoot("list").out
    (listed,) = surefoot("list", "--json").objects
    assert (listed["tokens"], listed["cost_usd"]) == (tokens, cost)
    calls = [line for line in result.lines if "model answered" in line]
    assert calls
    assert all(" out, $0.0" in line for line in calls)
    svg = surefoot.home / "run.svg"
    surefoot("show", "--svg", str(svg))
    assert f"${cost:.4f}" in svg.read_text().replace("&#160;", " ")


def test_the_outcome_as_json_has_the_cost(surefoot: Surefoot) -> None:
    result = surefoot(*as_model(surefoot, "openai/gpt-5.4-mini"), "--json")
    outcome = result.objects[-1]
    answered = [item["cost_usd"] for item in result.objects if item["type"] == "model_answered"]
    assert outcome["cost_usd"] == pytest.approx(sum(answered), abs=1e-6)
    assert outcome["cost_usd"] > 0


def test_an_unknown_cost_is_said_to_be_unknown(surefoot: Surefoot) -> None:
    result = surefoot(*as_model(surefoot, "openai/gpt-99"))
    assert result.code == 0
    assert "output tokens, cost unknown" in result.out
    assert "  cost unknown  " in surefoot("list").out
    assert surefoot("list", "--json").objects[0]["cost_usd"] is None
    assert json.loads(surefoot("show", "--json").out)["cost_usd"] is None


def test_a_free_run_cost_nothing(surefoot: Surefoot) -> None:
    assert "output tokens, $0.00" in surefoot(*run_of(surefoot)).out


def test_the_price_of_a_call_is_recorded_with_the_call(surefoot: Surefoot) -> None:
    """A price that changes later does not change what earlier calls have cost."""
    write_config(surefoot, "[prices.scripted]\ninput = 100\noutput = 100\n")
    surefoot(*run_of(surefoot))
    before = json.loads(surefoot("show", "--json").out)["cost_usd"]
    write_config(surefoot, "[prices.scripted]\ninput = 1\noutput = 1\n")
    assert json.loads(surefoot("show", "--json").out)["cost_usd"] == before > 0
    (run,) = surefoot("list", "--json").objects
    journal = SqliteJournal(surefoot.journal_file, read_only=True)
    calls = [record.event for record in journal.read(run["run_id"])]
    assert sum(call.cost_usd or 0 for call in calls if isinstance(call, ModelAnswered)) == pytest.approx(
        before, abs=1e-6
    )


# -- asking above an amount --------------------------------------------------------------------------------------------

EXPENSIVE = "[prices.scripted]\ninput = 1000\noutput = 1000\n[budget]\nask_above_cost = 0.1\n"
"""The first call costs more than the amount."""


def test_a_run_waits_for_a_yes_above_the_amount(surefoot: Surefoot) -> None:
    write_config(surefoot, EXPENSIVE)
    result = surefoot(*run_of(surefoot), "--approve", "never", "--json")
    assert result.code == 4
    (question,) = result.objects[-1]["questions"]
    assert question["kind"] == "confirmation"
    assert question["text"].startswith("This run has cost $0.")
    assert not (surefoot.workspace / "adder.py").exists()
    assert surefoot("answer", "--answer", "yes").code == 0
    assert surefoot("resume", "-m", surefoot.script(adder("+"))).code == 0


def test_a_run_asks_above_the_default_amount(surefoot: Surefoot) -> None:
    write_config(surefoot, "[prices.scripted]\ninput = 100000\noutput = 100000\n")
    result = surefoot(*run_of(surefoot), "--json")
    assert result.code == 4, result.err
    (question,) = result.objects[-1]["questions"]
    assert "Go on, up to $" in question["text"]


def test_a_no_ends_the_run_and_resuming_asks_again(surefoot: Surefoot) -> None:
    write_config(surefoot, EXPENSIVE)
    surefoot(*run_of(surefoot))
    assert surefoot("answer", "--answer", "no").code == 0
    ended = surefoot("resume", "-m", surefoot.script(adder("+")))
    assert ended.code == 5, ended.err
    assert re.search(r"the run has spent \$\S+, and was not allowed to continue: no", ended.out)
    assert surefoot("resume", "-m", surefoot.script(adder("+"))).code == 4


def test_no_answer_in_time_counts_as_no(surefoot: Surefoot) -> None:
    write_config(surefoot, EXPENSIVE)
    ended = surefoot(*run_of(surefoot), "--question-timeout", "0.01s")
    if ended.code == 4:  # it found nobody to ask before the time was over
        ended = surefoot("resume", "-m", surefoot.script(adder("+")))
    assert ended.code == 5, ended.err


def test_a_person_at_the_terminal_is_asked(surefoot: Surefoot) -> None:
    write_config(surefoot, EXPENSIVE)
    run = surefoot.on_terminal(*run_of(surefoot), "--plain")
    run.wait_for("Go on, up to $")
    run.type("yes\n")
    assert run.end() == 0


def test_each_further_amount_is_asked_for(surefoot: Surefoot) -> None:
    write_config(surefoot, EXPENSIVE)
    result = surefoot(*run_of(surefoot, adder("-"), adder("-"), adder("+")), "-y", "--json")
    assert result.code == 0, result.err
    asked = [item["subject"] for item in result.objects if item["type"] == "question_asked"]
    assert len(asked) == len(set(asked)) >= 2


@pytest.mark.parametrize("how", ["switched off", "a limit is given", "cheap"])
def test_nothing_is_asked(surefoot: Surefoot, how: str) -> None:
    amount = {"switched off": "0", "cheap": "50"}.get(how, "0.1")
    write_config(surefoot, EXPENSIVE.replace("0.1", amount))
    limit = ["--max-cost", "100"] if how == "a limit is given" else []
    result = surefoot(*run_of(surefoot), *limit, "--json")
    assert result.code == 0, result.err
    assert not [item for item in result.objects if item["type"] == "question_asked"]


# -- prices in config files --------------------------------------------------------------------------------------------


def test_config_lists_the_users_own_prices(surefoot: Surefoot) -> None:
    path = write_config(surefoot, '[prices."gpt-99"]\ninput = 1\noutput = 2.5\ncached_input = 0.1\n')
    assert "prices.gpt-99" in surefoot("config").out
    assert f"input 1, output 2.5, cached_input 0.1  {path}:1" in surefoot("config").out
    listed = json.loads(surefoot("config", "--json").out)["prices.gpt-99"]
    assert listed["value"] == {"input": 1, "output": 2.5, "cached_input": 0.1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[prices.gpt-5.4]\ninput = 1\noutput = 1\n", "a name with a dot needs quotes"),
        ("[prices.x]\ninput = 1\n", "config.toml:1: the price of x must have numbers for input and output"),
        ("[prices.x]\ninput = 1\noutput = -1\n", "the price of x must have numbers"),
        ("[prices.x]\ninput = 1\noutput = nan\n", "the price of x must have numbers"),
        ("[prices.x]\ninput = 1\noutput = '1'\n", "the price of x must have numbers"),
        ("[prices.x]\ninput = 1\noutputs = 1\n", "outputs is not part of a price"),
        ("[prices]\nx = 1\n", "the price of x must have numbers"),
        ("[price.x]\ninput = 1\n", "did you mean [prices]?"),
    ],
)
def test_a_wrong_price_is_refused(surefoot: Surefoot, text: str, message: str) -> None:
    write_config(surefoot, text)
    refused = surefoot("config")
    assert refused.code == 2
    assert message in refused.err

"""Runs from the command line to their exit code: with pipes, as a program or a script would call them."""

import asyncio
import json
import signal
import subprocess
import time

import pytest

from cli.conftest import Surefoot
from cli.stories import CHECK, TASK, TEST, UNDERSTANDING, adder, good_script, slow_script
from surefoot import events as e
from surefoot.fold import fold
from surefoot.store.sqlite import SqliteJournal


@pytest.mark.req("O9", "X1")
def test_a_run_ends_verified_and_says_so_on_standard_output(surefoot: Surefoot) -> None:
    ended = surefoot(*good_script(surefoot))
    assert ended.code == 0, ended.err
    assert ended.out.startswith("✓ Verified  Write adder.py")
    assert f"✓ {CHECK}" in ended.out
    assert "+ adder.py" in ended.out
    assert "\x1b" not in ended.out + ended.err
    assert "[ 0:00] run " in ended.lines[0]
    assert any("✗" in line and CHECK in line for line in ended.lines), "the wrong first try is told too"
    assert (surefoot.workspace / "adder.py").read_text() == "def add(a, b):\n    return a + b\n"


def test_json_is_all_there_is_on_standard_output(surefoot: Surefoot) -> None:
    ended = surefoot(*good_script(surefoot), "--json")
    assert (ended.code, ended.err) == (0, "")
    *lines, last = ended.objects
    records = [
        e.Record(item.pop("seq"), item.pop("at"), e.event_adapter.validate_python(item)) for item in map(dict, lines)
    ]
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    state = fold(records)
    assert state.outcome is not None
    assert last["type"] == "outcome"
    assert (last["verdict"], last["exit_code"], last["run_id"]) == ("verified", 0, state.run_id)
    assert last["generated_files"] == ["adder.py"]
    shown = json.loads(surefoot("show", "--json").out)
    assert shown["outcome"] == state.outcome.model_dump(mode="json")


def test_the_task_can_come_from_standard_input_or_as_several_words(surefoot: Surefoot) -> None:
    arguments = good_script(surefoot)
    ended = surefoot("run", "-", *arguments[2:], "--json", stdin=f"{TASK}\n")
    assert ended.objects[0]["task"]["text"] == TASK
    ended = surefoot("plan", *TASK.split(), "-m", surefoot.script(UNDERSTANDING), "--json")
    assert ended.objects[0]["task"]["text"] == TASK


def test_what_nobody_can_prove_ends_with_3(surefoot: Surefoot) -> None:
    ended = surefoot("run", TASK, "-m", surefoot.script(UNDERSTANDING, adder("+")))
    assert ended.code == 3, ended.err
    assert "Done, not verified" in ended.out


@pytest.mark.req("P18")
def test_a_failure_ends_with_1_and_its_diagnosis(surefoot: Surefoot) -> None:
    (surefoot.workspace / "test_adder.py").write_text(TEST)
    wrong = [adder(sign) for sign in ("-", "*", "/", "//", "%", "**", "^", "&", "|", "<<", ">>")]
    ended = surefoot("run", TASK, "-m", surefoot.script(UNDERSTANDING, *wrong, *[adder("-")] * 30), "--check", CHECK)
    assert ended.code == 1, ended.err
    assert "✗ Failed" in ended.out
    assert "What failed:" in ended.out
    assert "surefoot resume" in ended.out
    assert not (surefoot.workspace / "adder.py").exists(), "what failed is undone"


def test_a_model_that_talks_nonsense_for_ever_ends(surefoot: Surefoot) -> None:
    ended = surefoot("run", TASK, "-m", surefoot.script({"when": "", "answer": "I like trains."}))
    assert ended.code == 1
    assert "✗ Failed" in ended.out
    assert "Traceback" not in ended.err


def test_a_spent_budget_ends_with_5(surefoot: Surefoot) -> None:
    ended = surefoot(*good_script(surefoot), "--max-tokens", "50")
    assert ended.code == 5, ended.err
    assert "Budget spent" in ended.out


def test_a_run_out_of_time_ends_with_124(surefoot: Surefoot) -> None:
    ended = surefoot(*slow_script(surefoot), "--max-time", "2s")
    assert ended.code == 124, ended.err
    assert "Out of time" in ended.out


# -- parts of a run ------------------------------------------------------------------------------------------------


@pytest.mark.req("P15")
def test_a_plan_is_printed_and_nothing_is_changed_and_then_it_is_carried_out(surefoot: Surefoot) -> None:
    (surefoot.workspace / "test_adder.py").write_text(TEST)
    planned = surefoot("plan", TASK, "-m", surefoot.script(UNDERSTANDING), "--check", CHECK)
    assert planned.code == 0, planned.err
    assert "1. Write adder.py" in planned.out
    assert "✓ Plan made" in planned.out
    assert [path.name for path in surefoot.workspace.iterdir()] == ["test_adder.py"]
    hint = next(line for line in planned.out.splitlines() if "surefoot run --based-on" in line).split()
    done = surefoot(*hint[hint.index("surefoot") + 1 :], "-m", surefoot.script(adder("+")))
    assert done.code == 0, done.err
    assert "understanding ..." not in done.err


@pytest.mark.req("P15")
def test_a_run_stops_after_a_phase_and_goes_on_later(surefoot: Surefoot) -> None:
    arguments = good_script(surefoot)
    script = surefoot.script(UNDERSTANDING)
    stopped = surefoot("run", TASK, "-m", script, "--check", CHECK, "--until-phase", "planning")
    assert stopped.code == 3, stopped.err
    assert "Stopped after planning, as asked" in stopped.out
    assert not (surefoot.workspace / "adder.py").exists()
    done = surefoot("resume", "-m", surefoot.script(adder("+")))
    assert done.code == 0, done.err
    assert arguments


@pytest.mark.req("P15")
def test_beginning_in_the_middle_needs_something_to_begin_from(surefoot: Surefoot) -> None:
    refused = surefoot("run", TASK, "-m", surefoot.script(), "--from-phase", "execution")
    assert refused.code == 2
    assert "--based-on RUN" in refused.err


def test_a_recorded_run_can_be_played_again(surefoot: Surefoot) -> None:
    """The first answer is right, so that no output of a test, with its times, stands in a later prompt."""
    cassette = surefoot.home / "run.jsonl"
    (surefoot.workspace / "test_adder.py").write_text(TEST)
    script = surefoot.script(UNDERSTANDING, adder("+"))
    assert surefoot("run", TASK, "-m", script, "--check", CHECK, "--record", str(cassette)).code == 0
    (surefoot.workspace / "adder.py").unlink()
    again = surefoot("run", TASK, "-m", f"cassette:{cassette}", "--check", CHECK)
    assert again.code == 0, again.err


# -- people --------------------------------------------------------------------------------------------------------


@pytest.mark.req("P12")
def test_with_nobody_there_a_confirmation_waits_and_is_answered_later(surefoot: Surefoot) -> None:
    arguments = good_script(surefoot)
    waiting = surefoot(*arguments, "--confirm")
    assert waiting.code == 4, waiting.err
    assert "Waiting for you" in waiting.out
    assert "surefoot answer" in waiting.out
    assert surefoot("list", "--json").objects[0]["stage"] == "waiting"
    assert surefoot("answer", "--answer", "yes").code == 0
    done = surefoot("resume", "-m", surefoot.script(adder("+")), "--yes")
    assert done.code == 0, done.err


@pytest.mark.req("P12")
def test_an_answer_that_comes_too_late_is_refused_and_counts_as_no(
    surefoot: Surefoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = surefoot(*good_script(surefoot), "--confirm", "--question-timeout", "1h")
    assert waiting.code == 4, waiting.err
    assert "it counts as no" in waiting.out
    _make_older(surefoot, 2 * 3600, monkeypatch)
    late = surefoot("answer", "--answer", "yes")
    assert late.code == 2
    assert "too late" in late.err
    assert "surefoot resume" in late.err
    ended = surefoot("resume", "-m", surefoot.script())
    assert ended.code == 130, ended.out
    assert "not confirmed after understanding: timed out" in ended.out
    assert not (surefoot.workspace / "adder.py").exists()


def _make_older(surefoot: Surefoot, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest run as if it had been so long ago."""
    old = SqliteJournal(surefoot.journal_file, read_only=True)
    run_id = old.find("last")
    records = list(old.read(run_id))
    old.close()
    surefoot.journal_file.rename(surefoot.journal_file.with_suffix(".old"))
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: records[0].at - seconds)
        asyncio.run(surefoot.keep(records))


@pytest.mark.req("P12")
def test_yes_answers_every_confirmation(surefoot: Surefoot) -> None:
    ended = surefoot(*good_script(surefoot), "--confirm", "--yes", "--json")
    assert ended.code == 0, ended.err
    assert [item["answer"] for item in ended.objects if item["type"] == "question_answered"]


@pytest.mark.req("P12")
def test_no_ends_the_run(surefoot: Surefoot) -> None:
    surefoot(*good_script(surefoot), "--confirm")
    assert surefoot("answer", "--answer", "n").code == 0
    ended = surefoot("resume", "-m", surefoot.script(adder("+")))
    assert ended.code == 130, ended.out
    assert not (surefoot.workspace / "adder.py").exists()


def test_a_finished_run_needs_no_model_to_be_told_again(surefoot: Surefoot) -> None:
    surefoot(*good_script(surefoot))
    again = surefoot("resume")
    assert again.code == 0, again.err
    assert again.out.startswith("✓ Verified")
    assert "is already finished" in again.err
    (last,) = surefoot("resume", "--json").objects
    assert last["verdict"] == "verified"


def test_a_run_whose_model_cannot_be_found_again_says_which_it_was(surefoot: Surefoot) -> None:
    (surefoot.workspace / "test_adder.py").write_text(TEST)
    script = surefoot.script(UNDERSTANDING)
    assert surefoot("run", TASK, "-m", script, "--check", CHECK).code == 1
    ended = surefoot("resume")
    assert ended.code == 2
    assert "the run used the model scripted:script-0.json" in ended.err
    assert "name the model to go on with: -m MODEL" in ended.err
    assert surefoot("resume", "-m", surefoot.script(adder("+"))).code == 0


def test_a_failed_run_says_why_once_and_has_no_step_that_runs(surefoot: Surefoot) -> None:
    (surefoot.workspace / "test_adder.py").write_text(TEST)
    ended = surefoot("run", TASK, "-m", surefoot.script(UNDERSTANDING), "--check", CHECK)
    assert ended.code == 1
    assert ended.out.count("the script has no answer for call 2") == 1
    shown = surefoot("show").out
    assert "Write adder.py  code_generation, not done" in shown
    assert "running" not in shown


def test_the_check_is_seen_to_fail_before_anything_is_done(surefoot: Surefoot) -> None:
    script = good_script(surefoot)
    ended = surefoot(*script, "--check", "true")
    first, *_ = [number for number, line in enumerate(ended.lines) if "understanding ..." in line]
    before = "\n".join(ended.lines[:first])
    assert f"✗ {CHECK} fails now: that is what has to change" in before
    assert "✓ true passes already: it will guard, and prove nothing" in before


def test_what_the_model_was_asked_and_said_can_be_read(surefoot: Surefoot) -> None:
    (surefoot.workspace / "test_adder.py").write_text(TEST)
    evil = "\x1b[2Jno code here"
    script = surefoot.script(UNDERSTANDING, evil, evil, adder("+"))
    surefoot("run", TASK, "-m", script, "--check", CHECK)
    shown = surefoot("show", "--answers")
    assert shown.code == 0, shown.err
    assert "1. understand\n  asked:\n" in shown.out
    assert "    Write adder.py with add(a, b)." in shown.out.splitlines()
    assert "        return a + b" in shown.out.splitlines()
    assert "\x1b" not in shown.out
    said = surefoot("show", "--answers", "--json").objects
    assert said[1]["answer"] == evil
    assert said[0]["purpose"] == "understand"
    assert surefoot("show", "--answers", "--diff").code == 2


def test_what_a_run_changed_can_be_seen(surefoot: Surefoot) -> None:
    surefoot(*good_script(surefoot))
    diff = surefoot("show", "--diff").out
    assert "+++ b/adder.py" in diff
    assert "+    return a + b" in diff
    assert "test_adder" not in diff


def test_a_key_never_gets_into_the_journal(surefoot: Surefoot) -> None:
    """Also under a name that does not sound like one, if the settings say that it is one."""
    surefoot.environ |= {
        "SUREFOOT_MODEL__API_KEY_ENV": "MINE",
        "MINE": "correct-horse-battery",
        "SERVICE_TOKEN": "abcdef123456",
    }
    ended = surefoot(
        "plan", f"{TASK} correct-horse-battery abcdef123456", "-m", surefoot.script(UNDERSTANDING), "--json"
    )
    assert ended.code == 0, ended.err
    assert "correct-horse" not in ended.out + surefoot("show", "--events").out
    assert "abcdef123456" not in ended.out
    assert "[redacted]" in ended.out


# -- stopping ------------------------------------------------------------------------------------------------------


def wait_until_begun(surefoot: Surefoot, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 120
    while not (surefoot.workspace / "begun").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.req("P14", "O10")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_cleanly_and_says_how_to_go_on(surefoot: Surefoot, number: signal.Signals) -> None:
    process = surefoot.start(*slow_script(surefoot), "--sandbox", "off")
    wait_until_begun(surefoot, process)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    (run,) = surefoot("list", "--json").objects
    assert f"stopped; go on with: surefoot resume {run['run_id']}" in err
    assert "Interrupted" in out
    assert run["verdict"] == "interrupted"
    (surefoot.workspace / "begun").unlink(missing_ok=True)
    done = surefoot("resume", "-m", surefoot.script(adder("+")), "--json")
    assert done.objects[0]["type"] == "run_resumed"


def test_json_ends_with_an_outcome_also_when_it_is_stopped(surefoot: Surefoot) -> None:
    process = surefoot.start(*slow_script(surefoot), "--sandbox", "off", "--json")
    wait_until_begun(surefoot, process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    last = json.loads(out.splitlines()[-1])
    assert (last["type"], last["verdict"], last["exit_code"]) == ("outcome", "interrupted", 130)


def test_two_runs_in_one_workspace_are_refused(surefoot: Surefoot) -> None:
    process = surefoot.start(*slow_script(surefoot), "--sandbox", "off")
    try:
        wait_until_begun(surefoot, process)
        second = surefoot(*good_script(surefoot))
        assert second.code == 1
        assert second.err.splitlines()[-2].startswith("surefoot: ")
        assert surefoot("list").code == 0, "looking is allowed meanwhile"
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)

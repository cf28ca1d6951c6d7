"""Runs from the command line, with pipes: output, journal and exit codes."""

import asyncio
import json
import signal
import subprocess
import time

import pytest

from cli.conftest import Surefoot
from support.forgeries import UNITTEST
from support.stories import CHECK, TASK, TEST, UNDERSTANDING, adder, good_script, slow_script
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.store.sqlite import SqliteJournal


@pytest.mark.req("O9", "X1")
def test_a_verified_run(surefoot: Surefoot) -> None:
    result = surefoot(*good_script(surefoot))
    assert result.code == 0, result.err
    assert result.out.startswith("✓ Verified  Write adder.py")
    assert f"✓ {CHECK}" in result.out
    assert "+ adder.py" in result.out
    assert "\x1b" not in result.out + result.err
    assert "[ 0:00] run " in result.lines[0]
    assert any("✗" in line and CHECK in line for line in result.lines), (
        "the failure of the first attempt is printed too"
    )
    assert (surefoot.workspace / "adder.py").read_text() == "def add(a, b):\n    return a + b\n"


def test_json_prints_nothing_but_json(surefoot: Surefoot) -> None:
    result = surefoot(*good_script(surefoot), "--json")
    assert (result.code, result.err) == (0, "")
    *lines, last = result.objects
    own = [{key: item[key] for key in item if key not in ("seq", "at", "alias", "state")} for item in lines]
    records = [
        e.Record(item["seq"], item["at"], e.event_adapter.validate_python(fields))
        for item, fields in zip(lines, own, strict=True)
    ]
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    state = fold(records)
    assert state.outcome is not None
    assert last["type"] == "outcome"
    assert (last["verdict"], last["exit_code"], last["run_id"]) == ("verified", 0, state.run_id)
    assert last["generated_files"] == ["adder.py"]
    shown = json.loads(surefoot("show", "--json").out)
    assert shown["outcome"] == state.outcome.model_dump(mode="json")


def test_the_task_from_standard_input_and_as_several_arguments(surefoot: Surefoot) -> None:
    arguments = good_script(surefoot)
    result = surefoot("run", "-", *arguments[2:], "--json", stdin=f"{TASK}\n")
    assert result.objects[0]["task"]["text"] == TASK
    result = surefoot("plan", *TASK.split(), "-m", surefoot.script(UNDERSTANDING), "--json")
    assert result.objects[0]["task"]["text"] == TASK


def test_a_run_without_proof_ends_with_3(surefoot: Surefoot) -> None:
    result = surefoot("run", TASK, "-m", surefoot.script(UNDERSTANDING, adder("+")))
    assert result.code == 3, result.err
    assert "Done, not verified" in result.out


@pytest.mark.req("X12")
@pytest.mark.parametrize(("accept", "code"), [((), 3), (("--accept", "own-tests"), 0)])
def test_a_run_that_its_own_test_proves(surefoot: Surefoot, accept: tuple[str, ...], code: int) -> None:
    write = f"cat > test_adder.py <<'END'\n{UNITTEST}END\nprintf 'def add(a, b):\\n    return a + b\\n' > adder.py"
    act = {"thought": "", "decision": "act", "reason": "", "tool": "run_command", "arguments": {"command": write}}
    done = {"thought": "", "decision": "done", "reason": "", "tool": "", "arguments": {}}
    script = surefoot.script({**UNDERSTANDING, "files": [], "task_type": "shell"}, act, done)
    result = surefoot("run", "Add an adder.", "-m", script, *accept)
    assert result.code == code, result.err + result.out
    assert "Done, proven by its own tests" in result.out
    assert "proof   B: a test that the run wrote fails on the old tree and passes now" in result.out
    shown = json.loads(surefoot("show", "--json").out)
    assert (shown["outcome"]["proof"], shown["outcome"]["verdict"]) == ("own_test", "unverified")


@pytest.mark.parametrize(
    ("check", "counted"), [("true", " (given tests; +1 new)"), ("grep -q sub adder.py", " (given tests)")]
)
def test_counts_of_the_given_tests_say_so(surefoot: Surefoot, check: str, counted: str) -> None:
    (surefoot.workspace / "adder.py").write_text("def add(a, b):\n    return a + b\n")
    (surefoot.workspace / "test_adder.py").write_text(UNITTEST)
    more = "    def test_sub(self):\n        from adder import sub\n        self.assertEqual(sub(3, 2), 1)\n"
    write = f"cat >> test_adder.py <<'END'\n{more}END\nprintf 'def sub(a, b):\\n    return a - b\\n' >> adder.py"
    act = {"thought": "", "decision": "act", "reason": "", "tool": "run_command", "arguments": {"command": write}}
    done = {"thought": "", "decision": "done", "reason": "", "tool": "", "arguments": {}}
    script = surefoot.script({**UNDERSTANDING, "files": [], "task_type": "shell"}, act, done)
    result = surefoot("run", "Add sub(a, b) to adder.py, and a test for it.", "-m", script, "--check", check)
    assert f"tests   before: 1 passed; now: 1 passed{counted}\n" in result.out, result.out + result.err
    assert f"before: 1 passed; now: 1 passed{counted}." in surefoot("report", "--format", "md", "-o", "-").out


@pytest.mark.req("P18")
def test_a_failed_run_ends_with_1_and_a_diagnosis(surefoot: Surefoot) -> None:
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    wrong = [adder(sign) for sign in ("-", "*", "/", "//", "%", "**", "^", "&", "|", "<<", ">>")]
    result = surefoot("run", TASK, "-m", surefoot.script(UNDERSTANDING, *wrong, *[adder("-")] * 30), "--check", CHECK)
    assert result.code == 1, result.err
    assert "✗ Failed" in result.out
    assert "What failed:" in result.out
    assert "surefoot resume" in result.out
    assert not (surefoot.workspace / "adder.py").exists(), "the failed step is undone"


def test_a_model_that_only_gives_unusable_answers(surefoot: Surefoot) -> None:
    result = surefoot("run", TASK, "-m", surefoot.script({"when": "", "answer": "I like trains."}))
    assert result.code == 1
    assert "✗ Failed" in result.out
    assert "Traceback" not in result.err


def test_an_exhausted_budget_ends_with_5(surefoot: Surefoot) -> None:
    result = surefoot(*good_script(surefoot), "--max-tokens", "50")
    assert result.code == 5, result.err
    assert "Budget spent" in result.out


def test_the_time_limit_ends_with_124(surefoot: Surefoot) -> None:
    result = surefoot(*slow_script(surefoot), "--max-time", "2s")
    assert result.code == 124, result.err
    assert "Out of time" in result.out


# -- parts of a run ------------------------------------------------------------------------------------------------


@pytest.mark.req("P15")
def test_a_run_stops_after_a_phase_and_is_resumed(surefoot: Surefoot) -> None:
    arguments = good_script(surefoot)
    script = surefoot.script(UNDERSTANDING)
    stopped = surefoot("run", TASK, "-m", script, "--check", CHECK, "--until-phase", "planning")
    assert stopped.code == 3, stopped.err
    assert "Stopped after planning, as asked" in stopped.out
    assert "Stopped after planning, as asked" in surefoot("show").out
    assert surefoot("list", "--json").objects[0]["status"] == "paused"
    watched = surefoot("watch")
    assert (watched.code, "Stopped after planning" in watched.out) == (3, True)
    assert not (surefoot.workspace / "adder.py").exists()
    done = surefoot("resume", "-m", surefoot.script(adder("+")))
    assert done.code == 0, done.err
    assert arguments


@pytest.mark.req("P15")
def test_starting_with_a_later_phase_needs_a_base_run(surefoot: Surefoot) -> None:
    refused = surefoot("run", TASK, "-m", surefoot.script(), "--from-phase", "execution")
    assert refused.code == 2
    assert "--based-on RUN" in refused.err


@pytest.mark.req("P15")
@pytest.mark.parametrize("form", ["fields", "show --json"])
def test_a_run_starts_with_earlier_results_from_a_file(surefoot: Surefoot, form: str) -> None:
    """Also with what `show --json` prints of a run that stopped after its plan."""
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    given = json.dumps({"plan": {"steps": [{"id": "only", "name": "Write it", "writes": ["adder.py"]}]}})
    if form != "fields":
        surefoot("run", TASK, "-m", surefoot.script(UNDERSTANDING), "--check", CHECK, "--until-phase", "planning")
        given = surefoot("show", "--json").out
    path = surefoot.home / "given.json"
    path.write_text(given)
    arguments = ("run", TASK, "-m", surefoot.script(adder("+")), "--check", CHECK, "--given", str(path))
    done = surefoot(*arguments, "--from-phase", "execution")
    assert done.code == 0, done.err
    steps = json.loads(surefoot("show", "--json").out)["plan"]["output"]["steps"]
    assert [step["name"] for step in steps] == (["Write it"] if form == "fields" else ["Write adder.py"])
    refused = surefoot(*arguments, "--based-on", "last")
    assert refused.code == 2
    assert "cannot be combined" in refused.err


def test_a_recorded_run_is_replayed(surefoot: Surefoot) -> None:
    """The first answer is right, so that no prompt contains the output of a test with its timings."""
    cassette = surefoot.home / "run.jsonl"
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    script = surefoot.script(UNDERSTANDING, adder("+"))
    assert surefoot("run", TASK, "-m", script, "--check", CHECK, "--record", str(cassette)).code == 0
    (surefoot.workspace / "adder.py").unlink()
    again = surefoot("run", TASK, "-m", f"cassette:{cassette}", "--check", CHECK)
    assert again.code == 0, again.err


# -- people --------------------------------------------------------------------------------------------------------


@pytest.mark.req("P12")
def test_without_a_terminal_a_confirmation_waits_and_is_answered_later(surefoot: Surefoot) -> None:
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
def test_a_question_that_timed_out_counts_as_no(surefoot: Surefoot, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = surefoot(*good_script(surefoot), "--confirm", "--question-timeout", "1h")
    assert waiting.code == 4, waiting.err
    assert "it counts as no" in waiting.out
    _shift_into_the_past(surefoot, 2 * 3600, monkeypatch)
    late = surefoot("answer", "--answer", "yes")
    assert late.code == 2
    assert "has timed out" in late.err
    assert "surefoot resume" in late.err
    result = surefoot("resume", "-m", surefoot.script())
    assert result.code == 130, result.out
    assert "not confirmed after understanding: timed out" in result.out
    assert not (surefoot.workspace / "adder.py").exists()


def _shift_into_the_past(surefoot: Surefoot, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewrite the newest run as if it had happened earlier."""
    old = SqliteJournal(surefoot.journal_file, read_only=True)
    run_id = old.find("last")
    records = list(old.read(run_id))
    old.close()
    surefoot.journal_file.rename(surefoot.journal_file.with_suffix(".old"))
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: records[0].at - seconds)
        asyncio.run(surefoot.store(records))


@pytest.mark.req("P12")
def test_unknown_answer_is_refused_with_the_choices(surefoot: Surefoot) -> None:
    assert surefoot(*good_script(surefoot), "--approve", "ask", "--sandbox", "off").code == 4
    for word in ("sure", "always run_command", "alwayss", ""):
        refused = surefoot("answer", "--answer", word)
        assert refused.code == 2, word
        assert "answer with one of: y (yes), n (no), a (always), e (edit)" in refused.err
    explained = surefoot("answer", "--answer", "?")
    assert explained.code == 4
    assert "e  edit: change it and do it as changed" in explained.out
    assert surefoot("answer", "--answer", "edit: def add(a, b):\n    return b + a\n").code == 0
    done = surefoot("resume", "-m", surefoot.script(adder("+")), "--yes")
    assert done.code == 0, done.err
    assert (surefoot.workspace / "adder.py").read_text() == "def add(a, b):\n    return b + a\n"


@pytest.mark.req("P12")
def test_yes_answers_every_confirmation(surefoot: Surefoot) -> None:
    result = surefoot(*good_script(surefoot), "--confirm", "--yes", "--json")
    assert result.code == 0, result.err
    assert [item["answer"] for item in result.objects if item["type"] == "question_answered"]


@pytest.mark.req("P12")
def test_no_ends_the_run(surefoot: Surefoot) -> None:
    surefoot(*good_script(surefoot), "--confirm")
    assert surefoot("answer", "--answer", "n").code == 0
    result = surefoot("resume", "-m", surefoot.script(adder("+")))
    assert result.code == 130, result.out
    assert not (surefoot.workspace / "adder.py").exists()


def test_resuming_a_finished_run_prints_its_result_without_a_model(surefoot: Surefoot) -> None:
    surefoot(*good_script(surefoot))
    again = surefoot("resume")
    assert again.code == 0, again.err
    assert again.out.startswith("✓ Verified")
    assert "is already finished" in again.err
    (last,) = surefoot("resume", "--json").objects
    assert last["verdict"] == "verified"


def test_resume_names_the_previous_model_if_it_is_not_available(surefoot: Surefoot) -> None:
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    script = surefoot.script(UNDERSTANDING)
    assert surefoot("run", TASK, "-m", script, "--check", CHECK).code == 1
    result = surefoot("resume")
    assert result.code == 2
    assert "the run used the model scripted:script-0.json" in result.err
    assert "name the model to continue with: -m MODEL" in result.err
    assert surefoot("resume", "-m", surefoot.script(adder("+"))).code == 0


def test_a_failed_run_gives_its_reason_once_and_shows_no_running_step(surefoot: Surefoot) -> None:
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    result = surefoot("run", TASK, "-m", surefoot.script(UNDERSTANDING), "--check", CHECK)
    assert result.code == 1
    assert result.out.count("the script has no answer for call 2") == 1
    shown = surefoot("show").out
    assert "Write adder.py  code generation, not done" in shown
    assert "running" not in shown
    for name in ("__pycache__/mine.pyc", ".pytest_cache/v/mine", "notes/mine.txt"):
        (surefoot.workspace / name).parent.mkdir(parents=True)
        (surefoot.workspace / name).write_text("mine")
    again = surefoot("resume", "-m", surefoot.script(), "--json").objects[-1]
    assert again["diagnosis"]["left_behind"] == []
    (warning,) = again["warnings"]
    assert warning.startswith("changed since the run was interrupted, not by it: notes/mine.txt;"), "no cache is named"


def test_the_results_of_checks_before_the_run_are_printed(surefoot: Surefoot) -> None:
    script = good_script(surefoot)
    result = surefoot(*script, "--check", "true")
    first, *_ = [number for number, line in enumerate(result.lines) if "understanding ..." in line]
    before = "\n".join(result.lines[:first])
    assert f"✗ {CHECK} fails before the run and must pass at the end" in before
    assert "✓ true passes before the run: it can detect a regression, but cannot prove the task" in before


def test_show_answers_prints_prompts_and_answers(surefoot: Surefoot) -> None:
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    evil = "\x1b[2Jno code here"
    script = surefoot.script(UNDERSTANDING, evil, evil, adder("+"))
    surefoot("run", TASK, "-m", script, "--check", CHECK)
    shown = surefoot("show", "--answers")
    assert shown.code == 0, shown.err
    assert "1. understand\n  prompt:\n" in shown.out
    assert "    Write adder.py with add(a, b)." in shown.out.splitlines()
    assert "        return a + b" in shown.out.splitlines()
    assert "\x1b" not in shown.out
    calls = surefoot("show", "--answers", "--json").objects
    assert calls[1]["answer"] == evil
    assert calls[0]["purpose"] == "understand"
    assert surefoot("show", "--answers", "--diff").code == 2


def test_show_diff_prints_the_changes_of_a_run(surefoot: Surefoot) -> None:
    surefoot(*good_script(surefoot))
    diff = surefoot("show", "--diff").out
    assert "+++ b/adder.py" in diff
    assert "+    return a + b" in diff
    assert "check_adder" not in diff


def test_task_with_a_key_is_refused(surefoot: Surefoot) -> None:
    """Also the key that the settings name, even if its variable does not look like a secret."""
    surefoot.environ |= {
        "SUREFOOT_MODEL__API_KEY_ENV": "MINE",
        "MINE": "correct-horse-battery",
        "SERVICE_TOKEN": "abcdef123456",
    }
    model = ("-m", "openai/some-model")
    for value, name in (("correct-horse-battery", "MINE"), ("abcdef123456", "SERVICE_TOKEN")):
        for result in (
            surefoot("run", f"Use {value}.", *model),
            surefoot("run", "Go.", "--check", f"echo {value}", *model),
        ):
            assert result.code == 2
            assert f"contains the value of {name}" in result.err
            assert value not in result.out + result.err
    assert surefoot("list", "--json").out == ""


# -- stopping ------------------------------------------------------------------------------------------------------


def wait_until_started(surefoot: Surefoot, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 120
    while not (surefoot.workspace / "begun").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.req("P14", "O10")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_run_and_the_output_says_how_to_resume(surefoot: Surefoot, number: signal.Signals) -> None:
    process = surefoot.start(*slow_script(surefoot), "--sandbox", "off")
    wait_until_started(surefoot, process)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    (run,) = surefoot("list", "--json").objects
    assert f"stopped; continue with: surefoot resume {run['run_id']}" in err
    assert f"surefoot resume {run['run_id']} -m scripted:FILE" in err, "the name of a script does not find it again"
    assert "Interrupted" in out
    assert {signal.SIGINT: "stopped with Ctrl-C", signal.SIGTERM: "stopped by the signal SIGTERM"}[number] in out
    assert run["verdict"] == "interrupted"
    (surefoot.workspace / "begun").unlink(missing_ok=True)
    done = surefoot("resume", "-m", surefoot.script(adder("+")), "--json")
    assert done.objects[0]["type"] == "run_resumed"


def test_json_output_of_an_interrupted_run_ends_with_an_outcome(surefoot: Surefoot) -> None:
    process = surefoot.start(*slow_script(surefoot), "--sandbox", "off", "--json")
    wait_until_started(surefoot, process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    last = json.loads(out.splitlines()[-1])
    assert (last["type"], last["verdict"], last["exit_code"]) == ("outcome", "interrupted", 130)


def test_a_second_run_in_the_same_workspace_is_refused(surefoot: Surefoot) -> None:
    process = surefoot.start(*slow_script(surefoot), "--sandbox", "off")
    try:
        wait_until_started(surefoot, process)
        second = surefoot(*good_script(surefoot))
        assert second.code == 1
        assert second.err.splitlines()[-2].startswith("surefoot: ")
        assert surefoot("list").code == 0, "reading is still possible"
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)

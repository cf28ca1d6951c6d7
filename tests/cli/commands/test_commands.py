"""The commands that do not run anything: list, show, config, trust, doctor, answer, model; and start-up."""

import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cli.conftest import Surefoot
from support import recorded
from surefoot.journal.events import event_adapter


def test_the_version_is_printed_without_heavy_imports() -> None:
    """Checks the imports, because a time limit would depend on the machine."""
    code = (
        "import sys; sys.argv = ['surefoot', '--version']\n"
        "from surefoot.cli.main import main; main()\n"
        "heavy = {'click', 'rich', 'pydantic', 'openai', 'anthropic', 'apsw', 'asyncio', 'httpx', 'jsonschema'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, loaded = done.stdout.splitlines()
    assert version.startswith("surefoot 0.")
    assert loaded == "[]"


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["model", "--help"], ["-V", "--help"]])
def test_help_imports_click_and_nothing_heavier(arguments: list[str]) -> None:
    code = (
        f"import sys; sys.argv = ['surefoot', *{arguments!r}]\n"
        "from surefoot.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as result:\n    assert result.code == 0\n"
        "heavy = {'rich', 'pydantic', 'openai', 'anthropic', 'apsw', 'asyncio', 'httpx', 'jsonschema'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_lists_the_exit_codes(surefoot: Surefoot) -> None:
    result = surefoot("--help")
    assert result.code == 0
    for code in ("0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "124", "130"):
        assert f"\n    {code}" in result.out
    assert surefoot().code == 2


# -- list and show -------------------------------------------------------------------------------------------------


async def test_list_without_a_journal_does_not_create_one(surefoot: Surefoot) -> None:
    result = surefoot("list")
    assert (result.code, result.out) == (0, "")
    assert "no runs yet" in result.err
    assert not surefoot.state.exists()


async def test_runs_are_listed_with_their_verdicts(surefoot: Surefoot) -> None:
    run_id = await surefoot.store(recorded.whole_run())
    (line,) = surefoot("list").out.splitlines()
    assert line.startswith(run_id)
    assert "verified" in line
    assert "add a --json flag to report.py" in line
    (item,) = surefoot("list", "--json").objects
    assert (item["run_id"], item["verdict"]) == (run_id, "verified")


@pytest.mark.req("P18")
async def test_show_prints_everything_about_a_run(surefoot: Surefoot) -> None:
    run_id = await surefoot.store(recorded.failed_run())
    result = surefoot("show", run_id[:10])
    assert result.code == 0
    for part in (
        "✓ understanding  The report script needs a flag",
        "– approach  skipped: the task is simple",
        "✓ 1. Read the spec",
        "✗ 2. Write report.py",
        "✗ python -m pytest -q failed  ↳ retry, adjusted",
        "○ 3. Run the tests",
        "✗ Failed  add a --json flag to report.py",
        "AssertionError: expected {'rows': 3}",
        "Root cause: rows are counted before the filter",
        "surefoot resume",
        "4,800 prompt (3,200 cached) + 720 output tokens, $0.0192",
    ):
        assert part in result.out, result.out
    assert result.err == ""
    assert "\x1b" not in result.out


@pytest.mark.req("O9")
async def test_show_events_lists_every_event(surefoot: Surefoot) -> None:
    records = recorded.whole_run()
    await surefoot.store(records)
    result = surefoot("show", "--events")
    assert [line.split()[2] for line in result.out.splitlines()] == [record.event.type for record in records]
    added = ("seq", "at", "alias", "state")
    parsed = [
        event_adapter.validate_python({key: value for key, value in item.items() if key not in added})
        for item in surefoot("show", "--events", "--json").objects
    ]
    # The first event names the folder, in which the run is stored for this test.
    assert parsed[0].type == "run_created"
    assert parsed[1:] == [record.event for record in records][1:]


async def test_show_as_json_is_one_object(surefoot: Surefoot) -> None:
    run_id = await surefoot.store(recorded.whole_run())
    shown = json.loads(surefoot("show", "--json").out)
    assert shown["task_id"] == run_id
    assert shown["outcome"]["verdict"] == "verified"
    assert shown["tokens"]["prompt"] == 6000
    assert shown["cost_usd"] == pytest.approx(0.024)


async def test_show_writes_the_live_view_as_svg(surefoot: Surefoot) -> None:
    await surefoot.store(recorded.whole_run())
    path = surefoot.home / "run.svg"
    assert surefoot("show", "--svg", str(path)).code == 0
    svg = path.read_text()
    assert svg.startswith("<svg")
    text = svg.replace("&#160;", " ")
    assert "Write report.py" in text
    assert "Validation" in text
    assert "url(" not in svg.replace("url(#", "")


async def test_show_refuses_options_that_exclude_each_other(surefoot: Surefoot) -> None:
    await surefoot.store(recorded.whole_run())
    assert surefoot("show", "--events", "--diff").code == 2


async def test_control_characters_of_a_task_are_neutralised(surefoot: Surefoot) -> None:
    evil = recorded.records([recorded.created(text="x\x1b[2J\x1b]0;title\x07y [bold]z")])
    await surefoot.store(evil)
    for arguments in (["list"], ["show"], ["show", "--events"]):
        out = surefoot(*arguments).out
        assert "\x1b" not in out
        assert "\x07" not in out
        assert "[bold]z" in out


async def test_a_closed_pipe_causes_no_traceback(surefoot: Surefoot) -> None:
    await surefoot.store(recorded.whole_run())
    process = surefoot.start("show", "--events", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.wait()
    assert "Traceback" not in process.stderr.read()


async def test_list_imports_no_more_than_it_needs(surefoot: Surefoot) -> None:
    """Checks the imports, because a time limit would depend on the machine. `benchmarks/listing.py` measures."""
    await surefoot.store(recorded.whole_run())
    code = (
        "import sys; sys.argv = ['surefoot', 'list']\n"
        "from surefoot.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as result:\n    assert not result.code\n"
        "heavy = {'asyncio', 'openai', 'jsonschema', 'surefoot.journal.events', 'surefoot.engine', 'surefoot.tools'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    python = replace(surefoot, program=Path(sys.executable))
    line, loaded = python("-c", code).out.splitlines()
    assert "$0.0240" in line
    assert loaded == "[]"


async def test_a_damaged_call_is_reported_by_list(surefoot: Surefoot) -> None:
    await surefoot.store(recorded.whole_run())
    database = sqlite3.connect(surefoot.journal_file)
    with database:
        database.execute("UPDATE events SET body = x'7b7d' WHERE kind = 'model_answered'")
    database.close()
    result = surefoot("list")
    assert result.code == 1
    assert "was changed" in result.err


# -- settings ------------------------------------------------------------------------------------------------------


def test_config_shows_each_value_with_its_source(surefoot: Surefoot) -> None:
    config = surefoot.home / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[budget]\nmax_tokens = 5000\n")
    surefoot.environ["SUREFOOT_EXECUTION__NETWORK"] = "true"
    rows = {line.split()[0]: line.split()[1:] for line in surefoot("config").out.splitlines() if line}
    assert rows["budget.max_tokens"] == ["5000", f"{config}:2"]
    assert rows["execution.network"] == ["true", "SUREFOOT_EXECUTION__NETWORK"]
    assert rows["execution.max_plan_steps"] == ["12", "default"]
    listed = json.loads(surefoot("config", "--json").out)
    assert listed["budget.max_tokens"] == {
        "value": 5000,
        "source": f"{config}:2",
        "variable": "SUREFOOT_BUDGET__MAX_TOKENS",
    }


def test_trust_and_untrust_a_project_config(surefoot: Surefoot) -> None:
    own = surefoot.workspace / "surefoot.toml"
    own.write_text("[execution]\nmax_plan_steps = 3\n")

    def steps() -> tuple[object, str]:
        result = surefoot("config", "--json")
        return json.loads(result.out)["execution.max_plan_steps"]["value"], result.err

    value, notice = steps()
    assert value == 12
    assert f"surefoot trust {surefoot.workspace}" in notice
    assert "execution.max_plan_steps = 3" in surefoot("trust").out
    assert steps() == (3, "")
    own.write_text("[execution]\nmax_plan_steps = 4\n")
    value, notice = steps()
    assert value == 12
    assert "has changed" in notice
    assert surefoot("trust", str(surefoot.workspace)).code == 0
    assert steps()[0] == 4
    assert "no longer trusted" in surefoot("untrust").out
    assert steps()[0] == 12
    assert "was not trusted" in surefoot("untrust").out


def test_an_invalid_config_is_not_trusted(surefoot: Surefoot) -> None:
    (surefoot.workspace / "surefoot.toml").write_text("[execution]\nmax_plan_steps = -3\n")
    refused = surefoot("trust")
    assert refused.code == 2
    assert "surefoot.toml:2" in refused.err
    assert not (surefoot.state / "trust.json").exists()


# -- answering -----------------------------------------------------------------------------------------------------


@pytest.mark.req("P12")
async def test_a_question_is_shown_and_answered(surefoot: Surefoot) -> None:
    run_id = await surefoot.store(recorded.records([*recorded.phases(), *recorded.asking()]))
    shown = surefoot("answer", run_id)
    assert shown.code == 4
    assert "? Go on with this plan?" in shown.out
    answered = surefoot("answer", run_id, "--question", "q1", "--answer", "y")
    assert answered.code == 0
    assert f"surefoot resume {run_id}" in answered.out
    again = surefoot("answer", run_id)
    assert again.code == 2
    assert "has no open questions" in again.err


@pytest.mark.req("P12")
async def test_an_answer_may_stand_after_the_run(surefoot: Surefoot) -> None:
    run_id = await surefoot.store(recorded.records([*recorded.phases(), *recorded.asking()]))
    twice = surefoot("answer", "last", "yes", "--answer", "no")
    assert twice.code == 2
    assert "given twice" in twice.err
    answered = surefoot("answer", "last", "yes")
    assert answered.code == 0
    assert f"surefoot resume {run_id}" in answered.out


async def test_an_answer_to_an_unknown_question_is_refused(surefoot: Surefoot) -> None:
    run_id = await surefoot.store(recorded.records([*recorded.phases(), *recorded.asking()]))
    wrong = surefoot("answer", run_id, "--question", "q9", "--answer", "y")
    assert wrong.code == 2
    assert "open questions: q1" in wrong.err


# -- doctor --------------------------------------------------------------------------------------------------------


def test_doctor_reports_problems_with_remedies(surefoot: Surefoot) -> None:
    result = surefoot("doctor")
    assert result.code == 1
    assert "a run cannot start yet" in result.out
    found = {item["what"]: item for item in surefoot("doctor", "--json").objects}
    assert found["model"]["ok"] is False
    assert "surefoot model pull" in found["model"]["remedy"]
    assert found["python"]["ok"]
    assert found["workspace"]["ok"]
    assert found["weights"]["ok"] is None
    assert not surefoot.state.exists()


def test_doctor_never_shows_a_key(surefoot: Surefoot) -> None:
    surefoot.environ["OPENAI_API_KEY"] = "sk-secret-1234567890abcdef"
    result = surefoot("doctor")
    assert "sk-secret" not in result.out + result.err
    assert "OPENAI_API_KEY" in result.out


def test_doctor_reports_an_invalid_config_and_continues(surefoot: Surefoot) -> None:
    config = surefoot.home / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[execution]\nnetwork = perhaps\n")
    found = {item["what"]: item for item in surefoot("doctor", "--json").objects}
    assert not found["config"]["ok"]
    assert "config.toml:2" in found["config"]["said"]
    assert found["disk"]["ok"]


def hide_xllamacpp(surefoot: Surefoot) -> None:
    """Simulate that the extra is not installed: the module that is found first cannot be imported."""
    folder = surefoot.home / "broken"
    folder.mkdir()
    (folder / "xllamacpp.py").write_text("raise ImportError('no xllamacpp here')")
    surefoot.environ["PYTHONPATH"] = str(folder)


def test_doctor_reports_a_missing_runtime_of_the_embedded_model(surefoot: Surefoot) -> None:
    hide_xllamacpp(surefoot)
    result = surefoot("doctor", "-m", "local")
    assert result.code == 1
    lines = [line.strip() for line in result.out.splitlines()]
    assert any("cannot be used: no xllamacpp here" in line for line in lines)
    assert "install the extra local: " in "".join(lines)
    assert any(line.endswith("[local]'") for line in lines)
    assert "runtime" not in surefoot("doctor", "-m", surefoot.script("x")).out, (
        "it is only needed for the embedded model"
    )


def test_doctor_lists_the_ways_to_get_a_model(surefoot: Surefoot) -> None:
    lines = [line.strip() for line in surefoot("doctor").out.splitlines()]
    assert any(line.startswith("surefoot model pull ") and "1.1 GB" in line for line in lines)
    assert any(line.startswith("export OPENAI_API_KEY=...") for line in lines)


def test_pull_warns_first_if_the_runtime_is_missing(surefoot: Surefoot) -> None:
    hide_xllamacpp(surefoot)
    result = surefoot("model", "pull", "--source", "nowhere")
    assert "the weights alone are not enough" in result.lines[0]
    assert any(line.startswith("install the extra local: ") for line in result.lines)
    assert result.lines[-2].startswith("surefoot: "), "the download is tried nevertheless"


def test_doctor_succeeds_if_a_run_can_start(surefoot: Surefoot) -> None:
    result = surefoot("doctor", "-m", surefoot.script("x"))
    assert result.code == 0, result.out
    assert "as you asked" in result.out
    assert "a run can start" in result.out


# -- the embedded model --------------------------------------------------------------------------------------------


def test_the_embedded_models_are_listed(surefoot: Surefoot) -> None:
    result = surefoot("model", "list")
    assert result.code == 0
    assert "Apache-2.0" in result.out
    assert "not downloaded" in result.out


def test_wrong_weights_are_refused(surefoot: Surefoot) -> None:
    wrong = surefoot.home / "wrong.gguf"
    wrong.write_bytes(b"not a model")
    refused = surefoot("model", "pull", "--source", str(wrong))
    assert refused.code == 1
    assert refused.lines[-2].startswith("surefoot: ")
    assert surefoot("model", "pull", "--source", "nowhere").code == 1
    assert surefoot("model", "pull", "gpt").code == 2


def test_serve_needs_weights_and_the_key(surefoot: Surefoot) -> None:
    missing = surefoot("model", "serve", "--port", "0")
    assert missing.code == 1
    assert "surefoot model pull" in missing.err
    assert "NO_SUCH_KEY is not set" in surefoot("model", "serve", "--api-key-env", "NO_SUCH_KEY").err


def test_download_progress_as_lines_and_as_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    from surefoot.cli.commands.model import _Bar, _Lines
    from surefoot.models.local.weights import PullProgress

    for display in (_Lines(), _Bar()):
        for done in range(0, 101, 10):
            display.update(PullProgress(source="here", phase="fetching part 1 of 2", done=done * 10**6, total=10**8))
        display.update(PullProgress(source="here", phase="checking", done=10**8, total=10**8))
        display.close()
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["fetching part 1 of 2 from here: 0 of 100 MB", "checking from here: 100 of 100 MB"]
    assert "checking" in lines[-1]

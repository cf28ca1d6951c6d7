"""The commands that only look: list, show, config, trust, doctor, answer, and what start-up costs."""

import json
import subprocess
import sys

import pytest

from cli import recorded
from cli.conftest import Surefoot
from surefoot.events import event_adapter


def test_the_version_is_told_without_loading_anything_heavy() -> None:
    """Start-up stays fast because of what is not imported; a limit on time would only measure the machine."""
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
def test_help_loads_click_and_nothing_heavier(arguments: list[str]) -> None:
    code = (
        f"import sys\nfrom surefoot.cli.app import run_cli\nassert run_cli({arguments!r}) == 0\n"
        "heavy = {'rich', 'pydantic', 'openai', 'anthropic', 'apsw', 'asyncio', 'httpx', 'jsonschema'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_tells_the_exit_codes(surefoot: Surefoot) -> None:
    told = surefoot("--help")
    assert told.code == 0
    for code in ("0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "124", "130"):
        assert f"\n    {code}" in told.out
    assert surefoot().code == 2


# -- list and show -------------------------------------------------------------------------------------------------


async def test_an_empty_journal_lists_nothing_and_is_not_made_by_looking(surefoot: Surefoot) -> None:
    ended = surefoot("list")
    assert (ended.code, ended.out) == (0, "")
    assert "no runs yet" in ended.err
    assert not surefoot.state.exists()


async def test_runs_are_listed_with_what_came_of_them(surefoot: Surefoot) -> None:
    run_id = await surefoot.keep(recorded.whole_run())
    (line,) = surefoot("list").out.splitlines()
    assert line.startswith(run_id)
    assert "verified" in line
    assert "add a --json flag to report.py" in line
    (item,) = surefoot("list", "--json").objects
    assert (item["run_id"], item["verdict"]) == (run_id, "verified")


@pytest.mark.req("P18")
async def test_show_tells_everything_about_a_run(surefoot: Surefoot) -> None:
    run_id = await surefoot.keep(recorded.failed_run())
    told = surefoot("show", run_id[:10])
    assert told.code == 0
    for part in (
        "✓ understanding  The report script needs a flag",
        "– approach  skipped: the task is simple",
        "✓ 1. Read the spec",
        "✗ 2. Write report.py",
        "✗ python -m pytest -q failed  ↳ adjust parameters",
        "○ 3. Run the tests",
        "✗ Failed  add a --json flag to report.py",
        "AssertionError: expected {'rows': 3}",
        "Root cause: rows are counted before the filter",
        "surefoot resume",
        "4,800 prompt (3,200 cached) + 720 output tokens, $0.0192",
    ):
        assert part in told.out, told.out
    assert told.err == ""
    assert "\x1b" not in told.out


@pytest.mark.req("O9")
async def test_the_timeline_has_every_event(surefoot: Surefoot) -> None:
    records = recorded.whole_run()
    await surefoot.keep(records)
    told = surefoot("show", "--events")
    assert [line.split()[2] for line in told.out.splitlines()] == [record.event.type for record in records]
    back = [
        event_adapter.validate_python({key: value for key, value in item.items() if key not in ("seq", "at")})
        for item in surefoot("show", "--events", "--json").objects
    ]
    assert back == [record.event for record in records]


async def test_show_as_json_is_one_object(surefoot: Surefoot) -> None:
    run_id = await surefoot.keep(recorded.whole_run())
    told = json.loads(surefoot("show", "--json").out)
    assert told["task_id"] == run_id
    assert told["outcome"]["verdict"] == "verified"
    assert told["tokens"]["prompt"] == 6000
    assert told["cost_usd"] == pytest.approx(0.024)


async def test_the_live_view_can_be_kept_as_a_picture(surefoot: Surefoot) -> None:
    await surefoot.keep(recorded.whole_run())
    picture = surefoot.home / "run.svg"
    assert surefoot("show", "--svg", str(picture)).code == 0
    svg = picture.read_text()
    assert svg.startswith("<svg")
    text = svg.replace("&#160;", " ")
    assert "Write report.py" in text
    assert "Validation" in text
    assert "url(" not in svg.replace("url(#", "")


async def test_what_excludes_each_other_is_refused(surefoot: Surefoot) -> None:
    await surefoot.keep(recorded.whole_run())
    assert surefoot("show", "--events", "--diff").code == 2


async def test_text_of_a_run_cannot_steer_the_terminal(surefoot: Surefoot) -> None:
    evil = recorded.records([recorded.created(text="x\x1b[2J\x1b]0;title\x07y [bold]z")])
    await surefoot.keep(evil)
    for arguments in (["list"], ["show"], ["show", "--events"]):
        out = surefoot(*arguments).out
        assert "\x1b" not in out
        assert "\x07" not in out
        assert "[bold]z" in out


async def test_a_reader_who_leaves_early_gets_no_traceback(surefoot: Surefoot) -> None:
    await surefoot.keep(recorded.whole_run())
    process = surefoot.start("show", "--events", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.wait()
    assert "Traceback" not in process.stderr.read()


# -- settings ------------------------------------------------------------------------------------------------------


def test_config_shows_each_value_and_where_it_came_from(surefoot: Surefoot) -> None:
    config = surefoot.home / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[budget]\nmax_tokens = 5000\n")
    surefoot.environ["SUREFOOT_EXECUTION__NETWORK"] = "true"
    rows = {line.split()[0]: line.split()[1:] for line in surefoot("config").out.splitlines() if line}
    assert rows["budget.max_tokens"] == ["5000", f"{config}:2"]
    assert rows["execution.network"] == ["true", "SUREFOOT_EXECUTION__NETWORK"]
    assert rows["execution.max_plan_steps"] == ["12", "default"]
    told = json.loads(surefoot("config", "--json").out)
    assert told["budget.max_tokens"] == {
        "value": 5000,
        "source": f"{config}:2",
        "variable": "SUREFOOT_BUDGET__MAX_TOKENS",
    }


def test_a_project_is_trusted_untrusted_and_trusted_again_when_it_changes(surefoot: Surefoot) -> None:
    own = surefoot.workspace / "surefoot.toml"
    own.write_text("[execution]\nmax_plan_steps = 3\n")

    def steps() -> tuple[object, str]:
        ended = surefoot("config", "--json")
        return json.loads(ended.out)["execution.max_plan_steps"]["value"], ended.err

    value, said = steps()
    assert value == 12
    assert f"surefoot trust {surefoot.workspace}" in said
    assert "execution.max_plan_steps = 3" in surefoot("trust").out
    assert steps() == (3, "")
    own.write_text("[execution]\nmax_plan_steps = 4\n")
    value, said = steps()
    assert value == 12
    assert "has changed" in said
    assert surefoot("trust", str(surefoot.workspace)).code == 0
    assert steps()[0] == 4
    assert "no longer trusted" in surefoot("untrust").out
    assert steps()[0] == 12
    assert "was not trusted" in surefoot("untrust").out


def test_a_config_that_could_not_be_used_is_not_trusted(surefoot: Surefoot) -> None:
    (surefoot.workspace / "surefoot.toml").write_text("[execution]\nmax_plan_steps = -3\n")
    refused = surefoot("trust")
    assert refused.code == 2
    assert "surefoot.toml:2" in refused.err
    assert not (surefoot.state / "trust.json").exists()


# -- answering -----------------------------------------------------------------------------------------------------


@pytest.mark.req("P12")
async def test_a_question_can_be_read_and_answered_from_elsewhere(surefoot: Surefoot) -> None:
    run_id = await surefoot.keep(recorded.records([*recorded.phases(), *recorded.asking()]))
    looked = surefoot("answer", run_id)
    assert looked.code == 4
    assert "? Go on with this plan?" in looked.out
    answered = surefoot("answer", run_id, "--question", "q1", "--answer", "y")
    assert answered.code == 0
    assert f"surefoot resume {run_id}" in answered.out
    again = surefoot("answer", run_id)
    assert again.code == 2
    assert "asks nothing" in again.err


async def test_answers_need_a_question(surefoot: Surefoot) -> None:
    run_id = await surefoot.keep(recorded.records([*recorded.phases(), *recorded.asking()]))
    wrong = surefoot("answer", run_id, "--question", "q9", "--answer", "y")
    assert wrong.code == 2
    assert "open are: q1" in wrong.err


# -- doctor --------------------------------------------------------------------------------------------------------


def test_doctor_says_what_is_missing_and_how_to_mend_it(surefoot: Surefoot) -> None:
    ended = surefoot("doctor")
    assert ended.code == 1
    assert "a run cannot start yet" in ended.out
    found = {item["what"]: item for item in surefoot("doctor", "--json").objects}
    assert found["model"]["ok"] is False
    assert "surefoot model pull" in found["model"]["remedy"]
    assert found["python"]["ok"]
    assert found["workspace"]["ok"]
    assert found["weights"]["ok"] is None
    assert not surefoot.state.exists()


def test_doctor_never_shows_a_key(surefoot: Surefoot) -> None:
    surefoot.environ["OPENAI_API_KEY"] = "sk-secret-1234567890abcdef"
    ended = surefoot("doctor")
    assert "sk-secret" not in ended.out + ended.err
    assert "OPENAI_API_KEY" in ended.out


def test_doctor_names_a_broken_config_and_goes_on(surefoot: Surefoot) -> None:
    config = surefoot.home / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[execution]\nnetwork = perhaps\n")
    found = {item["what"]: item for item in surefoot("doctor", "--json").objects}
    assert not found["config"]["ok"]
    assert "config.toml:2" in found["config"]["said"]
    assert found["disk"]["ok"]


def without_xllamacpp(surefoot: Surefoot) -> None:
    """As where the extra was not installed: what is found first cannot be imported."""
    folder = surefoot.home / "broken"
    folder.mkdir()
    (folder / "xllamacpp.py").write_text("raise ImportError('no xllamacpp here')")
    surefoot.environ["PYTHONPATH"] = str(folder)


def test_doctor_says_that_what_runs_the_embedded_model_is_missing(surefoot: Surefoot) -> None:
    without_xllamacpp(surefoot)
    ended = surefoot("doctor", "-m", "local")
    assert ended.code == 1
    lines = [line.strip() for line in ended.out.splitlines()]
    assert any("cannot be used: no xllamacpp here" in line for line in lines)
    assert "pip install 'surefoot[local]'        with pip" in lines, "a remedy of several lines keeps them"
    assert "pipx inject surefoot xllamacpp       with pipx" in lines
    assert "runtime" not in surefoot("doctor", "-m", surefoot.script("x")).out, "nobody asked for it"


def test_doctor_s_list_of_ways_to_a_model_keeps_its_lines_and_names_the_extra(surefoot: Surefoot) -> None:
    lines = [line.strip() for line in surefoot("doctor").out.splitlines()]
    assert any(line.startswith("surefoot model pull ") and "1.1 GB" in line for line in lines)
    assert any(line.endswith("pip install 'surefoot[local]'") for line in lines)
    assert any(line.startswith("export OPENAI_API_KEY=...") for line in lines)


def test_a_pull_says_beforehand_that_weights_alone_are_not_enough(surefoot: Surefoot) -> None:
    without_xllamacpp(surefoot)
    ended = surefoot("model", "pull", "--source", "nowhere")
    assert "the weights alone will not be enough" in ended.lines[0]
    assert "  pipx inject surefoot xllamacpp       with pipx" in ended.lines
    assert ended.lines[-2].startswith("surefoot: "), "and it is tried all the same"


def test_doctor_is_content_where_a_run_could_start(surefoot: Surefoot) -> None:
    ended = surefoot("doctor", "-m", surefoot.script("x"))
    assert ended.code == 0, ended.out
    assert "as you asked" in ended.out
    assert "a run can start" in ended.out


# -- the embedded model --------------------------------------------------------------------------------------------


def test_the_embedded_models_are_listed(surefoot: Surefoot) -> None:
    told = surefoot("model", "list")
    assert told.code == 0
    assert "Apache-2.0" in told.out
    assert "not fetched" in told.out


def test_weights_that_are_not_the_right_ones_are_refused(surefoot: Surefoot) -> None:
    wrong = surefoot.home / "wrong.gguf"
    wrong.write_bytes(b"not a model")
    refused = surefoot("model", "pull", "--source", str(wrong))
    assert refused.code == 1
    assert refused.lines[-2].startswith("surefoot: ")
    assert surefoot("model", "pull", "--source", "nowhere").code == 1
    assert surefoot("model", "pull", "gpt").code == 2


def test_serving_needs_weights_and_a_key_that_is_set(surefoot: Surefoot) -> None:
    missing = surefoot("model", "serve", "--port", "0")
    assert missing.code == 1
    assert "surefoot model pull" in missing.err
    assert "NO_SUCH_KEY is not set" in surefoot("model", "serve", "--api-key-env", "NO_SUCH_KEY").err


def test_a_download_is_shown_as_lines_or_as_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    from surefoot.cli.model import _Bar, _Lines
    from surefoot.models.weights import PullProgress

    for shown in (_Lines(), _Bar()):
        for done in range(0, 101, 10):
            shown.update(PullProgress(source="here", phase="fetching part 1 of 2", done=done * 10**6, total=10**8))
        shown.update(PullProgress(source="here", phase="checking", done=10**8, total=10**8))
        shown.close()
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["fetching part 1 of 2 from here: 0 of 100 MB", "checking from here: 100 of 100 MB"]
    assert "checking" in lines[-1]

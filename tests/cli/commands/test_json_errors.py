"""With --json, standard output is JSON, also when a command fails. The lines for people are on standard error."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest

from cli.conftest import Result, Surefoot
from support import recorded
from support.stories import TASK, UNDERSTANDING, slow_script
from surefoot.cli.app import cli, report_error
from surefoot.cli.views.error_line import wants_json


def error_of(result: Result) -> dict[str, Any]:
    """The only object on standard output, which agrees with the exit code and the lines on standard error."""
    (line,) = result.objects
    assert line["type"] == "error"
    error: dict[str, Any] = line["error"]
    assert error["exit_code"] == result.code, result.err
    assert any(row == f"surefoot: {error['message']}" for row in result.lines), result.err
    assert "Traceback" not in result.err
    return error


def commands_with_json(name: str = "", command: click.Command = cli) -> Iterator[str]:
    if any("--json" in parameter.opts for parameter in command.params):
        yield name
    for own, sub in command.commands.items() if isinstance(command, click.Group) else ():
        yield from commands_with_json(f"{name} {own}".strip(), sub)


def test_a_wrong_option_before_or_after_json(surefoot: Surefoot) -> None:
    names = list(commands_with_json())
    assert {"run", "resume", "list", "show", "stats", "doctor", "config", "replay", "watch", "mcp tools"} <= set(names)
    for name in names:
        for words in (("--json", "--no-such-option"), ("--no-such-option", "--json")):
            error = error_of(surefoot(*name.split(), *words))
            assert (error["kind"], error["exit_code"]) == ("usage_error", 2), name
            assert "--no-such-option" in error["message"]
            assert error["remedy"] == f"see: surefoot {name} --help"


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (["run", TASK, "--json"], "no_model", "no model"),
        (["run", "--json", "-m", "scripted:x.json"], "usage_error", "the task is empty"),
        (["run", TASK, "--json", "-C", "nowhere"], "usage_error", "there is no folder"),
        (["run", TASK, "--json", "--max-time", "soon"], "usage_error", "not a duration"),
        (["run", TASK, "--json", "--live"], "usage_error", "--json cannot be combined"),
        (["lst", "--json"], "usage_error", "Did you mean 'list'?"),
        (["--json", "list"], "usage_error", "--json"),
        (["show", "nope", "--json"], "unknown_run", "there are no runs yet"),
        (["stats", "--since", "once", "--json"], "usage_error", "'once' is not a time"),
        (["undo", "last", "--json"], "usage_error", "--json"),
    ],
)
def test_errors_of_every_kind(surefoot: Surefoot, words: list[str], kind: str, message: str) -> None:
    error = error_of(surefoot(*words))
    assert (error["kind"], error["exit_code"]) == (kind, 2)
    assert message in error["message"]
    assert error["remedy"]


def test_wrong_settings_and_a_broken_journal(surefoot: Surefoot) -> None:
    config = surefoot.home / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[execution]\nmax_step = 3\n")
    assert error_of(surefoot("config", "--json"))["kind"] == "config_error"
    config.unlink()
    surefoot.journal_file.parent.mkdir(parents=True)
    surefoot.journal_file.write_text("not a journal " * 100)
    error = error_of(surefoot("list", "--json"))
    assert (error["kind"], error["exit_code"]) == ("journal_broken", 1)


def test_what_is_not_expected_and_ctrl_c(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_error(RuntimeError("the disk\nsings"), ["list", "--json"]) == 1
    assert report_error(KeyboardInterrupt(), ["show", "--json"]) == 130
    assert report_error(click.Abort(), ["show"]) == 130
    unexpected, interrupted = (json.loads(line)["error"] for line in capsys.readouterr().out.splitlines())
    assert unexpected["message"] == "unexpected error: RuntimeError: the disk sings"
    assert (unexpected["kind"], interrupted["kind"]) == ("unexpected_error", "interrupted")


def test_an_error_as_json_has_no_secrets_and_no_control_characters(surefoot: Surefoot) -> None:
    key = "sk-proj-0123456789abcdefghij"
    surefoot.environ["OPENAI_API_KEY"] = key
    result = surefoot("show", f"{key}\x1b[2J", "--json")
    assert error_of(result)["kind"] == "unknown_run"
    result = surefoot("stats", "--since", f"{key}\x1b[2J", "--json")
    message = error_of(result)["message"]
    assert "[redacted]" in message
    assert key not in result.out + result.err
    assert "\x1b" not in message


def test_ctrl_c_in_a_run_gives_an_outcome(surefoot: Surefoot) -> None:
    process = surefoot.start(*slow_script(surefoot), "--json")
    begun = surefoot.workspace / "begun"
    assert process.stdout is not None
    lines = []
    while not begun.exists():
        lines.append(json.loads(process.stdout.readline()))
        if lines[-1]["type"] == "action_started":
            break
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    last = json.loads(out.splitlines()[-1])
    assert (process.returncode, last["type"], last["exit_code"]) == (130, "outcome", 130)


def test_the_schema_describes_the_object(surefoot: Surefoot) -> None:
    schema = json.loads(surefoot("schema", "error").out)
    line = surefoot("list", "--json", "--what").objects[0]
    jsonschema.validate(line, schema)
    del line["error"]["kind"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(line, schema)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("list --json", True),
        ("list --json=yes", True),
        ("list -n 3 --json", True),
        ("run fix it --json", True),
        ("run -ym local --json", True),
        ("run -y --json", True),
        ("mcp tools --json", True),
        ("run --check --json", False),
        ("run -m --json", False),
        ("run -ym --json", False),
        ("run -- --json", False),
        ("fork last --answer --json", False),
        ("run --check=x --json", True),
        ("list", False),
        ("", False),
    ],
)
def test_what_asks_for_json(words: str, wanted: bool) -> None:
    assert wants_json(words.split(), cli) is wanted
    assert wants_json(["run", "add a --json flag"], cli) is False


async def test_every_view_of_a_run_is_json(surefoot: Surefoot, tmp_path: Path) -> None:
    await surefoot.store(recorded.whole_run())
    picture = str(tmp_path / "run.svg")
    assert surefoot("show", "--svg", picture, "--json").objects == [{"wrote": picture}]
    assert surefoot("show", "--diff", "--json").objects[0]["type"] == "error", "its snapshots do not exist"
    finished = surefoot("resume", "--json")
    assert [line["type"] for line in finished.objects] == ["outcome"]


def test_a_diff_is_json_too(surefoot: Surefoot) -> None:
    script = surefoot.script(UNDERSTANDING, "```python\ndef add(a, b):\n    return a + b\n```")
    assert surefoot("run", TASK, "-m", script).code == 3
    (shown,) = surefoot("show", "--diff", "--json").objects
    assert "+def add(a, b):" in shown["diff"].splitlines()


def test_a_closed_pipe_is_no_error(surefoot: Surefoot) -> None:
    code = f"{sys.executable} -m surefoot list --json --what | true"
    done = subprocess.run(["sh", "-c", code], capture_output=True, text=True, env=surefoot.variables(), check=False)
    assert "Traceback" not in done.stderr

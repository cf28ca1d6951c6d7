"""`surefoot init`: commands are found and tried, a commented file is written, and nothing of the user is lost."""

import json
import tomllib
from pathlib import Path

import pytest

from cli.conftest import Surefoot
from support.kit import fenced, understanding
from surefoot.cli.setup import trying
from surefoot.cli.setup.trying import try_commands
from surefoot.config.model import ExecutionConfig
from surefoot.engine.verifier.suite.project_commands import ProjectCommand

pytestmark = pytest.mark.slow

TEST = """\
import unittest


class Adding(unittest.TestCase):
    def test_add(self):
        from adder import add
        self.assertEqual(add(2, 3), 5)
"""


@pytest.fixture
def project(surefoot: Surefoot) -> Path:
    """Tests that work, a build that leaves a file behind, a linter that fails, one that is not installed."""
    root = surefoot.workspace
    (root / "adder.py").write_text("def add(a, b):\n    return a + b\n")
    (root / "test_adder.py").write_text(TEST)
    (root / "go.mod").write_text("module x\n")
    (root / "Makefile").write_text(
        "test:\n\tfalse\nlint:\n\t@echo 'line 3 is \x1b[31mugly'; exit 4\nbuild:\n\ttouch built\n"
    )
    surefoot.environ["PATH"] = "/usr/bin:/bin"
    return root


def test_a_commented_file_has_the_commands_that_work(surefoot: Surefoot, project: Path) -> None:
    result = surefoot("init")
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert any("✓ test   python3 -m unittest discover" in line and " s" in line for line in lines)
    assert any("✗ test   go test ./..." in line and "not installed, exit code 127" in line for line in lines)
    assert any("✗ lint   make -s lint" in line and "exit code 2" in line for line in lines)
    assert any("make -s test" in line and "not tried, because python3 -m unittest" in line for line in lines)
    assert not (project / "built").exists(), "commands are tried on a copy"
    text = (project / "surefoot.toml").read_text()
    assert tomllib.loads(text) == {"execution": {"checks": ["python3 -m unittest discover", "make -s build"]}}
    assert '  # "go test ./...",  # test: not installed' in text
    assert '  # "make -s lint",  # lint: exit code 2' in text
    assert f"to use it: surefoot trust {project}" in result.err
    assert surefoot("config", "get", "execution.checks").out == ""
    assert surefoot("trust").code == 0
    assert surefoot("config", "get", "execution.checks").out.startswith("python3 -m unittest")


def test_a_linter_is_quoted_with_what_it_found_and_not_with_its_advice(surefoot: Surefoot) -> None:
    advice = "No fixes available (15 hidden fixes can be enabled with the --unsafe-fixes option)."
    (surefoot.workspace / "Makefile").write_text(f"lint:\n\t@echo 'Found 15 errors.'; echo '{advice}'; exit 1\n")
    assert "exit code 2: Found 15 errors." in surefoot("init").out


def test_it_is_said_that_no_command_works(surefoot: Surefoot) -> None:
    (surefoot.workspace / "Makefile").write_text("test:\n\tfalse\n")
    done = surefoot("init")
    assert done.code == 0, done.err
    assert "none of them works now, so no check is saved" in done.out
    (surefoot.workspace / "Makefile").write_text("test:\n\ttrue\n")
    assert "none of them works" not in surefoot("init", "--force").out


def test_an_existing_file_is_shown_as_a_diff_and_only_extended(surefoot: Surefoot, project: Path) -> None:
    file = project / "surefoot.toml"
    content = '# mine\n[execution]\nchecks = ["true"]  # always\n\n[budget]\nmax_tokens = 5\n'
    file.write_text(content)
    assert surefoot("trust").code == 0
    kept = surefoot("init", "--trust")
    assert kept.code == 1
    assert '+  "python3 -m unittest discover", # test' in kept.out
    assert "--force adds these checks" in kept.err
    assert file.read_text() == content
    forced = surefoot("init", "--force", "--json")
    assert forced.code == 0
    (document,) = forced.objects
    assert (document["file"], document["written"], document["trusted"]) == (str(file), True, True)
    by_command = {entry["command"]: entry for entry in document["commands"]}
    assert by_command["make -s lint"]["exit_code"] == 2
    assert by_command["python3 -m unittest discover"]["result"] == "works"
    assert by_command["make -s test"]["result"] == "skipped"
    checks = ["true", "python3 -m unittest discover", "make -s build"]
    assert tomllib.loads(file.read_text()) == {"execution": {"checks": checks}, "budget": {"max_tokens": 5}}
    assert file.read_text().startswith("# mine\n[execution]\n")
    assert surefoot("config", "get", "budget.max_tokens").out == "5\n", "it is still trusted"
    again = surefoot("init")
    assert (again.code, "is as it would be written" in again.err) == (0, True)


def test_in_a_terminal_it_asks_whether_to_trust_the_file(surefoot: Surefoot) -> None:
    (surefoot.workspace / "Makefile").write_text("test:\n\ttrue\n")
    terminal = surefoot.on_terminal("init")
    terminal.wait_for("Trust it, so that runs here use it?")
    terminal.type("\n")
    assert terminal.end() == 0
    assert surefoot("config", "get", "execution.checks").out == "make -s test\n"


def test_a_command_has_a_time_limit_and_a_huge_folder_is_not_copied(surefoot: Surefoot) -> None:
    (surefoot.workspace / "Makefile").write_text("test:\n\tsleep 60\n")
    slow = surefoot("init", "--time-limit", "0.2s", "--json")
    assert slow.objects[0]["commands"][0]["why"] == "did not end within 0.2 seconds"
    assert "sleep" not in (surefoot.workspace / "surefoot.toml").read_text()
    with (surefoot.workspace / "data.bin").open("wb") as huge:
        huge.truncate(300_000_000)
    large = surefoot("init", "--json").objects[0]["commands"][0]
    assert large["result"] == "skipped"
    assert "larger than 200 MB" in large["why"]


def test_a_run_uses_the_default_checks_of_a_trusted_file(surefoot: Surefoot, project: Path) -> None:
    (project / "adder.py").unlink()
    for name in ("Makefile", "go.mod"):
        (project / name).unlink()
    check = "python3 -m unittest -q"
    (project / "surefoot.toml").write_text(f'[execution]\nchecks = ["{check}"]\n')

    def checks_of(*options: str) -> list[str]:
        script = surefoot.script(understanding("adder.py"), fenced("def add(a, b):\n    return a + b"))
        words = ("Write adder.py with add(a, b).", "-m", script, "--json", "--baseline", "off", *options)
        result = surefoot("run", *words)
        created = next(event for event in result.objects if event["type"] == "run_created")
        (project / "adder.py").unlink(missing_ok=True)
        return [check["command"] for check in created["task"]["checks"]]

    assert checks_of() == [], "the file is not trusted"
    assert surefoot("trust").code == 0
    assert checks_of() == [check]
    assert checks_of("--check", "true") == ["true"], "a given check replaces them"
    surefoot.environ["SUREFOOT_EXECUTION__CHECKS"] = "[]"
    assert checks_of() == []


def test_json_is_one_object_also_without_any_command(surefoot: Surefoot) -> None:
    result = surefoot("init", "--json", "--yes")
    assert json.loads(result.out) == {
        "file": str(surefoot.workspace / "surefoot.toml"),
        "written": True,
        "trusted": True,
        "commands": [],
    }
    assert '# checks = ["make test"]' in (surefoot.workspace / "surefoot.toml").read_text()


async def test_nothing_is_tried_without_a_sandbox_unless_it_is_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [ProjectCommand("test", "touch ran; true", "Makefile", "make test")]
    monkeypatch.setattr(trying, "choose_sandbox", lambda *_, **__: (None, "no sandbox: this kernel has none"))
    (tried,) = [each async for each in try_commands(tmp_path, found, ExecutionConfig(), 10)]
    assert tried.result == "skipped"
    assert "this kernel has none; --sandbox off tries them" in tried.reason
    (tried,) = [each async for each in try_commands(tmp_path, found, ExecutionConfig(sandbox="off"), 10)]
    assert tried.result == "works"
    assert list(tmp_path.iterdir()) == [], "it ran on a copy"


@pytest.mark.parametrize("sandbox", ["auto", "off"])
async def test_commands_cannot_change_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str
) -> None:
    head = tmp_path / ".git/HEAD"
    head.parent.mkdir()
    head.write_text("ref: refs/heads/main\n")
    (tmp_path / "node_modules").mkdir()
    found = [
        ProjectCommand("test", "test -d node_modules; echo other > .git/HEAD", "Makefile", "make test"),
        ProjectCommand("lint", "test -e .git/HEAD", "Makefile", "make lint"),
    ]
    config = ExecutionConfig.model_validate({"sandbox": sandbox})
    tried = [each.result async for each in try_commands(tmp_path, found, config, 10)]
    assert tried == ["works", "works"], "the history is copied"
    monkeypatch.setattr(trying, "MAX_BYTES", 10)
    tried = [each.result async for each in try_commands(tmp_path, found, config, 10)]
    assert tried == ["fails", "fails"], "a large history is hidden"
    assert head.read_text() == "ref: refs/heads/main\n"

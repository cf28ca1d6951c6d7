"""The guides are correct: their snippets run in order, their links resolve, and their tables match the code."""

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from support.pages import DOCS, snippets
from support.stories import UNDERSTANDING
from surefoot.config.mcp import McpServer, servers_in
from surefoot.config.paths import journal_file
from surefoot.config.sources import from_toml
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.models.local.weights import DEFAULT, KNOWN
from surefoot.models.providers.catalog import PROVIDERS

pytestmark = pytest.mark.slow


def page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


@pytest.mark.slow
def test_the_snippets_of_the_library_guide_run(tmp_path: Path) -> None:
    code = snippets("guides/library.md", "python")
    assert len(code) >= 10
    folder, state = tmp_path / "reader", tmp_path / "state"
    folder.mkdir()
    script = tmp_path / "script.json"
    script.write_text(json.dumps([UNDERSTANDING, "```python\ndef add(a, b):\n    return a + b\n```"]))
    (folder / "page.py").write_text("\n".join(code), "utf-8")
    # `create_model()` uses the model in this variable, so the page's first snippet can look like a real program.
    environ = {**os.environ, "SUREFOOT_HOME": str(state), "SUREFOOT_MODEL": f"scripted:{script}"}
    command = [sys.executable, "page.py"]
    process = subprocess.run(command, cwd=folder, env=environ, text=True, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr[-3000:]
    journal = SqliteJournal(journal_file(state), read_only=True)
    assert [Path(run.workspace).name for run in journal.summaries()] == ["shared"], (
        "the other runs are not in the shared journal"
    )
    journal.close()


@pytest.mark.parametrize(
    "name", ["guides/library.md", "guides/mcp.md", "guides/recovery.md", "concepts/ladder.md", "models.md", "tools.md"]
)
def test_links_and_anchors_resolve(name: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page(name)):
        file, _, anchor = target.partition("#")
        text = ((DOCS / name).parent / file).read_text("utf-8") if file else page(name)
        titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not anchor or anchor in anchors, target


@pytest.mark.parametrize("number", [0, 1], ids=["in order", "by rules"])
def test_the_scripts_in_the_models_page_work_with_its_command(tmp_path: Path, number: int) -> None:
    (line,) = [line for text in snippets("models.md", "sh") for line in text.splitlines() if "scripted:" in line]
    (tmp_path / "answers.json").write_text(snippets("models.md", "json")[number])
    folder = tmp_path / "work"
    folder.mkdir()
    program = Path(sysconfig.get_path("scripts")) / "surefoot"
    environ = {**os.environ, "SUREFOOT_HOME": str(tmp_path / "state")}
    command = [str(program), *shlex.split(line)[1:]]
    process = subprocess.run(command, cwd=folder, env=environ, text=True, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr
    assert "return a + b" in (folder / "adder.py").read_text()
    assert "its checks" in process.stderr or "AssertionError" in process.stderr, (
        "the wrong answer failed its check first"
    )


def test_the_models_page_lists_every_provider() -> None:
    kinds = re.findall(r"^\| `([a-z]+)[/:]", page("models.md"), re.MULTILINE)
    assert sorted({*kinds, "local"} - {"http"}) == sorted({*PROVIDERS, "local", "scripted", "cassette"})
    for kind, provider in PROVIDERS.items():
        (row,) = re.findall(rf"^\| `{kind}/NAME` \|.*$", page("models.md"), re.MULTILINE)
        assert provider.key_variable in row


def test_the_size_of_the_weights_is_the_same_everywhere() -> None:
    size = f"{KNOWN[DEFAULT].size / 1e9:.1f} GB"
    root = DOCS.parent
    for file in (*DOCS.rglob("*.md"), root / "README.md", root / "Makefile", *(root / "src").rglob("*.py")):
        assert set(re.findall(r"\b1\.\d+ GB", file.read_text("utf-8"))) <= {size}, file


@pytest.mark.req("X8")
@pytest.mark.slow
def test_the_commands_of_the_mcp_guide_work_with_the_real_server(tmp_path: Path) -> None:
    """`mcp-server-time` from PyPI, configured as the page says; the model's answers are scripted."""
    config, tracker = snippets("guides/mcp.md", "toml")
    assert list(servers_in(from_toml(Path("config.toml"), tracker.encode()))) == ["tracker"]
    home, folder = tmp_path / "home", tmp_path / "work"
    folder.mkdir()
    (home / ".config/surefoot").mkdir(parents=True)
    (home / ".config/surefoot/config.toml").write_text(config)
    converted = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    task = shlex.split(next(line for line in commands_of("guides/mcp.md") if "surefoot run" in line))[2]
    submitted = {
        "submit_understanding": {**UNDERSTANDING, "understanding": task, "files": ["tokyo.txt"]},
        "submit_approach": {
            "approach": "ask the server",
            "expected_outcomes": ["tokyo.txt"],
            "alternatives": [{"name": "b"}],
        },
        "submit_plan": {"steps": [{"name": "write tokyo.txt", "writes": ["tokyo.txt"], "expected_result": "21:00"}]},
    }
    script = [
        {"calls": list(submitted.items())},
        {"calls": [["time__convert_time", converted]]},
        {"calls": [["write_file", {"path": "tokyo.txt", "content": "21:00\n"}]]},
        {"calls": [["finish_step", {"summary": "written"}]]},
    ]
    (tmp_path / "script.json").write_text(json.dumps(script))
    scripts = sysconfig.get_path("scripts")
    environ = {"HOME": str(home), "PATH": f"{scripts}:{os.environ['PATH']}", "LANG": "C.UTF-8"}
    environ["SUREFOOT_MODEL"] = f"scripted:{tmp_path / 'script.json'}"
    output = ""
    for line in commands_of("guides/mcp.md"):
        process = subprocess.run(
            shlex.split(line), cwd=folder, env=environ, text=True, capture_output=True, check=False
        )
        assert process.returncode == 0, process.stderr[-3000:]
        output += process.stdout
    assert "time__convert_time  (reads)" in output
    assert (folder / "tokyo.txt").read_text() == "21:00\n"
    journal = SqliteJournal(journal_file(home / ".local/share/surefoot"), read_only=True)
    (run,) = journal.summaries()
    results = [r.event for r in journal.read(run.run_id) if isinstance(r.event, e.ActionFinished)]
    assert results[0].data["target"]["datetime"].endswith("T21:00:00+09:00"), "the answer of the real server"
    journal.close()


def commands_of(name: str) -> list[str]:
    """The command lines of a page that start Surefoot and end."""
    return [line for text in snippets(name, "sh") for line in text.splitlines() if line.startswith("surefoot ")]


@pytest.mark.req("X8")
def test_the_mcp_guide_and_the_settings_page_name_what_exists() -> None:
    listed = re.findall(
        r"^\| `(\w+)` \| [^|]*\| [^|]*\|$", page("configuration.md").partition("## mcp\n")[2], re.MULTILINE
    )
    assert listed == list(McpServer.model_fields)
    from surefoot.server.mcp.serve import Door

    tools = re.findall(r"^\| `(\w+)` \| ", page("guides/mcp.md"), re.MULTILINE)
    assert tools == list(vars(Door(None))["_tools"])  # type: ignore[arg-type]
    for code in snippets("guides/mcp.md", "python"):
        exec(compile(code, "guides/mcp.md", "exec"), {})

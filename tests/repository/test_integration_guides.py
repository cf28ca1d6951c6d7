"""The guides to LangGraph, editors and CI jobs: their snippets and commands run, and their links resolve."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from support.pages import DOCS, snippets
from support.stories import UNDERSTANDING
from surefoot.report.html import TEMPLATE

pytestmark = pytest.mark.slow

ADDER = "```python\ndef add(a, b):\n    return a + b\n```"


def page(name: str) -> str:
    return (DOCS / "guides" / name).read_text("utf-8")


@pytest.mark.parametrize("name", ["langgraph.md", "editors.md", "ci.md"])
def test_links_resolve(name: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page(name)):
        if not target.startswith("https://"):
            assert (DOCS / "guides" / target.partition("#")[0]).exists(), target


@pytest.mark.req("A9")
@pytest.mark.slow
def test_the_snippets_of_the_langgraph_guide_run(tmp_path: Path) -> None:
    folder, script = tmp_path / "reader", tmp_path / "script.json"
    folder.mkdir()
    script.write_text(json.dumps([UNDERSTANDING, ADDER]))
    # The second snippet has a run of its own, in a folder where nothing is done yet.
    first, second, third = snippets("guides/langgraph.md", "python")
    again = "import os; os.remove('adder.py')\n"
    (folder / "page.py").write_text("\n".join([first, again, second, third]), "utf-8")
    environ = {**os.environ, "SUREFOOT_HOME": str(tmp_path / "state"), "SUREFOOT_MODEL": f"scripted:{script}"}
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=folder, env=environ, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert lines[:2] == ["s1 succeeded", "verified ['Write adder.py']"]
    assert lines[-1] == "verified"
    assert "+    return a + b" in done.stdout


def test_the_editors_page_has_valid_settings() -> None:
    (settings,) = snippets("guides/editors.md", "json")
    server = json.loads(settings)["agent_servers"]["Surefoot"]
    assert (server["command"], server["args"][0]) == ("surefoot", "acp")


class Job:
    """The workflow of the page, its steps run with bash as a runner does."""

    def __init__(self, folder: Path) -> None:
        (text,) = snippets("guides/ci.md", "yaml")
        self.workflow = yaml.safe_load(text)
        steps = self.workflow["jobs"]["surefoot"]["steps"]
        self.steps = {step["name"]: step for step in steps if "run" in step}
        self.temp, self.root = folder / "temp", folder / "checkout"
        for path in (self.temp, self.root):
            path.mkdir()
        (self.root / "README.md").write_text("Adders.\n")
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        self.output, self.summary = self.temp / "output", self.temp / "summary"

    def run(self, name: str, **environ: str) -> int:
        command = self.steps[name]["run"]
        if not TEMPLATE.exists():
            # The page of the report is built by `make web`, and is in a released wheel.
            command = command.replace("report.html", "report.json")
        scripts = sysconfig.get_path("scripts")
        own = {
            "PATH": f"{scripts}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "SUREFOOT_HOME": str(self.temp / "surefoot"),
        }
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command]
        return subprocess.run(shell, cwd=self.root, env={**os.environ, **own, **environ}, check=False).returncode

    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.output.read_text().splitlines())


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_the_commands_of_the_ci_recipe_work(job: Job, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps([UNDERSTANDING, ADDER]))
    model = f"scripted:{tmp_path / 'script.json'}"
    check = "python3 -B -c 'import adder; assert adder.add(1, 2) == 3'"
    task = "Write adder.py with a function that adds two numbers; $(touch hacked)"
    assert job.run("Run", SUREFOOT_MODEL=model, TASK=task, CHECK=check) == 0
    assert not (job.root / "hacked").exists()
    outputs = job.outputs()
    assert outputs["verdict"] == "verified"
    assert job.run("Collect", RUN=outputs["run"]) == 0
    assert "Verified" in job.summary.read_text()
    assert (job.temp / ("report.html" if TEMPLATE.exists() else "report.json")).stat().st_size > 1000
    # The patch makes the same change elsewhere.
    (job.root / "adder.py").unlink()
    subprocess.run(["git", "apply", str(job.temp / "changes.patch")], cwd=job.root, check=True)
    assert (job.root / "adder.py").read_text() == "def add(a, b):\n    return a + b\n"


def test_a_job_that_cannot_begin_is_red_and_has_no_run(job: Job) -> None:
    assert job.run("Run", SUREFOOT_MODEL="nothing/at-all", TASK="Do it.", CHECK="true") == 2
    assert job.outputs() == {"run": "", "verdict": "error"}


def test_the_task_is_given_by_a_variable(job: Job) -> None:
    for name, step in job.steps.items():
        if name != "Install":
            assert "${{" not in step["run"], "an expression in a script lets its value be a command"
    assert job.workflow["permissions"] == {"contents": "read"}

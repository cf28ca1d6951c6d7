"""A project as the pages suppose it, and what has happened in it: each story is made once and put back when needed."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.conftest import TIMEOUT, Surefoot

TASK = "add a --json flag to report.py"
CHECK = ("--check", "pytest -q")
FILES = {
    "report.py": '''"""Prints the sales of a month."""

import sys

SALES = {"tea": 12.5, "coffee": 20.25}


def main(arguments):
    print(text())


def text():
    lines = [f"{name} {amount}" for name, amount in SALES.items()]
    return "\\n".join([*lines, f"total {total()}"])


def total():
    return sum(SALES.values())


if __name__ == "__main__":
    main(sys.argv[1:])
''',
    "test_report.py": """import contextlib
import io
import json
import unittest

import report


class Report(unittest.TestCase):
    def test_prints_json(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            report.main(["--json"])
        self.assertEqual(json.loads(out.getvalue())["tea"], 12.5)
""",
    "Makefile": "report:\n\t@python3 report.py\n",
}
PYTEST = """#!/bin/sh
# In place of pytest, which takes longer than all else in these runs: whether report.py knows JSON.
grep -q json.dumps report.py && echo '1 passed in 0.01s' && exit
echo 'FAILED test_report.py::Report::test_prints_json - JSONDecodeError'
echo '1 failed in 0.01s'
exit 1
"""

Turn = dict[str, Any]


def turn(*calls: tuple[str, dict[str, Any]]) -> Turn:
    return {"calls": calls}


def edit(search: str, replace: str) -> tuple[str, dict[str, Any]]:
    return "edit_file", {"path": "report.py", "search": search, "replace": replace}


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": content}


def submit(task: str, *steps: str, questions: tuple[str, ...] = ()) -> tuple[tuple[str, dict[str, Any]], ...]:
    """The survey. A step is named after the file that it writes."""
    understood = {"understanding": task, "requirements": [task], "files": [step.split()[-1] for step in steps],
                  "task_type": "change_code", "complexity": "simple", "questions": questions}  # fmt: skip
    plan = {"steps": [{"name": step, "files": [step.split()[-1]]} for step in steps]}
    return ("submit_understanding", understood), ("submit_plan", plan)


FINISH = ("finish_step", {"summary": "done"})
FLAG = (
    edit("import sys\n", "import json\nimport sys\n"),
    edit("    print(text())", '    print(json.dumps(SALES) if "--json" in arguments else text())'),
    edit("    return sum(SALES.values())", "    # of both forms\n    return sum(SALES.values())"),
    FINISH,
)
NOTES = turn(write("notes.txt", "--json prints the sales as JSON.\n"), FINISH)
README = turn(write("README.md", "# report\n\nWith --json it prints JSON.\n"), FINISH)
TIDY = write("report.py", FILES["report.py"].replace("print(text())", "print(json.dumps(SALES))").replace(
    "import sys", "import json\nimport sys"))  # fmt: skip
EXTENDED = write("test_json.py", FILES["test_report.py"].replace("class Report", "class Json"))
STEPS = ("Add the flag to report.py", "Write notes.txt", "Mention it in README.md")


def on(text: str, *turns: Turn) -> list[Turn]:
    """Answers for runs in which this text occurs."""
    return [{"when": text, "answer": answer, "times": 1} for answer in turns]


RULES = [
    *on("now also document it", turn(*submit("document it", "Document it in README.md")), README),
    *on("with tests and a changelog entry",
        turn(*submit(TASK, STEPS[0]), *FLAG[:-1], write("CHANGELOG.md", "- A flag --json.\n"), EXTENDED, FINISH)),
    *on("split report.py in two", turn(*submit("split report.py", "Move the figures to sales.py")),
        turn(write("sales.py", 'SALES = {"tea": 12.5, "coffee": 20.25}\n'),
             edit('SALES = {"tea": 12.5, "coffee": 20.25}', "from sales import SALES"), FINISH)),
    *on("tidy up the imports", turn(*submit("tidy up", "Tidy up report.py"), TIDY, FINISH)),
    *on("fix the rounding bug", turn(*submit("fix the rounding", *STEPS[:1]), *FLAG)),
]  # fmt: skip
"""What the model says to some tasks of the pages."""
REST = [NOTES, README]
"""To go on with after the first step."""
ANSWERS = [*RULES, turn(*submit(TASK, *STEPS), *FLAG), *REST]
"""To every other task the model answers as to "add a --json flag"."""
WAIT = turn(("run_command", {"command": "touch begun && sleep 600"}))
ASKING = [turn(*submit(TASK, *STEPS, questions=("Which values does the flag print?",)))]


@dataclass
class Story:
    """What happened, what the model says afterwards, and the command that is at work meanwhile until `begun` exists."""

    prepare: Callable[[Surefoot], None] = lambda _: None
    answers: list[Turn] = field(default_factory=lambda: ANSWERS)
    at_work: tuple[str, ...] = ()


def run(*options: str, code: int = 0) -> Callable[[Surefoot], None]:
    def prepare(surefoot: Surefoot) -> None:
        result = surefoot("run", TASK, *CHECK, *options)
        assert result.code == code, result.err + result.out

    return prepare


def plan(surefoot: Surefoot) -> None:
    result = surefoot("plan", TASK, *CHECK)
    assert result.code == 0, result.err + result.out
    (surefoot.workspace / "steps.toml").write_text(surefoot("edit", "--print").out)


def failed(surefoot: Surefoot) -> None:
    """Its second step reads a file that is missing; then somebody puts it there."""
    steps = [
        {"id": "s1", "sequence": 0, "name": "Look around", "tool": "list_files"},
        {"id": "s2", "sequence": 1, "name": "Read the sales", "tool": "read_file", "parameters": {"path": "sales.csv"}},
        {"id": "s3", "sequence": 2, "name": "Print the report", "tool": "run_command",
         "parameters": {"command": "python3 -B report.py > report.txt"}},
    ]  # fmt: skip
    after = [{"step_id": "s2", "depends_on": "s1"}, {"step_id": "s3", "depends_on": "s2"}]
    given = surefoot.home / "plan.json"
    given.write_text(json.dumps({"plan": {"steps": steps, "dependencies": after}}))
    surefoot.environ["SUREFOOT_REFLECTION__MAX_STEP_RETRIES"] = "0"
    surefoot.environ["SUREFOOT_REFLECTION__MAX_SINGLE_STEP_REPAIRS"] = "0"
    surefoot.environ["SUREFOOT_REFLECTION__MAX_TASK_REPLANNING_ATTEMPTS"] = "0"
    result = surefoot("run", "Print the report.", "--given", str(given), "--check", "grep -q total report.txt")
    assert result.code == 1, result.err + result.out
    (surefoot.workspace / "sales.csv").write_text("tea,12.5\n")


def configured(surefoot: Surefoot) -> None:
    (surefoot.workspace / "surefoot.toml").write_text('[execution]\nchecks = ["pytest -q"]\n')


def asking(surefoot: Surefoot) -> None:
    surefoot.environ["SUREFOOT_MODEL"] = surefoot.script(*ASKING)
    run(code=4)(surefoot)


AT_WORK = ("run", TASK, *CHECK)
STORIES = {
    "new": Story(),
    "configured": Story(configured),
    "done": Story(run(), [*RULES, *REST]),
    "planned": Story(plan, [turn(*FLAG), *REST]),
    "asking": Story(asking, [turn(*submit(TASK, *STEPS), *FLAG), *REST]),
    "failed": Story(failed),
    "at work": Story(answers=[turn(*submit(TASK, *STEPS), *FLAG), WAIT, README], at_work=AT_WORK),
}


class Shelf:
    """The home of a user, put back as a story left it. All stories have the same paths, because a journal has them."""

    def __init__(self, folder: Path) -> None:
        self.saved = folder / "saved"
        self.home = folder / "home"
        self.made: set[str] = set()

    @contextmanager
    def take(self, name: str) -> Iterator[Surefoot]:
        """A user to whom this has happened. A run that is at work has to end by what the user does."""
        story, surefoot = STORIES[name], self._user()
        if name not in self.made:
            self._make_home()
            surefoot.environ["SUREFOOT_MODEL"] = surefoot.script(*ANSWERS)
            story.prepare(surefoot)
            surefoot = self._user()
            shutil.copytree(self.home, self.saved / name, symlinks=True)
            self.made.add(name)
        shutil.rmtree(self.home)
        shutil.copytree(self.saved / name, self.home, symlinks=True)
        surefoot.environ["SUREFOOT_MODEL"] = surefoot.script(*story.answers)
        if not story.at_work:
            yield surefoot
            return
        process = surefoot.start(*story.at_work)
        try:
            while not (surefoot.workspace / "begun").exists():
                assert process.poll() is None, process.communicate()
                time.sleep(0.05)
            yield surefoot
            process.communicate(timeout=TIMEOUT)
        finally:
            process.kill()

    def _user(self) -> Surefoot:
        environ = {"PATH": f"{self.home}/bin:{os.environ['PATH']}", "EDITOR": "sed -i s/Mention/Explain/"}
        environ["SUREFOOT_EXECUTION__BASELINE"] = "off"  # the check is the project's test
        return Surefoot(self.home, self.home / "projects/report", environ)

    def _make_home(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        for folder in ("bin", "projects/report", "your-project", ".config/fish/completions", ".zfunc",
                       ".local/share/bash-completion/completions"):  # fmt: skip
            (self.home / folder).mkdir(parents=True)
        (self.home / "bin/pytest").write_text(PYTEST)
        (self.home / "bin/pytest").chmod(0o755)
        (self.home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n")
        project = self.home / "projects/report"
        for name, text in FILES.items():
            (project / name).write_text(text)
        (project / "task.txt").write_text(f"{TASK}\n")
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        for words in ("init -q -b main", "add .", "commit -qm Begin"):
            subprocess.run(["git", *words.split()], cwd=project, env=environ, check=True)


def newest_run(surefoot: Surefoot) -> str:
    """Of all folders."""
    return str(json.loads(surefoot("show", "last", "--all", "--json").out)["task_id"])


def question_of(surefoot: Surefoot) -> str:
    """The question of the newest run, as `surefoot answer` names it."""
    asked = surefoot("answer", "last")
    return str(re.findall(r"--question (\w+)", asked.err + asked.out)[0])

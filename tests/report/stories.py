"""Real runs with scripted models, for tests of reports. `python tests/report/stories.py FOLDER` writes their pages."""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1])]

from support.kit import NO_RETRIES, Bench, act, done, steps
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import CommandCheck, DetailedPlan, ExecutionStep, StepType
from surefoot.core.transitions import Stage
from surefoot.engine.loop import start_run
from surefoot.engine.planner.gate import skipped
from surefoot.history.undo import undo
from surefoot.journal import events as e
from surefoot.journal.redact import Redactor
from surefoot.journal.state import RunState
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.report.build import Source

PRICE = {"usd_per_million_prompt_tokens": 2.5, "usd_per_million_output_tokens": 10}
CHECK = CommandCheck(command="python3 test_slug.py")
TEST = """from slug import slug
assert slug('Hello, World') == 'hello-world', slug('Hello, World')
assert slug('  a -- b ') == 'a-b', slug('  a -- b ')
"""
OLD = "def slug(text):\n    return text.lower().replace(' ', '-')\n"
WRONG = "import re\n\n\ndef slug(text):\n    return re.sub(r'[^a-z0-9]', '-', text.lower())\n"
RIGHT = "import re\n\n\ndef slug(text):\n    return re.sub(r'[^a-z0-9]+', '-', text.lower()).strip('-')\n"

MARKUP = "</template></noscript><script>alert(1)</script><!-- <img src=x onerror=alert(2)>"
MARKDOWN = "a | b `c` ``d`` [x](https://evil.example) ![i](//evil.example/i.png) @someone #1 https://evil.example <b>"
BIDI = "user\u202etxt.exe\u2066 zero\u200bwidth"
PASSWORD = "correct-horse-battery-9Xq"
GITHUB = "ghp_" + "a1B2c3D4e5" * 4
SECRETS = (PASSWORD, GITHUB)


@dataclass
class Story:
    """A run that has happened, and where it is stored."""

    bench: Bench
    state: RunState

    @property
    def source(self) -> Source:
        journal = self.bench.journal
        redactor = Redactor({"SERVICE_PASSWORD": PASSWORD})
        records = list(journal.read(self.state.run_id))
        return Source(records=records, blob=journal.get_blob, home=self.bench.home, redactor=redactor)


async def run(
    bench: Bench, text: str, plan: DetailedPlan, answers: Sequence[Any] = (), checks: Sequence[str] = (), **config: Any
) -> Story:
    """Carry out a plan for a task with these words."""
    given = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan))
    services = bench.services(answers)
    settings = bench.config(budget=PRICE, baseline="off", **config)
    state = await start_run(services, bench.task(text, checks), settings, first=Stage.EXECUTION, given=[given])
    return Story(bench, state)


def write(content: str, path: str = "slug.py") -> dict[str, Any]:
    return act("write_file", path=path, content=content)


def command(step_id: str, name: str, shell: str, **more: Any) -> ExecutionStep:
    kind = StepType.COMMAND_EXECUTION
    return ExecutionStep(
        id=step_id, name=name, step_type=kind, tool="run_command", parameters={"command": shell}, **more
    )


def slug_plan() -> DetailedPlan:
    return steps(
        ExecutionStep(id="read", name="Read the module", tool="read_file", parameters={"path": "slug.py"}),
        command("old", "See how it fails today", "python3 test_slug.py 2>&1 | tail -1"),
        ExecutionStep(
            id="fix",
            name="Collapse separators in slug()",
            description="One hyphen for every run of other characters, none at the ends.",
            checks=(CHECK,),
        ),
        ExecutionStep(
            id="doc",
            name="Describe the change in CHANGES.md",
            step_type=StepType.FILE_OPERATION,
            critical=False,
            tool="write_file",
            parameters={"path": "CHANGES.md", "content": "- slug() collapses separators\n"},
        ),
        command("size", "Count the lines", "wc -l slug.py CHANGES.md", critical=False),
        after=[("old", "read"), ("fix", "read"), ("doc", "fix"), ("size", "doc"), ("size", "old")],
    )


async def healed(bench: Bench) -> Story:
    """The first answer is wrong, is undone, and the second is right."""
    bench.write(slug__py=OLD, test_slug__py=TEST)
    text = "Make slug() collapse separators\n\nHello, World must become hello-world, and there is no hyphen at an end."
    return await run(bench, text, slug_plan(), [write(WRONG), done(), write(RIGHT)], [CHECK.command])


async def failed(bench: Bench) -> Story:
    """No answer is right, and the ladder ends."""
    bench.write(slug__py=OLD, test_slug__py=TEST)
    limits = {**NO_RETRIES, "max_step_retries": 1, "candidates": 1}
    answers = [write(WRONG), done(), write(OLD), done(), *[done()] * 6]
    return await run(bench, "Make slug() collapse separators", slug_plan(), answers, [CHECK.command], reflection=limits)


async def waiting(bench: Bench) -> Story:
    """An action needs approval, and nobody is there."""
    bench.write(slug__py=OLD, test_slug__py=TEST)
    plan = steps(command("install", "Install the helper", "python3 -m pip install ./vendor/helper"))
    return await run(bench, "Install the helper", plan, checks=[CHECK.command], approve="ask")


async def undone(bench: Bench) -> Story:
    story = await healed(bench)
    await undo(bench.journal, bench.home, story.state.run_id, by="a person with surefoot undo")
    return story


async def hostile(bench: Bench) -> Story:
    """Names, outputs, files and checks that try to be markup."""
    bench.write(notes__txt=f"{MARKUP}\n{MARKDOWN}\n{BIDI}\n")
    check = CommandCheck(command=f"cat notes.txt; test -f made.txt # {MARKDOWN}")
    plan = steps(
        command("show", f"Show {MARKUP}", "cat notes.txt; cat notes.txt >&2; exit 3", critical=False),
        ExecutionStep(
            id="make",
            name=f"Make | {MARKDOWN}",
            description=f"{MARKUP} {BIDI}",
            checks=(check,),
            tool="write_file",
            parameters={"path": "made.txt", "content": f"{MARKUP}\n{MARKDOWN}\n{BIDI}\n"},
        ),
        command("bidi", f"Name {BIDI}", "true"),
    )
    return await run(bench, f"Be careful {MARKUP} {MARKDOWN} {BIDI}", plan, [done()] * 4, [check.command])


async def leaky(bench: Bench) -> Story:
    """Secrets in a file, in outputs of a command and of a check, and in what the run writes."""
    secret = f"password = {PASSWORD}\ntoken = {GITHUB}\n"
    bench.write(settings__ini=secret)
    check = CommandCheck(command="cat settings.ini; test -f made.ini")
    plan = steps(
        command("show", "Show the settings", "cat settings.ini; exit 3", critical=False),
        command("make", "Copy the settings", "cp settings.ini made.ini; cat made.ini", checks=(check,)),
    )
    return await run(bench, "Copy the settings", plan, [done()] * 4, [check.command])


STORIES: dict[str, Callable[[Bench], Awaitable[Story]]] = {
    story.__name__: story for story in (healed, failed, waiting, undone, hostile, leaky)
}


def tell(name: str, folder: Path) -> Story:
    """Carry out a story below a folder."""
    root, home = folder / "work", folder / "home"
    root.mkdir(parents=True)
    home.mkdir()
    bench = Bench(root, home, SqliteJournal(home / "journal.sqlite"))
    return asyncio.run(STORIES[name](bench))  # type: ignore[arg-type]


def main(folder: Path) -> None:
    from surefoot.report.write import FORMATS, render

    folder.mkdir(parents=True, exist_ok=True)
    for name in STORIES:
        with tempfile.TemporaryDirectory() as scratch:
            source = tell(name, Path(scratch) / "project").source
            for kind in FORMATS:
                (folder / f"{name}.{kind}").write_bytes(render(source, kind))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

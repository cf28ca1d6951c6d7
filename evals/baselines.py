"""Two simple agents to compare with, on the same model and with the same answers' reader.

    python -m evals.baselines oneshot|react --url URL -C FOLDER [--check COMMAND]... [--calls N] TASK

oneshot  one completion, no feedback: files and commands are taken from the answer, and that is it
react    the same, and then a plain loop: what the commands and the checks printed is fed back, the whole conversation
         is kept, until the checks pass, the calls are used up or an answer is repeated word for word

The last line on stdout is the claim. Neither can undo anything.
"""

import argparse
import asyncio
import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from surefoot.asking import SMALL_ANSWER_TOKENS
from surefoot.context import quoted_files
from surefoot.errors import SurefootError
from surefoot.models.parts import parts
from surefoot.project import is_test, list_files
from surefoot.taskfiles import files_named_in
from surefoot.tools.paths import resolve
from surefoot.workspace.environment import command_env, shell_argv
from surefoot.workspace.process import Limits, run_process
from surefoot.workspace.sandbox import choose_sandbox

FILES_CHARS = 12_000
SAID_CHARS = 2_000
KEPT_MESSAGES = 5
"""The window of the embedded model is small: the first question and the last two exchanges have to do."""

PROMPT = """\
These files are in the folder:
{files}
{task}

Answer with the new or changed files, each in a fenced code block with its path in backticks on the line above, \
for example:

`path/to/file.py`
```python
# the complete content
```

What a program or a command has to do goes into a ```sh block; it is run in the folder after that. If it cannot be \
done, say CANNOT and why.
"""
"""The best of three on six tasks; see LOG.md."""


@dataclass
class Asking:
    url: str
    left: int
    messages: list[dict[str, str]]

    def ask(self) -> str:
        """The next answer; nothing when the budget is used up."""
        if self.left <= 0:
            return ""
        self.left -= 1
        shown = self.messages
        if len(shown) > KEPT_MESSAGES:
            shown = [shown[0], *shown[-(KEPT_MESSAGES - 1) :]]
        body = {"model": "model", "messages": shown, "temperature": 0, "max_tokens": SMALL_ANSWER_TOKENS, "seed": 1}
        request = urllib.request.Request(
            f"{self.url}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=3600) as response:
                text = str(json.load(response)["choices"][0]["message"]["content"])
        except urllib.error.HTTPError as error:
            print(f"the model server refused: {error.read().decode()[:300]}", file=sys.stderr)
            self.left = 0
            return ""
        self.messages.append({"role": "assistant", "content": text})
        return text


class Hands:
    """What both agents can do: write files and run commands, inside the folder only."""

    def __init__(self, root: Path, task: str) -> None:
        self.root, self.task = root, task
        self.sandbox, _ = choose_sandbox("auto", root, state_folders=())

    async def apply(self, answer: str) -> str:
        """Do what the answer says; gives what the commands printed."""
        commands = []
        for part in parts(answer, self._target()):
            if part.path:
                self._write(part.path, part.text)
            else:
                commands.append(part.text)
        return "".join([await self.run(command) for command in commands])

    async def run(self, command: str) -> str:
        done = await run_process(
            shell_argv(command),
            cwd=self.root,
            env={**command_env(), "PYTHONDONTWRITEBYTECODE": "1"},
            limits=Limits(timeout=60),
            sandbox=self.sandbox,
        )
        # How long tests took differs each time, and would make a new question of the same one.
        said = re.sub(r"\bin \d+\.\d+ ?s\b", "in 0.1s", done.output.replace(f"{self.root}/", ""))
        said = said if len(said) <= SAID_CHARS else f"...{said[-SAID_CHARS:]}"
        return f"$ {command.strip()}\n{said}\nexit code {done.exit_code}\n"

    def _target(self) -> str:
        """The file that a block without a name must be for: the first that the task names and that is no test."""
        return next((f for f in files_named_in(self.task) if not is_test(f)), "")

    def _write(self, name: str, text: str) -> None:
        try:
            path = resolve(self.root, name, for_writing=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except (OSError, SurefootError) as error:
            print(f"{name}: {error}", file=sys.stderr)


async def work(kind: str, task: str, root: Path, url: str, checks: Sequence[str], calls: int) -> str:
    """The claim at the end."""
    files = list_files(root)
    prompt = PROMPT.format(task=task, files=quoted_files(root, files, FILES_CHARS))
    asking = Asking(url, calls if kind == "react" else 1, [{"role": "user", "content": prompt}])
    hands = Hands(root, task)
    claim, last = "failed", ""
    while (answer := asking.ask()) and answer != last:
        last = answer
        if answer.strip().upper().startswith("CANNOT"):
            return "failed"
        said = await hands.apply(answer)
        claim = "done"
        if kind == "oneshot":
            break
        results = [await hands.run(check) for check in checks]
        if checks and all(result.endswith("exit code 0\n") for result in results):
            return "verified"
        if checks:
            claim = "failed"
            said += "".join(results) + "\nThe checks do not pass. Correct it: answer in the same form."
        elif "```" not in answer or "DONE" in answer:
            break
        else:
            said += "\nIf the task is done, answer with DONE. If not, go on in the same form."
        asking.messages.append({"role": "user", "content": said})
    return claim


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m evals.baselines")
    parser.add_argument("kind", choices=("oneshot", "react"))
    parser.add_argument("task")
    parser.add_argument("--url", required=True)
    parser.add_argument("-C", dest="root", type=Path, required=True)
    parser.add_argument("--check", action="append", default=[])
    parser.add_argument("--calls", type=int, default=8)
    given = parser.parse_args()
    print(asyncio.run(work(given.kind, given.task, given.root.resolve(), given.url, given.check, given.calls)))


if __name__ == "__main__":
    main()

"""Two simple agents as baselines. They use the same model and the same parser of answers as Surefoot.

    python -m evals.baselines oneshot|react --url URL -C FOLDER [--check COMMAND]... [--calls N] TASK

oneshot  one completion without feedback: files and commands are taken from the answer
react    the same, followed by a plain loop: the output of the commands and the checks is fed back until the checks
         pass, the calls are used up or an answer is repeated word for word

The last line on stdout is the claim. Neither agent undoes anything.
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

from surefoot.errors import SurefootError
from surefoot.models.parsing.parts import parts
from surefoot.project.folder import is_test, list_files
from surefoot.project.task_text import files_named_in
from surefoot.prompting.context import quoted_files
from surefoot.prompting.small.strategy import SmallStrategy
from surefoot.tools.fs.paths import resolve
from surefoot.workspace.process.process import Limits, run_process
from surefoot.workspace.sandbox.environment import command_env, shell_argv
from surefoot.workspace.sandbox.sandbox import choose_sandbox

FILES_CHARS = 12_000
OUTPUT_CHARS = 2_000
MAX_MESSAGES = 5
"""The first question and the last two exchanges: the embedded model's context window is small."""

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
"""The best of several wordings on six tasks; see LOG.md."""


@dataclass
class Conversation:
    url: str
    calls_left: int
    messages: list[dict[str, str]]

    def ask(self) -> str:
        """Return the next answer, or an empty string if the calls are used up."""
        if self.calls_left <= 0:
            return ""
        self.calls_left -= 1
        messages = self.messages
        if len(messages) > MAX_MESSAGES:
            messages = [messages[0], *messages[-(MAX_MESSAGES - 1) :]]
        limit = SmallStrategy.profile.max_answer_tokens
        body = {"model": "model", "messages": messages, "temperature": 0, "max_tokens": limit, "seed": 1}
        request = urllib.request.Request(
            f"{self.url}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=3600) as response:
                text = str(json.load(response)["choices"][0]["message"]["content"])
        except urllib.error.HTTPError as error:
            print(f"the model server refused: {error.read().decode()[:300]}", file=sys.stderr)
            self.calls_left = 0
            return ""
        self.messages.append({"role": "assistant", "content": text})
        return text


class Workspace:
    """Write files and run commands for both agents, inside the folder only."""

    def __init__(self, root: Path, task: str) -> None:
        self.root, self.task = root, task
        self.sandbox, _ = choose_sandbox("auto", root, state_folders=())

    async def apply(self, answer: str) -> str:
        """Write the files and run the commands of an answer. Return the output of the commands."""
        commands = []
        for part in parts(answer, self._target()):
            if part.path:
                self._write(part.path, part.text)
            else:
                commands.append(part.text)
        return "".join([await self.run(command) for command in commands])

    async def run(self, command: str) -> str:
        process = await run_process(
            shell_argv(command),
            cwd=self.root,
            env={**command_env(), "PYTHONDONTWRITEBYTECODE": "1"},
            limits=Limits(timeout=60),
            sandbox=self.sandbox,
        )
        # The duration of tests differs each time. Without this the recorded answer would not be found again.
        output = re.sub(r"\bin \d+\.\d+ ?s\b", "in 0.1s", process.output.replace(f"{self.root}/", ""))
        output = output if len(output) <= OUTPUT_CHARS else f"...{output[-OUTPUT_CHARS:]}"
        return f"$ {command.strip()}\n{output}\nexit code {process.exit_code}\n"

    def _target(self) -> str:
        """Return the file for a block without a name: the first file in the task that is not a test."""
        return next((f for f in files_named_in(self.task) if not is_test(f)), "")

    def _write(self, name: str, text: str) -> None:
        try:
            path = resolve(self.root, name, for_writing=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except (OSError, SurefootError) as error:
            print(f"{name}: {error}", file=sys.stderr)


async def run_agent(kind: str, task: str, root: Path, url: str, checks: Sequence[str], calls: int) -> str:
    """Do the task and return the claim."""
    files = list_files(root)
    prompt = PROMPT.format(task=task, files=quoted_files(root, files, FILES_CHARS))
    conversation = Conversation(url, calls if kind == "react" else 1, [{"role": "user", "content": prompt}])
    workspace = Workspace(root, task)
    claim, last = "failed", ""
    while (answer := conversation.ask()) and answer != last:
        last = answer
        if answer.strip().upper().startswith("CANNOT"):
            return "failed"
        feedback = await workspace.apply(answer)
        claim = "done"
        if kind == "oneshot":
            break
        results = [await workspace.run(check) for check in checks]
        if checks and all(result.endswith("exit code 0\n") for result in results):
            return "verified"
        if checks:
            claim = "failed"
            feedback += "".join(results) + "\nThe checks do not pass. Correct it: answer in the same form."
        elif "```" not in answer or "DONE" in answer:
            break
        else:
            feedback += "\nIf the task is done, answer with DONE. If not, go on in the same form."
        conversation.messages.append({"role": "user", "content": feedback})
    return claim


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m evals.baselines")
    parser.add_argument("kind", choices=("oneshot", "react"))
    parser.add_argument("task")
    parser.add_argument("--url", required=True)
    parser.add_argument("-C", dest="root", type=Path, required=True)
    parser.add_argument("--check", action="append", default=[])
    parser.add_argument("--calls", type=int, default=8)
    args = parser.parse_args()
    print(asyncio.run(run_agent(args.kind, args.task, args.root.resolve(), args.url, args.check, args.calls)))


if __name__ == "__main__":
    main()

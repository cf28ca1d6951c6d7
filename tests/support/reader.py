"""Somebody who follows a page of the documentation: types its commands, and compares what it shows with what came."""

import re
import shlex
import signal
import subprocess
from collections.abc import Mapping

from cli.conftest import TIMEOUT, Surefoot

DIFFERENT = (
    (r"^\[ *\d+:\d\d\]", ""),
    (r"\b\d{4}-\d{6}-[0-9a-z]{4}\b", "RUN"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b", "DATE"),
    (r"\b\d+\.\d+ ?s\b", "SECONDS"),
    (r"--to [0-9a-f]{12}\b", "--to SNAPSHOT"),
)
SERVES = ("surefoot serve", "surefoot acp")
"""Commands that end when they are told to."""


class Reader:
    """Types commands. `surefoot` is forked; everything else is run by a shell.

    `typed` has what to type on a terminal, by the text that asks for it; `codes` the exit codes that are not 0.
    """

    def __init__(self, surefoot: Surefoot) -> None:
        self.surefoot = surefoot
        self.code = 0
        self.output = self.transcript = ""

    def type(self, line: str, typed: Mapping[str, str] | None = None) -> None:
        command = " ".join(line.split("#")[0].split()) if "  #" in line else line
        if command.startswith(SERVES):
            self._serve(shlex.split(command)[1:])
        elif re.match(r"surefoot( |$)", command) and "|" not in command:
            self._surefoot(command, typed)
        elif command.startswith("cd "):
            self.code = 0
            self.surefoot.workspace /= command[3:].replace("~", str(self.surefoot.home))
        elif command.startswith("export "):
            self.code, (name, _, value) = 0, shlex.split(command)[1].partition("=")
            self.surefoot.environ[name] = value
        elif command == "echo $?":
            self.output += f"{self.code}\n"
        else:
            env, folder = self.surefoot.variables(), self.surefoot.workspace
            done = subprocess.run(
                ["bash", "-c", line], env=env, cwd=folder, text=True, stdout=-1, stderr=subprocess.STDOUT, check=False
            )
            self.code, self.output = done.returncode, self.output + done.stdout

    def _surefoot(self, command: str, typed: Mapping[str, str] | None) -> None:
        words = shlex.split(command, comments=True)[1:]
        if typed is not None:
            terminal = self.surefoot.on_terminal(*words)
            for asked, keys in typed.items():
                terminal.wait_for(asked)
                terminal.type(keys)
            self.code = terminal.end()
            self.output += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r", "", terminal.output)
            return
        given, file = None, None
        if len(words) > 2 and words[-2] in ("<", ">"):
            *words, sign, name = words
            path = self.surefoot.workspace / name.replace("~", str(self.surefoot.home))
            given, file = (path.read_text(), None) if sign == "<" else (None, path)
        words = [re.sub(r"^~(?=/)", str(self.surefoot.home), word) for word in words]
        result = self.surefoot(*words, stdin=given)
        if file:
            file.write_text(result.out)
        self.code, self.output = result.code, self.output + result.err + result.out

    def _serve(self, words: list[str]) -> None:
        """Wait until it is ready, and stop it as Ctrl-C does. One that talks over its input ends with that."""
        free = ["--port", "0"] if words[0] == "serve" and "--port" not in words else []
        process = self.surefoot.start(*words, *free, stdin=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            assert process.stdout
            while words[0] == "serve" and (line := process.stdout.readline()):
                self.output += line
                if "Ctrl-C ends" in line:
                    process.send_signal(signal.SIGINT)
                    break
            out, _ = process.communicate(timeout=TIMEOUT)
        finally:
            process.kill()
        self.code, self.output = process.returncode, self.output + out
        if self.code == 130:
            self.code = 0  # the signal came before it was ready

    def saw(self, shown: str) -> None:
        """Whether the lines of the page were printed since the last time, in this order and whole, but for `…`."""
        printed = [self._same(line) for line in self.output.splitlines()]
        rest = iter(printed)
        for line in shown.splitlines():
            parts = [re.escape(part.strip()) for part in self._same(line).split("…")]
            wanted = re.compile(".*".join(parts))
            assert any(wanted.fullmatch(real) for real in rest), f"{line!r} is not in order in:\n{printed}"
        self.transcript, self.output = self.transcript + self.output, ""

    def _same(self, line: str) -> str:
        """Without what differs from run to run: times, ids, space."""
        for pattern, same in DIFFERENT:
            line = re.sub(pattern, same, line)
        return " ".join(line.split())

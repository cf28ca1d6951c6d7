"""Asks the person at the terminal. Without a terminal, or after Ctrl-D, a question stays open."""

import asyncio
import os
import shlex
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TextIO

from surefoot.cli.report import formatting as fmt
from surefoot.cli.views.keyboard import read_line
from surefoot.core.questions import EDIT, Question, choice_of, expected, explanation, understood

YES_OR_NO = ("confirmation", "approval")
_MAX_QUESTION = 100_000
"""The characters of a question that are shown. A person must see all of what they approve."""

Suspend = Callable[[], AbstractContextManager[TextIO]]


class TerminalPerson:
    """Asks questions on the terminal.

    `suspend` stops the live view meanwhile. With `yes`, confirmations and approvals are answered with yes.
    """

    def __init__(self, keyboard: TextIO, suspend: Suspend | None = None, *, yes: bool = False) -> None:
        self._keyboard = keyboard
        self._suspend = suspend or (lambda: nullcontext(sys.stderr))
        self._yes = yes

    @property
    def is_there(self) -> bool:
        return self._keyboard.isatty()

    async def answer(self, question: Question) -> str | None:
        if self._yes and question.kind in YES_OR_NO:
            return "yes"
        if not self._keyboard.isatty():
            return None
        with self._suspend() as screen:
            print(format_question(question), file=screen)
            while True:
                print(_prompt(question), end="", file=screen, flush=True)
                typed = await read_line(self._keyboard)
                if typed is None:
                    print(file=screen)
                    return None
                if answer := await self._understand(question, typed, screen):
                    return answer

    async def _understand(self, question: Question, typed: str, screen: TextIO) -> str | None:
        """The answer that the typed text means; None if the question has to be asked again."""
        if (answer := understood(question, typed)) is not None:
            return answer
        if not question.is_strict:
            return None
        match choice_of(typed) if question.kind == "approval" else "":
            case "explain":
                print(_indented(explanation(question)), file=screen)
            case "edit" if can_edit(question):
                return await self._edit(question, screen)
            case _:
                print(f"  {fmt.line(typed)!r} is none of: {expected(question)}", file=screen)
        return None

    async def _edit(self, question: Question, screen: TextIO) -> str | None:
        """Let the person edit the draft: a command of one line on the terminal, anything else in the editor.

        Returns None if nothing was changed.
        """
        if "\n" not in question.draft and _is_command(question):
            print(f"  now: {fmt.line(question.draft, _MAX_QUESTION)}\n  new: ", end="", file=screen, flush=True)
            text = await read_line(self._keyboard)
        else:
            text = await _in_editor(question.draft)
        if text is None or not text.strip() or text == question.draft:
            print("  nothing was changed", file=screen)
            return None
        return EDIT + text


def can_edit(question: Question) -> bool:
    """Whether the draft can be edited at this terminal: a command of one line always, anything else in an editor."""
    if "edit" not in question.options or not question.draft:
        return False
    return bool(_editor()) or ("\n" not in question.draft and _is_command(question))


def _is_command(question: Question) -> bool:
    return question.text.startswith("run_command ")


def _editor() -> str:
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""


async def _in_editor(text: str) -> str | None:
    """The text as it was saved; None if the editor failed."""
    with tempfile.TemporaryDirectory(prefix="surefoot-") as folder:
        file = Path(folder) / "edit.txt"
        file.write_text(text, encoding="utf-8")
        try:
            process = await asyncio.create_subprocess_exec(*shlex.split(_editor()), str(file))
        except (OSError, ValueError):
            return None
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        return file.read_text(encoding="utf-8", errors="replace") if code == 0 else None


def format_question(question: Question) -> str:
    """The question with its options, safe to print."""
    text = f"\n? {fmt.block(question.text, _MAX_QUESTION)}"
    if question.kind in YES_OR_NO:
        rule = f"\n  a (always) also allows, until the run ends: {fmt.line(question.rule)}" if question.rule else ""
        return text + rule
    return text + "".join(f"\n  {number}. {fmt.line(option)}" for number, option in enumerate(question.options, 1))


def _prompt(question: Question) -> str:
    if question.kind == "approval":
        choices = [choice for choice in question.choices if choice.word != "edit" or can_edit(question)]
        return f"  {', '.join(f'{choice.key} = {choice.word}' for choice in choices)} (Ctrl-D: later): "
    if question.kind == "confirmation":
        return f"  yes or no{'' if question.is_strict else ', or say what should be different'} (Ctrl-D: later): "
    return "  your answer (Ctrl-D: later): "


def _indented(text: str) -> str:
    return "\n".join(f"  {row}" for row in fmt.block(text).splitlines())

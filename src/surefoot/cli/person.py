"""Whoever sits at the terminal: questions are put to them inline. Nobody there, or Ctrl-D, means: not now."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TextIO

from surefoot.cli import words
from surefoot.cli.keys import read_line
from surefoot.state import Question

YES_OR_NO = ("confirmation", "approval")
_YES = ("y", "yes", "ok", "是", "好")
_NO = ("n", "no", "否", "不")

Aside = Callable[[], AbstractContextManager[TextIO]]


class TerminalPerson:
    """`aside` clears the picture away while the person is asked."""

    def __init__(self, keyboard: TextIO, aside: Aside | None = None, *, yes: bool = False) -> None:
        self._keyboard = keyboard
        self._aside = aside or (lambda: nullcontext(sys.stderr))
        self._yes = yes

    async def answer(self, question: Question) -> str | None:
        if self._yes and question.kind in YES_OR_NO:
            return "yes"
        if not self._keyboard.isatty():
            return None
        with self._aside() as screen:
            print(asked(question), file=screen)
            while True:
                print(_prompt(question), end="", file=screen, flush=True)
                typed = await read_line(self._keyboard)
                if typed is None:
                    print(file=screen)
                    return None
                if answer := understood(question, typed):
                    return answer


def asked(question: Question) -> str:
    """The question as it is shown, with its options."""
    text = f"\n? {words.block(question.text)}"
    if question.kind in YES_OR_NO:
        rules = [option for option in question.options if option.startswith("always ")]
        return text + "".join(f"\n  from now on without asking: {words.line(rule)}" for rule in rules)
    return text + "".join(f"\n  {number}. {words.line(option)}" for number, option in enumerate(question.options, 1))


def _prompt(question: Question) -> str:
    if question.kind in YES_OR_NO:
        return "  yes or no, or say what should be different (Ctrl-D: later): "
    return "  your answer (Ctrl-D: later): "


def understood(question: Question, typed: str) -> str:
    """What the typed text stands for; nothing means that it has to be asked again."""
    typed = typed.strip()
    if question.kind in YES_OR_NO:
        return "yes" if typed.lower() in _YES else "no" if typed.lower() in _NO else typed
    if typed.isdigit() and 1 <= int(typed) <= len(question.options):
        return question.options[int(typed) - 1]
    return typed

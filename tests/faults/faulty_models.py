"""Models that talk nonsense, claim what is not so, write the wrong file, stay away, or never learn."""

from collections.abc import Sequence
from typing import ClassVar

from faults.scenario import Call, Done, Down, Scenario, Wish, file_step, free_step
from surefoot.core.plan import ExecutionStep


class _Note(Scenario):
    """The work: one small file, by a step whose actions the model decides."""

    good: ClassVar = {"note.txt": "note\n"}
    check = "grep -qs note note.txt || exit 1"

    def plan(self) -> Sequence[ExecutionStep]:
        return [free_step("note", "write the word note to the file for it")]

    def next(self, prompt: str) -> Call | Done:
        return Done() if "> note.txt" in prompt else Call("run_command", {"command": "echo note > note.txt"})


class GarbageTwice(_Note):
    story = "two answers are no JSON, then they are"
    most_extra_calls = 2
    times = 2

    def interfere(self, prompt: str) -> str | None:
        return "I like trains. {'no': JSON" if self.fails("garbage", self.times) else None


class GarbageFiveTimes(GarbageTwice):
    story = "five answers are no JSON, then they are"
    most_extra_calls = 5
    times = 5


class GarbageForEver(GarbageTwice):
    story = "no answer is ever JSON"
    recoverable = False
    times = 1_000_000


class ClaimsDone(_Note):
    story = "the model says it is done and did nothing, until it is told that a check says otherwise"
    most_extra_calls = 1

    def next(self, prompt: str) -> Call | Done:
        told_otherwise = "checks say it is not" in prompt or "exit code 1" in prompt
        if self.faulty and not told_otherwise:
            return Done("I did everything")
        return super().next(prompt)


class ClaimsDoneForEver(_Note):
    story = "the model says it is done, whatever it is told"
    recoverable = False

    def next(self, prompt: str) -> Call | Done:
        return Done("I did everything")


class WrongFile(_Note):
    story = "the model writes to the wrong file and says it is done, until it is told which one is missing"
    most_extra_calls = 3

    def next(self, prompt: str) -> Call | Done:
        if not self.faulty or "Learnt from earlier attempts" in prompt or "the check fails" in prompt:
            return super().next(prompt)
        return Done() if "noet.txt" in prompt else Call("run_command", {"command": "echo note > noet.txt"})


class DownTwice(_Note):
    story = "the model's server is down twice, then up"
    most_extra_calls = 2

    def interfere(self, prompt: str) -> str | None:
        if self.fails("ask", 2):
            raise Down("overloaded")
        return None


class DownInTheMiddle(_Note):
    story = "the model's server goes down after the first action, for longer than one answer is waited for"
    never_under = frozenset({"static"})
    most_extra_calls = 6

    def next(self, prompt: str) -> Call | Done:
        if "> note.txt" in prompt:
            return Done()
        if "echo first" not in prompt:
            return Call("run_command", {"command": "echo first > draft.txt"})
        return Call("run_command", {"command": "echo note > note.txt; rm draft.txt"})

    def interfere(self, prompt: str) -> str | None:
        if "echo first" in prompt and self.fails("ask", 5):
            raise Down("overloaded")
        return None


class DownForEver(_Note):
    story = "the model's server never answers"
    recoverable = False

    def interfere(self, prompt: str) -> str | None:
        raise Down("gone")


class _Sum(Scenario):
    """The work: one file whose content has to be right."""

    good: ClassVar = {"sum.txt": "5\n"}
    check = "grep -qx 5 sum.txt"

    def plan(self) -> Sequence[ExecutionStep]:
        return [file_step("sum.txt", "write the sum of 2 and 3 to sum.txt")]

    def wishes(self, prompt: str) -> Sequence[Wish]:
        return [Wish("Write sum.txt", file="sum.txt")]

    def content(self, prompt: str) -> str:
        raise NotImplementedError

    def next(self, prompt: str) -> Call | Done:
        if prompt.endswith("wrote sum.txt"):
            return Done()
        return Call("write_file", {"path": "sum.txt", "content": self.content(prompt)})


class SameWrongForEver(_Sum):
    story = "the model gives the same wrong answer, whatever it is told"
    recoverable = False

    def content(self, prompt: str) -> str:
        return "6\n"


class TwoWrongByTurns(_Sum):
    story = "the model goes to and fro between two wrong answers"
    recoverable = False

    def content(self, prompt: str) -> str:
        return f"{6 + self.nth('answer') % 2}\n"


class AlwaysWrongAnew(_Sum):
    story = "every answer is another wrong one"
    recoverable = False

    def content(self, prompt: str) -> str:
        return f"{100 + self.nth('answer')}\n"


class RightInTheEnd(_Sum):
    story = "three wrong answers, then the right one"
    most_extra_calls = 3

    def content(self, prompt: str) -> str:
        return f"{100 + self.nth('wrong')}\n" if self.fails("answer", 3) else "5\n"


class WrongPlanCheck(_Note):
    story = "the plan's own check asks for the wrong file, and nobody else gave one"
    check = ""
    never_under = frozenset({"static"})
    most_extra_calls = 6

    def plan(self) -> Sequence[ExecutionStep]:
        return [
            free_step(
                "note",
                "write note.txt",
                check="grep -qs note not.txt || exit 1" if self.faulty else "grep -qs note note.txt || exit 1",
            )
        ]

    def wishes(self, prompt: str) -> Sequence[Wish]:
        return [Wish("note", check="grep -qs note note.txt || exit 1")]


class WrongPlanCheckBesideAGoodOne(WrongPlanCheck):
    story = "the plan's own check asks for the wrong file, and the user's own asks for the right one"
    check = "grep -qs note note.txt || exit 1"
    never_under = frozenset()
    most_extra_calls = 0

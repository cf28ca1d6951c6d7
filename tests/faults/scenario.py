"""A fault and the work it gets in the way of, told without any engine, so that several engines can be put to it.

A scenario has a folder to work in, tools of which some are faulty, a plan, and a model: what it would do next, given
everything it is told. The model is the same whoever asks it; what differs is what an engine tells it and believes.
`truth` looks at the result and asks nobody.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from surefoot.core.plan import CommandCheck, DetailedPlan, ExecutionStep, StepType

CALLS_AT_MOST = 60
"""The budget of every engine: whoever needs more model calls than this is going in circles."""


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Done:
    reason: str = "all is done"


@dataclass(frozen=True)
class Wish:
    """A step that the model would plan."""

    name: str
    check: str = ""
    file: str = ""


class Down(Exception):
    """The model's server does not answer."""


class Scenario:
    story: ClassVar[str]
    recoverable: ClassVar[bool] = True
    files: ClassVar[dict[str, str]] = {}
    """The folder before."""
    good: ClassVar[dict[str, str]]
    """What has to be there afterwards as well, exactly."""
    task: ClassVar[str] = "Carry out the plan."
    check: ClassVar[str] = ""
    """The user's own check."""
    never_under: ClassVar[frozenset[str]] = frozenset()
    """Policies that switch off what this fault needs."""
    litters_under: ClassVar[frozenset[str]] = frozenset()
    """Policies under which a failed action inside of a step that works in the end leaves something."""
    most_extra_calls: ClassVar[int] = 0
    """Model calls beyond those of the same work without the fault, with everything switched on."""
    kills: ClassVar[bool] = False
    """The fault ends the whole process."""

    def __init__(self, root: Path, outside: Path, *, faulty: bool = True) -> None:
        self.root, self.outside, self.faulty = root, outside, faulty
        for name, text in self.files.items():
            (root / name).write_text(text)

    # -- what there is to do ---------------------------------------------------------------------------------------

    def plan(self) -> Sequence[ExecutionStep]:
        raise NotImplementedError

    def tools(self) -> Sequence[Callable[..., Any]]:
        """Typed functions; an attribute `alternatives` names others for the same job."""
        return ()

    # -- the model -------------------------------------------------------------------------------------------------

    def next(self, prompt: str) -> Call | Done:
        """What the model does next, given everything it is told."""
        raise NotImplementedError

    def wishes(self, prompt: str) -> Sequence[Wish]:
        """What it plans when the plan did not work."""
        return [Wish(step.name, check=self.check) for step in self.plan()]

    def interfere(self, prompt: str) -> str | None:
        """What it says instead of an answer, if so; or raises `Down`."""
        return None

    # -- the world -------------------------------------------------------------------------------------------------

    def nth(self, what: str) -> int:
        """How often this has happened, counted outside of every process; 1 the first time."""
        counter = self.outside / f"{what}.count"
        count = int(counter.read_text()) + 1 if counter.exists() else 1
        counter.write_text(str(count))
        return count

    def fails(self, what: str, times: int) -> bool:
        """True for the first so many times, where there is a fault at all."""
        return self.faulty and self.nth(what) <= times

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def truth(self) -> bool:
        now = tree(self.root)
        return all(now.get(name) == text.encode() for name, text in {**self.files, **self.good}.items())

    def leftovers(self) -> list[str]:
        """What is in the folder and should not be, or is no longer as it was; byte by byte."""
        now = tree(self.root)
        allowed = {name: {text.encode()} for name, text in self.files.items()}
        for name, text in self.good.items():
            allowed.setdefault(name, set()).add(text.encode())
        odd = [name for name, content in now.items() if content not in allowed.get(name, ())]
        return sorted({*odd, *(name for name in self.files if name not in now)})


def tree(root: Path) -> dict[str, bytes]:
    """Every file and every empty folder below `root`, with its bytes."""
    found: dict[str, bytes] = {}
    for folder, folders, files in os.walk(root):
        for name in files:
            path = Path(folder, name)
            found[path.relative_to(root).as_posix()] = path.read_bytes()
        if not folders and not files and Path(folder) != root:
            found[Path(folder).relative_to(root).as_posix() + "/"] = b""
    return found


def call_step(name: str, tool: str, check: str = "", **parameters: Any) -> ExecutionStep:
    """A step that is one call."""
    checks = (CommandCheck(command=check),) if check else ()
    return ExecutionStep(id=name, name=name, tool=tool, parameters=parameters, checks=checks)


def free_step(name: str, description: str, check: str = "") -> ExecutionStep:
    """A step whose actions the model decides."""
    checks = (CommandCheck(command=check),) if check else ()
    return ExecutionStep(
        id=name, name=name, description=description, step_type=StepType.COMMAND_EXECUTION, checks=checks
    )


def file_step(path: str, description: str) -> ExecutionStep:
    """A step that writes one file."""
    return ExecutionStep(id="write", name=f"Write {path}", description=description, writes=(path,))


def as_plan(steps: Sequence[ExecutionStep]) -> DetailedPlan:
    from surefoot.core.plan import StepDependency

    chain = zip(steps[1:], steps, strict=False)
    return DetailedPlan(
        steps=tuple(step.with_(sequence=number) for number, step in enumerate(steps)),
        dependencies=tuple(StepDependency(step_id=late.id, depends_on=early.id) for late, early in chain),
    )


def as_json(answer: Call | Done) -> str:
    """An answer as engines without a form of their own get it."""
    if isinstance(answer, Done):
        return json.dumps({"done": answer.reason})
    return json.dumps({"tool": answer.tool, "arguments": answer.arguments})

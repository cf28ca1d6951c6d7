"""A small model does what is more than one file in one free answer: the files and commands of it, as it likes to write
them. Choosing tools one by one, in JSON, is what it does worst."""

from collections.abc import Sequence

from surefoot.asking import ask_text
from surefoot.context import budget_chars, instructions, quoted_files, step_text, worth_showing
from surefoot.errors import UnreadableAnswer
from surefoot.imports import with_missing_imports
from surefoot.models.parts import Part, parts
from surefoot.phases.proposal import Proposal
from surefoot.plan import ExecutionStep, StepType
from surefoot.project import is_test, list_files
from surefoot.prompts import render
from surefoot.run import Run
from surefoot.state import StepRun
from surefoot.taskfiles import files_named_in

_CANNOT = "CANNOT"


def answers_freely(run: Run, step: ExecutionStep) -> bool:
    is_more = not step.tool and len(step.writes) != 1 and step.step_type is not StepType.TESTING
    return is_more and run.model.traits.small


def fits(run: Run, files: Sequence[str]) -> bool:
    """Whether all of a folder can be shown at once: then nothing has to be looked for, and nothing planned."""
    room = budget_chars(run) // 2
    return sum((run.root / path).lstat().st_size for path in files) <= room


async def free_answer(run: Run, mine: StepRun, failed: str, temperature: float) -> list[Proposal]:
    """What to do, in order; at least one thing."""
    step = mine.step
    asked = plain_question(run, mine, failed + _what_broke(mine), render("do"))
    reply = await ask_text(run, "do", asked, step_id=step.id, temperature=temperature, bare=True)
    if reply.finish_reason == "length":
        raise UnreadableAnswer("the answer was cut off", answer=reply.text)
    said = parts(reply.text, _only_file(run))
    refused = [part for part in said if not part.path and refusal_in(part.text)]  # said as if it were a command
    wanted = [part for part in said if part not in refused and not _is_for_nothing(run, part)]
    if not wanted and (refusal := refusal_in(refused[0].text if refused else reply.text)):
        return [refusal]
    if not wanted:
        problem = "the answer changes nothing" if said else "the answer has neither a file nor a command"
        raise UnreadableAnswer(problem, answer=reply.text)
    return [_proposal(part) for part in wanted]


def refusal_in(answer: str) -> Proposal | None:
    """Where it says, as it was asked to, that it cannot be done."""
    if not answer.lstrip("#*` ").upper().startswith(_CANNOT):
        return None
    return Proposal("replan", thought=answer.strip()[:400])


def plain_question(run: Run, mine: StepRun, failed: str, form: str, instead: tuple[str, str] = ("", "")) -> str:
    """The files, the task and the form of the answer, as a person would put it: a small model answers that best.
    `instead`: a piece of the files, and what is shown in its place."""
    files = list_files(run.root)
    shown = set(worth_showing(run, files))
    step = mine.step
    text = quoted_files(run.root, [path for path in files if path in shown], budget_chars(run) // 2)
    question = render(
        "question",
        instructions=instructions(run.root, files),
        files=text.replace(*instead) if instead[0] else text,
        task=run.task.text,
        step="" if step.description == run.task.text else f"\n# Now this step of it\n{step_text(step)}\n",
        failed=failed,
    )
    return f"{question}\n\n{form}\n"


def _what_broke(mine: StepRun) -> str:
    """The last thing that was done, where that failed by itself and not by the checks."""
    last = mine.actions[-1] if mine.actions else None
    if last is None or last.ok:
        return ""
    what = last.arguments.get("command") or last.arguments.get("path")
    return f"\n# This failed\n{what}\n{last.summary}\n"


def _proposal(part: Part) -> Proposal:
    if part.path:
        return Proposal("act", "write_file", {"path": part.path}, as_meant(part.path, part.text))
    return Proposal("act", "run_command", {"command": part.text.strip()})


def as_meant(path: str, text: str) -> str:
    """What a small model wrote, with the imports that it forgot."""
    return with_missing_imports(text) if path.endswith(".py") else text


def _only_file(run: Run) -> str:
    """The one file that the task names and that is no test: what a block without a name is for."""
    named = [path for path in files_named_in(run.task.text) if not is_test(path)]
    return named[0] if len(named) == 1 else ""


def _is_for_nothing(run: Run, part: Part) -> bool:
    """Given tests are repeated out of politeness; they stay as they are, like what is the same already."""
    if not part.path:
        return all(not line.strip() or line.lstrip().startswith("#") for line in part.text.splitlines())
    if part.path.removeprefix("./") in run.state.protected:
        return True
    try:
        return (run.root / part.path).read_text(encoding="utf-8") == part.text
    except (OSError, ValueError):
        return False
